//! Encodes text in the original encoding of its document.

use std::ops::Range;

use super::encoding::{Encoding, Scheme, declared_span};
use super::reader::{Reader, Token};
use crate::options::{Limits, Mode};

impl Encoding {
    /// Encodes a well-formed document. A character that the encoding lacks becomes a reference, for which a CDATA
    /// section is closed and opened again. XML has no references in names, comments and processing instructions. A
    /// document with such a character there is encoded and declared as UTF-8.
    pub(crate) fn encode(self, text: &str) -> Vec<u8> {
        self.bytes(text)
            .or_else(|| self.bytes(&with_references(text, self)?))
            .unwrap_or_else(|| declared_as_utf_8(text).into_bytes())
    }

    /// Encodes a text. Returns `None` if the encoding lacks one of its characters.
    fn bytes(self, text: &str) -> Option<Vec<u8>> {
        let mut out = Vec::with_capacity(text.len() + 3);
        match self.scheme {
            Scheme::Utf8 => {
                if self.mark {
                    out.extend_from_slice(b"\xef\xbb\xbf");
                }
                out.extend_from_slice(text.as_bytes());
            }
            Scheme::Utf16 { big_endian } => {
                let mark = self.mark.then_some(0xfeff);
                for unit in mark.into_iter().chain(text.encode_utf16()) {
                    out.extend(if big_endian { unit.to_be_bytes() } else { unit.to_le_bytes() });
                }
            }
            Scheme::Latin1 | Scheme::Ascii => {
                for character in text.chars() {
                    out.push(u8::try_from(character).ok().filter(|_| self.has(character))?);
                }
            }
            Scheme::Other(encoding) => encoding.encode(text, &mut out)?,
        }
        Some(out)
    }

    fn has(self, character: char) -> bool {
        match self.scheme {
            _ if character.is_ascii() => true,
            Scheme::Utf8 | Scheme::Utf16 { .. } => true,
            Scheme::Latin1 => u32::from(character) < 256,
            Scheme::Ascii => false,
            Scheme::Other(encoding) => encoding.has(character),
        }
    }
}

/// Returns the document with references for the characters that the encoding lacks. Returns `None` if one of them is
/// where XML has no references.
fn with_references(text: &str, encoding: Encoding) -> Option<String> {
    let limits = Limits {
        bytes: usize::MAX,
        depth: usize::MAX,
        attributes: usize::MAX,
        ..Limits::default()
    };
    let mut reader = Reader::new(text, Mode::Tolerant, &limits).ok()?;
    let mut attributes = Vec::new();
    let mut writer = Writer { text, encoding, out: String::with_capacity(text.len()) };
    loop {
        attributes.clear();
        match reader.token(&mut attributes).ok()? {
            Token::Start(tag) => {
                let mut from = tag.start;
                for value in attributes.iter().map(|attribute| attribute.value_span()) {
                    writer.literal(from..value.start)?;
                    writer.data(value.clone());
                    from = value.end;
                }
                writer.literal(from..tag.end)?;
            }
            Token::End { start, end } | Token::Other { start, end } => {
                writer.literal(start..end)?
            }
            Token::Text { start, end } => writer.data(start..end),
            Token::CData { start, end } => writer.section(start..end),
            Token::EndOfDocument => return Some(writer.out),
        }
    }
}

struct Writer<'t> {
    text: &'t str,
    encoding: Encoding,
    out: String,
}

impl Writer<'_> {
    /// Writes a part of the document in which XML has no references.
    fn literal(&mut self, span: Range<usize>) -> Option<()> {
        let literal = &self.text[span];
        self.out.push_str(literal);
        literal.chars().all(|character| self.encoding.has(character)).then_some(())
    }

    /// Writes character data, or the value of an attribute.
    fn data(&mut self, span: Range<usize>) {
        for character in self.text[span].chars() {
            self.character(character);
        }
    }

    /// Writes a CDATA section. The span includes its delimiters.
    fn section(&mut self, span: Range<usize>) {
        const OPEN: &str = "<![CDATA[";
        const CLOSE: &str = "]]>";
        let mut is_open = true;
        self.out.push_str(OPEN);
        for character in self.text[span.start + OPEN.len()..span.end - CLOSE.len()].chars() {
            let stays = self.encoding.has(character);
            if stays != is_open {
                self.out.push_str(if stays { OPEN } else { CLOSE });
                is_open = stays;
            }
            self.character(character);
        }
        if is_open {
            self.out.push_str(CLOSE);
        }
    }

    fn character(&mut self, character: char) {
        if self.encoding.has(character) {
            self.out.push(character);
        } else {
            self.out.push_str(&format!("&#{};", u32::from(character)));
        }
    }
}

