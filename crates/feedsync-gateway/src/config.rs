//! Configuration of a gateway.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use feedsync_bitsy::interceptor::Settings;
use feedsync_bitsy::profile::Profile;
use feedsync_http::LocalHubs;

use crate::page_origin::PageOrigin;
use crate::store::Quota;
use crate::target::{Allowed, Mount, Newsreader};

/// Address that a gateway listens on, and the origins that it reaches.
#[derive(Debug, Clone)]
pub struct Config {
    /// Address of the proxy listener; port 0 selects a free port.
    pub listen: SocketAddr,
    /// Origins that are mounted below a short name.
    pub mounts: Vec<Mount>,
    /// Newsreader servers, which are mounted, too.
    pub newsreaders: Vec<Newsreader>,
    /// Authorities that are reached besides mounted and subscribed ones.
    pub allow: Vec<Allowed>,
    /// Origins of pages that may use the gateway.
    pub allow_origins: Vec<PageOrigin>,
    /// Whether addresses in documents lead through the gateway in reverse mode.
    pub rewrites_links: bool,
    /// Hubs of the same user, which programs of this machine reach without signing in.
    pub local_hubs: Option<LocalHubs>,
    /// Data directory of the certificate authority with which https is intercepted; without one, https is tunnelled.
    pub intercept: Option<PathBuf>,
    /// Limits for one request and for all requests.
    pub limits: Limits,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 5023)),
            mounts: Vec::new(),
            newsreaders: Vec::new(),
            allow: Vec::new(),
            allow_origins: Vec::new(),
            rewrites_links: true,
            local_hubs: None,
            intercept: None,
            limits: Limits::default(),
        }
    }
}

/// Storage and synchronisation of subscriptions.
#[derive(Debug, Clone)]
pub struct StoreConfig {
    /// Data directory, used by this gateway alone.
    pub data: PathBuf,
    /// Maximum amount of stored data.
    pub quota: Quota,
    /// Profile of the BITSY rules, and the treatment of `no-store`.
    pub settings: Settings,
    /// Address of the control port; port 0 selects a free port.
    pub control: SocketAddr,
}

impl StoreConfig {
    /// Creates the default configuration for a data directory.
    pub fn new(data: PathBuf) -> Self {
        Self {
            data,
            quota: Quota::default(),
            settings: Settings { profile: Profile::Resilient, honours_no_store: true },
            control: SocketAddr::from((Ipv4Addr::LOCALHOST, 5024)),
        }
    }
}

/// Limits for one request, one origin and all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of concurrent application connections; further ones wait.
    pub connections: usize,
    /// Timeout for the head of a request, and for an idle connection.
    pub head_time: Duration,
    /// Maximum size of the head of a request or a response, in bytes.
    pub head_bytes: usize,
    /// Maximum number of header fields of a request or a response.
    pub head_fields: usize,
    /// Longest pause of an application while it sends a body.
    pub body_pause: Duration,
    /// Longest time that an application or an origin may read nothing of what is sent to it.
    pub answer_pause: Duration,
    /// Time that open responses may take to finish once the gateway stops.
    pub drain_time: Duration,
    /// Timeout for connecting to an origin, and for waiting for a free connection slot.
    pub connect_time: Duration,
    /// Timeout for the response of an origin, counted from the end of the request.
    pub answer_time: Duration,
    /// Longest pause of an origin while it sends the body of its response.
    pub origin_pause: Duration,
    /// Maximum number of concurrent requests, and so connections, to one authority; further ones wait.
    pub origin_connections: usize,
    /// Maximum number of concurrent requests to all authorities; further ones wait.
    pub all_connections: usize,
    /// Time that an idle connection to an origin stays open for the next request.
    pub idle_time: Duration,
    /// Maximum size of an edit, in bytes.
    pub edit_bytes: u64,
    /// Maximum size of the response to an edit, in bytes.
    pub answer_bytes: u64,
    /// Maximum size of a document in which addresses are replaced, in bytes. Larger ones are forwarded unchanged.
    pub links_bytes: usize,
    /// Maximum size of all documents in which addresses are being replaced, in bytes; further ones wait.
    pub all_links_bytes: usize,
    /// Maximum number of concurrent tunnels; further ones are refused.
    pub tunnels: usize,
    /// Idle timeout of a tunnel.
    pub tunnel_pause: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            connections: 1_024,
            head_time: seconds(20),
            head_bytes: 32 << 10,
            head_fields: 100,
            body_pause: seconds(60),
            answer_pause: seconds(60),
            drain_time: seconds(5),
            connect_time: seconds(10),
            answer_time: seconds(60),
            origin_pause: seconds(300),
            origin_connections: 32,
            all_connections: 512,
            idle_time: seconds(15),
            edit_bytes: 1 << 30,
            answer_bytes: 64 << 20,
            links_bytes: 8 << 20,
            all_links_bytes: 32 << 20,
            tunnels: 256,
            tunnel_pause: seconds(600),
        }
    }
}
