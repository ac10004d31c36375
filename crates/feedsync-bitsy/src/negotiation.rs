//! Content negotiation with stored responses (BITSY 3, R-B28).
//!
//! One variant of each resource is stored: the one that the headers registered at setup negotiate. A request
//! without negotiation headers accepts it. Other requests are evaluated according to RFC 9110 12.5. A coding
//! is refused only where the gateway cannot recode the stored response ([`coding`](crate::coding)).

use http::header::{self, HeaderMap, HeaderValue};

use crate::headers::RegisteredHeaders;

/// Whether a request accepts a stored response; if not, the response without a network is 406 (3).
pub fn is_acceptable(
    request: &HeaderMap,
    stored: &HeaderMap,
    registered: &RegisteredHeaders,
) -> bool {
    accepts_type(request, stored)
        && accepts_language(request, stored, registered)
        && crate::coding::choose(request, stored).is_some()
}

fn accepts_type(request: &HeaderMap, stored: &HeaderMap) -> bool {
    let Some(kind) = stored.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()) else {
        return true;
    };
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let Some((main, sub)) = essence.split_once('/') else { return true };
    let by_type = weigh(request, header::ACCEPT, |range| match range.split_once('/')? {
        ("*", "*") => Some(0),
        (wanted, "*") if wanted == main => Some(1),
        (wanted, kind) if wanted == main && kind == sub => Some(2),
        _ => None,
    });
    let charset = kind.split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
    let charset = charset.filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    let charset =
        charset.map(|(_, value)| value.trim().trim_matches('"').to_ascii_lowercase()).next();
    let by_charset = charset.is_none_or(|charset| {
        weigh(request, header::ACCEPT_CHARSET, |range| match range {
            "*" => Some(0),
            wanted if wanted == charset => Some(1),
            _ => None,
        })
    });
    by_type && by_charset
}

/// Whether the language is accepted, by basic filtering (RFC 4647 3.3.1). A response without
/// `Content-Language` is taken to be in the language that was preferred at setup.
fn accepts_language(
    request: &HeaderMap,
    stored: &HeaderMap,
    registered: &RegisteredHeaders,
) -> bool {
    let told = stored.get(header::CONTENT_LANGUAGE).and_then(|value| value.to_str().ok());
    let languages: Vec<String> = match told {
        Some(told) => told.split(',').map(|tag| tag.trim().to_ascii_lowercase()).collect(),
        None => registered.get(&header::ACCEPT_LANGUAGE).and_then(favourite).into_iter().collect(),
    };
    languages.is_empty()
        || languages.iter().any(|language| {
            weigh(request, header::ACCEPT_LANGUAGE, |range| match range {
                "*" => Some(0),
                wanted => language
                    .strip_prefix(wanted)
                    .filter(|rest| rest.is_empty() || rest.starts_with('-'))
                    .map(|_| 1 + wanted.len()),
            })
        })
}

/// The range with the highest quality; of equals, the first.
fn favourite(value: &HeaderValue) -> Option<String> {
    let ranges = elements(value).filter(|(range, q)| *q > 0 && range != "*");
    ranges.reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(range, _)| range)
}

/// Whether a header accepts a value, by the quality of the most specific range that matches it. An absent
/// header accepts everything, and so does one that cannot be read.
fn weigh(
    request: &HeaderMap,
    name: header::HeaderName,
    matches: impl Fn(&str) -> Option<usize>,
) -> bool {
    let ranges: Vec<(String, u16)> = request.get_all(name).iter().flat_map(elements).collect();
    let best = ranges
        .iter()
        .filter_map(|(range, q)| Some((matches(range)?, *q)))
        .max_by(|(one, _), (other, _)| one.cmp(other));
    ranges.is_empty() || best.is_some_and(|(_, q)| q > 0)
}

/// Elements of a header in lower case, with their qualities in thousandths.
pub(crate) fn elements(value: &HeaderValue) -> impl Iterator<Item = (String, u16)> {
    let elements = value.to_str().unwrap_or_default().split(',');
    elements.filter_map(|element| {
        let mut parts = element.split(';').map(str::trim);
        let range = parts.next().filter(|range| !range.is_empty())?;
        let q = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
        // An invalid quality counts as absent.
        let q = q.and_then(|q| quality(q.trim())).unwrap_or(MAX_QUALITY);
        Some((range.to_ascii_lowercase(), q))
    })
}

/// Maximum quality, in thousandths.
const MAX_QUALITY: u16 = 1_000;

