//! Escapes text for XML.

/// Appends character data: `&`, `<`, `>` and carriage return become references. Characters that XML
/// cannot hold become U+FFFD.
pub fn escape_text(out: &mut String, text: &str) {
    escape(out, text, |byte| matches!(byte, b'&' | b'<' | b'>' | b'\r'));
}

/// Appends the value of an attribute in double quotes. `"`, tab and line feed also become
/// references.
pub fn escape_attribute(out: &mut String, text: &str) {
    escape(out, text, |byte| matches!(byte, b'&' | b'<' | b'>' | b'"' | b'\r' | b'\n' | b'\t'));
}

fn escape(out: &mut String, text: &str, special: impl Fn(u8) -> bool) {
    let control = |byte: u8| byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r');
    let mut rest = text;
    while let Some(index) =
        rest.bytes().position(|byte| special(byte) || control(byte) || byte == 0xef)
    {
        out.push_str(&rest[..index]);
        rest = &rest[index..];
        let character = rest.chars().next().unwrap_or('\u{fffd}');
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\r' => out.push_str("&#13;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            character if super::characters::is_char(character) => out.push(character),
            _ => out.push('\u{fffd}'),
        }
        rest = &rest[character.len_utf8()..];
    }
    out.push_str(rest);
}
