//! Limits of outbound requests.

use std::time::Duration;

/// Whether addresses that only this machine or this network can reach may be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Private {
    /// Allowed, for requests that a person makes on their own command line.
    Allowed,
    /// Refused, for requests on behalf of a stranger.
    Refused,
}

/// Limits of one fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Whether private addresses may be fetched.
    pub private: Private,
    /// Maximum number of redirects.
    pub redirects: usize,
    /// Maximum number of bytes of a body, both compressed and decompressed; a request may set a lower one.
    pub bytes: u64,
    /// Timeout for making a connection.
    pub connect: Duration,
    /// Timeout of each wait: for the head of a response, and for each piece of its body.
    pub idle: Duration,
    /// Timeout of the whole fetch, including redirects.
    pub overall: Duration,
}

impl Policy {
    /// Returns the default limits: 5 redirects, 64 MiB; 10 s to connect, 30 s for each wait, 10 minutes in
    /// all.
    pub const fn new(private: Private) -> Self {
        Self {
            private,
            redirects: 5,
            bytes: 64 << 20,
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(30),
            overall: Duration::from_secs(600),
        }
    }
}
