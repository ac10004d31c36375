//! Reads `sx:sharing` and `sx:related` (2.2, 2.3).
//!
//! A fault in them never refuses the document: the faulty part counts as absent and is reported
//! (R-F33, R-F42).

use feedsync_core::{Related, RelatedKind, Sharing, Window};
use iri_string::types::UriAbsoluteStr;

use super::value::Attributes;
use crate::options::Mode;
use crate::remarks::{Fault, Remarks};
use crate::xml::{Element, Namespace};

/// Reads an `sx:sharing`.
pub(crate) fn read_sharing(element: Element<'_, '_>, mode: Mode, remarks: &mut Remarks) -> Sharing {
    let mut attributes = Attributes::new(element, "FeedSync 2.2", mode, remarks);
    let since = attributes.text("since");
    let until = attributes.text("until");
    let expires = attributes.time("expires");
    let start = element.span().start;
    let window = match (since, until) {
        (Ok(Some(since)), Ok(Some(until))) if since <= until => Ok(Some(Window { since, until })),
        (Ok(None), Ok(None)) => Ok(None),
        (Err(fault), _) | (_, Err(fault)) => Err(fault),
        (Ok(Some(_)), Ok(Some(_))) => {
            Err(Fault::new(start, "FeedSync 2.2", "since is greater than until"))
        }
        _ => Err(Fault::new(start, "FeedSync 2.2", "since and until are there both or not at all")),
    };
    let related = element
        .children()
        .filter(|child| child.is(Namespace::FEEDSYNC, "related"))
        .filter_map(|child| present(read_related(child, mode, remarks).map(Some), remarks))
        .collect();
    Sharing { window: present(window, remarks), expires: present(expires, remarks), related }
}

/// Returns the part, or reports its fault and returns `None`.
fn present<T>(part: Result<Option<T>, Fault>, remarks: &mut Remarks) -> Option<T> {
    part.unwrap_or_else(|fault| {
        remarks.remark(fault);
        None
    })
}

fn read_related(
    element: Element<'_, '_>,
    mode: Mode,
    remarks: &mut Remarks,
) -> Result<Related, Fault> {
    let start = element.span().start;
    let mut attributes = Attributes::new(element, "FeedSync 2.3", mode, remarks);
    let Some(link) = attributes.text("link")? else { return Err(attributes.missing("link")) };
    if UriAbsoluteStr::new(&link).is_err() {
        let message = format!("link={link:?}: must be an absolute URI without a fragment");
        return Err(Fault::new(start, "FeedSync 2.3", message));
    }
    let title = attributes.text("title")?;
    let kind = match attributes.text("type")?.as_deref() {
        Some("complete") => RelatedKind::Complete,
        Some("aggregated") => RelatedKind::Aggregated,
        Some(other) => {
            let message = format!("type={other:?}: must be \"complete\" or \"aggregated\"");
            return Err(Fault::new(start, "FeedSync 2.3", message));
        }
        None => return Err(attributes.missing("type")),
    };
    Ok(Related { link, title, kind })
}
