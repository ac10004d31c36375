//! Settings of a hub: each with its unit, its default and its purpose.
//!
//! This is the only declaration of the settings. The configuration file, the environment, the flags of
//! `feedsync serve` and docs/configuration.md are generated from it.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use feedsync_http::is_loopback;
use ipnet::IpNet;

use crate::configuration::declare::settings;
use crate::configuration::kinds::{
    Bytes, Count, CountOrZero, File, ListOf, Network, Optional, Socket, Span, Text,
};
use crate::configuration::values::{
    Audience, ForwardedBy, Level, LogFormat, StoreAddress, Switch, UserRegistration,
};
use crate::http::address::{Origin, ProxyAddress, PublicBase};

settings! {
    /// Addresses, storage, logging and limits of a hub.
    pub struct Config at [] {
        /// Addresses to listen on. Port 0 takes a free port. An address other than loopback, which other machines can
        /// reach, needs a user.
        listen: Vec<SocketAddr> as ListOf<Socket> = vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 4287))];
        /// Additional addresses that serve databases at their root, for CouchDB clients that cannot use a path such
        /// as `/couch/`. An address other than loopback needs a user.
        couch_listen: Vec<SocketAddr> as ListOf<Socket> = Vec::new();
        /// Host names (`name` or `name:port`) that serve databases at their root and nothing else, for CouchDB
        /// clients that cannot use a path such as `/couch/`. These names need not be repeated in `hosts`.
        couch_hosts: Vec<String> as ListOf<Text> = Vec::new();
        /// Base URL of absolute links, such as `https://feeds.example.org`. Set it behind a reverse proxy. The hub
        /// accepts requests for its host. Without this setting, links repeat the host of the request. The hub needs a
        /// user if the host is not a loopback name.
        public_base: Option<PublicBase> as Optional<Text> = None;
        /// Host names (`name` or `name:port`) that the hub accepts besides loopback names. A request for any other
        /// host is refused. The hub needs a user if one of them is not a loopback name.
        hosts: Vec<String> as ListOf<Text> = Vec::new();
        /// Addresses (`10.0.0.7`) and networks (`10.0.0.0/8`) of reverse proxies. The hub trusts their headers about
        /// the client's address and protocol, and their `X-Request-Id`. The hub needs a user if this is set.
        trusted_proxies: Vec<IpNet> as ListOf<Network> = Vec::new();
        /// Header in which trusted proxies name the client: `x-forwarded` (the `X-Forwarded-` headers) or `forwarded`
        /// (RFC 7239). The proxy must replace or extend that header, whatever its clients send.
        forwarded_by: ForwardedBy as Text = ForwardedBy::XForwarded;
        /// Origins (`https://reader.example.org`) of web pages on other sites that may use the logs (`/logs/`) and sync
        /// collections (`/collections/NAME/changes` and `complete`), with their own tokens, and the databases
        /// (`/couch/`), after signing in. Credentials that the browser stores for this hub are not accepted from these
        /// pages.
        origins: Vec<Origin> as ListOf<Text> = Vec::new();
        /// Private addresses and networks (`192.168.1.5`, `fd00::/8`) from which feeds, their icons, and the pictures
        /// and web pages of their articles are fetched for newsreader users, also after a redirect. Other private
        /// addresses are refused, so that users cannot reach the network of the hub. A hub without users fetches feeds
        /// from all addresses.
        private_feeds: Vec<IpNet> as ListOf<Network> = Vec::new();
        /// Outgoing proxy (`http://proxy.example.org:3128`) for fetching feeds. The hub resolves and checks names
        /// itself before it sends a request to the proxy. Without this setting, feeds of newsreaders and of public
        /// subscriptions are fetched directly, even if the environment sets `http_proxy` or a similar variable.
        proxy: Option<ProxyAddress> as Optional<Text> = None;
        /// Store: `sqlite:DIRECTORY` or `postgres://USER@HOST/DATABASE`. The default is SQLite in the data directory.
        /// Several hubs can share a PostgreSQL database.
        store: Option<StoreAddress> as Optional<Text> = None;
        /// Directory with the built package for web pages (`packages/bitsy/dist`), which is served below `/bitsy/`. By
        /// default the hub serves the package that is installed with the program, if there is one.
        web_package: Option<PathBuf> as Optional<File> = None;
        /// Whether functions of design documents are executed: `on` or `off`. With `off`, `validate_doc_update` does not
        /// protect documents.
        functions: Switch as Text = Switch::On;
        /// Audience that may add users through the database `_users`: `off` (nobody, and the database cannot be used),
        /// `administrators` or `anyone`. Its users may use databases alone. With `anyone`, everybody who
        /// reaches the hub can get an account, so each database must name its members.
        couch_users: UserRegistration as Text = UserRegistration::Off;
        /// File with keys of JSON Web Tokens, by which users sign in to databases: a line `KIND:ID = KEY` for each, as in
        /// CouchDB. The kind is `hmac` (a secret in Base64), `rsa`, `ec` or `eddsa` (a public key in PEM, with `\n` for each
        /// end of a line). The id `_default` is for tokens without `kid`.
        couch_jwt_keys: Option<PathBuf> as Optional<File> = None;
        /// File with the secret of a proxy that signs users in to databases by the headers `X-Auth-CouchDB-UserName`,
        /// `X-Auth-CouchDB-Roles` and `X-Auth-CouchDB-Token`. The proxy must remove these headers from other requests.
        couch_proxy_secret: Option<PathBuf> as Optional<File> = None;
        /// Whether each user has a database: `on` or `off`. Its name is `userdb-` and the user name in hexadecimal, and
        /// it is created when it is first used.
        couch_user_databases: Switch as Text = Switch::Off;
        /// Audience of `/metrics`: `administrators` or `public`.
        metrics: Audience as Text = Audience::Administrators;
        /// Time for which browsers that used https use only https for the host name of the hub, on all ports
        /// (`Strict-Transport-Security`). 0 s: the header is not sent.
        https_only_time: Duration as Span = Duration::from_secs(365 * 24 * 60 * 60);
    } with {
        /// Encryption.
        tls: Tls,
        /// Logging.
        log: Log,
        /// Limits.
        limits: Limits,
    }
}

