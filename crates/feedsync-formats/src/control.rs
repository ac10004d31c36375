//! `app:control` and `app:draft` (RFC 5023 13.1): a client's wish that an entry be not visible.

use feedsync_core::{Format, Payload};

use crate::options::{Limits, Mode};
use crate::server_parts::APP;
use crate::xml::{Element, Namespaces, Tree};

/// Whether an entry is a draft: `app:control/app:draft` says `yes`. Of a format without it, none is.
pub fn is_draft(payload: &Payload) -> bool {
    let mentions = memchr::memmem::find(payload.text.as_bytes(), b"draft").is_some();
    if payload.format != Format::Atom || !mentions {
        return false;
    }
    let parsed = Tree::parse(&payload.text, Mode::Tolerant, &Limits::default());
    parsed.is_ok_and(|(tree, namespaces)| {
        drafts(tree.root(), &namespaces).any(|draft| draft.text().trim() == "yes")
    })
}

/// All `app:control` of an entry.
pub(crate) fn controls<'t, 'a>(
    entry: Element<'t, 'a>,
    namespaces: &Namespaces<'a>,
) -> impl Iterator<Item = Element<'t, 'a>> {
    named(entry, "control", namespaces)
}

/// All `app:draft` in them.
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
