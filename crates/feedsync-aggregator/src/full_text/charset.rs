//! Decodes the bytes of a web page to text.
//!
//! The order of precedence is that of browsers: the byte order mark, the charset of the HTTP header, and the
//! declaration in the page. A page without any of them is UTF-8 if its bytes are, and Windows-1252 otherwise. A page
//! that is labelled as Western European is UTF-8 if its bytes are: text in Western European hardly ever is valid
//! UTF-8, but many servers label all pages in the same way.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use html5gum::{Token, Tokenizer};

/// Number of bytes at the start of a page in which an encoding may be declared. Browsers look at 1,024, but some pages
/// have long comments there.
const DECLARATION_BYTES: usize = 8 << 10;

/// Returns the text of a page. Bytes that its encoding does not define become U+FFFD.
pub(super) fn decoded(bytes: &[u8], charset: Option<&str>) -> String {
    if let Some((encoding, length)) = Encoding::for_bom(bytes) {
        return encoding.decode_without_bom_handling(&bytes[length..]).0.into_owned();
    }
    let of_header = charset.and_then(|name| Encoding::for_label(name.trim().as_bytes()));
    let labelled = of_header.or_else(|| declared(&bytes[..bytes.len().min(DECLARATION_BYTES)]));
    if labelled.is_none_or(|encoding| encoding == WINDOWS_1252)
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        return text.to_owned();
    }
    let encoding = labelled.unwrap_or(WINDOWS_1252);
    encoding.decode_without_bom_handling(bytes).0.into_owned()
}

/// Encoding that a page declares by `<meta>`, or by its XML declaration.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let text = String::from_utf8_lossy(bytes);
    for Ok(token) in Tokenizer::new(&*text) {
        let label = match token {
            Token::StartTag(tag) if &**tag.name == b"meta" => {
                let value = |name: &[u8]| tag.attributes.get(name).map(|value| value.to_vec());
                let of_content = || {
                    let kind = value(b"http-equiv")?;
                    kind.eq_ignore_ascii_case(b"content-type").then(|| value(b"content"))?
                };
                let content = || of_content().and_then(|content| label(&content, b"charset"));
                value(b"charset").or_else(content)
            }
            // The tokenizer of HTML reads an XML declaration as a comment.
            Token::Comment(comment) if comment.starts_with(b"?xml") => label(&comment, b"encoding"),
            _ => None,
        };
        if let Some(encoding) = label.and_then(|label| Encoding::for_label(label.trim_ascii())) {
            // A declaration that can be read as ASCII is not UTF-16.
            let is_utf_16 = [UTF_16LE, UTF_16BE].contains(&encoding);
            return Some(if is_utf_16 { UTF_8 } else { encoding });
        }
    }
    None
}

/// Value behind a name and `=` in a text.
fn label(text: &[u8], name: &[u8]) -> Option<Vec<u8>> {
    let start = text.windows(name.len()).position(|part| part.eq_ignore_ascii_case(name))?;
    let value = text[start + name.len()..].trim_ascii_start().strip_prefix(b"=")?;
    let value = value.trim_ascii_start();
    let value = value.strip_prefix(b"\"").or_else(|| value.strip_prefix(b"'")).unwrap_or(value);
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || b"\"';?".contains(byte);
    let end = value.iter().position(is_end).unwrap_or(value.len());
    Some(value[..end].to_vec())
}

#[cfg(test)]
mod tests {
    use encoding_rs::{EUC_KR, KOI8_R, SHIFT_JIS, WINDOWS_1251};

    use super::*;

    #[test]
    fn declaration_in_the_page_decides_without_a_header() {
        for (declaration, text, encoding) in [
            ("<meta charset=Shift_JIS>", "日本語", SHIFT_JIS),
            ("<META CharSet='windows-1251'>", "Привет", WINDOWS_1251),
            (
                "<meta http-equiv=\"Content-Type\" content=\"text/html; charset=koi8-r\">",
                "Привет",
                KOI8_R,
            ),
            (
                "<meta content='text/html;charset=\"euc-kr\"' http-equiv=content-type>",
                "한국어",
                EUC_KR,
            ),
            ("<?xml version=\"1.0\" encoding='windows-1252'?>", "Größe", WINDOWS_1252),
            ("<!-- a comment --><title>x</title><meta charset=utf-16>", "Größe", UTF_8),
            ("<meta name=x content='charset=koi8-r'>", "Größe", UTF_8),
            ("<!-- <meta charset=koi8-r> -->", "Größe", WINDOWS_1252),
        ] {
            let page = format!("{declaration}<p>{text}");
            let (bytes, _, is_lossy) = encoding.encode(&page);
            assert!(!is_lossy, "{declaration}");
            assert_eq!(decoded(&bytes, None), page);
        }
    }

    #[test]
    fn byte_order_mark_and_header_win_over_the_page() {
        let page = "<meta charset=koi8-r><p>Привет";
        let (bytes, ..) = WINDOWS_1251.encode(page);
        assert_eq!(decoded(&bytes, Some(" Windows-1251 ")), page);
        let marked = ["\u{feff}", page].concat();
        assert_eq!(decoded(marked.as_bytes(), Some("windows-1251")), page);
        let utf_16: Vec<u8> = marked.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(decoded(&utf_16, None), page);
    }

    #[test]
    fn bytes_decide_if_nothing_declares_an_encoding_or_western_european() {
        let (western, ..) = WINDOWS_1252.encode("Größe");
        for charset in [None, Some("iso-8859-1"), Some("no-such-encoding")] {
            assert_eq!(decoded("Größe".as_bytes(), charset), "Größe");
            assert_eq!(decoded(&western, charset), "Größe");
        }
        assert_eq!(decoded(&western, Some("utf-8")), "Gr\u{fffd}\u{fffd}e");
    }
}