settings! {
    /// Certificate of a hub that encrypts connections itself.
    pub struct Tls at [tls] {
        /// PEM file with the certificate and its intermediate certificates, the own certificate first. With it, every
        /// address that the hub listens on uses https. The hub reads the file again on SIGHUP.
        certificate: Option<PathBuf> as Optional<File> = None;
        /// PEM file with the private key of the certificate.
        key: Option<PathBuf> as Optional<File> = None;
        /// PEM file with the certificate of the authority that signed `certificate`, if devices do not trust it yet. The hub serves
        /// it at `/authority.crt`, so that they can install it. `feedsync serve --vault` sets it where the hub makes its certificate.
        authority: Option<PathBuf> as Optional<File> = None;
        /// Host names for which `feedsync serve` gets a certificate from an authority that speaks ACME, and renews it. The
        /// authority connects to port 443 of each name, which must lead to this hub. With this setting, you agree to the
        /// terms of the authority. The hub accepts requests for these names.
        acme_names: Vec<String> as ListOf<Text> = Vec::new();
        /// Mail address for messages of the authority.
        acme_contact: Option<String> as Optional<Text> = None;
        /// Directory of the authority. The default is Let's Encrypt.
        acme_directory: String as Text = "https://acme-v02.api.letsencrypt.org/directory".to_owned();
    }
}

settings! {
    /// The log, which goes to standard error.
    pub struct Log at [log] {
        /// Format of the log: `text` for people, or `json` for programs, with one object per line.
        format: LogFormat as Text = LogFormat::Text;
        /// Lowest level that is logged: `error`, `warn`, `info` (which includes each request), `debug`, `trace` or
        /// `off`. Parts of the program can have a level of their own, as in `warn,feedsync_server=debug`.
        level: Level as Text = Level::default();
    }
}

