//! Splitting bytes into lines (LR7, LR25).

/// Bytes of a log, split into complete lines. Text after the last line feed is a torn tail, which is ignored,
/// because it may still be being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lines<'a> {
    whole: &'a [u8],
}

impl<'a> Lines<'a> {
    /// The complete lines of bytes that begin at the start of a line.
    pub fn of(bytes: &'a [u8]) -> Self {
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        Self { whole: &bytes[..end] }
    }

    /// The complete lines of bytes that begin anywhere: the rest of a line that began before them is dropped
    /// (LR43). Also returns the number of dropped bytes.
    pub fn within(bytes: &'a [u8]) -> (usize, Self) {
        match bytes.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, Self::of(&bytes[at + 1..])),
            None => (bytes.len(), Self { whole: &[] }),
        }
    }

    /// The bytes of all lines.
    pub fn bytes(self) -> &'a [u8] {
        self.whole
    }

    /// The last bytes of the last line, including its line feed, up to a number.
    pub fn last(self, most: usize) -> &'a [u8] {
        let Some((_, before)) = self.whole.split_last() else { return &[] };
        let begin = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        &self.whole[begin.max(self.whole.len().saturating_sub(most))..]
    }

    /// Each line without its line feed.
    pub fn iter(self) -> impl Iterator<Item = &'a [u8]> {
        let lines = self.whole.strip_suffix(b"\n").unwrap_or_default();
        let some = !self.whole.is_empty();
        lines.split(|byte| *byte == b'\n').filter(move |_| some)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn torn_tail_is_not_a_line() {
        let lines = Lines::of(b"one\n\ntwo\nthr");
        assert_eq!(lines.iter().collect::<Vec<_>>(), [&b"one"[..], b"", b"two"]);
        assert_eq!(lines.bytes(), b"one\n\ntwo\n");
        assert_eq!(lines.last(100), b"two\n");
        assert_eq!(lines.last(2), b"o\n");
        assert_eq!(Lines::of(b"one").iter().count(), 0);
        assert_eq!(Lines::of(b"").last(9), b"");
        assert_eq!(Lines::of(b"\n").iter().collect::<Vec<_>>(), [b""]);
    }

    #[test]
    fn bytes_from_the_middle_of_a_line_start_at_the_next() {
        let (dropped, lines) = Lines::within(b"e\ntwo\nthr");
        assert_eq!((dropped, lines.bytes()), (2, &b"two\n"[..]));
        assert_eq!(Lines::within(b"one"), (3, Lines { whole: &[] }));
    }

    proptest! {
        #[test]
        fn lines_concatenate_to_the_original_bytes(bytes in "[a\n]{0,30}") {
            let lines = Lines::of(bytes.as_bytes());
            let joined: Vec<u8> =
                lines.iter().flat_map(|line| line.iter().copied().chain(*b"\n")).collect();
            prop_assert_eq!(&joined[..], lines.bytes());
            prop_assert!(bytes.as_bytes().starts_with(lines.bytes()));
            prop_assert!(!bytes.as_bytes()[joined.len()..].contains(&b'\n'));
            prop_assert!(lines.bytes().ends_with(lines.last(5)));
        }
    }
}
