//! From byte offsets to lines and columns, cheaply for offsets that ascend.

use crate::diagnostic::Position;

/// The place that was asked for last, from where the next one is counted. A document of one long
/// line with a remark on every item would cost its square otherwise.
pub(super) struct Places<'a> {
    text: &'a str,
    offset: usize,
    position: Position,
}

impl<'a> Places<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, offset: 0, position: Position { line: 1, column: 1 } }
    }

    /// The position of a byte offset; one inside a character or past the end is moved back.
    pub(super) fn at(&mut self, offset: usize) -> Position {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        if offset < self.offset {
            let between = &self.text[offset..self.offset];
            if between.contains('\n') {
                self.position = Position::of(self.text, offset);
            } else {
                self.position.column -= u32::try_from(between.chars().count()).unwrap_or(0);
            }
        } else {
            let between = &self.text[self.offset..offset];
            let count = |text: &str| u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
            match between.rfind('\n') {
                None => {
                    self.position.column = self.position.column.saturating_add(count(between));
                }
                Some(last) => {
                    let lines = between.bytes().filter(|&byte| byte == b'\n').count();
                    let lines = u32::try_from(lines).unwrap_or(u32::MAX);
                    self.position.line = self.position.line.saturating_add(lines);
                    self.position.column = count(&between[last + 1..]).saturating_add(1);
                }
            }
        }
        self.offset = offset;
        self.position
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_the_same_in_any_order() {
        let text = "{\n \"é\": 1,\n\n \"b\": \u{1f600} }";
        let mut places = Places::new(text);
        for step in [1, 5, 7, 11] {
            for index in 0..=text.len() + 2 {
                let offset = index * step % (text.len() + 3);
                assert_eq!(places.at(offset), Position::of(text, offset), "{offset}");
            }
        }
    }
}
