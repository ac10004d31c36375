//! The canonical text of an item's own element, and writing that text to a document.
//!
//! A payload is the element as written, byte for byte, with these changes:
//! - `sx:sync` (and the child outlines of an outline) are cut out, each with the white space directly before it. An
//!   element that is left without content ends in `/>`.
//! - Inherited properties that the element does not declare itself follow its name, in this order: the default
//!   namespace, the prefixes it uses in ascending order, `xml:base`, `xml:lang`, `xml:space`.
//! - A relative `xml:base` of its own is made absolute. `xmlns=""` directly after the name is removed, since it has
//!   no effect on an element without context.
//!
//! A prefix counts as used if `prefix:` occurs anywhere in the text, so that qualified names in values survive. A
//! document or `sx:sync` with `fs:self-contained="true"`, as FeedSync writes them, contains only items that were
//! canonical before. There, only prefixes of elements and attributes count, and no `xml:` attribute is inherited. The
//! prefixes of FeedSync and of its extensions are always treated that way.
//!
//! Therefore a text that [`write`] writes is read back unchanged.

use std::borrow::Cow;
use std::ops::Range;

use feedsync_core::{Format, Payload};

use crate::context::Context;
use crate::xml::{Element, Namespace, define_references, escape_attribute, is_space};

/// Namespace of FeedSync (1.1).
pub(crate) const FEEDSYNC: &str = "http://feedsync.org/2007/feedsync";
/// Namespace of FeedSync's own extensions.
pub(crate) const OWN: &str = "urn:feedsync:1";

/// Options for extracting a canonical text.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Extraction<'c> {
    /// Spans to cut out, in ascending order.
    pub(crate) cuts: &'c [Range<usize>],
    /// Whether the element inherits nothing but namespaces, see the rule above.
    pub(crate) self_contained: bool,
    /// Attributes with the prefix `fs` to add. The context declares the prefix.
    pub(crate) claims: &'c [(&'static str, String)],
}

/// Appends the canonical text of an element.
pub(crate) fn extract(
    out: &mut String,
    element: Element<'_, '_>,
    context: &Context<'_>,
    extraction: Extraction<'_>,
) {
    let Extraction { cuts, self_contained, claims } = extraction;
    let text = element.document();
    let base = (!self_contained).then_some(context);
    let body = body(element, base, cuts);
    out.push('<');
    out.push_str(element.name());
    let inherited = out.len();
    if context.is_spent() {
        out.push_str(&body);
        return;
    }
    if let Some(iri) = &context.default
        && !element.attributes().iter().any(|a| a.declared_prefix(text) == Some(""))
    {
        push_declaration(out, "", iri);
    }
    for declaration in &context.prefixes {
        let prefix = declaration.prefix;
        let inherited =
            !element.attributes().iter().any(|a| a.declared_prefix(text) == Some(prefix));
        if prefix == "fs" && !claims.is_empty() {
            push_declaration(out, prefix, &declaration.iri);
        } else if inherited && (element.prefix() == prefix || mentions(&body, prefix)) {
            let exact = self_contained || matches!(&*declaration.iri, FEEDSYNC | OWN);
            if !exact || uses(element, prefix, cuts) {
                push_declaration(out, prefix, &declaration.iri);
            }
        }
    }
    if !self_contained {
        for (name, value) in [
            ("base", context.base.as_deref()),
            ("lang", context.lang.as_deref()),
            ("space", context.space.as_deref()),
        ] {
            if let Some(value) = value.filter(|value| !value.is_empty())
                && element.attribute(Namespace::XML, name).is_none()
            {
                push_attribute(out, &format!("xml:{name}"), value);
            }
        }
    }
    context.inherit(out.len() - inherited);
    for (name, value) in claims {
        push_attribute(out, &format!("fs:{name}"), value);
    }
    out.push_str(&body);
}

/// Returns the payload of an item's element: its canonical text without `sx:sync` and, for an outline, without its child
/// outlines.
pub(crate) fn payload_of<'a>(
    format: Format,
    element: Element<'_, 'a>,
    context: &Context<'a>,
) -> Payload {
    let is_apart = |child: &Element<'_, 'a>| {
        child.is(Namespace::FEEDSYNC, "sync")
            || (format == Format::Opml && child.is(Namespace::NONE, "outline"))
    };
    let cuts: Vec<_> = element.children().filter(is_apart).map(Element::span).collect();
    let mut text = String::with_capacity(element.span().len());
    let extraction = Extraction { cuts: &cuts, ..Extraction::default() };
    extract(&mut text, element, context, extraction);
    Payload::from_parsed(format, define_references(&text))
}

