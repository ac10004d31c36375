//! The configuration of an emulated proxy (BITSY 2.3, appendix D): well-formed XML 1.0, without validation against a
//! DTD.
//!
//! The specification uses two namespaces: the schema's contains `www.`, and that of all examples does not. Both are
//! accepted (R-B25).

use crate::diagnostic::{Position, ReadError};
use crate::options::{Mode, ReadOptions};
use crate::xml::check_is_xml;
use crate::xml::{Element, Namespace, Namespaces, Tree, XmlError, decode};

/// Media type of these documents.
pub const PROXY_TYPE: &str = "application/x-bitsy-proxy-config+xml";

const NAMESPACES: [&str; 2] = ["http://purl.org/BITSY", "http://www.purl.org/BITSY"];

/// Configuration for requests with one URL prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyNamespace {
    /// Prefix of the requests' URLs, as written.
    pub url_prefix: String,
    /// Styles of the emulated proxy.
    pub styles: Vec<ProxyStyle>,
    /// Position in the document, for faults that are found later.
    pub position: Position,
}

/// One style of a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyStyle {
    /// Name as `{namespace}local`, as `supportedProxies` lists it.
    pub name: String,
    /// Its element as written, with the declarations that it needs.
    pub element: String,
    /// Its attributes without a namespace, by name.
    pub attributes: Vec<(String, String)>,
}

impl ProxyStyle {
    /// Returns the value of an attribute without a namespace.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Reads a configuration. The namespaces are in document order, which has no meaning.
pub fn read_proxy_configuration(
    bytes: &[u8],
    options: &ReadOptions<'_>,
) -> Result<Vec<ProxyNamespace>, ReadError> {
    let (text, _) = decode(bytes, options)?;
    check_is_xml(&text)?;
    let (tree, namespaces) = Tree::parse(&text, Mode::Strict, &options.limits)
        .map_err(|error: XmlError| error.into_read_error(&text))?;
    let reader = Configuration { text: &text, namespaces: &namespaces };
    reader.read(tree.root())
}

struct Configuration<'t, 'a> {
    text: &'t str,
    namespaces: &'t Namespaces<'a>,
}

impl Configuration<'_, '_> {
    fn read(&self, root: Element<'_, '_>) -> Result<Vec<ProxyNamespace>, ReadError> {
        if !self.is_ours(root, "proxy") {
            return Err(self.fault(root, format!("{:?} is not a bitsy:proxy", root.name())));
        }
        let mut found = Vec::new();
        for child in root.children() {
            if self.is_ours(child, "namespace") {
                found.push(self.namespace(child)?);
            } else if self.is_bitsy(child) {
                let message = format!("{:?} is not allowed in a bitsy:proxy", child.name());
                return Err(self.fault(child, message));
            } else if !found.is_empty() {
                let message = format!("{:?} comes after a bitsy:namespace", child.name());
                return Err(self.fault(child, message));
            }
        }
        if found.is_empty() {
            return Err(self.fault(root, "a bitsy:proxy has at least one bitsy:namespace"));
        }
        Ok(found)
    }

    fn namespace(&self, element: Element<'_, '_>) -> Result<ProxyNamespace, ReadError> {
        let prefix = element.value("urlPrefix").map(|prefix| prefix.trim().to_owned());
        let url_prefix = prefix
            .filter(|prefix| !prefix.is_empty())
            .ok_or_else(|| self.fault(element, "a bitsy:namespace needs a urlPrefix"))?;
        if let Some(child) = element.children().find(|child| self.is_bitsy(*child)) {
            let message = format!("{:?} is not allowed in a bitsy:namespace", child.name());
            return Err(self.fault(child, message));
        }
        let style = |child: Element<'_, '_>| ProxyStyle {
            name: match self.namespaces.iri(child.namespace()) {
                "" => child.local().to_owned(),
                iri => format!("{{{iri}}}{}", child.local()),
            },
            element: self.text[child.span()].to_owned(),
            attributes: child
                .attributes()
                .iter()
                .filter(|attribute| attribute.namespace() == Namespace::NONE)
                .map(|attribute| {
                    let value = attribute.value(self.text).into_owned();
                    (attribute.local(self.text).to_owned(), value)
                })
                .collect(),
        };
        let styles: Vec<ProxyStyle> = element.children().map(style).collect();
        if styles.is_empty() {
            return Err(self.fault(element, "a bitsy:namespace names at least one style"));
        }
        let position = Position::of(self.text, element.span().start);
        Ok(ProxyNamespace { url_prefix, styles, position })
    }

