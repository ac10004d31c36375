//! Header fields that are for one hop only (RFC 9110 7.6.1), and those that frame a message.

use http::header::{self, HeaderMap, HeaderName};

/// For this hop whether `Connection` names them or not.
const HOP: [HeaderName; 9] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// What no `Connection` takes away: it would change where the message ends, whom it is for, or hide where
/// it has been.
const KEPT: [HeaderName; 3] = [header::CONTENT_LENGTH, header::HOST, header::VIA];

/// Leaves out what is not for the next hop.
pub(crate) fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .filter(|name| !KEPT.contains(name))
        .collect();
    for name in HOP.into_iter().chain(named) {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_for_this_hop_stays_here() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Mine"),
            ("connection", "content-length, via, if-match , ,b@d"),
            ("keep-alive", "timeout=5"),
            ("x-mine", "1"),
            ("if-match", "\"a\""),
            ("content-length", "3"),
            ("te", "trailers"),
            ("upgrade", "h2c"),
            ("proxy-authorization", "Basic eA=="),
            ("proxy-connection", "keep-alive"),
            ("trailer", "x-late"),
            ("via", "1.1 before"),
            ("x-other", "2"),
        ] {
            headers.append(name, value.parse().unwrap());
        }
        strip(&mut headers);
        let mut left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["content-length", "via", "x-other"]);
    }
}
