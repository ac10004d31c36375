//! Requests without a complete response.

/// Why a request has no complete response. The server may have acted on it, or not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Interruption {
    /// There is no connection: the name or the route is unknown, or the connection was refused.
    #[error("cannot connect to {host}: {reason}")]
    Unreachable {
        /// The server, with its port.
        host: String,
        /// The reason that the system gives.
        reason: String,
    },
    /// The server sent nothing for too long.
    #[error("{host} did not respond in time")]
    Silent {
        /// The server, with its port.
        host: String,
    },
    /// The response ended early.
    #[error("the response of {host} ended after {received}{} bytes", of(*.expected))]
    CutOff {
        /// The server, with its port.
        host: String,
        /// Number of received bytes.
        received: u64,
        /// Number of bytes that the server announced.
        expected: Option<u64>,
    },
}

impl Interruption {
    /// Maximum number of consecutive retries. A server that never responded in this session is less likely to
    /// recover during it, and each attempt without any bytes takes as long as the client's timeout.
    pub(crate) fn retries(&self, has_answered: bool) -> u32 {
        match self {
            Self::Unreachable { .. } if has_answered => super::session::MAX_ATTEMPTS,
            Self::Unreachable { .. } | Self::CutOff { .. } => 4,
            Self::Silent { .. } if has_answered => 4,
            Self::Silent { .. } => 1,
        }
    }
}

fn of(expected: Option<u64>) -> String {
    expected.map(|expected| format!(" of {expected}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_names_the_server_and_what_happened() {
        let host = || "hub.example:4287".to_owned();
        let reason = "connection refused".to_owned();
        let cut = |expected| Interruption::CutOff { host: host(), received: 3, expected };
        for (interruption, text) in [
            (
                Interruption::Unreachable { host: host(), reason },
                "cannot connect to hub.example:4287: connection refused",
            ),
            (Interruption::Silent { host: host() }, "hub.example:4287 did not respond in time"),
            (cut(Some(9)), "the response of hub.example:4287 ended after 3 of 9 bytes"),
            (cut(None), "the response of hub.example:4287 ended after 3 bytes"),
        ] {
            assert_eq!(interruption.to_string(), text);
        }
    }
}