    fn is_ours(&self, element: Element<'_, '_>, local: &str) -> bool {
        self.is_bitsy(element) && element.local() == local
    }

    fn is_bitsy(&self, element: Element<'_, '_>) -> bool {
        element.namespace() != Namespace::NONE
            && NAMESPACES.contains(&self.namespaces.iri(element.namespace()))
    }

    fn fault(&self, element: Element<'_, '_>, message: impl Into<String>) -> ReadError {
        let position = Position::of(self.text, element.span().start);
        ReadError::Document { position, message: message.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(document: &str) -> Result<Vec<ProxyNamespace>, String> {
        read_proxy_configuration(document.as_bytes(), &ReadOptions::strict())
            .map_err(|error| error.to_string())
    }

    /// The example of the specification.
    const XD: &str = "<proxy xmlns=\"http://purl.org/BITSY\">\n  \
        <namespace urlPrefix=\"http://www.google.com/calendar/private/full\" >\n    \
        <xd xmlns=\"http://purl.org/BITSY/xdp\" />\n  </namespace>\n</proxy>";

    #[test]
    fn the_example_of_the_specification_has_one_prefix_and_one_style() {
        for document in
            [XD.to_owned(), XD.replace("\"http://purl.org/BITSY\"", "'http://www.purl.org/BITSY'")]
        {
            let [namespace] = &read(&document).unwrap()[..] else { panic!("one namespace") };
            assert_eq!(namespace.url_prefix, "http://www.google.com/calendar/private/full");
            assert_eq!(namespace.position.line, 2);
            let [style] = &namespace.styles[..] else { panic!("one style") };
            assert_eq!(style.name, "{http://purl.org/BITSY/xdp}xd");
            assert_eq!(style.element, "<xd xmlns=\"http://purl.org/BITSY/xdp\" />");
        }
    }

    #[test]
    fn metadata_come_first_and_anything_may_be_a_style() {
        let document = "<b:proxy xmlns:b=\"http://purl.org/BITSY\"><title>t</title><x:y xmlns:x=\"urn:x\"/>\
            <b:namespace urlPrefix=\"http://a/\" other=\"1\"><plain a=\"1\"><deep/></plain><x:z xmlns:x=\"urn:x\"/>\
            </b:namespace><b:namespace urlPrefix=\"http://b/\"><plain/></b:namespace></b:proxy>";
        let read = read(document).unwrap();
        let names: Vec<Vec<&str>> = read
            .iter()
            .map(|namespace| namespace.styles.iter().map(|style| &*style.name).collect())
            .collect();
        assert_eq!(names, [vec!["plain", "{urn:x}z"], vec!["plain"]]);
        let plain = &read[0].styles[0];
        assert_eq!((plain.attribute("a"), plain.attribute("b")), (Some("1"), None));
    }

    #[test]
    fn invalid_configurations_are_refused_with_the_position() {
        let bitsy = "xmlns=\"http://purl.org/BITSY\"";
        for (document, fault) in [
            ("<proxy/>".to_owned(), "1:1"),
            (format!("<proxys {bitsy}/>"), "is not a bitsy:proxy"),
            (format!("<proxy {bitsy}/>"), "at least one bitsy:namespace"),
            (format!("<proxy {bitsy}><namespace/></proxy>"), "urlPrefix"),
            (format!("<proxy {bitsy}><namespace urlPrefix=\" \"/></proxy>"), "urlPrefix"),
            (format!("<proxy {bitsy}><namespace urlPrefix=\"a\"/></proxy>"), "at least one style"),
            (format!("<proxy {bitsy}>\n<other/></proxy>"), "2:1"),
            (
                format!(
                    "<proxy {bitsy}><namespace urlPrefix=\"a\"><namespace/></namespace></proxy>"
                ),
                "is not allowed in a bitsy:namespace",
            ),
            (
                format!(
                    "<proxy {bitsy}><namespace urlPrefix=\"a\"><x xmlns=\"\"/></namespace>\
                     <late xmlns=\"\"/></proxy>"
                ),
                "after a bitsy:namespace",
            ),
            (format!("<proxy {bitsy}>"), "1:"),
            ("<!DOCTYPE proxy><proxy/>".to_owned(), "1:1"),
            ("{}".to_owned(), ""),
        ] {
            let error = read(&document).unwrap_err();
            assert!(error.contains(fault), "{document}: {error}");
        }
    }
}