settings! {
    /// Limits for one request, one client and all clients together.
    ///
    /// A client is a signed-in person and also an address (for IPv6: its /64 network). Clients on the hub's own
    /// machine that do not come through a trusted proxy are not limited by address.
    #[derive(Copy, PartialEq, Eq)]
    pub struct Limits at [limits] {
        /// Maximum size of a submitted document, uncompressed.
        body_bytes: usize as Bytes = 8 << 20;
        /// Maximum number of items in a submitted document.
        body_items: usize as Count = 1_000;
        /// Maximum number of items on one page of a response, even if the request allows more.
        page_items: usize as Count = 1_000;
        /// Maximum size of a request to a database (`/couch/`), uncompressed. Requests larger than `body_bytes` share
        /// a memory budget of eight times `body_bytes`. A request that exceeds this budget is processed when no other
        /// large one is; requests that do not fit wait.
        database_body_bytes: usize as Bytes = 256 << 20;
        /// Maximum size of a blob, which is a file that an item names.
        blob_bytes: usize as Bytes = 32 << 20;
        /// Maximum time for receiving the head of a request, and for an idle connection.
        head_time: Duration as Span = Duration::from_secs(20);
        /// Maximum time without data while a request body is received.
        body_pause: Duration as Span = Duration::from_secs(15);
        /// Maximum time for receiving a request body. A larger body has this time for each `body_bytes` of its size.
        body_time: Duration as Span = Duration::from_secs(120);
        /// Maximum time that a client may read nothing of a response. After that the hub closes the connection.
        answer_pause: Duration as Span = Duration::from_secs(60);
        /// Time between the signal to stop and the end of accepting connections, during which `/healthz` reports 503.
        /// Set it so that a load balancer notices in time.
        drain_notice: Duration as Span = Duration::ZERO;
        /// Time that open responses may take to finish after the hub stopped accepting connections.
        drain_time: Duration as Span = Duration::from_secs(5);
        /// Interval of the heartbeats in an event stream without events, which keep proxies from closing it.
        heartbeat: Duration as Span = Duration::from_secs(20);
        /// Maximum number of concurrent connections. Further ones wait.
        connections: usize as Count = 8_192;
        /// Maximum number of concurrent connections from one address, at most half of `connections`. Further ones are
        /// closed. Trusted proxies are exempt. 0: no limit.
        client_connections: usize as CountOrZero = 2_048;
        /// Maximum number of connections from one address that have not sent a whole request head yet. Further ones
        /// are closed. Trusted proxies are exempt. 0: no limit.
        client_unfinished_heads: usize as CountOrZero = 512;
        /// Maximum number of request documents held in memory at the same time, and of media files and blobs received
        /// at the same time. Two of the latter are in memory while they are stored. Further requests wait briefly,
        /// then get 503.
        uploads: usize as Count = 16;
        /// Maximum number of responses over 64 KiB held in memory until their clients have read them; further
        /// requests get 503. The same number of responses of any size can be prepared at the same time; further
        /// requests wait briefly. Responses with documents of databases have as many slots of their own; further
        /// requests wait up to a minute.
        answers: usize as Count = 32;
        /// Maximum number of concurrent event streams. Further ones get 503.
        followers: usize as Count = 4_096;
        /// Maximum average number of requests per second of one client. Further requests get 429. 0: no limit.
        client_requests: usize as CountOrZero = 50;
        /// Number of requests that a client can send at once after a pause, before `client_requests` applies.
        client_burst: usize as Count = 200;
        /// Maximum number of concurrent requests of one client. Further ones get 429. 0: no limit.
        client_concurrency: usize as CountOrZero = 64;
        /// Maximum number of concurrent event streams of one client, including those of databases. Further ones get
        /// 429. A signed-in person counts as one client, also on the hub's own machine. 0: no limit.
        client_followers: usize as CountOrZero = 32;
        /// Maximum number of request bodies that one client can send at the same time. Further requests get 429. 0:
        /// no limit.
        client_uploads: usize as CountOrZero = 8;
        /// Maximum number of clients whose usage is recorded in memory. Beyond that, the longest inactive clients are
        /// dropped.
        clients: usize as Count = 65_536;
        /// Maximum number of items in a collection, without deleted ones. Changes that would exceed it are refused.
        /// 0: no limit.
        collection_items: usize as CountOrZero = 0;
        /// Maximum size of one append to a log.
        log_append_bytes: usize as Bytes = 1 << 20;
        /// Maximum size of one record of a log, including the line feed that ends it.
        log_record_bytes: usize as Bytes = 256 << 10;
        /// Maximum size of the content with which a generation of a log begins after compaction.
        log_generation_bytes: usize as Bytes = 8 << 20;
        /// Maximum size of the snapshot of a log.
        log_snapshot_bytes: usize as Bytes = 8 << 20;
        /// Maximum size of a log. All stored earlier generations together can have this size too, and the last of
        /// them can have it on top.
        log_bytes: usize as Bytes = 1 << 30;
        /// Time for which an earlier generation of a log is stored after the next one began.
        log_generation_time: Duration as Span = Duration::from_secs(30 * 24 * 60 * 60);
        /// Retention of articles that were fetched for newsreaders, counted from their arrival. Articles that are
        /// still in their feed, the newest 100 of each feed, and starred or tagged ones are not deleted. 0 s: no
        /// limit.
        article_time: Duration as Span = Duration::ZERO;
        /// Retention of the audit log (`feedsync store audit`). 0 s: no limit.
        record_time: Duration as Span = Duration::from_secs(365 * 24 * 60 * 60);
        /// Maximum number of collections that one person can own. Administrators are exempt. 0: no limit.
        owned_collections: usize as CountOrZero = 1_000;
        /// Maximum number of users of databases alone, beyond which nobody can register (`couch_users`). 0: no
        /// limit.
        registered_users: usize as CountOrZero = 10_000;
        /// Maximum number of databases that one person can create. Administrators are exempt. 0: no limit.
        owned_databases: usize as CountOrZero = 1_000;
        /// Maximum number of documents in all databases that one person created, including the databases of that
        /// person's collections, deleted documents, and documents that others wrote. 0: no limit.
        owned_documents: usize as CountOrZero = 0;
        /// Maximum amount of data that one person can own: documents, stored revisions and attachments of databases
        /// that the person created, and items and logs of the person's collections, including stored earlier
        /// generations of logs. Administrators are exempt.
        owned_bytes: usize as Bytes = 64 << 30;
        /// Maximum average amount of media and blobs that one person can upload per day to one process of the hub.
        /// Administrators are exempt.
        person_upload_bytes: usize as Bytes = 4 << 30;
    }
}