/// Returns the text after the name: attributes and content without the cuts. A relative base is made absolute in the
/// given context.
fn body<'a>(
    element: Element<'_, 'a>,
    context: Option<&Context<'_>>,
    cuts: &[Range<usize>],
) -> Cow<'a, str> {
    let text = element.document();
    let span = element.span();
    let mut from = element.name_end();
    if text[from..].starts_with(NO_DEFAULT) {
        from += NO_DEFAULT.len();
    }
    let mut edits: Vec<(Range<usize>, Cow<'_, str>)> = Vec::new();
    if let Some(context) = context
        && let Some(base) = element.attribute(Namespace::XML, "base")
    {
        let value = base.value(text);
        let resolved = context.resolve(&value);
        if resolved != value {
            let mut escaped = String::new();
            escape_attribute(&mut escaped, &resolved);
            edits.push((base.value_span(), escaped.replace('\'', "&#39;").into()));
        }
    }
    for cut in cuts {
        let spaces = text[..cut.start].bytes().rev().take_while(|&byte| is_space(byte)).count();
        edits.push((cut.start - spaces..cut.end, Cow::Borrowed("")));
    }
    let content = element.content_span();
    let removed: usize = edits
        .iter()
        .filter(|(range, _)| range.start >= content.start)
        .map(|(range, _)| range.len())
        .sum();
    let close = (element.start_tag_span().end < span.end && removed == content.len())
        .then(|| (content.start - 1..span.end, Cow::Borrowed("/>")));
    if let Some(close) = close {
        edits.retain(|(range, _)| range.start < content.start);
        edits.push(close);
    }
    if edits.is_empty() {
        return Cow::Borrowed(&text[from..span.end]);
    }
    let mut out = String::with_capacity(span.end - from);
    for (range, replacement) in edits {
        out.push_str(&text[from..range.start]);
        out.push_str(&replacement);
        from = range.end;
    }
    out.push_str(&text[from..span.end]);
    Cow::Owned(out)
}

const NO_DEFAULT: &str = " xmlns=\"\"";

/// Whether `prefix:` occurs anywhere in the text.
pub(crate) fn mentions(body: &str, prefix: &str) -> bool {
    let bytes = body.as_bytes();
    crate::search::find_iter(bytes, prefix.as_bytes())
        .any(|index| bytes.get(index + prefix.len()) == Some(&b':'))
}

/// Whether an element or attribute outside the cuts has a prefix that is not declared inside the element.
pub(crate) fn uses(element: Element<'_, '_>, prefix: &str, cuts: &[Range<usize>]) -> bool {
    let text = element.document();
    let attributes = element.attributes();
    if attributes.iter().any(|attribute| attribute.declared_prefix(text) == Some(prefix)) {
        return false;
    }
    element.prefix() == prefix
        || attributes.iter().any(|attribute| attribute.prefix(text) == prefix)
        || element
            .children()
            .filter(|child| {
                cuts.binary_search_by_key(&child.span().start, |cut| cut.start).is_err()
            })
            .any(|child| uses(child, prefix, cuts))
}

/// Appends ` xmlns:prefix="iri"`, or the default namespace for an empty prefix.
pub(crate) fn push_declaration(out: &mut String, prefix: &str, iri: &str) {
    if prefix.is_empty() {
        push_attribute(out, "xmlns", iri);
    } else {
        push_attribute(out, &format!("xmlns:{prefix}"), iri);
    }
}

/// Appends ` name="value"`.
pub(crate) fn push_attribute(out: &mut String, name: &str, value: &str) {
    out.push(' ');
    out.push_str(name);
    out.push_str("=\"");
    escape_attribute(out, value);
    out.push('"');
}

/// The default namespace at a position in the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Default {
    /// There is none.
    None,
    /// The namespace of this declaration, ` xmlns="..."` in canonical form.
    Declared(String),
    /// A namespace whose declaration is spelt in another way.
    Other,
}

impl Default {
    /// Returns the default namespace for an IRI.
    pub(crate) fn of(iri: Option<&str>) -> Self {
        iri.map_or(Self::None, |iri| {
            let mut declaration = String::new();
            push_declaration(&mut declaration, "", iri);
            Self::Declared(declaration)
        })
    }
}

