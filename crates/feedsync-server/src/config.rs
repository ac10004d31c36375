//! Settings of a hub: each with its unit, its default and its purpose.
//!
//! This is the only declaration of the settings. The configuration file, the environment, the flags of
//! `feedsync serve` and docs/configuration.md are generated from it.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;

use crate::configuration::declare::settings;
use crate::configuration::kinds::{
    Bytes, Count, CountOrZero, File, ListOf, Network, Optional, Socket, Span, Text,
};
use crate::configuration::values::{Audience, ForwardedBy, Level, LogFormat, StoreAddress};
use crate::http::address::{Origin, ProxyAddress, PublicBase, is_loopback};

settings! {
    /// How a hub is reached, what it keeps and tells, and within which bounds.
    pub struct Config at [] {
        /// Where it listens; port 0 takes a free one. Other addresses than loopback need a user.
        listen: Vec<SocketAddr> as ListOf<Socket> = vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 4287))];
        /// Addresses at whose root databases are served, for drivers of CouchDB that cannot use a path such as `/couch/`.
        /// Other addresses than loopback need a user.
        couch_listen: Vec<SocketAddr> as ListOf<Socket> = Vec::new();
        /// Hosts at whose root databases are served, and nothing else: `name` or `name:port`. They are accepted as
        /// those in `hosts` are.
        couch_hosts: Vec<String> as ListOf<Text> = Vec::new();
        /// What stands before the path in absolute links, if a proxy stands in front; its host is
        /// accepted. Without it links repeat the host that the request named. With one that is no
        /// loopback name, as with `hosts` and `trusted_proxies`, the hub needs a user.
        public_base: Option<PublicBase> as Optional<Text> = None;
        /// Hosts accepted besides loopback names: `name` or `name:port`.
        hosts: Vec<String> as ListOf<Text> = Vec::new();
        /// Addresses of proxies (`10.0.0.7`, `10.0.0.0/8`) that are believed when they say for whom
        /// they ask, and by which `X-Request-Id`.
        trusted_proxies: Vec<IpNet> as ListOf<Network> = Vec::new();
        /// In which header they say it: `x-forwarded` (the `X-Forwarded-` headers) or `forwarded`
        /// (RFC 7239). The proxy must replace or extend that header, whatever its clients send.
        forwarded_by: ForwardedBy as Text = ForwardedBy::XForwarded;
        /// Origins, such as `https://reader.example.org`, whose pages may use the logs (`/logs/`), with tokens of their own, and
        /// the databases (`/couch/`), signing in: what a browser keeps for this hub does not count for them.
        origins: Vec<Origin> as ListOf<Text> = Vec::new();
        /// Private addresses and networks (`192.168.1.5`, `fd00::/8`) whose feeds are fetched for people who use
        /// newsreaders, too, also where another feed sends on to them. Of a hub without users all are.
        private_feeds: Vec<IpNet> as ListOf<Network> = Vec::new();
        /// Proxy (`http://proxy.example.org:3128`) through which feeds are fetched. Names are resolved and checked here before
        /// the proxy is asked. Without this setting feeds of newsreaders and of public subscriptions are fetched directly,
        /// whatever `http_proxy` and its kin in the environment say.
        proxy: Option<ProxyAddress> as Optional<Text> = None;
        /// Where everything is kept: `sqlite:DIRECTORY` or `postgres://USER@HOST/DATABASE`; by
        /// default SQLite in the data directory.
        store: Option<StoreAddress> as Optional<Text> = None;
        /// Who may read `/metrics`: `administrators` or `public`.
        metrics: Audience as Text = Audience::Administrators;
        /// How long browsers that reached the hub by https use nothing else for its host name
        /// (`Strict-Transport-Security`), whatever the port. 0 s: they are not told.
        https_only_time: Duration as Span = Duration::from_secs(365 * 24 * 60 * 60);
    } with {
        /// Encryption.
        tls: Tls,
        /// What is told to whoever runs the hub.
        log: Log,
        /// Bounds.
        limits: Limits,
    }
}

settings! {
    /// The certificate of a hub that encrypts by itself.
    pub struct Tls at [tls] {
        /// A PEM file with the certificate and those that it was signed with, its own first. With it
        /// every address that is listened on speaks https. Read again on SIGHUP.
        certificate: Option<PathBuf> as Optional<File> = None;
        /// A PEM file with the key of the certificate.
        key: Option<PathBuf> as Optional<File> = None;
    }
}

settings! {
    /// The log, which goes to standard error.
    pub struct Log at [log] {
        /// `text` for people, `json` for programs: one object a line.
        format: LogFormat as Text = LogFormat::Text;
        /// The least that is told: `error`, `warn`, `info` (each request), `debug`, `trace`; of a part
        /// only, as in `warn,feedsync_server=debug`.
        level: Level as Text = Level::default();
    }
}