/// Reason to assume that other machines can reach a hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RemoteExposure {
    /// It listens on an address that is not loopback.
    Listens(SocketAddr),
    /// A setting of this name describes a proxy in front of it.
    Set(&'static str),
}

impl Config {
    /// Returns the reason to assume that other machines can reach the hub, if there is one. A proxy on this
    /// machine connects from loopback for remote clients.
    pub(crate) fn remote_exposure(&self) -> Option<RemoteExposure> {
        let away = |host: &str| host.parse().is_ok_and(|host| !is_loopback(&host));
        let mut listening = self.listen.iter().chain(&self.couch_listen);
        let wide = listening.find(|address| !address.ip().is_loopback());
        let set = [
            ("public_base", self.public_base.as_ref().is_some_and(|base| away(base.authority()))),
            ("hosts", self.hosts.iter().any(|host| away(host))),
            ("couch_hosts", self.couch_hosts.iter().any(|host| away(host))),
            ("trusted_proxies", !self.trusted_proxies.is_empty()),
            ("tls.acme_names", !self.tls.acme_names.is_empty()),
        ];
        let named = || set.into_iter().find(|(_, says)| *says).map(|(name, _)| name);
        wide.copied().map(RemoteExposure::Listens).or_else(|| named().map(RemoteExposure::Set))
    }
}