/// The properties of a payload's start tag that are needed for writing.
#[derive(Debug, Clone)]
pub(crate) struct PayloadTag<'t> {
    /// Offset after the name.
    name_end: usize,
    /// Offset after `>`.
    end: usize,
    empty: bool,
    attributes: Vec<(&'t str, &'t str)>,
}

impl<'t> PayloadTag<'t> {
    /// Reads the tag of a canonical text. Of any other text, the part that can be parsed is used.
    pub(crate) fn read(text: &'t str) -> Self {
        let bytes = text.as_bytes();
        let stop = |byte: u8| is_space(byte) || matches!(byte, b'>' | b'/' | b'=');
        let find = |from: usize| {
            bytes[from..].iter().position(|&byte| stop(byte)).map_or(bytes.len(), |i| from + i)
        };
        let name_end = find(1.min(bytes.len()));
        let mut tag = Self { name_end, end: bytes.len(), empty: false, attributes: Vec::new() };
        let mut offset = name_end;
        while let Some(&byte) = bytes.get(offset) {
            if byte == b'>' {
                tag.end = offset + 1;
                break;
            }
            if is_space(byte) || byte == b'/' || byte == b'=' {
                tag.empty = byte == b'/';
                offset += 1;
                continue;
            }
            let name = &text[offset..find(offset)];
            let quote = bytes[offset..].iter().position(|byte| matches!(byte, b'"' | b'\''));
            let Some(quote) = quote.map(|quote| offset + quote) else { break };
            let Some(length) = memchr::memchr(bytes[quote], &bytes[quote + 1..]) else { break };
            tag.attributes.push((name, &text[quote + 1..quote + 1 + length]));
            offset = quote + length + 2;
        }
        tag
    }

    /// Returns the attributes that child elements inherit.
    pub(crate) fn inherited_attributes(&self) -> impl Iterator<Item = &(&'t str, &'t str)> {
        self.attributes.iter().filter(|(name, _)| name.starts_with("xml") && *name != "xmlns:fs")
    }

    /// Returns the text between the name and the end of the tag.
    pub(crate) fn attributes_text(&self, text: &'t str) -> &'t str {
        text[self.name_end..self.end].trim_end_matches('>').trim_end_matches('/')
    }

    /// Returns the text between the tags.
    pub(crate) fn content(&self, text: &'t str) -> &'t str {
        if self.empty {
            ""
        } else {
            &text[self.end..text.rfind("</").unwrap_or(self.end).max(self.end)]
        }
    }

    /// Returns the raw value of the attribute with the given qualified name.
    pub(crate) fn raw(&self, name: &str) -> Option<&'t str> {
        self.attributes.iter().find(|(own, _)| *own == name).map(|(_, value)| *value)
    }
}

/// Returns a canonical text with more content at its end, outside any document.
pub(crate) fn with_end(text: &str, end: &str) -> String {
    if end.is_empty() {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + end.len() + 8);
    write(&mut out, text, &PayloadTag::read(text), &Default::None, |out, _| out.push_str(end));
    out
}

/// Appends a canonical text with more content at its end, at a position with the given default namespace. `fill`
/// receives the default namespace inside the element.
pub(crate) fn write(
    out: &mut String,
    text: &str,
    tag: &PayloadTag<'_>,
    default: &Default,
    fill: impl FnOnce(&mut String, Default),
) {
    out.push_str(&text[..tag.name_end]);
    let mut rest = &text[tag.name_end..tag.end];
    let inside = match (default, tag.raw("xmlns")) {
        (Default::None, None) => Default::None,
        (_, None) => {
            out.push_str(NO_DEFAULT);
            Default::None
        }
        (_, Some(raw)) => {
            if let Default::Declared(declaration) = default
                && let Some(stripped) = rest.strip_prefix(declaration.as_str())
            {
                rest = stripped;
            }
            let declaration = format!(" xmlns=\"{raw}\"");
            if text[tag.name_end..].starts_with(&declaration) {
                Default::Declared(declaration)
            } else {
                Default::Other
            }
        }
    };
    if tag.empty {
        out.push_str(rest.trim_end_matches('>').trim_end_matches('/'));
        out.push('>');
        fill(out, inside);
        out.push_str("</");
        out.push_str(&text[1..tag.name_end]);
        out.push('>');
        return;
    }
    out.push_str(rest);
    let content_end = text.rfind("</").unwrap_or(text.len()).max(tag.end);
    let white = text[tag.end..content_end].bytes().rev().take_while(|&b| is_space(b)).count();
    out.push_str(&text[tag.end..content_end - white]);
    fill(out, inside);
    out.push_str(&text[content_end - white..]);
}
