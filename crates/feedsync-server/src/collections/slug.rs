//! `Slug`: a name for the address of a new member, suggested by its creator (RFC 5023 9.7, AP30).
//!
//! It is a hint and never identifies the member. Addresses that contain it also contain the item id, so
//! two members may have one slug, and a changed slug breaks nothing.

use http::HeaderMap;
use icu_normalizer::ComposingNormalizer;

/// Maximum length of a slug, in characters.
const MAX_CHARACTERS: usize = 80;

/// Slug that a request suggests; none if it is not percent-encoded UTF-8 or nothing of it remains.
pub(crate) fn requested(headers: &HeaderMap) -> Option<String> {
    cleaned(&decoded(headers.get("slug")?.as_bytes())?)
}

/// Converts a text to a slug. Characters that are not valid in an address, or that separate its parts,
/// are removed, and white space becomes `-`. Letters are composed (NFC), so that one name has one
/// address.
pub(crate) fn cleaned(text: &str) -> Option<String> {
    let mut slug = String::new();
    let composed = ComposingNormalizer::new_nfc().normalize(text.trim());
    for character in composed.chars() {
        match character {
            '/' | '\\' | '?' | '#' | '%' | '\u{fffe}' | '\u{ffff}' => {}
            _ if character.is_control() => {}
            _ if character.is_whitespace() => {
                if !slug.ends_with('-') {
                    slug.push('-');
                }
            }
            _ => slug.push(character),
        }
    }
    let slug: String = slug.trim_matches('.').chars().take(MAX_CHARACTERS).collect();
    let slug = slug.trim_matches('.');
    (!slug.is_empty()).then(|| slug.to_owned())
}

/// Percent-decodes; a `%` without a valid escape stays. `None` if the bytes are not UTF-8.
fn decoded(text: &[u8]) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut index = 0;
    while index < text.len() {
        let digit = |at: usize| char::from(*text.get(index + at)?).to_digit(16);
        match (text[index], digit(1), digit(2)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push(u8::try_from(high << 4 | low).ok()?);
                index += 3;
            }
            (byte, ..) => {
                bytes.push(byte);
                index += 1;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AP30, AP31: the suggested name appears in the address, as far as an address can contain it.
    #[test]
    fn a_slug_is_decoded_and_cleaned() {
        let requested = |slug: &'static [u8]| {
            let mut headers = HeaderMap::new();
            headers.insert("slug", http::HeaderValue::from_bytes(slug).unwrap());
            requested(&headers)
        };
        for (slug, cleaned) in [
            (&b"The Beach at S%C3%A8te"[..], Some("The-Beach-at-S\u{e8}te")),
            (b"The Beach at Se%CC%80te", Some("The-Beach-at-S\u{e8}te")),
            (b"100%", Some("100")),
            (b"../../etc/passwd", Some("etcpasswd")),
            (b"a%00%0d%0Ab", Some("ab")),
            (b" a \t b?#.", Some("a-b")),
            (b"%E8", None),
            (b"\xe8", None),
            (b"%2F%2F", None),
            (b"...", None),
            (b"", None),
        ] {
            assert_eq!(requested(slug).as_deref(), cleaned, "{slug:?}");
        }
        let long = cleaned(&"\u{e8}".repeat(100)).unwrap();
        assert_eq!(long.chars().count(), MAX_CHARACTERS);
    }
}
