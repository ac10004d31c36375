//! Addresses within header fields that have their own syntax: `Link` (RFC 8288) and `Refresh` (HTML 7.4.6).
//! Malformed fields stay unchanged.

/// Rewrites the targets and anchors of a `Link`. References for which `change` returns `None` stay.
pub(crate) fn in_link(text: &str, change: impl Fn(&str) -> Option<String>) -> String {
    let mut changed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['<', '"']) {
        let (before, from) = rest.split_at(at + 1);
        changed.push_str(before);
        let (end, is_reference) = match before.ends_with('<') {
            true => (from.find('>'), true),
            false => (closing(from), is_anchor(&changed)),
        };
        let Some(end) = end else {
            rest = from;
            break;
        };
        let (inside, after) = from.split_at(end);
        let new = Some(inside).filter(|_| is_reference).and_then(&change);
        changed.push_str(new.as_deref().unwrap_or(inside));
        changed.push_str(&after[..1]);
        rest = &after[1..];
    }
    changed.push_str(rest);
    changed
}

/// Rewrites the address of a `Refresh`.
pub(super) fn in_refresh(text: &str, change: impl Fn(&str) -> Option<String>) -> Option<String> {
    let (before, after) = text.split_once([';', ','])?;
    let separator = &text[before.len()..before.len() + 1];
    let after = after.trim();
    let named = after.get(..3).filter(|name| name.eq_ignore_ascii_case("url"));
    let address = named.and_then(|_| after[3..].trim_start().strip_prefix('=')).unwrap_or(after);
    let address = address.trim();
    let quoted = address.strip_prefix(['"', '\'']);
    let address = quoted.map_or(address, |quoted| quoted.split(['"', '\'']).next().unwrap_or(""));
    Some(format!("{before}{separator} url={}", change(address)?))
}

/// Offset of the end of a quoted string.
fn closing(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    })
}

/// Whether the text before a value ends with the name of an `anchor` parameter.
fn is_anchor(before: &str) -> bool {
    let name = before.trim_end_matches('"').trim_end();
    let name = name.strip_suffix('=').map(|name| name.rsplit([';', ',']).next().unwrap_or(name));
    name.is_some_and(|name| name.trim().eq_ignore_ascii_case("anchor"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(reference: &str) -> Option<String> {
        reference.starts_with('/').then(|| format!("http://gateway{reference}"))
    }

    #[test]
    fn links_lead_where_they_are_shown() {
        for (text, changed) in [
            ("</a>; rel=next", "<http://gateway/a>; rel=next"),
            (
                "</a>; rel=\"next\", <b>; title=\"</a>, \\\"</b>\"; rel=x,</c>",
                "<http://gateway/a>; rel=\"next\", <b>; title=\"</a>, \\\"</b>\"; rel=x,<http://gateway/c>",
            ),
            ("<b>; ANCHOR = \"/a\"; rel=x", "<b>; ANCHOR = \"http://gateway/a\"; rel=x"),
            ("<b>; myanchor=\"/a\"", "<b>; myanchor=\"/a\""),
            ("</a", "</a"),
            ("<b>; title=\"</a>", "<b>; title=\"</a>"),
            ("", ""),
        ] {
            assert_eq!(in_link(text, shown), changed, "{text}");
        }
    }

    #[test]
    fn a_page_goes_on_where_it_is_shown() {
        for (text, changed) in [
            ("5; url=/a", Some("5; url=http://gateway/a")),
            ("0;URL = '/a'", Some("0; url=http://gateway/a")),
            ("0, \"/a\" ", Some("0, url=http://gateway/a")),
            ("5; url=b", None),
            ("5", None),
            ("5;", None),
            ("5; ürl=/a", None),
        ] {
            assert_eq!(in_refresh(text, shown).as_deref(), changed, "{text}");
        }
    }
}
