//! Bytes as hexadecimal digits.

/// Returns the bytes of hexadecimal digits, two for each; `None` for other characters.
///
/// ```
/// assert_eq!(feedsync_couch::hexadecimal_bytes("00fF"), Some(vec![0, 255]));
/// assert_eq!(feedsync_couch::hexadecimal_bytes("0"), None);
/// ```
pub fn hexadecimal_bytes(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let pair = |at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    (0..text.len()).step_by(2).map(pair).collect()
}
