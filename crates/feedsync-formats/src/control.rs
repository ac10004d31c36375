//! `app:control` and `app:draft` (RFC 5023 13.1): a client's request that an entry is not made
//! visible.

use feedsync_core::{Format, Payload};

use crate::options::{Limits, Mode};
use crate::server_parts::APP;
use crate::xml::{Element, Namespaces, Tree};

/// Whether an entry is a draft: its `app:control/app:draft` is `yes`. Items of other formats are
/// never drafts.
pub fn is_draft(payload: &Payload) -> bool {
    let mentions = crate::search::find(payload.text().as_bytes(), b"draft").is_some();
    if payload.format() != Format::Atom || !mentions {
        return false;
    }
    let parsed = Tree::parse(payload.text(), Mode::Tolerant, &Limits::default());
    parsed.is_ok_and(|(tree, namespaces)| {
        drafts(tree.root(), &namespaces).any(|draft| draft.text().trim() == "yes")
    })
}

/// Returns all `app:control` elements of an entry.
pub(crate) fn controls<'t, 'a>(
    entry: Element<'t, 'a>,
    namespaces: &Namespaces<'a>,
) -> impl Iterator<Item = Element<'t, 'a>> {
    named(entry, "control", namespaces)
}

/// Returns all `app:draft` elements inside the `app:control` elements of an entry.
pub(crate) fn drafts<'t, 'a>(
    entry: Element<'t, 'a>,
    namespaces: &Namespaces<'a>,
) -> impl Iterator<Item = Element<'t, 'a>> {
    controls(entry, namespaces).flat_map(move |control| named(control, "draft", namespaces))
}

fn named<'t, 'a>(
    parent: Element<'t, 'a>,
    local: &'static str,
    namespaces: &Namespaces<'a>,
) -> impl Iterator<Item = Element<'t, 'a>> {
    parent
        .children()
        .filter(move |child| child.local() == local && namespaces.iri(child.namespace()) == APP)
}
