//! What a hub is told when it starts.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::address::PublicBase;

/// How a hub is reached, and within which bounds.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where it listens: a loopback address, until there are users. Port 0 takes a free one.
    pub listen: SocketAddr,
    /// What stands before the path in absolute links, if a proxy stands in front; its host is
    /// accepted. Without it links repeat the Host that the request named.
    pub public_base: Option<PublicBase>,
    /// Hosts accepted besides loopback names: `name` or `name:port`.
    pub hosts: Vec<String>,
    /// Bounds.
    pub limits: Limits,
}

/// Bounds of what one request, one connection and all of them may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of an offered document, unpacked.
    pub body_bytes: usize,
    /// Items of an offered document.
    pub body_items: usize,
    /// Items of one page of an answer, whatever was asked.
    pub page_items: usize,
    /// Bytes of a blob.
    pub blob_bytes: usize,
    /// How long the head of a request may take, and how long a connection may be idle.
    pub head_time: Duration,
    /// How long the body of a request may pause.
    pub body_pause: Duration,
    /// How long the body of a request may take.
    pub body_time: Duration,
    /// How long a client may read nothing of its answer.
    pub answer_pause: Duration,
    /// How long open answers may go on once the hub stops.
    pub drain_time: Duration,
    /// How often a silent event stream says that it is alive.
    pub heartbeat: Duration,
    /// Connections at once; more wait.
    pub connections: usize,
    /// Bodies of requests held in memory at once; more wait a little, then get 503.
    pub uploads: usize,
    /// Answers of more than 64 KiB held in memory at once, until they are read; more get 503. As
    /// many, of any size, may be begun at once; more wait a little.
    pub answers: usize,
    /// Event streams at once; more get 503.
    pub followers: usize,
}

impl Default for Config {
    /// Loopback, port 4287, the default bounds.
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 4287)),
            public_base: None,
            hosts: Vec::new(),
            limits: Limits::default(),
        }
    }
}

impl Default for Limits {
    /// 8 MiB and 1,000 items a document, 32 MiB a blob, 512 connections, 16 uploads, 32 large
    /// answers, 128 followers.
    fn default() -> Self {
        Self {
            body_bytes: 8 << 20,
            body_items: 1_000,
            page_items: 1_000,
            blob_bytes: 32 << 20,
            head_time: Duration::from_secs(20),
            body_pause: Duration::from_secs(15),
            body_time: Duration::from_secs(120),
            answer_pause: Duration::from_secs(60),
            drain_time: Duration::from_secs(5),
            heartbeat: Duration::from_secs(20),
            connections: 512,
            uploads: 16,
            answers: 32,
            followers: 128,
        }
    }
}

impl Config {
    /// Whether only this machine can ask.
    pub(crate) fn is_loopback(&self) -> bool {
        self.listen.ip().is_loopback()
    }
}
