//! Content negotiation: formats of responses and of bodies (RFC 9110 12.5.1, AH13 to AH16).
//!
//! A suffix of the address decides; else `Accept`, by q and by the most specific range. Among named
//! formats of equal quality, the collection's own is chosen, else Atom. Without `Accept`, with an
//! invalid one, and for browsers, which name `text/html`, the response is Atom. `.json` and
//! `application/json` mean FeedSync's JSON only; JSON Feed has names of its own (AJ6).

use feedsync_core::Format;
use feedsync_formats::{JSON_FEED_TYPE, MEDIA_TYPES, media_types, suffix};
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::http::address::View;
use crate::http::media_types::essence;
use crate::http::problem::Problem;

/// Representation of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Representation {
    /// A format for synchronization.
    Feed(Format),
    /// JSON Feed, which feed readers support; offered for listings only.
    JsonFeed,
}

impl Representation {
    const ALL: [Self; 6] = [
        Self::Feed(Format::ALL[0]),
        Self::Feed(Format::ALL[1]),
        Self::Feed(Format::ALL[2]),
        Self::Feed(Format::ALL[3]),
        Self::Feed(Format::ALL[4]),
        Self::JsonFeed,
    ];

    /// All representations of a resource.
    pub(crate) fn of(view: View) -> &'static [Self] {
        match view {
            View::Listing => &Self::ALL,
            View::Changes | View::Complete => &Self::ALL[..Format::ALL.len()],
        }
    }

    /// Representation of a suffix, without its dot.
    pub(crate) fn of_suffix(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| &known.suffix()[1..] == text)
    }

    /// Suffix of addresses.
    pub(crate) const fn suffix(self) -> &'static str {
        match self {
            Self::Feed(format) => suffix(format),
            Self::JsonFeed => ".feed.json",
        }
    }

    /// Unique name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Feed(format) => format.name(),
            Self::JsonFeed => "json-feed",
        }
    }

    /// Media type of the response.
    pub(crate) const fn media_type(self) -> &'static str {
        self.media_types()[0]
    }

    /// `Content-Type` of the response. XML declares its encoding itself, but a text type would default
    /// to ASCII.
    pub(crate) const fn content_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Feed(Format::Opml) => "text/x-opml; charset=utf-8",
            other => other.media_type(),
        })
    }

    const fn media_types(self) -> &'static [&'static str] {
        match self {
            Self::Feed(format) => media_types(format),
            Self::JsonFeed => &[JSON_FEED_TYPE],
        }
    }
}

/// All accepted media types, for `Accept-Post` and `Accept`.
pub(crate) const DOCUMENT_MEDIA_TYPES: HeaderValue = HeaderValue::from_static(MEDIA_TYPES);

/// Format of a body, by its `Content-Type`; parameters are ignored.
pub(crate) fn format_of_body(headers: &HeaderMap) -> Result<Format, Problem> {
    let refused = |detail: String| {
        Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported-media-type",
            "Unsupported media type",
            detail,
        )
        .header(header::ACCEPT, DOCUMENT_MEDIA_TYPES)
    };
    let value = headers
        .get(header::CONTENT_TYPE)
        .ok_or_else(|| refused("the body needs a Content-Type".to_owned()))?;
    let essence = essence(value.to_str().unwrap_or_default());
    Format::ALL
        .into_iter()
        .find(|&format| media_types(format).iter().any(|known| known.eq_ignore_ascii_case(essence)))
        .ok_or_else(|| refused(format!("{essence:?} is not a media type of a feed")))
}

