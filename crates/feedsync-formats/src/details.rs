//! Details of a feed in addition to its title: a subtitle, rights, an author, and markup that no format defines
//! (FeedSync 2.1 rule 7).
//!
//! Each format can hold the three texts ([`docs/mapping.md`] lists where). Markup is not converted: an element is
//! written to each XML format, a JSON member to JSON. Details that were written read back unchanged.
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

/// Details of a feed in addition to its title.
///
/// The texts are plain, and each is one line as [`head_line`] returns it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeedDetails {
    /// The sentence that describes the feed.
    pub subtitle: Option<String>,
    /// Statement of the rights in the feed, such as a copyright notice.
    pub rights: Option<String>,
    /// Author of items that have no author of their own.
    pub author: Option<String>,
    /// Markup that the formats do not define.
    pub markup: Option<HeadMarkup>,
    /// Number of texts and pieces of markup that were read but left out, because they exceed a limit or are not
    /// well-formed on their own. It is not written.
    pub left_out: usize,
}

impl FeedDetails {
    /// Whether the feed has no details.
    pub fn is_empty(&self) -> bool {
        let Self { subtitle, rights, author, markup, left_out: _ } = self;
        subtitle.is_none() && rights.is_none() && author.is_none() && markup.is_none()
    }

    /// Sets a text that is still absent, if it is within the limit.
    fn fill(&mut self, part: fn(&mut Self) -> &mut Option<String>, text: &str) {
        let line = head_line(text);
        if line.len() > MAX_HEAD_TEXT {
            self.left_out += 1;
        } else if !line.is_empty() {
            let _ = part(self).get_or_insert(line);
        }
    }
}

/// Returns the text as one line that every format can hold: each run of white space becomes one space, and characters
/// that XML cannot hold are removed.
pub fn head_line(text: &str) -> String {
    let is_held = |character: &char| fits_xml(*character) && *character != '\u{7f}';
    let held: String = text.chars().filter(is_held).collect();
    held.split_whitespace().collect::<Vec<_>>().join(" ")
}
