//! Plain old XML. The root, of any name, is the collection. A child of it that has an `sx:sync` is an item, of any
//! name (R-P1, R-P2).

use feedsync_core::Format;

use crate::details::{push_markup, push_pox_attributes};
use crate::head::FeedHead;
use crate::payload::{Default, push_attribute};
use crate::remarks::{Fault, Remarks};
use crate::structure::{Role, TagContext};
use crate::sync::push_sharing;
use crate::xml::{Attribute, Element, Namespace};

pub(crate) fn role(place: TagContext<'_>) -> Role {
    if place.path.is_empty() { Role::Items } else { Role::Candidate }
}

/// Returns the title, which FeedSync collections have as an attribute of the root.
pub(crate) fn title(text: &str, attributes: &[Attribute]) -> Option<String> {
    attributes
        .iter()
        .find(|attribute| {
            attribute.namespace() == Namespace::NONE && attribute.local(text) == "title"
        })
        .map(|attribute| attribute.value(text).into_owned())
}

/// Reports an `sx:sync` at a deeper level than in an item.
pub(crate) fn warn_of_deep_sync(element: Element<'_, '_>, remarks: &mut Remarks) {
    let mut inside = std::iter::once(element).chain(element.descendants());
    if let Some(deep) = inside.find(|child| child.is(Namespace::FEEDSYNC, "sync")) {
        let is_child = deep.span() == element.span();
        let holder = if is_child { "the root element" } else { element.name() };
        let message = format!("{} is in {holder}, which is not an item", deep.name());
        remarks.remark(Fault::new(deep.span().start, "FeedSync 2.4", message));
    }
}

/// Appends everything before the first item.
pub(crate) fn begin(out: &mut String, head: &FeedHead<'_>, declarations: &str) {
    out.push_str("<items");
    out.push_str(declarations);
    push_attribute(out, "title", head.title);
    push_pox_attributes(out, head);
    out.push_str(">\n");
    push_markup(out, head, Format::Pox, &Default::None);
    if let Some(sharing) = head.sharing {
        push_sharing(out, sharing);
    }
}
