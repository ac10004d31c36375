//! Text that comes in pieces, as JSON strings.
//!
//! A piece may end in the first half of a surrogate pair, and the next one begin with the second half: the two are one
//! character. A half alone is no text.

use feedsync_couch::text;
use feedsync_formats::json::Node;

use super::trouble::Trouble;

/// Text of the pieces so far.
#[derive(Debug, Default)]
pub(super) struct JoinedText {
    text: String,
    /// First half of a surrogate pair at the end.
    half: Option<u16>,
}

impl JoinedText {
    /// A text to which more can be appended.
    pub(super) fn of(text: &str) -> Self {
        Self { text: text.to_owned(), half: None }
    }

    /// Appends a JSON string.
    pub(super) fn push(&mut self, piece: Node<'_>) -> Result<(), Trouble> {
        match text(piece) {
            Some(whole) if self.half.is_none() => self.text.push_str(&whole),
            _ => {
                let raw = piece.raw();
                let inner = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"'));
                self.push_escaped(inner.ok_or(Trouble::Damaged)?)?;
            }
        }
        Ok(())
    }

    /// Appends the inside of a JSON string.
    fn push_escaped(&mut self, inner: &str) -> Result<(), Trouble> {
        let mut rest = inner;
        while let Some(letter) = rest.chars().next() {
            rest = &rest[letter.len_utf8()..];
            if letter != '\\' {
                self.push_character(letter)?;
                continue;
            }
            let escaped = rest.chars().next().ok_or(Trouble::Damaged)?;
            rest = &rest[escaped.len_utf8()..];
            match escaped {
                'u' => {
                    let digits = rest.get(..4).ok_or(Trouble::Damaged)?;
                    rest = &rest[4..];
                    let unit = u16::from_str_radix(digits, 16).map_err(|_| Trouble::Damaged)?;
                    self.push_unit(unit)?;
                }
                'n' => self.push_character('\n')?,
                'r' => self.push_character('\r')?,
                't' => self.push_character('\t')?,
                'b' => self.push_character('\u{8}')?,
                'f' => self.push_character('\u{c}')?,
                other => self.push_character(other)?,
            }
        }
        Ok(())
    }

    fn push_character(&mut self, letter: char) -> Result<(), Trouble> {
        if self.half.is_some() {
            return Err(Trouble::HalfCharacter);
        }
        self.text.push(letter);
        Ok(())
    }

    fn push_unit(&mut self, unit: u16) -> Result<(), Trouble> {
        let units: Vec<u16> = self.half.take().into_iter().chain([unit]).collect();
        match (char::decode_utf16(units.iter().copied()).next(), &units[..]) {
            (Some(Ok(letter)), _) if letter.len_utf16() == units.len() => self.text.push(letter),
            (_, [half]) if (0xD800..0xDC00).contains(half) => self.half = Some(*half),
            _ => return Err(Trouble::HalfCharacter),
        }
        Ok(())
    }

    /// Size of the text so far, in bytes.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Returns the whole text.
    pub(super) fn finish(self) -> Result<String, Trouble> {
        match self.half {
            None => Ok(self.text),
            Some(_) => Err(Trouble::HalfCharacter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(pieces: &[&str]) -> Result<String, Trouble> {
        let mut text = JoinedText::default();
        pieces.iter().try_for_each(|piece| text.push(Node::root(piece)))?;
        text.finish()
    }

    #[test]
    fn halves_of_a_character_in_two_pieces_are_one_character() {
        let pieces = [r#""a\"\\\/\n\u00fc\ud83c""#, r#""\udf89\tz""#, r#""ü🎉""#];
        assert_eq!(joined(&pieces).unwrap(), "a\"\\/\nü🎉\tzü🎉");
        assert_eq!(joined(&[r#""\ud83c\udf89""#, r#""""#]).unwrap(), "🎉");
        assert_eq!(joined(&[r#""\ud83c""#, r#""""#, r#""\udf89""#]).unwrap(), "🎉");
    }

    #[test]
    fn half_of_a_character_is_not_text() {
        for pieces in [
            &[r#""a\ud83c""#][..],
            &[r#""\udf89""#],
            &[r#""\ud83c""#, r#""b""#],
            &[r#""\ud83c""#, r#""\ud83c""#],
            &[r#""\ud83cx""#],
            &[r#""\ud83c\n""#],
            &[r#""\ud83c\u0041""#],
        ] {
            assert_eq!(joined(pieces), Err(Trouble::HalfCharacter), "{pieces:?}");
        }
        assert_eq!(joined(&["1"]), Err(Trouble::Damaged));
    }
}
