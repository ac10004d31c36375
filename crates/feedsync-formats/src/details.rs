//! Details of a feed beside its title: a subtitle, rights, an author, and markup that no format defines
//! (FeedSync 2.1 rule 7).
//!
//! The three texts have a place in each format ([`docs/mapping.md`] lists them). Markup stays what it is: an element
//! goes into each XML format, a member of JSON into JSON. What is written reads back as the same details.
//!
//! [`docs/mapping.md`]: https://feedsync.org/docs/mapping

mod json;
mod markup;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use json::{push_json, read_json};
pub use markup::{HeadMarkup, HeadMarkupError, MAX_HEAD_MARKUP};
pub(crate) use read::{HeadReader, is_head};
pub(crate) use write::{author_element, push_markup, push_pox_attributes, push_rss, push_texts};

use crate::compose::fits_xml;

/// Maximum size of a subtitle, of rights and of an author, in bytes.
pub const MAX_HEAD_TEXT: usize = 4_096;

/// Details of a feed beside its title.
///
/// The texts are plain, and each is one line as [`head_line`] returns it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeedDetails {
    /// The sentence that describes the feed.
    pub subtitle: Option<String>,
    /// Rights that people have in the feed.
    pub rights: Option<String>,
    /// The author of items that name none.
    pub author: Option<String>,
    /// Markup that the formats do not define.
    pub markup: Option<HeadMarkup>,
    /// Number of texts and pieces of markup that were read and are not here: they exceed a bound, or do not stand alone.
    /// Nothing is written of it.
    pub left_out: usize,
}

impl FeedDetails {
    /// Whether the feed has no details.
    pub fn is_empty(&self) -> bool {
        let Self { subtitle, rights, author, markup, left_out: _ } = self;
        subtitle.is_none() && rights.is_none() && author.is_none() && markup.is_none()
    }

    /// Fills in a text that is not there yet, if it is within the bound.
    fn fill(&mut self, part: fn(&mut Self) -> &mut Option<String>, text: &str) {
        let line = head_line(text);
        if line.len() > MAX_HEAD_TEXT {
            self.left_out += 1;
        } else if !line.is_empty() {
            let _ = part(self).get_or_insert(line);
        }
    }
}

/// The text as one line that every format can hold: white space becomes one space, and characters that XML cannot hold
/// are left out.
pub fn head_line(text: &str) -> String {
    let is_held = |character: &char| fits_xml(*character) && *character != '\u{7f}';
    let held: String = text.chars().filter(is_held).collect();
    held.split_whitespace().collect::<Vec<_>>().join(" ")
}