settings! {
    /// Bounds of what one request, one client and all of them may cost.
    ///
    /// A client is a person who signed in, and an address (of IPv6: its /64). Clients that ask from
    /// the hub's own machine, without a trusted proxy between, are not bounded by address.
    #[derive(Copy, PartialEq, Eq)]
    pub struct Limits at [limits] {
        /// Bytes of an offered document, unpacked.
        body_bytes: usize as Bytes = 8 << 20;
        /// Items of an offered document.
        body_items: usize as Count = 1_000;
        /// Items of one page of an answer, whatever was asked.
        page_items: usize as Count = 1_000;
        /// Bytes of a request to a database (`/couch/`), unpacked. Those with more than `body_bytes` have eight times that
        /// together while they are in memory, or are alone; more wait.
        database_body_bytes: usize as Bytes = 256 << 20;
        /// Bytes of a blob.
        blob_bytes: usize as Bytes = 32 << 20;
        /// How long the head of a request may take, and how long a connection may be idle.
        head_time: Duration as Span = Duration::from_secs(20);
        /// How long the body of a request may pause.
        body_pause: Duration as Span = Duration::from_secs(15);
        /// How long the body of a request may take; a larger one has this time for each `body_bytes` of it.
        body_time: Duration as Span = Duration::from_secs(120);
        /// How long a client may read nothing of its answer.
        answer_pause: Duration as Span = Duration::from_secs(60);
        /// How long `/healthz` says that the hub is about to stop before it takes no more
        /// connections.
        drain_notice: Duration as Span = Duration::ZERO;
        /// How long open answers may go on once the hub stops.
        drain_time: Duration as Span = Duration::from_secs(5);
        /// How often a silent event stream says that it is alive.
        heartbeat: Duration as Span = Duration::from_secs(20);
        /// Connections at once; more wait.
        connections: usize as Count = 8_192;
        /// Connections of one address at once, and never more than half of `connections`; more are closed. Trusted
        /// proxies are not bounded so. 0: any number.
        client_connections: usize as CountOrZero = 2_048;
        /// Connections of one address that have sent no whole head of a request yet; more are closed. Trusted proxies
        /// are not bounded so. 0: any number.
        client_unfinished_heads: usize as CountOrZero = 512;
        /// Documents held in memory at once, and as many media and blobs that come in at once, of
        /// which two are held in memory when they are stored; more wait a little, then get 503.
        uploads: usize as Count = 16;
        /// Answers of more than 64 KiB held in memory at once, until they are read; more get 503. As
        /// many, of any size, may be begun at once; more wait a little. As many that tell what documents of databases
        /// say are held besides; more wait a minute.
        answers: usize as Count = 32;
        /// Event streams at once; more get 503.
        followers: usize as Count = 4_096;
        /// Requests of one client in a second, on average; more get 429. 0: any number.
        client_requests: usize as CountOrZero = 50;
        /// Requests that a client which was silent may make at once.
        client_burst: usize as Count = 200;
        /// Requests of one client that may be under way at once; more get 429. 0: any number.
        client_concurrency: usize as CountOrZero = 64;
        /// Event streams of one client at once, those of databases included; more get 429. A person counts as one
        /// client, from the hub's own machine too. 0: any number.
        client_followers: usize as CountOrZero = 32;
        /// Bodies of requests that one client may send at once; more get 429. 0: any number.
        client_uploads: usize as CountOrZero = 8;
        /// Clients that are remembered with what they used; of more, those that were silent longest
        /// are forgotten.
        clients: usize as Count = 65_536;
        /// Items of a collection that are not deleted; what would add more is refused. 0: any number.
        collection_items: usize as CountOrZero = 0;
        /// Bytes that may be appended to a log at once.
        log_append_bytes: usize as Bytes = 1 << 20;
        /// Bytes of one record of a log, with the line feed that ends it.
        log_record_bytes: usize as Bytes = 256 << 10;
        /// Bytes that a generation of a log may begin with when the log is compacted.
        log_generation_bytes: usize as Bytes = 8 << 20;
        /// Bytes of the snapshot of a log.
        log_snapshot_bytes: usize as Bytes = 8 << 20;
        /// Bytes of a log. Its earlier generations, while they are kept, have as many together, and the last of them too.
        log_bytes: usize as Bytes = 1 << 30;
        /// How long an earlier generation of a log is kept after the next one began.
        log_generation_time: Duration as Span = Duration::from_secs(30 * 24 * 60 * 60);
        /// How long articles of feeds are kept for newsreaders after they came; what a feed still has, the
        /// newest hundred of a feed, and what anybody starred or tagged stays. 0 s: for ever.
        article_time: Duration as Span = Duration::ZERO;
        /// How long the record of acts keeps an entry (`feedsync audit`). 0 s: for ever.
        record_time: Duration as Span = Duration::from_secs(365 * 24 * 60 * 60);
        /// Collections that one person may own; administrators are not bounded. 0: any number.
        owned_collections: usize as CountOrZero = 1_000;
        /// Databases that one person may have made; administrators are not bounded. 0: any number.
        owned_databases: usize as CountOrZero = 1_000;
        /// Documents of the databases that one person has made, and of the databases of the collections that one person has
        /// made, deleted ones and those of other writers included. 0: any number.
        owned_documents: usize as CountOrZero = 0;
        /// Bytes that one person may hold: documents, stored revisions and attachments of those databases, and the items
        /// and logs of those collections, with what earlier generations of logs still take. Administrators are not bounded.
        owned_bytes: usize as Bytes = 64 << 30;
        /// Bytes of media and blobs that one person may send in a day, on average, to one process of
        /// the hub; administrators are not bounded.
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
        ];
        let named = || set.into_iter().find(|(_, says)| *says).map(|(name, _)| name);
        wide.copied().map(RemoteExposure::Listens).or_else(|| named().map(RemoteExposure::Set))
    }
}