/// Parses a quality, in thousandths (RFC 9110 12.4.2).
fn quality(text: &str) -> Option<u16> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_number = part.len() <= 3 && part.bytes().all(|byte| byte.is_ascii_digit());
    let thousandths: u16 = format!("{part:0<3}").parse().ok().filter(|_| is_number)?;
    match whole {
        "0" => Some(thousandths),
        "1" => (thousandths == 0).then_some(MAX_QUALITY),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::headers;

    fn acceptable(
        request: &[(&'static str, &str)],
        stored: &[(&'static str, &str)],
        setup: &[(&str, &str)],
    ) -> bool {
        let mut registered = RegisteredHeaders::default();
        for (name, value) in setup {
            registered.set(name, value).unwrap();
        }
        is_acceptable(&headers(request), &headers(stored), &registered)
    }

    #[test]
    fn language_of_the_documents_example_is_not_acceptable() {
        let setup = [("Accept-Language", "en-US;q=0.8")];
        assert!(!acceptable(&[("accept-language", "da")], &[], &setup));
        assert!(acceptable(&[("accept-language", "en-us")], &[], &setup));
        assert!(acceptable(&[("accept-language", "da, en;q=0.1")], &[], &setup));
        assert!(acceptable(&[], &[], &setup), "who says nothing takes what there is");
        assert!(acceptable(&[("accept-language", "da")], &[], &[]), "nobody knows the language");
        let danish = [("content-language", "da")];
        assert!(acceptable(&[("accept-language", "da")], &danish, &setup), "the answer tells it");
    }

    #[test]
    fn types_are_weighed_by_the_most_specific_range() {
        let feed = [("content-type", "application/atom+xml; type=feed; charset=utf-8")];
        for taken in ["*/*", "application/*", "Application/Atom+XML", "text/html, */*;q=0.1"] {
            assert!(acceptable(&[("accept", taken)], &feed, &[]), "{taken}");
        }
        for refused in [
            "text/html",
            "application/atom+xml;q=0, */*",
            "*/*, application/*;q=0.0",
            "image/*, text/*",
            "atom",
        ] {
            assert!(!acceptable(&[("accept", refused)], &feed, &[]), "{refused}");
        }
        assert!(acceptable(&[("accept-charset", "UTF-8")], &feed, &[]));
        assert!(!acceptable(&[("accept-charset", "iso-8859-1")], &feed, &[]));
        assert!(acceptable(&[("accept-charset", "iso-8859-1, *;q=0.1")], &feed, &[]));
    }

    #[test]
    fn codings_that_the_gateway_cannot_change_are_refused() {
        let packed = [("content-encoding", "gzip")];
        assert!(acceptable(&[("accept-encoding", "identity")], &packed, &[]));
        assert!(acceptable(&[("accept-encoding", "identity;q=0, gzip")], &[], &[]));
        assert!(!acceptable(&[("accept-encoding", "identity;q=0, br")], &packed, &[]));
    }

    #[test]
    fn qualities_are_numbers_from_0_to_1() {
        let qualities = ["0", "0.", "0.0", "0.001", "0.5", "1", "1.000"].map(quality);
        assert_eq!(qualities, [0, 0, 0, 1, 500, 1_000, 1_000].map(Some));
        for text in ["", "2", "-1", "1.001", "0.0001", "0.1e1", "nan", ".5"] {
            assert_eq!(quality(text), None, "{text}");
        }
    }

    #[test]
    fn both_parts_of_a_type_and_its_quality_count() {
        let feed = [("content-type", "application/atom+xml; x=y; CHARSET=\"UTF-8\"")];
        for (accept, is_taken) in [
            ("application/atom+xml", true),
            ("text/atom+xml", false),
            ("application/xml", false),
            ("text/*", false),
            ("application/atom+xml;Q=0", false),
            ("application/atom+xml; level=1; q=0", false),
            ("application/atom+xml;q=x", true),
            ("application/*;q=0, application/atom+xml", true),
            ("application/*, application/atom+xml;q=0", false),
            ("*/*;q=0, application/*", true),
            (" , ,", true),
        ] {
            assert_eq!(acceptable(&[("accept", accept)], &feed, &[]), is_taken, "{accept}");
        }
        for (accept, is_taken) in
            [("utf-8", true), ("utf-16", false), ("*;q=0, utf-8", true), ("utf-8;q=0, *", false)]
        {
            let asked = [("accept-charset", accept)];
            assert_eq!(acceptable(&asked, &feed, &[]), is_taken, "{accept}");
        }
        // A response without a content type may be of any type.
        for stored in [&[][..], &[("content-type", "feed")], &[("content-type", "text/html")]] {
            let is_html = stored.len() == 1 && stored[0].1.contains("html");
            assert_eq!(acceptable(&[("accept", "image/png")], stored, &[]), !is_html);
        }
    }

    #[test]
    fn language_ranges_match_by_the_longest_prefix() {
        let stored = [("content-language", "da, de-AT")];
        for (accept, is_taken) in [
            ("de", true),
            ("de-at", true),
            ("DA", true),
            ("de-ch", false),
            ("d", false),
            ("de-a", false),
            ("*", true),
            ("fr;q=0, *", true),
            ("de;q=0, de-at", true),
            ("de-at;q=0, de, da;q=0", false),
            ("*;q=0, de", true),
            ("de;q=0, da;q=0, *", false),
        ] {
            let asked = [("accept-language", accept)];
            assert_eq!(acceptable(&asked, &stored, &[]), is_taken, "{accept}");
        }
    }

    #[test]
    fn response_without_a_language_has_the_preferred_language_of_setup() {
        for (setup, favourite) in [
            ("fr;q=0, *, de;q=0.3, en;q=0.9, da;q=0.9", Some("en")),
            ("de, en", Some("de")),
            ("de;q=0.5, en", Some("en")),
            ("*", None),
            ("fr;q=0", None),
        ] {
            for asked in ["de", "en", "da", "fr"] {
                let expected = favourite.is_none_or(|favourite| favourite == asked);
                let setup = [("Accept-Language", setup)];
                let asked = [("accept-language", asked)];
                assert_eq!(acceptable(&asked, &[], &setup), expected, "{setup:?} {asked:?}");
            }
        }
    }
}
