//! Reads details from the head of an XML feed, element by element.

use feedsync_core::Format;

use super::markup::{HeadMarkup, OF_ATOM, OF_RSS, Unfit};
use super::{FeedDetails, MAX_HEAD_TEXT, head_line};
use crate::context::Context;
use crate::entry::{DUBLIN_CORE, atom_text, is_rss, rss_title};
use crate::payload::{Extraction, extract};
use crate::xml::{Attribute, Element, Namespace, Namespaces, define_references};

/// Whether elements at this path are at the head of a feed. The path contains the local names of
/// the open elements.
pub(crate) fn is_head(format: Format, path: &[&str]) -> bool {
    match format {
        Format::Atom | Format::Pox | Format::Json => path.len() == 1,
        Format::Rss => matches!(path, [_, "channel"]),
        Format::Opml => matches!(path, [_, "head"]),
    }
}

/// The details that were read so far.
#[derive(Debug)]
pub(crate) struct HeadReader {
    format: Format,
    root: Namespace,
    /// Whether the document states that its parts inherit nothing.
    self_contained: bool,
    details: FeedDetails,
    markup: HeadMarkup,
    /// Whether the limit was reached. Further markup is ignored.
    is_full: bool,
    authors: Vec<String>,
    /// Total size of the authors' names, in bytes.
    authors_bytes: usize,
    /// `managingEditor` of RSS.
    editor: Option<String>,
}

impl HeadReader {
    pub(crate) fn new(format: Format, root: Namespace, self_contained: bool) -> Self {
        Self {
            format,
            root,
            self_contained,
            details: FeedDetails::default(),
            markup: HeadMarkup::none(format),
            is_full: false,
            authors: Vec::new(),
            authors_bytes: 0,
            editor: None,
        }
    }

    /// Reads the attributes of the root, in which FeedSync's POX collections have their details.
    pub(crate) fn root(&mut self, text: &str, attributes: &[Attribute]) {
        if self.format != Format::Pox {
            return;
        }
        for attribute in attributes.iter().filter(|one| one.namespace() == Namespace::NONE) {
            let value = || attribute.value(text);
            match attribute.local(text) {
                "subtitle" => self.details.fill(|details| &mut details.subtitle, &value()),
                "rights" => self.details.fill(|details| &mut details.rights, &value()),
                "author" => self.details.fill(|details| &mut details.author, &value()),
                _ => {}
            }
        }
    }

    /// Reads an element of the head that is neither an item nor a title.
    pub(crate) fn element<'a>(
        &mut self,
        element: Element<'_, 'a>,
        namespaces: &Namespaces<'_>,
        context: &Context<'a>,
    ) {
        let namespace = element.namespace();
        // Atom elements describe a feed in any format.
        let is_atom =
            namespace == Namespace::ATOM || (self.format == Format::Atom && namespace == self.root);
        let is_own = namespace == self.root
            || match self.format {
                Format::Atom => is_atom,
                Format::Rss => is_rss(namespace),
                Format::Opml | Format::Pox | Format::Json => namespace == Namespace::NONE,
            };
        match (self.format, element.local()) {
            (_, "subtitle" | "tagline") if is_atom => {
                let text = atom_text(element).unwrap_or_default();
                self.details.fill(|details| &mut details.subtitle, &text);
            }
            (_, "rights" | "copyright") if is_atom => {
                let text = atom_text(element).unwrap_or_default();
                self.details.fill(|details| &mut details.rights, &text);
            }
            (_, "author") if is_atom => {
                if !is_placeholder(element) {
                    let name = element.child(namespace, "name");
                    self.author(&name.map(Element::text).unwrap_or_default());
                }
            }
            (Format::Rss, "description") if is_own => {
                let text = rss_title(element).unwrap_or_default();
                self.details.fill(|details| &mut details.subtitle, &text);
            }
            (Format::Rss, "copyright") if is_own => {
                let text = rss_title(element).unwrap_or_default();
                self.details.fill(|details| &mut details.rights, &text);
            }
            (Format::Rss, "managingEditor") if is_own => {
                self.editor = Some(editor(&element.text()));
            }
            (Format::Opml, "ownerName") if is_own => {
                if !is_placeholder(element) {
                    self.author(&element.text());
                }
            }
            (_, "creator") if namespaces.iri(namespace) == DUBLIN_CORE => {
                self.author(&element.text());
            }
            (format, local) => {
                let is_described = (namespace == Namespace::ATOM && OF_ATOM.contains(&local))
                    || (format == Format::Rss
                        && namespace == Namespace::NONE
                        && OF_RSS.contains(&local));
                if !is_own || is_described {
                    self.keep(element, context);
                }
            }
        }
    }

    fn author(&mut self, name: &str) {
        // Further names would exceed the limit of the text.
        if self.authors_bytes > MAX_HEAD_TEXT {
            return;
        }
        let name = head_line(name);
        if !name.is_empty() && !self.authors.contains(&name) {
            self.authors_bytes += name.len();
            self.authors.push(name);
        }
    }

    /// Stores an element as markup, if it is valid and fits.
    fn keep<'a>(&mut self, element: Element<'_, 'a>, context: &Context<'a>) {
        self.is_full |= element.span().len() > self.markup.space();
        if self.is_full || context.is_spent() {
            self.details.left_out += 1;
            return;
        }
        let mut text = String::with_capacity(element.span().len());
        let extraction =
            Extraction { self_contained: self.self_contained, ..Extraction::default() };
        extract(&mut text, element, context, extraction);
        match self.markup.push(&define_references(&text)) {
            Ok(()) | Err(Unfit::Misplaced(_)) => {}
            Err(unfit) => {
                self.is_full |= unfit == Unfit::TooLarge;
                self.details.left_out += 1;
            }
        }
    }

    /// Returns the details of a feed with the given title.
    pub(crate) fn finish(mut self, title: Option<&str>) -> FeedDetails {
        if !self.authors.is_empty() {
            let authors = self.authors.join(", ");
            self.details.fill(|details| &mut details.author, &authors);
        }
        if let Some(editor) = self.editor {
            self.details.fill(|details| &mut details.author, &editor);
        }
        // RSS requires a description. A feed without a subtitle is written with its title instead,
        // so that is not a subtitle.
        if self.format == Format::Rss {
            self.details.subtitle.take_if(|subtitle| Some(subtitle.as_str()) == title);
        }
        FeedDetails { markup: self.markup.some(), ..self.details }
    }
}

/// Whether an author is a placeholder that is written because the format requires an author.
fn is_placeholder(element: Element<'_, '_>) -> bool {
    element.attribute(Namespace::OWN, super::write::PLACEHOLDER_ATTRIBUTE).is_some()
}

/// Returns the name in `address (name)`, or the whole text.
fn editor(text: &str) -> String {
    let name = text.split_once('(').and_then(|(_, rest)| rest.trim_end().strip_suffix(')'));
    name.filter(|name| !name.trim().is_empty()).unwrap_or(text).to_owned()
}
