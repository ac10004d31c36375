//! The `charset` of a media type (RFC 7303).

#[cfg(feature = "encodings")]
use encoding_rs::{Encoding, UTF_8};

#[cfg(feature = "encodings")]
use crate::options::{Mode, ReadOptions};
#[cfg(feature = "encodings")]
use crate::xml::{declared_encoding, declared_span, decode};

/// Finds the parameter `charset` of a media type.
///
/// ```
/// assert_eq!(feedsync_formats::charset("text/xml; Charset=\"utf-8\""), Some("utf-8"));
/// assert_eq!(feedsync_formats::charset("text/xml"), None);
/// ```
pub fn charset(media_type: &str) -> Option<&str> {
    media_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches('"');
        name.trim().eq_ignore_ascii_case("charset").then_some(value)
    })
}

/// Converts a document to UTF-8 if its media type names the encoding to use.
///
/// The order of precedence is: the byte order mark, the media type, the XML declaration (RFC 7303, 3). Many web
/// servers name an encoding without inspecting their files. In tolerant mode, therefore, a document that can be
/// decoded by its own declaration is returned unchanged. The exception is a media type that names UTF-8 for a
/// document that is entirely valid UTF-8. JSON is always UTF-8 (RFC 8259, 8.1). A document that cannot be decoded is
/// returned unchanged.
#[cfg(feature = "encodings")]
pub fn with_charset(bytes: Vec<u8>, media_type: Option<&str>, mode: Mode) -> Vec<u8> {
    let is_json = bytes.trim_ascii_start().first().is_some_and(|byte| b"{[".contains(byte));
    let named = media_type.and_then(charset).filter(|_| !is_json);
    let encoding = named.and_then(|name| Encoding::for_label(name.as_bytes()));
    let Some(encoding) = encoding.filter(|_| Encoding::for_bom(&bytes).is_none()) else {
        return bytes;
    };
    let is_as_declared = match encoding == UTF_8 {
        true => declared_encoding(&bytes).is_none_or(|name| name.eq_ignore_ascii_case("utf-8")),
        false => mode == Mode::Tolerant && decode(&bytes, &ReadOptions::tolerant()).is_ok(),
    };
    if is_as_declared {
        return bytes;
    }
    let Some(text) = encoding.decode_without_bom_handling_and_without_replacement(&bytes) else {
        return bytes;
    };
    let text = text.into_owned().into_bytes();
    match declared_span(&text) {
        Some(span) if !text[span.clone()].eq_ignore_ascii_case(b"utf-8") => {
            [&text[..span.start], b"utf-8", &text[span.end..]].concat()
        }
        _ => text,
    }
}

#[cfg(all(test, feature = "encodings"))]
mod tests {
    use encoding_rs::{GB18030, KOI8_R, SHIFT_JIS, WINDOWS_1251, WINDOWS_1252};

    use super::*;
    use crate::read;

    fn feed(declared: &str, title: &str) -> String {
        format!(
            "<?xml version='1.0'{declared}?><feed xmlns='http://www.w3.org/2005/Atom'><id>urn:x</id><title>{title}</title>\
             <updated>2026-01-01T00:00:00Z</updated></feed>"
        )
    }

    fn title(bytes: Vec<u8>, media_type: &str, mode: Mode) -> Option<String> {
        let bytes = with_charset(bytes, Some(media_type), mode);
        let options = ReadOptions { mode, ..ReadOptions::strict() };
        read(&bytes, None, &options).ok()?.title
    }

    #[test]
    fn charset_of_the_media_type_counts_before_the_declaration() {
        const TITLE: &str = "caf\u{e9}";
        for (written, declared, named, of_strict, of_tolerant) in [
            (WINDOWS_1252, "", "iso-8859-1", Some(TITLE), Some(TITLE)),
            (WINDOWS_1252, "", "\"windows-1252\"", Some(TITLE), Some(TITLE)),
            (WINDOWS_1252, " encoding='utf-8'", "iso-8859-1", Some(TITLE), Some(TITLE)),
            (UTF_8, " encoding='iso-8859-1'", "UTF-8", Some(TITLE), Some(TITLE)),
            (UTF_8, " encoding='shift_jis'", "utf-8", Some(TITLE), Some(TITLE)),
            // The sender of a document knows its encoding. A web server may not know it.
            (UTF_8, " encoding='utf-8'", "iso-8859-1", Some("caf\u{c3}\u{a9}"), Some(TITLE)),
            (UTF_8, "", "iso-8859-1", Some("caf\u{c3}\u{a9}"), Some(TITLE)),
            // The document cannot be in the encoding of the media type, so its own declaration is used.
            (WINDOWS_1252, " encoding='iso-8859-1'", "utf-8", Some(TITLE), Some(TITLE)),
            (WINDOWS_1252, " encoding='iso-8859-1'", "no-such", Some(TITLE), Some(TITLE)),
            (WINDOWS_1252, "", "utf-8", None, None),
        ] {
            let bytes = written.encode(&feed(declared, TITLE)).0.into_owned();
            let media_type = format!("application/atom+xml; charset={named}");
            for (mode, expected) in [(Mode::Strict, of_strict), (Mode::Tolerant, of_tolerant)] {
                let found = title(bytes.clone(), &media_type, mode);
                let what = (written.name(), declared, named, mode);
                assert_eq!(found.as_deref(), expected, "{what:?}");
            }
        }
    }

    #[test]
    fn byte_order_mark_and_json_count_before_the_media_type() {
        let marked = format!("\u{feff}{}", feed("", "caf\u{e9}")).into_bytes();
        let found = title(marked, "text/xml; charset=iso-8859-1", Mode::Strict);
        assert_eq!(found.as_deref(), Some("caf\u{e9}"));
        let json = " {\"title\":\"caf\u{e9}\"}".as_bytes().to_vec();
        let media_type = Some("application/json; charset=iso-8859-1");
        assert_eq!(with_charset(json.clone(), media_type, Mode::Strict), json);
        assert_eq!(with_charset(json.clone(), None, Mode::Strict), json);
    }

    #[test]
    fn document_of_any_encoding_is_read_by_its_charset() {
        for text in
            ["x", "\u{43f}\u{440}\u{438}\u{432}\u{435}\u{442}", "caf\u{e9}", "\u{65e5}\u{672c}"]
        {
            let document = feed("", text);
            let mut count = 0;
            for encoding in [UTF_8, WINDOWS_1251, WINDOWS_1252, SHIFT_JIS, KOI8_R, GB18030] {
                let (bytes, _, is_lossy) = encoding.encode(&document);
                if is_lossy {
                    continue;
                }
                count += 1;
                let media_type = format!("text/xml;charset={}", encoding.name());
                let found = title(bytes.into_owned(), &media_type, Mode::Strict);
                assert_eq!(found.as_deref(), Some(text), "{media_type}");
            }
            assert!(count >= 3, "{text}");
        }
    }
}