/// Chooses a representation by `Accept`.
pub(crate) fn negotiate(
    headers: &HeaderMap,
    offered: &[Representation],
    native: Format,
) -> Result<Representation, Problem> {
    let (native, atom) = (Representation::Feed(native), Representation::Feed(Format::Atom));
    let Some(ranges) = ranges(headers) else { return Ok(atom) };
    let best = offered
        .iter()
        .filter_map(|&offered| {
            let wanted = quality(&ranges, offered)?;
            // Among equal qualities: a named native format first, then Atom, then list order.
            Some((wanted.q, wanted.named && offered == native, offered == atom, offered))
        })
        .max_by_key(|&(q, native, atom, offered)| (q, native, atom, std::cmp::Reverse(offered)));
    best.map(|(.., chosen)| chosen).ok_or_else(|| {
        let available: Vec<_> = offered.iter().map(|offered| offered.media_type()).collect();
        Problem::new(
            StatusCode::NOT_ACCEPTABLE,
            "not-acceptable",
            "Not acceptable",
            format!(
                "request one of the available media types, or append one of these to the address: \
                 {}",
                suffixes(offered)
            ),
        )
        .with("available", available)
        .header(header::VARY, HeaderValue::from_static("Accept, Accept-Encoding"))
    })
}

/// All suffixes, for a sentence.
pub(crate) fn suffixes(offered: &[Representation]) -> String {
    let suffixes: Vec<_> = offered.iter().map(|offered| offered.suffix()).collect();
    suffixes.join(", ")
}

/// One element of `Accept`.
struct Range {
    main: String,
    sub: String,
    /// Quality in thousandths.
    q: u16,
}

struct Quality {
    q: u16,
    named: bool,
}

/// Quality of a representation; `None` if it is not acceptable.
fn quality(ranges: &[Range], offered: Representation) -> Option<Quality> {
    let browser = ranges.iter().find(|range| range.specificity("text/html") == Some(2));
    let browser = browser.filter(|_| offered == Representation::Feed(Format::Atom));
    offered
        .media_types()
        .iter()
        .filter_map(|name| {
            let range = ranges
                .iter()
                .filter(|range| range.specificity(name).is_some())
                .max_by_key(|range| (range.specificity(name), range.q))?;
            Some(Quality { q: range.q, named: range.specificity(name) == Some(2) })
        })
        .chain(browser.map(|range| Quality { q: range.q, named: true }))
        .filter(|wanted| wanted.q > 0)
        .max_by_key(|wanted| (wanted.q, wanted.named))
}

impl Range {
    /// Specificity of a match: 2 by name, 1 by main type, 0 for any type.
    fn specificity(&self, name: &str) -> Option<u8> {
        let (main, sub) = name.split_once('/')?;
        match (self.main == main, self.sub == sub) {
            (true, true) => Some(2),
            (true, false) if self.sub == "*" => Some(1),
            (false, false) if self.main == "*" && self.sub == "*" => Some(0),
            _ => None,
        }
    }
}

/// Elements of `Accept`; `None` if it is absent or invalid.
fn ranges(headers: &HeaderMap) -> Option<Vec<Range>> {
    let mut ranges = Vec::new();
    for value in headers.get_all(header::ACCEPT) {
        for element in value.to_str().ok()?.split(',').map(str::trim) {
            if !element.is_empty() {
                ranges.push(range(element)?);
            }
        }
    }
    (!ranges.is_empty()).then_some(ranges)
}

fn range(element: &str) -> Option<Range> {
    let mut parts = element.split(';').map(str::trim);
    let (main, sub) = parts.next()?.split_once('/')?;
    let mut q = 1_000;
    for parameter in parts {
        if let Some((name, value)) = parameter.split_once('=')
            && name.trim().eq_ignore_ascii_case("q")
        {
            q = thousandths(value.trim())?;
        }
    }
    Some(Range { main: main.trim().to_ascii_lowercase(), sub: sub.trim().to_ascii_lowercase(), q })
}

