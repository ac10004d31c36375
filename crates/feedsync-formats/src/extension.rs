//! Data that FeedSync programs store in an XML payload in addition to the fields of the format: text in a child
//! element with its own namespace, and attributes. Every other byte is preserved.

use feedsync_core::{Format, Payload};

use crate::compose::push_attribute;
use crate::options::{Limits, Mode};
use crate::payload::with_end;
use crate::revise::Edits;
use crate::server_parts::without_children;
use crate::xml::{Element, Namespaces, Tree, escape_text};

/// Returns the text of the first child element with that namespace and name, including white space. Returns `None` if
/// there is none, or if the payload is not XML.
pub fn extension(payload: &Payload, namespace: &str, name: &str) -> Option<String> {
    let mentions = crate::search::find(payload.text().as_bytes(), namespace.as_bytes()).is_some();
    if !mentions {
        return None;
    }
    let (tree, namespaces) =
        Tree::parse(payload.text(), Mode::Tolerant, &Limits::default()).ok()?;
    let mut children = tree.root().children();
    let found = children.find(|child| is_named(*child, &namespaces, namespace, name))?;
    Some(found.text().into_owned())
}

/// Returns an XML payload with that text in a child element at the end. It replaces all child elements with that
/// namespace and name.
pub fn with_extension(payload: &Payload, namespace: &str, name: &str, text: &str) -> Payload {
    let is_it = |child: Element<'_, '_>, namespaces: &Namespaces<'_>| {
        is_named(child, namespaces, namespace, name)
    };
    let rest = without_children(payload, is_it);
    let rest = rest.as_ref().map_or(payload.text(), |rest| rest.text());
    let mut element = format!("<{name}");
    push_attribute(&mut element, "xmlns", Some(namespace));
    element.push('>');
    escape_text(&mut element, text);
    element.push_str("</");
    element.push_str(name);
    element.push('>');
    payload.with_parsed_text(with_end(rest, &element))
}

/// Returns the value of an attribute of the payload's element, without a prefix. Returns `None` if there is none, or
/// if the payload is not XML.
pub fn attribute(payload: &Payload, name: &str) -> Option<String> {
    if payload.format() == Format::Json {
        return None;
    }
    let (tree, _) = Tree::parse(payload.text(), Mode::Tolerant, &Limits::default()).ok()?;
    tree.root().value(name).map(|value| value.into_owned())
}

/// Returns an XML payload with that value of an attribute, or without the attribute for `None`. A payload that cannot
/// be parsed is returned unchanged.
pub fn with_attribute(payload: &Payload, name: &str, value: Option<&str>) -> Payload {
    let text = payload.text();
    let Ok((tree, _)) = Tree::parse(text, Mode::Tolerant, &Limits::default()) else {
        return payload.clone();
    };
    let root = tree.root();
    if root.value(name).as_deref() == value {
        return payload.clone();
    }
    let mut written = String::new();
    push_attribute(&mut written, name, value);
    let mut edits = Edits::default();
    match root.attribute(crate::xml::Namespace::NONE, name) {
        Some(attribute) => {
            let span = attribute.span();
            let blanks = text[root.name_end()..span.start].len()
                - text[root.name_end()..span.start].trim_end().len();
            edits.replace(span.start - blanks..span.end, written);
        }
        None => {
            let tag = root.start_tag_span();
            let inside = text[..tag.end].trim_end_matches('>').trim_end_matches('/').trim_end();
            edits.replace(inside.len()..inside.len(), written);
        }
    }
    payload.with_parsed_text(edits.apply(text))
}

fn is_named(
    element: Element<'_, '_>,
    namespaces: &Namespaces<'_>,
    namespace: &str,
    name: &str,
) -> bool {
    element.local() == name && namespaces.iri(element.namespace()) == namespace
}

#[cfg(test)]
mod tests {
    use super::*;

    const IRI: &str = "urn:feedsync:reader:1";

    fn outline(text: &str) -> Payload {
        Payload::from_parsed(Format::Opml, text)
    }

    #[test]
    fn a_text_is_kept_in_an_element_of_its_own() {
        for before in [
            "<outline text=\"a\"/>",
            "<outline text='a'><x:y xmlns:x='u'>z</x:y></outline>",
            "<outline text='a'><state xmlns='urn:other'/> <!-- b -->\n</outline>",
        ] {
            let payload = outline(before);
            assert_eq!(extension(&payload, IRI, "state"), None, "{before}");
            let text = "{\"a\":\"<&> \u{e9}\"}";
            let with = with_extension(&payload, IRI, "state", text);
            assert_eq!(extension(&with, IRI, "state").as_deref(), Some(text), "{}", with.text());
            assert_eq!(with_extension(&with, IRI, "state", text), with);
            let other = with_extension(&with, IRI, "state", "b");
            assert_eq!(extension(&other, IRI, "state").as_deref(), Some("b"));
            assert_eq!(
                without_children(&other, |child, _| child.local() == "state"
                    && child.text() == "b")
                .unwrap()
                .text()
                .replace(' ', ""),
                before.replace(' ', "")
            );
        }
    }

    #[test]
    fn an_element_of_any_prefix_is_found() {
        let payload = outline(
            "<outline><r:state xmlns:r='urn:feedsync:reader:1'><![CDATA[a]]>&amp;</r:state></outline>",
        );
        assert_eq!(extension(&payload, IRI, "state").as_deref(), Some("a&"));
        assert_eq!(
            with_extension(&payload, IRI, "state", "b").text(),
            "<outline><state xmlns=\"urn:feedsync:reader:1\">b</state></outline>"
        );
    }

    #[test]
    fn an_attribute_is_set_and_taken_away_where_it_stands() {
        for (before, value, after) in [
            ("<outline a='1'/>", Some("x<\"y\""), "<outline a='1' b=\"x&lt;&quot;y&quot;\"/>"),
            ("<outline a='1' >t</outline>", Some("2"), "<outline a='1' b=\"2\" >t</outline>"),
            ("<outline/>", Some("2"), "<outline b=\"2\"/>"),
            ("<outline b='1'\n c='3'/>", Some("2"), "<outline b=\"2\"\n c='3'/>"),
            ("<outline b='1' c='3'/>", None, "<outline c='3'/>"),
            ("<outline b='2' c='3'/>", Some("2"), "<outline b='2' c='3'/>"),
            ("<outline c='3'/>", None, "<outline c='3'/>"),
            ("<outline", Some("2"), "<outline"),
        ] {
            let written = with_attribute(&outline(before), "b", value);
            assert_eq!(written.text(), after);
            if before != "<outline" {
                assert_eq!(attribute(&written, "b").as_deref(), value);
            }
        }
    }
}
