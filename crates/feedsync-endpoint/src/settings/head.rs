//! Details of the head of a collection's feeds, as settings (FeedSync 2.1 rule 7).

use feedsync_core::Format;
use feedsync_formats::{FeedDetails, HeadMarkup, HeadMarkupError, MAX_HEAD_TEXT, head_line};
use serde::{Deserialize, Serialize};

use super::Settings;

/// One line of plain text at the head of a feed. White space is collapsed to one space, and characters that
/// XML does not allow are removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HeadText(String);

/// An invalid text for the head of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeadTextError {
    /// It has no visible character.
    #[error("must not be empty")]
    Empty,
    /// It is too long.
    #[error("has more than {MAX_HEAD_TEXT} bytes")]
    TooLong,
}

impl HeadText {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for HeadText {
    type Error = HeadTextError;
    fn try_from(text: String) -> Result<Self, HeadTextError> {
        let line = head_line(&text);
        match line.len() {
            0 => Err(HeadTextError::Empty),
            length if length > MAX_HEAD_TEXT => Err(HeadTextError::TooLong),
            _ => Ok(Self(line)),
        }
    }
}

impl From<HeadText> for String {
    fn from(text: HeadText) -> Self {
        text.0
    }
}

/// Markup at the head of a feed as a setting: a JSON object with the format of the markup and its pieces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Shape", into = "Shape")]
pub struct Markup(pub HeadMarkup);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shape {
    format: String,
    pieces: Vec<String>,
}

/// Invalid markup for the head of a feed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MarkupError {
    /// The format is unknown.
    #[error("unknown format {0:?}")]
    Format(String),
    /// A piece is invalid, or there are too many.
    #[error(transparent)]
    Pieces(#[from] HeadMarkupError),
}

impl TryFrom<Shape> for Markup {
    type Error = MarkupError;
    fn try_from(Shape { format, pieces }: Shape) -> Result<Self, MarkupError> {
        let known: Format = format.parse().map_err(|_| MarkupError::Format(format))?;
        Ok(Self(HeadMarkup::new(known, pieces.iter().map(String::as_str))?))
    }
}

impl From<Markup> for Shape {
    fn from(Markup(markup): Markup) -> Self {
        Self { format: markup.format().name().to_owned(), pieces: markup.pieces().to_vec() }
    }
}

impl Settings {
    /// Names of the settings that are details of the head, as they are stored.
    pub const DETAILS: [&'static str; 4] = ["subtitle", "rights", "author", "markup"];

    /// Returns the details for the head of the collection's feeds.
    pub fn details(&self) -> FeedDetails {
        let text = |text: &Option<HeadText>| text.clone().map(String::from);
        FeedDetails {
            subtitle: text(&self.subtitle),
            rights: text(&self.rights),
            author: text(&self.author),
            markup: self.markup.clone().map(|Markup(markup)| markup),
            left_out: 0,
        }
    }

    /// Sets all four details to those of a feed.
    pub fn set_details(&mut self, details: &FeedDetails) {
        let FeedDetails { subtitle, rights, author, markup, left_out: _ } = details;
        // A text that was read from a feed is within the bounds.
        let text = |text: &Option<String>| HeadText::try_from(text.clone()?).ok();
        self.subtitle = text(subtitle);
        self.rights = text(rights);
        self.author = text(author);
        self.markup = markup.clone().map(Markup);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const PIECE: &str = "<m:x xmlns:m='urn:m'/>";

    #[test]
    fn details_of_a_feed_come_back_from_what_is_stored() {
        let details = FeedDetails {
            subtitle: Some("a \"b\" <c>".to_owned()),
            rights: Some("r".to_owned()),
            author: None,
            markup: Some(HeadMarkup::new(Format::Rss, [PIECE, "<rating>x</rating>"]).unwrap()),
            left_out: 3,
        };
        let mut settings = Settings { drafts: true, ..Settings::default() };
        settings.set_details(&details);
        let mut stored = BTreeMap::new();
        settings.write(&mut stored);
        let names: Vec<_> = stored.keys().map(String::as_str).collect();
        assert_eq!(names, ["drafts", "markup", "rights", "subtitle"]);
        let again = Settings::read(&stored).unwrap();
        assert_eq!(again.details(), FeedDetails { left_out: 0, ..details });
        let mut empty = again;
        empty.set_details(&FeedDetails::default());
        assert_eq!(empty, Settings { drafts: true, ..Settings::default() });
    }

    #[test]
    fn texts_are_one_line_and_bounded() {
        let mut settings = Settings::default();
        settings.set("rights", "\" a\\n\\u0001b\\t\"").unwrap();
        assert_eq!(settings.rights.as_ref().map(HeadText::as_str), Some("a b"));
        for (value, said) in [
            ("\" \\n\"", "must not be empty"),
            (&*format!("\"{}\"", "x".repeat(MAX_HEAD_TEXT + 1)), "has more than 4096 bytes"),
            ("3", "must be a string"),
        ] {
            let error = settings.set("rights", value).unwrap_err().to_string();
            assert!(error.contains(" for the setting rights: "), "{error}");
            assert!(error.ends_with(said), "{error}");
        }
        assert_eq!(settings.rights.as_ref().map(HeadText::as_str), Some("a b"));
    }

    #[test]
    fn markup_that_cannot_stand_at_a_head_is_refused_with_the_piece_at_fault() {
        let mut settings = Settings::default();
        for (value, said) in [
            (r#"{"format": "html", "pieces": ["<x/>"]}"#, "unknown format \"html\""),
            (r#"{"format": "atom", "pieces": []}"#, "the markup is empty"),
            (
                r#"{"format": "atom", "pieces": ["<m:x xmlns:m='urn:m'/>", "</feed>"]}"#,
                "piece 2 of the markup is not exactly one element of XML",
            ),
            (
                r#"{"format": "json", "pieces": ["\"id\":1"]}"#,
                "is not allowed at the head of a feed",
            ),
            (r#"{"pieces": []}"#, "missing field `format`"),
        ] {
            let error = settings.set("markup", value).unwrap_err().to_string();
            assert!(
                error.starts_with("invalid value (not shown) for the setting markup: "),
                "{error}"
            );
            assert!(error.contains(said), "{error}");
        }
        assert_eq!(settings, Settings::default());
    }
}