/// A weight (RFC 9110 12.4.2): 0 to 1 with at most three decimals.
fn thousandths(text: &str) -> Option<u16> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    if !decimals.bytes().all(|byte| byte.is_ascii_digit()) || decimals.len() > 3 {
        return None;
    }
    let fraction: u16 = format!("{decimals:0<3}").parse().ok()?;
    match (whole, fraction) {
        ("0", fraction) => Some(fraction),
        ("1", 0) => Some(1_000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(accept: &[&'static str], native: Format) -> Option<Format> {
        let mut headers = HeaderMap::new();
        for value in accept {
            headers.append(header::ACCEPT, HeaderValue::from_static(value));
        }
        match negotiate(&headers, Representation::of(View::Changes), native).ok()? {
            Representation::Feed(format) => Some(format),
            Representation::JsonFeed => panic!("not offered"),
        }
    }

    #[test]
    fn json_feed_is_shown_where_it_is_named_and_never_for_what_means_feedsync_json() {
        let chosen = |accept: &'static str, view| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
            negotiate(&headers, Representation::of(view), Format::Json).ok()
        };
        let (json, atom) = (Representation::Feed(Format::Json), Representation::Feed(Format::Atom));
        for (accept, expected) in [
            ("application/feed+json", Some(Representation::JsonFeed)),
            ("application/feed+json, */*;q=0.1", Some(Representation::JsonFeed)),
            ("application/feed+json, application/json;q=0.9", Some(Representation::JsonFeed)),
            ("application/feed+json;q=0.5, application/json", Some(json)),
            ("application/json", Some(json)),
            ("application/*", Some(atom)),
            ("application/feed+json, application/atom+xml", Some(atom)),
            ("application/feed+json;q=0", None),
        ] {
            assert_eq!(chosen(accept, View::Listing), expected, "{accept}");
        }
        assert_eq!(chosen("application/feed+json", View::Changes), None);
        assert_eq!(Representation::of_suffix("feed.json"), Some(Representation::JsonFeed));
        assert_eq!(Representation::of_suffix("json"), Some(json));
        for known in Representation::ALL {
            assert_eq!(Representation::of_suffix(&known.suffix()[1..]), Some(known));
        }
    }

    #[test]
    fn accept_is_read_with_weights_and_the_most_specific_range() {
        let table: &[(&[&'static str], Option<Format>)] = &[
            (&[], Some(Format::Atom)),
            (&["*/*"], Some(Format::Atom)),
            (&["application/*"], Some(Format::Atom)),
            (&["text/*"], Some(Format::Opml)),
            (&["application/json"], Some(Format::Json)),
            (&["APPLICATION/JSON ; charset=utf-8"], Some(Format::Json)),
            (&["application/rss+xml;q=0.5, application/atom+xml;q=0.4"], Some(Format::Rss)),
            (&["application/rss+xml;q=0.5", "text/x-opml"], Some(Format::Opml)),
            (&["application/atom+xml;q=0, */*"], Some(Format::Rss)),
            (&["*/*;q=0.1, application/xml;q=0.2"], Some(Format::Pox)),
            (&["application/*;q=0, */*;q=0.5"], Some(Format::Opml)),
            (&["image/png"], None),
            (&["application/json;q=0"], None),
            (&["nonsense"], Some(Format::Atom)),
            (&["application/json;q=2"], Some(Format::Atom)),
            (
                &["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"],
                Some(Format::Atom),
            ),
        ];
        for (accept, format) in table {
            assert_eq!(chosen(accept, Format::Atom), *format, "{accept:?}");
        }
    }

    #[test]
    fn of_named_formats_wanted_alike_the_collections_own_is_taken() {
        let both = "application/atom+xml, application/json, text/x-opml;q=0.9";
        assert_eq!(chosen(&[both], Format::Json), Some(Format::Json));
        assert_eq!(chosen(&[both], Format::Opml), Some(Format::Atom));
        assert_eq!(chosen(&["*/*"], Format::Json), Some(Format::Atom));
    }

    #[test]
    fn a_body_is_of_a_document_type() {
        let format = |value| {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(value));
            format_of_body(&headers).ok()
        };
        assert_eq!(format("application/atom+xml;type=feed"), Some(Format::Atom));
        assert_eq!(format("Application/FeedSync+JSON"), Some(Format::Json));
        assert_eq!(format("text/xml; charset=utf-8"), Some(Format::Pox));
        for foreign in
            ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
        {
            assert_eq!(format(foreign), None, "{foreign}");
        }
        assert!(format_of_body(&HeaderMap::new()).is_err());
    }
}
