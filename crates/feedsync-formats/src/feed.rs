//! Reads an XML feed from its root to its last item, in one pass over the text.
//!
//! Each format defines which elements hold items ([`Role`]); everything else is shared. Items are read and dropped one at
//! a time. Memory therefore holds the text and the feed, but never a tree of the whole document.

use feedsync_core::Format;

use crate::context::Context;
use crate::details::{HeadReader, is_head};
use crate::diagnostic::ReadError;
use crate::items::{Extras, Items, Slot};
use crate::opml;
use crate::options::{Mode, ReadOptions};
use crate::reading::Reading;
use crate::remarks::{Fault, PositionConverter};
use crate::structure::{End, Role, TagContext};
use crate::sync::{is_self_contained, read_sharing};
use crate::xml::{
    Attribute, Element, Namespace, Reader, StartTag, Token, Tree, XmlError, collapse,
};
use crate::{atom, pox, rss};

/// A feed with the positions of its parts in the text.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) reading: Reading,
    pub(crate) slots: Vec<Slot>,
    /// The position at which new items are inserted, with its context.
    pub(crate) end: End,
}

/// Reads a document of the given format, or of any XML format for `None`.
pub(crate) fn parse(
    text: &str,
    format: Option<Format>,
    options: &ReadOptions<'_>,
) -> Result<Parsed, ReadError> {
    let ill_formed = |error: XmlError| error.into_read_error(text);
    let mut reader = Reader::new(text, options.mode, &options.limits).map_err(ill_formed)?;
    let mut attributes = Vec::new();
    let root = root(&mut reader, &mut attributes).map_err(ill_formed)?;
    let found = format_of(text, &root, options.mode);
    let format = match (format, found) {
        (None, Some(found)) => found,
        (Some(wanted), Some(found)) if wanted == found => found,
        (Some(Format::Pox), _) => Format::Pox,
        _ => {
            let name = root.local_name(text);
            return Err(ReadError::UnknownFormat { found: format!("a document <{name}>") });
        }
    };
    let mut feed = FeedReader::new(text, format, options);
    feed.document(&mut reader, root, &attributes).map_err(ill_formed)?;
    Ok(feed.finish())
}

fn root(reader: &mut Reader<'_>, attributes: &mut Vec<Attribute>) -> Result<StartTag, XmlError> {
    loop {
        match reader.token(attributes)? {
            Token::Start(tag) => return Ok(tag),
            Token::EndOfDocument => return Err(XmlError::new(0, "the document has no root")),
            _ => {}
        }
    }
}

/// Whether an element may be a detail of the feed: neither an item nor any other known element.
fn is_detail(role: Role, element: Element<'_, '_>) -> bool {
    match role {
        Role::Candidate => element.child(Namespace::FEEDSYNC, "sync").is_none(),
        role => role == Role::Other,
    }
}

/// Returns the format that the root element indicates. It is POX only if the FeedSync namespace occurs in the text.
/// Tolerant reading accepts an Atom feed in any namespace, since old feeds have none or another one.
pub(crate) fn format_of(text: &str, root: &StartTag, mode: Mode) -> Option<Format> {
    let local = root.local_name(text);
    match (root.namespace, local) {
        (Namespace::ATOM | Namespace::ATOM03, "feed") => Some(Format::Atom),
        (_, "feed") if mode == Mode::Tolerant => Some(Format::Atom),
        (_, "rss") | (Namespace::RDF, "RDF") => Some(Format::Rss),
        (_, "RDF") if mode == Mode::Tolerant => Some(Format::Rss),
        (Namespace::NONE, "opml") => Some(Format::Opml),
        _ if crate::search::find(text.as_bytes(), crate::payload::FEEDSYNC.as_bytes())
            .is_some() =>
        {
            Some(Format::Pox)
        }
        _ => None,
    }
}

struct FeedReader<'a, 'o> {
    text: &'a str,
    items: Items<'o>,
    tree: Tree<'a>,
    title: Option<String>,
    head: HeadReader,
    sharing_seen: bool,
    end: End,
}

struct Open<'a> {
    context: Context<'a>,
    role: Role,
}

impl<'a, 'o> FeedReader<'a, 'o> {
    fn new(text: &'a str, format: Format, options: &'o ReadOptions<'o>) -> Self {
        Self {
            text,
            items: Items::new(format, options),
            tree: Tree::default(),
            title: None,
            head: HeadReader::new(format, Namespace::NONE, false),
            sharing_seen: false,
            end: End::default(),
        }
    }

    fn role(&self, place: TagContext<'_>) -> Role {
        match self.items.format {
            _ if place.namespace == Namespace::FEEDSYNC && place.local == "sharing" => {
                Role::Sharing
            }
            Format::Atom => atom::role(place),
            Format::Rss => rss::role(place),
            Format::Opml => opml::role(place),
            Format::Pox | Format::Json => pox::role(place),
        }
    }

