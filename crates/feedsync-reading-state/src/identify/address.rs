//! The parts of an address that distinguish articles.

use std::borrow::Cow;

/// The part of an address that all its spellings share: without the scheme, `utm_*` parameters, and a slash
/// at the end of the path. A text that is not a web address is returned unchanged.
///
/// ```
/// # use feedsync_reading_state::comparable_address;
/// let one = comparable_address("https://example.org/a/?utm_source=rss");
/// assert_eq!(one, comparable_address("http://Example.org/a"));
/// ```
pub fn comparable_address(address: &str) -> Cow<'_, str> {
    let Some(rest) = without_scheme(address) else { return Cow::Borrowed(address) };
    let rest = without_tracking(rest);
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    let (path, end) = rest.split_at(end);
    let (host, path) = path.split_at(path.find('/').unwrap_or(path.len()));
    let host = host.to_ascii_lowercase();
    let host = host.strip_suffix(":80").or(host.strip_suffix(":443")).unwrap_or(&host);
    Cow::Owned(format!("//{host}{}{end}", path.trim_end_matches('/')))
}

/// The address without tracking parameters; unchanged if it has none.
pub(super) fn without_tracking(address: &str) -> Cow<'_, str> {
    let (rest, fragment) = address.split_at(address.find('#').unwrap_or(address.len()));
    let Some((path, query)) = rest.split_once('?') else { return Cow::Borrowed(address) };
    if !query.split('&').any(is_tracking) {
        return Cow::Borrowed(address);
    }
    let kept: Vec<_> = query.split('&').filter(|parameter| !is_tracking(parameter)).collect();
    let mark = if kept.is_empty() { "" } else { "?" };
    Cow::Owned(format!("{path}{mark}{}{fragment}", kept.join("&")))
}

fn is_tracking(parameter: &str) -> bool {
    parameter.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("utm_"))
}

fn without_scheme(address: &str) -> Option<&str> {
    ["http://", "https://", "//"].into_iter().find_map(|scheme| {
        let (start, rest) = address.split_at_checked(scheme.len())?;
        start.eq_ignore_ascii_case(scheme).then_some(rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scheme_tracking_and_last_slash_are_ignored() {
        for spelling in [
            "http://a.example/x",
            "https://a.example/x",
            "HTTPS://A.example:443/x",
            "http://a.example:80/x/",
            "//a.example/x",
            "https://a.example/x?utm_source=rss",
            "https://a.example/x/?utm_source=rss&UTM_medium=feed",
        ] {
            assert_eq!(comparable_address(spelling), "//a.example/x", "{spelling}");
        }
        assert_eq!(comparable_address("http://a/"), comparable_address("https://a"));
        assert_eq!(comparable_address("http://a/x?b&utm_id=1&c#d"), "//a/x?b&c#d");
    }

    #[test]
    fn other_parts_of_an_address_are_significant() {
        let addresses = [
            "",
            "x",
            "x/",
            "http:",
            "urn:x",
            "urn:x?utm_id=1",
            "http://a/x",
            "http://a/X",
            "http://b/x",
            "http://a/x?y",
            "http://a/x#y",
            "http://a/x?y/",
            "http://a:8080/x",
            "ftp://a/x",
            "http://\u{e4}/x",
        ];
        for (place, one) in addresses.iter().enumerate() {
            for other in &addresses[..place] {
                assert_ne!(comparable_address(one), comparable_address(other), "{one} {other}");
            }
        }
    }

    #[test]
    fn only_tracking_is_removed_from_a_link() {
        for (link, without) in [
            ("http://a/?p=1", "http://a/?p=1"),
            ("http://a/?&", "http://a/?&"),
            ("HTTP://A/x/?utm_source=rss", "HTTP://A/x/"),
            ("http://a/?utm_source=rss&p=1&utm_medium=x#y?utm_z", "http://a/?p=1#y?utm_z"),
            ("http://a/#?utm_source=rss", "http://a/#?utm_source=rss"),
            ("http://a/?\u{e4}\u{e4}", "http://a/?\u{e4}\u{e4}"),
        ] {
            assert_eq!(without_tracking(link), without);
        }
    }
}
