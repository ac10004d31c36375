//! Stepwise repair of documents that cannot be read.
//!
//! Each of the [versions] of a document changes more than the previous one. The caller reads them in order and uses
//! the first that has articles, so a repair never makes a document worse. The steps are, for each element that may be
//! the root:
//!
//! 1. *Signs*: text around the root is removed. `&` and `<` that start no markup are escaped. References to
//!    characters that XML does not have, comments and processing instructions inside the root are removed. Attributes
//!    get missing quotes. Prefixes that the root does not declare are declared there.
//! 2. *Structure*: elements that are not closed are closed, and end tags without a start are removed. If the document
//!    ends too early, the incomplete article at its end is removed.
//! 3. *Names*: `<RSS>`, `<ITEM>` and similar names, and their attributes, get the spelling of the formats. This is
//!    combined with both previous steps.
//!
//! A version takes time and memory in proportion to the document.

mod json;
mod names;
mod prefixes;
mod soup;
mod write;

use soup::{Piece, Soup};
use write::Writer;

/// Maximum number of elements that are tried as the root.
const MAX_ROOTS: usize = 4;

/// Whether each step changes the structure, and whether it changes names.
const STEPS: [(bool, bool); 4] = [(false, false), (true, false), (false, true), (true, true)];

/// A version of a document.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) text: String,
    /// Whether its structure was changed, so that parts may be missing.
    pub(super) is_balanced: bool,
}

/// Returns versions of an XML document, from the least to the most changed.
pub(super) fn versions(text: &str) -> impl Iterator<Item = Version> + '_ {
    let steps = |root| STEPS.into_iter().map(move |step| (root, step));
    roots(text).into_iter().flat_map(steps).filter_map(|(root, (is_balanced, respells))| {
        let mut writer = Writer::new(is_balanced, respells);
        Soup::new(text, root).take_while(|piece| writer.piece(piece)).for_each(drop);
        Some(Version { text: prefixes::declared(writer.finish()?), is_balanced })
    })
}

/// Returns the repaired version of a JSON document.
pub(super) fn json(text: &str) -> Option<Version> {
    json::repaired(text).map(|text| Version { text, is_balanced: true })
}

/// Returns offsets of the elements that may be the root: roots of feed formats, or else the first element.
fn roots(text: &str) -> Vec<usize> {
    let mut soup = Soup::new(text, 0);
    let (mut found, mut first) = (Vec::new(), None);
    let mut are_closed = true;
    while found.len() < MAX_ROOTS {
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
