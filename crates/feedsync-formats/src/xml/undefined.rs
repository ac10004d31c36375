//! References that XML does not define, such as `&nbsp;`. Strict reading refuses them, and tolerant reading accepts
//! them. The parts of a document that are stored must nevertheless be well-formed.

use std::borrow::Cow;
use std::ops::Range;

use super::characters::reference;
use crate::html_names::named;

/// Returns the ranges of the undefined references in well-formed markup.
pub(crate) fn undefined_references(markup: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = markup.as_bytes();
    let mut offset = 0;
    std::iter::from_fn(move || {
        loop {
            let start = offset + memchr::memchr2(b'<', b'&', bytes.get(offset..)?)?;
            if bytes[start] == b'<' {
                offset = after_literal(bytes, start);
                continue;
            }
            let (length, is_undefined) = match reference(&markup[start..]) {
                Ok((length, character)) => (length, character.is_none()),
                // Well-formed markup has no such reference.
                Err(_) => (1, false),
            };
            offset = start + length;
            if is_undefined {
                return Some(start..offset);
            }
        }
    })
}

/// Returns the offset at which scanning continues after a `<`. Comments, CDATA sections and processing instructions,
/// which contain no references, are skipped.
fn after_literal(bytes: &[u8], start: usize) -> usize {
    let rest = &bytes[start..];
    let literals: [(&[u8], &[u8]); 3] = [(b"<!--", b"-->"), (b"<![CDATA[", b"]]>"), (b"<?", b"?>")];
    let found = literals.iter().find(|(open, _)| rest.starts_with(open));
    let end = found.and_then(|(open, close)| {
        let length = crate::search::find(&rest[open.len()..], close)?;
        Some(start + open.len() + length + close.len())
    });
    end.unwrap_or(start + 1)
}

/// Replaces each undefined reference in the markup by the HTML character with that name, or else by its own text.
pub(crate) fn define_references(markup: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut from = 0;
    for span in undefined_references(markup) {
        out.push_str(&markup[from..span.start]);
        match named(&markup[span.start + 1..span.end - 1]) {
            Some(character) => out.push(character),
            None => {
                out.push_str("&amp;");
                out.push_str(&markup[span.start + 1..span.end]);
            }
        }
        from = span.end;
    }
    if from == 0 {
        return Cow::Borrowed(markup);
    }
    out.push_str(&markup[from..]);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undefined_references_become_characters_or_text_and_nothing_else_changes() {
        for (markup, defined) in [
            ("<a b='&nbsp;>'>&eacute;</a>", "<a b='\u{a0}>'>\u{e9}</a>"),
            ("<a b=\"&c;\">&b;&nbsp</a>", "<a b=\"&amp;c;\">&amp;b;&nbsp</a>"),
            ("<a>&amp;nbsp;&#160;&lt;</a>", "<a>&amp;nbsp;&#160;&lt;</a>"),
            (
                "<a><!-- &b; --><![CDATA[&b;]]><?c &b;?>&b;</a>",
                "<a><!-- &b; --><![CDATA[&b;]]><?c &b;?>&amp;b;</a>",
            ),
            ("<!-- &b;", "<!-- &amp;b;"),
            ("&", "&"),
        ] {
            assert_eq!(define_references(markup), defined);
            assert_eq!(define_references(defined), defined);
        }
    }
}
