//! The subset of HTML processing that distinguishes markup from text and converts between them. It does not make HTML
//! safe to display.

use std::borrow::Cow;

use crate::html_elements::is_element;
use crate::html_names::named;
use crate::xml::Element;

/// Whether the text contains an HTML tag or a comment.
pub(crate) fn has_tags(text: &str) -> bool {
    let last = text.rfind('>').unwrap_or(0);
    text[..last].match_indices('<').any(|(index, _)| begins_tag(&text[index..]))
}

/// Whether a tag or comment starts here, provided that a `>` follows somewhere. A name that HTML does not define
/// starts no tag, except one with a hyphen or a colon, which other markup may contain.
fn begins_tag(text: &str) -> bool {
    let name = text[1..].strip_prefix('/').unwrap_or(&text[1..]);
    if name.starts_with(['!', '?']) {
        return true;
    }
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | ':' | '_' | '.');
    let end = name.find(|c| !is_of_name(c)).unwrap_or(name.len());
    let (name, after) = name.split_at(end);
    let is_ended = after.starts_with(|c: char| c.is_ascii_whitespace() || matches!(c, '>' | '/'));
    let is_other =
        name.starts_with(|first: char| first.is_ascii_alphabetic()) && name.contains(['-', ':']);
    is_ended && (is_element(name) || is_other)
}

/// Converts HTML to plain text: tags are removed, references decoded, and ends of blocks become line ends.
pub fn plain(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    let last = html.rfind('>').unwrap_or(0);
    let mut rest = html;
    while let Some(open) = rest.find('<') {
        text.push_str(&rest[..open]);
        rest = &rest[open..];
        if html.len() - rest.len() > last || !begins_tag(rest) {
            text.push('<');
            rest = &rest[1..];
            continue;
        }
        let end = if rest.starts_with("<!--") { "-->" } else { ">" };
        let length = rest.find(end).map_or(rest.len(), |index| index + end.len());
        let name = rest[1..].trim_start_matches('/');
        let name: String = name.chars().take_while(char::is_ascii_alphanumeric).collect();
        let block = matches!(
            name.to_ascii_lowercase().as_str(),
            "p" | "br"
                | "div"
                | "li"
                | "ul"
                | "ol"
                | "tr"
                | "table"
                | "blockquote"
                | "pre"
                | "hr"
                | "h1"
                | "h2"
                | "h3"
                | "h4"
                | "h5"
                | "h6"
        );
        if block && !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        rest = &rest[length..];
    }
    text.push_str(rest);
    unescape(&text).trim().to_owned()
}

/// Decodes character references: numeric ones, and the names of HTML 4.
pub(crate) fn unescape(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(ampersand) = rest.find('&') {
        text.push_str(&rest[..ampersand]);
        rest = &rest[ampersand..];
        // No known name is longer.
        let end = rest.bytes().take(12).position(|byte| byte == b';');
        match end.and_then(|end| Some((end, referenced(&rest[1..end])?))) {
            Some((end, character)) => {
                text.push(character);
                rest = &rest[end + 1..];
            }
            None => {
                text.push('&');
                rest = &rest[1..];
            }
        }
    }
    text.push_str(rest);
    text
}

fn referenced(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code).filter(|character| *character != '\0');
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => return named(name),
    })
}

/// Converts plain text to HTML.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    if text.contains(['&', '<', '>']) {
        Cow::Owned(text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns the `div` of XHTML content, or the element itself if there is none.
pub(crate) fn div<'t, 'a>(element: Element<'t, 'a>) -> Element<'t, 'a> {
    element.children().find(|child| child.local() == "div").unwrap_or(element)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_distinguished_from_text() {
        for text in
            ["a < b", "1<2>1", "AT&T", "<", "", "a <- b", "List<String>", "a <T> b", "<your name>"]
        {
            assert!(!has_tags(text), "{text}");
        }
        for html in ["<p>a", "a<br/>", "</b>", "<!-- x -->"] {
            assert!(has_tags(html), "{html}");
        }
    }

    #[test]
    fn markup_becomes_plain_text() {
        for (html, text) in [
            ("<p>Get <b>milk</b></p><p>and eggs</p>", "Get milk\nand eggs"),
            (
                "1 &lt; 2 &amp;&amp; 3 < 4 &#8211; &#x2014; &bogus; &",
                "1 < 2 && 3 < 4 – — &bogus; &",
            ),
            ("a<!-- <b> -->b", "ab"),
            ("a<b", "a<b"),
            ("a<b>c</b> <i d", "ac <i d"),
            ("<p>Map<String, List<T>> of <i>x</i></p>", "Map<String, List<T>> of x"),
            ("<x-y>a</x-y><o:p>b</o:p>", "ab"),
            ("&aaaaaaaaé;", "&aaaaaaaaé;"),
            ("&éééééé;<é", "&éééééé;<é"),
            ("&quot;&apos;&lt;&gt;&amp;amp;", "\"'<>&amp;"),
            ("&#65;&#x42;&#X43;&#0;&#xD800;&#;", "ABC&#0;&#xD800;&#;"),
        ] {
            assert_eq!(plain(html), text, "{html}");
        }
    }

    #[test]
    fn text_survives_as_html() {
        for text in ["a < b & c > d", "&amp;", "plain"] {
            assert_eq!(unescape(&escape(text)), text);
        }
    }
}
