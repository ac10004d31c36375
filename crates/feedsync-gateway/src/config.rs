//! What a gateway is told when it starts.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use feedsync_offline::interceptor::Settings;
use feedsync_offline::profile::Profile;
use feedsync_server::LocalHubs;

use crate::face::PageOrigin;
use crate::store::Quota;
use crate::target::{Allowed, Mount, Newsreader};

/// Where a gateway listens, and what it reaches.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where applications speak to it; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Origins by a short name.
    pub mounts: Vec<Mount>,
    /// Servers of newsreaders, which are mounted, too.
    pub newsreaders: Vec<Newsreader>,
    /// Authorities that are reached besides those that are mounted or subscribed.
    pub allow: Vec<Allowed>,
    /// Pages of these origins may use the gateway.
    pub allow_origins: Vec<PageOrigin>,
    /// Hubs of the same user, which programs of this machine reach without signing in.
    pub local_hubs: Option<LocalHubs>,
    /// What one request and all of them may cost.
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
            local_hubs: None,
            limits: Limits::default(),
        }
    }
}

/// Where what is subscribed to is kept, and how it is kept in step.
#[derive(Debug, Clone)]
pub struct Keep {
    /// The directory, which is the gateway's alone.
    pub data: PathBuf,
    /// How much it may hold.
    pub quota: Quota,
    /// How closely the document is followed.
    pub settings: Settings,
    /// Where the gateway is controlled; port 0 takes a free one.
    pub control: SocketAddr,
}

impl Keep {
    /// In a directory, with what is usual.
    pub fn new(data: PathBuf) -> Self {
        Self {
            data,
            quota: Quota::default(),
            settings: Settings { profile: Profile::Resilient, honours_no_store: true },
            control: SocketAddr::from((Ipv4Addr::LOCALHOST, 5024)),
        }
    }
}

/// Bounds of what one request, one origin and all of them may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections of applications at once; more wait.
    pub connections: usize,
    /// How long the head of a request may take, and how long a connection may be idle.
    pub head_time: Duration,
    /// Bytes of the head of a request, and of an answer.
    pub head_bytes: usize,
    /// Header fields of a request, and of an answer.
    pub head_fields: usize,
    /// How long an application may send nothing of its body.
    pub body_pause: Duration,
    /// How long a peer, an application or an origin, may read nothing of what is sent to it.
    pub answer_pause: Duration,
    /// How long open answers may go on once the gateway stops.
    pub drain_time: Duration,
    /// For making a connection to an origin, and for waiting until there is room for one.
    pub connect_time: Duration,
    /// How long an origin may take to answer once it has the whole request.
    pub answer_time: Duration,
    /// How long an origin may send nothing of the body of its answer.
    pub origin_pause: Duration,
    /// Requests to one authority at once, and so connections; more wait.
    pub origin_connections: usize,
    /// Requests to all of them at once; more wait.
    pub all_connections: usize,
    /// How long a connection to an origin is kept for the next request.
    pub idle_time: Duration,
    /// Bytes of an edit at most.
    pub edit_bytes: u64,
    /// Bytes of the answer to an edit at most.
    pub answer_bytes: u64,
    /// Tunnels at once; more are refused.
    pub tunnels: usize,
    /// How long nothing may pass through a tunnel.
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
            tunnels: 256,
            tunnel_pause: seconds(600),
        }
    }
}
