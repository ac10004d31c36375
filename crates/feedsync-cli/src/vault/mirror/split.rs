//! Boundaries of the chunks of a file.
//!
//! The boundaries follow the content and are those of the plugin's splitter `v3-rabin-karp`, so that an edit changes few
//! chunks, and the plugin and this program make the same ones. Any other boundaries would be read alike.

use std::ops::Range;

/// Bytes that the rolling hash covers.
const WINDOW: usize = 48;
const FACTOR: u32 = 31;
/// Remainder of the hash, divided by the average size, at a boundary.
const BOUNDARY: u32 = 1;
/// Number of chunks that a text should not exceed.
const MAX_TEXT_CHUNKS: usize = 500;
/// Size in bytes from which a text is split into pieces as large as those of a binary file.
const LARGE_TEXT: usize = 4 << 20;
const BINARY_UNIT: usize = 256 << 10;

/// Sizes of pieces in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sizes {
    min: usize,
    average: usize,
    max: usize,
}

impl Sizes {
    fn of(length: usize, is_text: bool) -> Self {
        if !is_text || length >= LARGE_TEXT {
            return Self { min: BINARY_UNIT, average: BINARY_UNIT * 4, max: BINARY_UNIT * 16 };
        }
        let mut unit = 64;
        while length > MAX_TEXT_CHUNKS * unit * 4 {
            unit += 32;
        }
        // The plugin never splits a text below this size at its maximum.
        Self { min: unit * 2, average: unit * 4, max: (unit * 16).min(30 << 10) }
    }
}

/// Returns the ranges of the pieces of a file in order. Text is not split within a character.
pub(super) fn pieces(bytes: &[u8], is_text: bool) -> Vec<Range<usize>> {
    let sizes = Sizes::of(bytes.len(), is_text);
    let oldest = (1..WINDOW).fold(1_u32, |power, _| power.wrapping_mul(FACTOR));
    let (mut found, mut start, mut hash) = (Vec::new(), 0, 0_u32);
    for (at, byte) in bytes.iter().enumerate() {
        if at >= start + WINDOW {
            hash = hash.wrapping_sub(u32::from(bytes[at - WINDOW]).wrapping_mul(oldest));
        }
        // The hash goes on over a boundary, as in the plugin.
        hash = hash.wrapping_mul(FACTOR).wrapping_add(u32::from(*byte));
        let size = at + 1 - start;
        let is_boundary = size >= sizes.max
            || (size >= sizes.min && hash as usize % sizes.average == BOUNDARY as usize);
        let is_within_character =
            is_text && bytes.get(at + 1).is_some_and(|next| next & 0xC0 == 0x80);
        if is_boundary && !is_within_character {
            found.push(start..at + 1);
            start = at + 1;
        }
    }
    if start < bytes.len() {
        found.push(start..bytes.len());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(length: usize) -> Vec<u8> {
        let mut state = 7_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        (0..length).map(|_| next()).collect()
    }

    fn lengths(bytes: &[u8], is_text: bool) -> Vec<usize> {
        pieces(bytes, is_text).into_iter().map(|range| range.len()).collect()
    }

    /// Lengths that the algorithm of the plugin gives for the same bytes.
    #[test]
    fn boundaries_are_those_of_the_plugin() {
        assert_eq!(lengths(&numbers(3_000_000), false), [1_598_134, 1_234_134, 167_732]);
        let line = |number| format!("Zeile {number}: Grüße, 🎉 and more text\n");
        let text: String = (0..40).map(line).collect();
        assert_eq!(lengths(text.as_bytes(), true), [630, 496, 384]);
        let text: String = (0..20_000).map(|number| format!("line {number}\n")).collect();
        let found = lengths(text.as_bytes(), true);
        assert_eq!(found.len(), 265);
        assert_eq!(found[..8], [797, 2_048, 334, 626, 424, 936, 1_497, 357]);
        let text: String = (0..200_000).map(|number| format!("line {number}\n")).collect();
        let found = lengths(text.as_bytes(), true);
        assert_eq!((found.len(), found.iter().max()), (385, Some(&18_432)));
    }

    #[test]
    fn pieces_cover_the_content_and_keep_characters_whole() {
        for text in [String::new(), "x".to_owned(), "🎉".repeat(5_000), "ü\n".repeat(90_000)] {
            let found = pieces(text.as_bytes(), true);
            let joined: String = found.into_iter().map(|range| &text[range]).collect();
            assert_eq!(joined, text);
        }
        let bytes = numbers(5 << 20);
        let mut end = 0;
        for range in pieces(&bytes, true) {
            assert_eq!(range.start, end);
            end = range.end;
        }
        assert_eq!(end, bytes.len());
    }

    #[test]
    fn an_edit_changes_few_pieces() {
        let text: String = (0..2_000).map(|number| format!("line {number}\n")).collect();
        let edited = text.replace("line 1000\n", "another line\n");
        let split = |text: &str| -> Vec<String> {
            pieces(text.as_bytes(), true).into_iter().map(|it| text[it].to_owned()).collect()
        };
        let before = split(&text);
        let new = split(&edited).into_iter().filter(|piece| !before.contains(piece)).count();
        assert!((1..=5).contains(&new), "{new} of {}", before.len());
    }
}
