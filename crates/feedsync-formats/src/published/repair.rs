//! Stepwise repair of documents that do not read as they came.
//!
//! Each [version](versions) of a document changes more than the one before. The caller reads them in order and keeps
//! the first that has articles, so a repair never makes a document worse. The steps are, for each element that may be
//! the root:
//!
//! 1. *Signs*: what stands around the root goes. `&` and `<` that begin nothing are escaped; references to characters
//!    that XML does not have, comments and processing instructions inside go. Attributes get the quotes that they
//!    lack. Prefixes that the root does not declare are declared there.
//! 2. *Structure*: elements that are not closed are closed, end tags without a start go. Where the document ends too
//!    early, the article that it ends in goes.
//! 3. *Names*: `<RSS>`, `<ITEM>` and their like, and their attributes, get the names that the formats have, with both
//!    steps before.
//!
//! A version costs time and memory in proportion to the document.

mod json;
mod names;
mod prefixes;
mod soup;
mod write;

use soup::{Piece, Soup};
use write::Writer;

/// Elements that are tried as the root, at most.
const MOST_ROOTS: usize = 4;

/// Whether the structure is changed, and whether names are, in each step.
const STEPS: [(bool, bool); 4] = [(false, false), (true, false), (false, true), (true, true)];

/// A version of a document.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) text: String,
    /// Whether its structure was changed, so that something may be missing.
    pub(super) is_balanced: bool,
}

/// Versions of a document of XML, the least changed first.
pub(super) fn versions(text: &str) -> impl Iterator<Item = Version> + '_ {
    let steps = |root| STEPS.into_iter().map(move |step| (root, step));
    roots(text).into_iter().flat_map(steps).filter_map(|(root, (is_balanced, respells))| {
        let mut writer = Writer::new(is_balanced, respells);
        Soup::new(text, root).take_while(|piece| writer.piece(piece)).for_each(drop);
        Some(Version { text: prefixes::declared(writer.finish()?), is_balanced })
    })
}

/// The version of a document of JSON.
pub(super) fn json(text: &str) -> Option<Version> {
    json::repaired(text).map(|text| Version { text, is_balanced: true })
}

/// Offsets of the elements that may be the root: roots of feed formats, else the first element.
fn roots(text: &str) -> Vec<usize> {
    let mut soup = Soup::new(text, 0);
    let (mut found, mut first) = (Vec::new(), None);
    let mut are_closed = true;
    while found.len() < MOST_ROOTS {
        let at = soup.at();
        let Some(piece) = soup.next() else { break };
        let Piece::Start(tag) = piece else { continue };
        first = first.or(Some(at));
        let local = tag.name.rsplit(':').next().unwrap_or_default();
        if ["rss", "feed", "rdf"].iter().any(|root| root.eq_ignore_ascii_case(local)) {
            found.push(at);
        } else if are_closed
            && ["script", "style"].iter().any(|name| name.eq_ignore_ascii_case(tag.name))
        {
            are_closed = soup.skip_to_end_of(tag.name);
        }
    }
    if found.is_empty() { first.into_iter().collect() } else { found }
}

#[cfg(test)]
mod tests;
