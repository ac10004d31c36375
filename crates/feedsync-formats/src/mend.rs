//! Repairs documents that are not well-formed because text was written without escapes. Many subscription lists and
//! some feeds have this fault.
//!
//! The repair escapes `&` that starts no reference, `<` in a value, and quotes that do not end their value. A quote
//! ends a value in two cases: the tag ends after it and another tag starts, or white space and another attribute
//! follow. Nothing else is changed.

/// Returns the text with these characters escaped.
pub(crate) fn escape_stray_markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    let mut rest = text;
    while let Some(at) = rest.find(['<', '&']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let passed = ["<!--", "<![CDATA[", "<!", "<?"].iter().zip(["-->", "]]>", ">", "?>"]);
        let mut passed = passed.filter(|(begin, _)| rest.starts_with(**begin));
        if let Some((_, end)) = passed.next() {
            let length = rest.find(end).map_or(rest.len(), |at| at + end.len());
            out.push_str(&rest[..length]);
            rest = &rest[length..];
        } else if rest.starts_with('<') {
            rest = mend_tag(&mut out, rest);
        } else {
            rest = push_ampersand(&mut out, rest);
        }
    }
    out.push_str(rest);
    out
}

/// Appends a tag and returns the text after it.
fn mend_tag<'a>(out: &mut String, tag: &'a str) -> &'a str {
    let mut rest = tag;
    while let Some(at) = rest.find(['>', '"', '\'']) {
        let (before, after) = rest.split_at(at + 1);
        out.push_str(before);
        rest = match before.as_bytes()[at] {
            b'>' => return after,
            quote => mend_value(out, after, char::from(quote)),
        };
    }
    out.push_str(rest);
    ""
}

/// Appends a value from after its opening quote to its closing quote, and returns the text after it.
fn mend_value<'a>(out: &mut String, value: &'a str, quote: char) -> &'a str {
    let mut rest = value;
    while let Some(at) = rest.find([quote, '<', '&']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with('&') {
            rest = push_ampersand(out, rest);
            continue;
        }
        let sign = &rest[..1];
        rest = &rest[1..];
        match sign {
            "<" => out.push_str("&lt;"),
            _ if ends_value(rest) => {
                out.push_str(sign);
                return rest;
            }
            "\"" => out.push_str("&quot;"),
            _ => out.push_str("&apos;"),
        }
    }
    out.push_str(rest);
    ""
}

/// Whether the text after a quote shows that the quote ends a value.
fn ends_value(rest: &str) -> bool {
    let next = rest.trim_ascii_start();
    if let Some(after) = next.strip_prefix('>') {
        // Markup inside a value also contains tags, but these are followed by text.
        let after = after.trim_ascii_start();
        return after.is_empty() || after.starts_with('<');
    }
    if next.starts_with("/>") || next.starts_with("?>") {
        return true;
    }
    let is_name =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'_' | b'-' | b'.');
    let name = next.bytes().take(64).take_while(|byte| is_name(byte)).count();
    let equals = next[name..].trim_ascii_start().strip_prefix('=');
    let value = equals.map(str::trim_ascii_start);
    next.len() < rest.len() && name > 0 && value.is_some_and(|value| value.starts_with(['"', '\'']))
}

/// Appends `&`, escaped if it starts no reference, and returns the text after it.
fn push_ampersand<'a>(out: &mut String, text: &'a str) -> &'a str {
    let rest = &text[1..];
    let name =
        rest.bytes().take(32).take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'#');
    let name = name.count();
    let is_reference = name > 0 && rest[name..].starts_with(';');
    out.push_str(if is_reference { "&" } else { "&amp;" });
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_in_values_are_escaped_and_nothing_else_changes() {
        for (text, mended_text) in [
            ("<a b=\"x&y\" c='&amp;&#9;'/>", "<a b=\"x&amp;y\" c='&amp;&#9;'/>"),
            (
                "<a b=\"He said \"hi\" to\" c=\"d\" />",
                "<a b=\"He said &quot;hi&quot; to\" c=\"d\" />",
            ),
            ("<a b=\"\"x\"\">", "<a b=\"&quot;x&quot;\">"),
            ("<a b=\"x\"c=\"d\">", "<a b=\"x&quot;c=&quot;d\">"),
            ("<a b=\"x\" =\"d\">", "<a b=\"x&quot; =&quot;d\">"),
            ("<a b='it's' c=\"it's\">", "<a b='it&apos;s' c=\"it's\">"),
            ("<a b=\"<i x=\"y\">z</i>\"/>", "<a b=\"&lt;i x=&quot;y&quot;>z&lt;/i>\"/>"),
            ("<a b=\"<p>x</p>\" c=\"<\">", "<a b=\"&lt;p>x&lt;/p>\" c=\"&lt;\">"),
            ("a &; b &#; &a-b;", "a &amp;; b &#; &amp;a-b;"),
            (
                "a & b<!-- & \" --><![CDATA[&]]><?x \"&?>",
                "a &amp; b<!-- & \" --><![CDATA[&]]><?x \"&?>",
            ),
        ] {
            assert_eq!(escape_stray_markup(text), mended_text);
            assert_eq!(escape_stray_markup(mended_text), mended_text);
        }
        for open in ["<a b=\"x", "<a b='&", "<!-- ", "<a ", "&", "<", "<a b=\"x\" c"] {
            assert!(escape_stray_markup(open).len() >= open.len(), "{open}");
        }
    }
}
