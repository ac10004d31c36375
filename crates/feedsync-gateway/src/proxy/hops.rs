//! Hop-by-hop header fields (RFC 9110 7.6.1), and those that frame a message.

use http::header::{self, HeaderMap, HeaderName};

/// Hop-by-hop fields even without being listed in `Connection`.
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

/// Fields that `Connection` cannot remove. Without them the message would end elsewhere, address another host, or
/// hide its way.
const UNREMOVABLE: [HeaderName; 3] = [header::CONTENT_LENGTH, header::HOST, header::VIA];

/// Removes the fields that must not reach the next hop.
pub(crate) fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .filter(|name| !UNREMOVABLE.contains(name))
        .collect();
    for name in HOP.into_iter().chain(named) {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hop_by_hop_fields_are_removed() {
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