fn declared_as_utf_8(text: &str) -> String {
    let mut text = text.to_owned();
    if let Some(name) = declared_span(text.as_bytes()) {
        text.replace_range(name, "utf-8");
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::options::ReadOptions;
    use crate::xml::{Tree, decode};

    use super::*;

    /// Encodes and decodes a document.
    fn again(name: &str, content: &str) -> String {
        let text = format!("<?xml version='1.0' encoding=\"{name}\"?>{content}");
        let head = &text.as_bytes()[..text.len() - content.len()];
        let (_, encoding) = decode(head, &ReadOptions::strict()).unwrap();
        let bytes = encoding.encode(&text);
        let (decoded, _) = decode(&bytes, &ReadOptions::strict()).unwrap();
        let told = |text: &str| {
            let (tree, _) = Tree::parse(text, Mode::Strict, &Limits::default()).unwrap();
            let attributes = tree.root().attributes().iter().map(|a| a.value(text).into_owned());
            (tree.root().text().into_owned(), attributes.collect::<Vec<_>>())
        };
        assert_eq!(told(&decoded), told(&text), "{decoded}");
        decoded.into_owned()
    }

    #[test]
    fn a_character_that_the_encoding_lacks_becomes_a_reference_where_there_are_references() {
        for name in ["us-ascii", "ISO-8859-1", "windows-1251", "shift_jis", "iso-2022-jp"] {
            let head = format!("<?xml version='1.0' encoding=\"{name}\"?>");
            for (content, written) in [
                ("<a>\u{1f600}&amp;</a>", "<a>&#128512;&amp;</a>"),
                ("<a b='\u{1f600}\"' c=\"'\"/>", "<a b='&#128512;\"' c=\"'\"/>"),
                (
                    "<a><![CDATA[\u{1f600}&\u{1f600}\u{1f600}]]\u{1f600}>]]></a>",
                    "<a><![CDATA[]]>&#128512;<![CDATA[&]]>&#128512;&#128512;<![CDATA[]]]]>\
                     &#128512;<![CDATA[>]]></a>",
                ),
                ("<a><![CDATA[&\u{1f600}]]></a>", "<a><![CDATA[&]]>&#128512;</a>"),
            ] {
                assert_eq!(again(name, content), format!("{head}{written}"));
            }
        }
    }

    #[test]
    fn latin_1_has_the_first_256_characters() {
        let head = "<?xml version='1.0' encoding=\"ISO-8859-1\"?>";
        let written = format!("{head}<a>\u{80}\u{ff}&#256;</a>");
        assert_eq!(again("ISO-8859-1", "<a>\u{80}\u{ff}\u{100}</a>"), written);
    }

    #[test]
    fn references_are_written_in_documents_of_any_depth_and_number_of_attributes() {
        let limits = Limits::default();
        let attributes = (0..=limits.attributes).map(|number| format!(" a{number}=''"));
        let tag = format!("<a{}>", attributes.collect::<String>());
        let (start, end) = ("<b>".repeat(limits.depth), "</b>".repeat(limits.depth));
        let text = |character: &str| format!("{tag}{start}{character}{end}</a>");
        let encoding = Encoding { scheme: Scheme::Ascii, mark: false };
        assert_eq!(with_references(&text("\u{e9}"), encoding), Some(text("&#233;")));
    }

    #[test]
    fn a_document_becomes_utf_8_if_a_reference_is_impossible() {
        let head = "<?xml version='1.0' encoding=\"utf-8\"?>";
        for content in [
            "<a>\u{20ac}<!-- \u{20ac} --></a>",
            "<a><?b \u{20ac}?></a>",
            "<a><\u{3b1}/></a>",
            "<a \u{3b1}='1'></a>",
        ] {
            assert_eq!(again("ISO-8859-1", content), format!("{head}{content}"));
        }
        assert_eq!(
            again("ISO-8859-1", "<a><!-- \u{e9} -->\u{20ac}</a>"),
            "<?xml version='1.0' encoding=\"ISO-8859-1\"?><a><!-- \u{e9} -->&#8364;</a>"
        );
    }
}
