//! Entries of an Atom feed with their labels, and the positions of both. Newsreader servers use labels to mark
//! entries as read.

use std::ops::Range;

use crate::diagnostic::ReadError;
use crate::options::{Mode, ReadOptions};
use crate::xml::{Namespace, Tree, XmlError};

/// An entry of a feed with its labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelledEntry {
    /// Id of the entry.
    pub id: String,
    /// Byte range of the entry in the document.
    pub span: Range<usize>,
    /// Byte offset of the end of its id.
    pub behind_id: usize,
    /// Byte ranges of its categories of the requested scheme, with their labels.
    pub labels: Vec<(Range<usize>, String)>,
}

/// Returns the entries of a feed that have an id, in document order, with their categories of the given scheme.
pub fn labelled_entries(document: &str, scheme: &str) -> Result<Vec<LabelledEntry>, ReadError> {
    let limits = ReadOptions::strict().limits;
    let (tree, _) = Tree::parse(document, Mode::Strict, &limits)
        .map_err(|error: XmlError| error.into_read_error(document))?;
    let entries = tree.root().children().filter(|child| child.is(Namespace::ATOM, "entry"));
    let labelled = entries.filter_map(|entry| {
        let id = entry.child(Namespace::ATOM, "id")?;
        let categories = entry.children().filter(|child| {
            child.is(Namespace::ATOM, "category")
                && child.value("scheme").is_some_and(|known| known == scheme)
        });
        let labels = categories
            .filter_map(|category| Some((category.span(), category.value("label")?.into_owned())));
        Some(LabelledEntry {
            id: id.text().trim().to_owned(),
            span: entry.span(),
            behind_id: id.span().end,
            labels: labels.collect(),
        })
    });
    Ok(labelled.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_the_requested_scheme_are_returned_with_their_positions() {
        let document = "<feed xmlns='http://www.w3.org/2005/Atom'><entry><category term='a'/>\
             <category scheme='s' label='read'/><id> urn:1 </id></entry><entry><title/></entry></feed>";
        let entries = labelled_entries(document, "s").unwrap();
        let [entry] = &entries[..] else { panic!("{entries:?}") };
        assert_eq!(entry.id, "urn:1");
        let [(span, label)] = &entry.labels[..] else { panic!("{entry:?}") };
        assert_eq!(
            (&document[span.clone()], &**label),
            ("<category scheme='s' label='read'/>", "read")
        );
        assert!(document[..entry.behind_id].ends_with("</id>"));
        assert!(document[..entry.span.end].ends_with("</entry>"));
        assert!(labelled_entries("<feed", "s").is_err());
    }
}
