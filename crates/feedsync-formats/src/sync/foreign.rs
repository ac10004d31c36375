//! Foreign markup on `sx:sync` and `sx:history` (2.1 rule 7), as one self-contained text.
//!
//! The text is an element `sync` or `history` with the original foreign attributes and children. It has the
//! declarations that it needs: the default namespace, then prefixes in ascending order. This element itself is never
//! written. Its attributes and children are written to the original element.

use crate::context::Context;
use crate::payload::{FEEDSYNC, OWN, PayloadTag, mentions, push_declaration, uses};
use crate::xml::{Attribute, Element, Namespace, Node, NodeKind, define_references};

/// Returns the foreign markup on an element, or `None` if there is none.
///
/// The predicates define FeedSync's own parts. `context` is the context inside the element. A prefix that occurs only
/// in values counts as used, as in [`crate::payload`]. In self-contained items this is so only if the element itself
/// declares it.
pub(super) fn collect(
    element: Element<'_, '_>,
    context: &Context<'_>,
    self_contained: bool,
    own_attribute: impl Fn(&Attribute) -> bool,
    own_child: impl Fn(Element<'_, '_>) -> bool,
) -> Option<String> {
    let text = element.document();
    let is_foreign = |node: &Node<'_, '_>| match node.kind() {
        NodeKind::Element => node.element().is_some_and(|child| !own_child(child)),
        NodeKind::Other => true,
        NodeKind::Text | NodeKind::CData => false,
    };
    let attributes = || {
        element.attributes().iter().filter(|attribute| {
            attribute.namespace() != Namespace::XMLNS
                && attribute.namespace() != Namespace::OWN
                && !own_attribute(attribute)
        })
    };
    let children = || element.nodes().filter(is_foreign);
    if attributes().next().is_none() && children().next().is_none() {
        return None;
    }
    let mut inner = String::new();
    for attribute in attributes() {
        inner.push(' ');
        inner.push_str(&text[attribute.span()]);
    }
    let attributes_end = inner.len();
    children().for_each(|child| inner.push_str(child.source()));
    let elements = || children().filter_map(Node::element);
    let mut out = format!("<{}", element.local());
    let inherited = out.len();
    if let Some(iri) = &context.default
        && elements().next().is_some()
    {
        push_declaration(&mut out, "", iri);
    }
    for declaration in context.prefixes.iter().filter(|_| !context.is_spent()) {
        let prefix = declaration.prefix;
        let used = attributes().any(|attribute| attribute.prefix(text) == prefix)
            || elements().any(|child| uses(child, prefix, &[]));
        let declares =
            || element.attributes().iter().any(|a| a.declared_prefix(text) == Some(prefix));
        let named = || {
            !matches!(&*declaration.iri, FEEDSYNC | OWN)
                && mentions(&inner, prefix)
                && (!self_contained || declares())
        };
        if used || named() {
            push_declaration(&mut out, prefix, &declaration.iri);
        }
    }
    context.inherit(out.len() - inherited);
    out.push_str(&inner[..attributes_end]);
    if attributes_end == inner.len() {
        out.push_str("/>");
    } else {
        out.push('>');
        out.push_str(&inner[attributes_end..]);
        out.push_str("</");
        out.push_str(element.local());
        out.push('>');
    }
    Some(define_references(&out).into_owned())
}

/// The two parts of such a text: the attributes of the start tag, and the content between the tags.
pub(super) struct Parts<'t> {
    pub(super) attributes: &'t str,
    pub(super) children: &'t str,
    pub(super) tag: PayloadTag<'t>,
}

/// Splits a text into its parts. Returns `None` for a text from another family of formats.
pub(super) fn parts(text: &str) -> Option<Parts<'_>> {
    if !text.starts_with('<') {
        return None;
    }
    let tag = PayloadTag::read(text);
    let attributes = tag.attributes_text(text);
    let children = tag.content(text);
    Some(Parts { attributes, children, tag })
}