    fn document(
        &mut self,
        reader: &mut Reader<'a>,
        root: StartTag,
        attributes: &[Attribute],
    ) -> Result<(), XmlError> {
        self.items.self_contained = is_self_contained(self.text, attributes);
        self.end.self_contained = self.items.self_contained;
        self.head = HeadReader::new(self.items.format, root.namespace, self.items.self_contained);
        self.head.root(self.text, attributes);
        if self.items.format == Format::Pox {
            self.title = pox::title(self.text, attributes);
        }
        let outside = Context::outside(self.items.options);
        let context = outside.enter(self.text, attributes).into_owned();
        let mut path = vec![root.local_name(self.text)];
        let role = self.role(TagContext {
            path: &[],
            root: root.namespace,
            namespace: root.namespace,
            local: path[0],
        });
        let mut open = vec![Open { context, role }];
        if root.empty {
            self.close(root.end - 2, Some(root), &open[0]);
        }
        let mut attributes = Vec::new();
        loop {
            attributes.clear();
            match reader.token(&mut attributes)? {
                Token::Start(tag) => {
                    let local = tag.local_name(self.text);
                    let namespace = tag.namespace;
                    let role = self.role(TagContext {
                        path: &path,
                        root: root.namespace,
                        namespace,
                        local,
                    });
                    let context = &open[open.len() - 1].context;
                    if matches!(role, Role::Container | Role::Items) {
                        let context = context.enter(self.text, &attributes).into_owned();
                        let inner = Open { context, role };
                        if tag.empty {
                            self.close(tag.end - 2, Some(tag), &inner);
                        } else {
                            open.push(inner);
                            path.push(local);
                        }
                    } else {
                        let mut tree = std::mem::take(&mut self.tree);
                        tree.fill(reader, tag, &attributes)?;
                        self.element(&tree, role, context)?;
                        if is_detail(role, tree.root()) && is_head(self.items.format, &path) {
                            self.head.element(tree.root(), reader.namespaces(), context);
                        }
                        self.tree = tree;
                    }
                }
                Token::End { start, .. } => {
                    if let Some(closed) = open.pop() {
                        self.close(start, None, &closed);
                    }
                    path.pop();
                }
                Token::EndOfDocument => return Ok(()),
                _ => {}
            }
        }
    }

    fn close(&mut self, offset: usize, empty: Option<StartTag>, closed: &Open<'a>) {
        if closed.role == Role::Items {
            let name = |tag: StartTag| {
                self.text[tag.start + 1..tag.start + 1 + tag.name_length as usize].to_owned()
            };
            self.end = End {
                offset,
                empty: empty.map(name),
                default: closed.context.default.as_deref().map(str::to_owned),
                prefix: closed.context.prefix_of(crate::payload::FEEDSYNC).map(str::to_owned),
                self_contained: self.items.self_contained,
            };
        }
    }

    fn element(
        &mut self,
        tree: &Tree<'a>,
        role: Role,
        context: &Context<'a>,
    ) -> Result<(), XmlError> {
        let element = tree.root();
        match role {
            Role::Item => {
                self.items.take(element, context, &Extras::default())?;
            }
            Role::Candidate => {
                if element.child(Namespace::FEEDSYNC, "sync").is_some() {
                    self.items.take(element, context, &Extras::default())?;
                } else {
                    pox::warn_of_deep_sync(element, &mut self.items.remarks);
                }
            }
            Role::Outlines => {
                self.end = opml::read_body(&mut self.items, element, context)?;
            }
            Role::Sharing => {
                if std::mem::replace(&mut self.sharing_seen, true) {
                    let fault = Fault::new(
                        element.span().start,
                        "FeedSync 2.2",
                        "a second sx:sharing: all of them are ignored",
                    );
                    self.items.remarks.remark(fault);
                    self.items.feed.sharing = None;
                } else {
                    let mode = self.items.options.mode;
                    let sharing = read_sharing(element, mode, &mut self.items.remarks);
                    self.items.feed.sharing = Some(sharing);
                }
            }
            Role::Title => {
                if self.title.is_none() {
                    self.title = Some(collapse(&element.text()));
                }
            }
            Role::Container | Role::Items | Role::Other => {}
        }
        Ok(())
    }

    fn finish(mut self) -> Parsed {
        let mut places = PositionConverter::new(self.text);
        let refused = self.items.take_refused(&mut places);
        let Items { format, feed, remarks, slots, .. } = self.items;
        let diagnostics = remarks.into_diagnostics(&mut places);
        let details = self.head.finish(self.title.as_deref());
        let reading = Reading { format, feed, title: self.title, details, diagnostics, refused };
        Parsed { reading, slots, end: self.end }
    }
}

#[cfg(test)]
mod tests;
