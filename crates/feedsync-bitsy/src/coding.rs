//! Content codings: whether a request accepts the coding of a response, and into which coding the response is
//! changed otherwise (RFC 9110 12.5.3).
//!
//! The gateway writes and reads gzip. Responses in any other coding are sent unchanged or not at all.

use http::header::{self, HeaderMap, HeaderValue};

use crate::negotiation::elements;

const GZIP: &str = "gzip";
const IDENTITY: &str = "identity";

/// The coding in which a response is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// The coding of the response is not changed.
    Unchanged,
    /// The response has no coding and is compressed with gzip.
    Gzip,
    /// The response is decompressed.
    Identity,
}

/// Returns the coding in which a response with these headers is sent. Returns none if the request accepts no
/// coding that the gateway can make.
pub fn choose(request: &HeaderMap, response: &HeaderMap) -> Option<Coding> {
    let codings = codings(response);
    let is_accepted = match codings.is_empty() {
        true => accepts(request, IDENTITY),
        false => codings.iter().all(|coding| accepts(request, coding)),
    };
    if is_accepted {
        return Some(Coding::Unchanged);
    }
    match &*codings {
        [] => accepts(request, GZIP).then_some(Coding::Gzip),
        [one] if one == GZIP => accepts(request, IDENTITY).then_some(Coding::Identity),
        _ => None,
    }
}

/// Whether a request accepts a coding. `identity` is accepted unless it is excluded, other codings only where
/// they are listed; a request without the header accepts all.
fn accepts(request: &HeaderMap, coding: &str) -> bool {
    let values = request.get_all(header::ACCEPT_ENCODING).iter();
    let values: Vec<&HeaderValue> = values.filter(|value| value.to_str().is_ok()).collect();
    if values.is_empty() {
        return true;
    }
    let listed: Vec<(String, u16)> = values.into_iter().flat_map(elements).collect();
    let quality = |wanted: &str| {
        let mut of = listed.iter().filter(|(range, _)| plain(range) == wanted);
        of.next().map(|(_, quality)| *quality)
    };
    let quality = quality(coding).or_else(|| quality("*"));
    quality.map_or(coding == IDENTITY, |quality| quality > 0)
}

/// The codings of a response, in the order in which they were applied.
fn codings(response: &HeaderMap) -> Vec<String> {
    let values = response.get_all(header::CONTENT_ENCODING).iter();
    let codings = values.flat_map(|value| value.to_str().unwrap_or("unknown").split(','));
    let codings = codings.map(|coding| plain(&coding.trim().to_ascii_lowercase()).to_owned());
    codings.filter(|coding| !coding.is_empty() && coding != IDENTITY).collect()
}

/// Canonical name of a coding, for its older name (RFC 9110 8.4.1.3).
fn plain(coding: &str) -> &str {
    coding.strip_prefix("x-").filter(|name| matches!(*name, "gzip" | "compress")).unwrap_or(coding)
}

/// Adds `Accept-Encoding` to `Vary`, since a response depends on it (RFC 9110 12.5.5).
pub fn vary(headers: &mut HeaderMap) {
    let values = headers.get_all(header::VARY).iter().filter_map(|value| value.to_str().ok());
    let mut names = values.flat_map(|value| value.split(',')).map(str::trim);
    let name = header::ACCEPT_ENCODING;
    if !names.any(|listed| listed == "*" || listed.eq_ignore_ascii_case(name.as_str())) {
        headers.append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::headers;

    fn of(accepted: &str, coding: Option<&str>) -> Option<Coding> {
        let response = coding.map(|coding| ("content-encoding", coding));
        let response: Vec<_> = response.into_iter().collect();
        choose(&headers(&[("accept-encoding", accepted)]), &headers(&response))
    }

    #[test]
    fn a_request_without_the_header_takes_any_coding() {
        for coding in [&[][..], &[("content-encoding", "br")]] {
            assert_eq!(choose(&HeaderMap::new(), &headers(coding)), Some(Coding::Unchanged));
        }
    }

    #[test]
    fn identity_is_accepted_unless_it_is_excluded() {
        for accepted in ["", "gzip", "br;q=1.0", "*", "identity;q=0.001, *;q=0", "gzip;q=0"] {
            assert_eq!(of(accepted, None), Some(Coding::Unchanged), "{accepted:?}");
        }
        for accepted in [
            "identity;q=0, gzip",
            "gzip, IDENTITY ; Q=0.000",
            "x-gzip, identity;q=0",
            "*;q=0, gzip;q=0.1",
            "identity;q=0, *",
        ] {
            assert_eq!(of(accepted, None), Some(Coding::Gzip), "{accepted:?}");
        }
        for accepted in ["identity;q=0", "*;q=0", "br, identity;q=0", "identity;q=0, gzip;q=0, *"] {
            assert_eq!(of(accepted, None), None, "{accepted:?}");
        }
    }

    #[test]
    fn other_codings_are_accepted_where_they_are_listed() {
        for coding in ["gzip", "x-gzip", "GZIP", "identity, gzip"] {
            for accepted in ["gzip", "x-gzip", "*", "deflate, gzip;q=0.5", "*;q=0, gzip"] {
                assert_eq!(of(accepted, Some(coding)), Some(Coding::Unchanged), "{accepted:?}");
            }
            for accepted in ["", "identity", "br", "gzip;q=0", "gzip;q=0, *", "x-gzip;q=0"] {
                assert_eq!(of(accepted, Some(coding)), Some(Coding::Identity), "{accepted:?}");
            }
            for accepted in ["*;q=0", "gzip;q=0, identity;q=0", "br, identity;q=0"] {
                assert_eq!(of(accepted, Some(coding)), None, "{accepted:?}");
            }
        }
        assert_eq!(of("br", Some("br")), Some(Coding::Unchanged));
        assert_eq!(of("gzip", Some("br")), None);
        assert_eq!(of("gzip", Some("gzip, br")), None);
        assert_eq!(of("gzip, br", Some("gzip, br")), Some(Coding::Unchanged));
    }

    #[test]
    fn a_response_says_once_that_it_depends_on_the_coding() {
        for (told, expected) in [
            (&[][..], vec!["Accept-Encoding"]),
            (&[("vary", "Origin")], vec!["Origin", "Accept-Encoding"]),
            (&[("vary", "Origin, accept-encoding")], vec!["Origin, accept-encoding"]),
            (&[("vary", "*")], vec!["*"]),
        ] {
            let mut told = headers(told);
            vary(&mut told);
            vary(&mut told);
            let values: Vec<_> = told.get_all("vary").iter().collect();
            assert_eq!(values, expected);
        }
    }

    proptest! {
        /// The request accepts the chosen coding.
        #[test]
        fn the_chosen_coding_is_accepted(
            accepted in "([a-z*-]{0,8}(;q=[01](\\.[0-9]{0,3})?)?,? ?){0,4}",
            coding in prop::sample::select(vec!["", "gzip", "x-gzip", "br", "identity", "gzip, br"]),
        ) {
            let request = headers(&[("accept-encoding", accepted.trim())]);
            let response = headers(&[("content-encoding", coding)]);
            let sent = match choose(&request, &response) {
                None => return Ok(()),
                Some(Coding::Unchanged) => response,
                Some(Coding::Gzip) => headers(&[("content-encoding", "gzip")]),
                Some(Coding::Identity) => HeaderMap::new(),
            };
            prop_assert_eq!(choose(&request, &sent), Some(Coding::Unchanged));
        }
    }
}
