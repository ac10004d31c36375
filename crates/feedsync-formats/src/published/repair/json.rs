//! Repairs JSON that is cut off or surrounded by other text.

/// Returns the object in a text without the surrounding text. If the object is cut off, the result ends after the
/// last complete element of one of its lists. Returns `None` if there is nothing to repair.
pub(crate) fn repaired(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let is_object = |at: &usize| {
        let inside = text[at + 1..].trim_ascii_start();
        inside.starts_with('"')
    };
    let start = memchr::memchr_iter(b'{', bytes).take(1_000).find(is_object)?;
    let (mut open, mut complete) = (Vec::new(), None);
    let mut at = start;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = string_end(bytes, at)?,
            sign @ (b'{' | b'[') => open.push(sign),
            b'}' | b']' => {
                open.pop();
                match &open[..] {
                    [] if start == 0 && at + 1 == bytes.len() => return None,
                    [] => return Some(text[start..=at].to_owned()),
                    [b'{', b'['] => complete = Some(at + 1),
                    _ => {}
                }
            }
            _ => {}
        }
        at += 1;
    }
    Some(format!("{}]}}", &text[start..complete?]))
}

/// Returns the offset of the quote that ends a string, or of the last byte if the text is cut off.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match memchr::memchr2(b'"', b'\\', bytes.get(at..)?) {
            None => return Some(bytes.len() - 1),
            Some(index) if bytes[at + index] == b'"' => return Some(at + index),
            Some(index) => at += index + 2,
        }
    }
}
