//! Preferences of a client (RFC 7240).

use http::HeaderMap;

/// Whether it prefers a minimal response: `return=minimal`. The first occurrence of a preference
/// counts (RFC 7240 2).
pub(crate) fn prefers_minimal(headers: &HeaderMap) -> bool {
    let given = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    let preferences = given.flat_map(|text| between(text, ',')).map(|preference| {
        let named = between(preference, ';').next().unwrap_or_default();
        named.split_once('=').unwrap_or((named, ""))
    });
    let mut said = preferences.filter(|(name, _)| name.trim().eq_ignore_ascii_case("return"));
    said.next().is_some_and(|(_, how)| how.trim().trim_matches('"').eq_ignore_ascii_case("minimal"))
}

/// Splits a text at a separator outside quoted text.
fn between(text: &str, mark: char) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped) = (false, false);
    text.split(move |character| {
        let is_mark = character == mark && !quoted;
        match character {
            _ if escaped => escaped = false,
            '"' => quoted = !quoted,
            '\\' => escaped = quoted,
            _ => {}
        }
        is_mark
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preference_is_found_by_its_name_among_others() {
        let minimal = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append("prefer", value.parse().unwrap());
            }
            prefers_minimal(&headers)
        };
        for said in [
            "return=minimal",
            "Return = \"minimal\"; a=b",
            "respond-async, return=minimal",
            "wait=10; x=\"a, b\",RETURN=MINIMAL",
        ] {
            assert!(minimal(&[said]), "{said}");
        }
        assert!(minimal(&["respond-async", "return=minimal"]));
        for other in [
            "",
            "return",
            "return=representation",
            "return=representation, return=minimal",
            "x-return=minimal",
            "return=minimalist",
            "foo; return=minimal",
            "foo=\"a, return=minimal\"",
            "foo=\"\\\", return=minimal\"",
        ] {
            assert!(!minimal(&[other]), "{other}");
        }
        assert!(!minimal(&["return=representation", "return=minimal"]));
    }
}
