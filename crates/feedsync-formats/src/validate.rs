//! Validation: reports all violations of the specifications, and does not guess the intended meaning.
//!
//! [`validate`] reads a document strictly, as [`read`](crate::read) and [`sse::Document`] do. It also checks
//! properties that readers ignore: elements at a wrong position ([`placement`]), namespaces that are almost right,
//! dates that do not order as texts, and stamps without `when` or `by`. Documents of AtomPub, which contain no items
//! of a feed, are checked against RFC 5023 and RFC 4287. These checks do not change what readers accept.

mod app;
mod atom;
mod entry;
mod findings;
mod json;
mod namespaces;
mod placement;
mod stamps;
#[cfg(test)]
mod tests;
mod walk;
mod window;

use std::collections::HashSet;

use feedsync_core::Format;

use crate::context::Context;
use crate::diagnostic::{Diagnostic, ReadError};
use crate::feed;
use crate::items::{Extras, Items};
use crate::json as json_format;
use crate::options::ReadOptions;
use crate::read::{looks_like_json, read};
use crate::remarks::{Fault, PositionConverter};
use crate::server_parts::APP;
use crate::sse;
use crate::xml::check_is_xml;
use crate::xml::{Namespace, Reader, Token, Tree, decode};

use atom::Checker;
use findings::Findings;
use placement::Shape;
use walk::Walk;

/// Type of a document, and the number of its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contents {
    /// A feed.
    Feed {
        /// Format of the feed.
        format: Format,
        /// Whether its items take part in SSE 0.91 instead of FeedSync.
        uses_sse: bool,
        /// Number of items that take part in sharing.
        items: usize,
        /// Number of items that take no part.
        plain: usize,
    },
    /// A service document of AtomPub.
    Service {
        /// Number of workspaces.
        workspaces: usize,
        /// Number of collections in all of them.
        collections: usize,
    },
    /// A categories document of AtomPub.
    Categories {
        /// Number of categories.
        categories: usize,
    },
    /// An Atom entry document.
    Entry {
        /// Whether the entry takes part in FeedSync.
        takes_part: bool,
    },
}

/// The result of validation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validation {
    /// Type of the document, or an error if it cannot be read at all.
    pub contents: Result<Contents, ReadError>,
    /// Faults and warnings, in document order.
    pub findings: Vec<Diagnostic>,
}

/// Validates a document of any format, strictly and with the default limits.
pub fn validate(bytes: &[u8]) -> Validation {
    let options = ReadOptions::strict();
    if looks_like_json(bytes) {
        return json_document(bytes, &options);
    }
    let decoded = decode(bytes, &options);
    let text = match decoded.and_then(|(text, _)| check_is_xml(&text).map(|()| text)) {
        Ok(text) => text,
        Err(error) => return Validation { contents: Err(error), findings: Vec::new() },
    };
    let mut findings = Findings::default();
    let mut known = Vec::new();
    let contents = xml_document(bytes, &text, (&mut known, &mut findings), &options);
    findings.join(&mut known, &text);
    Validation { contents, findings: known }
}

fn json_document(bytes: &[u8], options: &ReadOptions<'_>) -> Validation {
    let mut known = Vec::new();
    let contents = feed_contents(bytes, &mut known, options);
    if let (Ok(_), Ok(text)) = (&contents, json_format::text_of(bytes, options)) {
        let mut findings = Findings::default();
        json::check(text, &mut findings);
        findings.join(&mut known, text);
    }
    Validation { contents, findings: known }
}

/// Properties of the root element that determine the type of the document.
struct Root {
    start: usize,
    name: String,
    namespace: Namespace,
    format: Option<Format>,
}

fn root_of(text: &str, options: &ReadOptions<'_>) -> Option<Root> {
    let mut reader = Reader::new(text, options.mode, &options.limits).ok()?;
    let mut attributes = Vec::new();
    loop {
        match reader.token(&mut attributes).ok()? {
            Token::Start(tag) => {
                return Some(Root {
                    start: tag.start,
                    name: tag.local_name(text).to_owned(),
                    namespace: tag.namespace,
                    format: feed::format_of(text, &tag, options.mode),
                });
            }
            Token::EndOfDocument => return None,
            _ => {}
        }
    }
}

fn xml_document(
    bytes: &[u8],
    text: &str,
    (known, findings): (&mut Vec<Diagnostic>, &mut Findings),
    options: &ReadOptions<'_>,
) -> Result<Contents, ReadError> {
    let Some(root) = root_of(text, options) else {
        return feed_contents(bytes, known, options);
    };
    let kind = (root.namespace, &*root.name);
    let shape = match kind {
        (Namespace::ATOM, "entry") => Shape::Entry,
        (Namespace::APP, _) => Shape::Other,
        _ => root.format.map_or(Shape::Other, Shape::Feed),
    };
    let contents = match kind {
        (Namespace::ATOM, "entry") => entry_contents(text, known, findings, options),
        (Namespace::APP, "service" | "categories") => app_contents(text, findings, options),
        _ => {
            let read = feed_contents(bytes, known, options);
            lacks_namespace(&root, read.is_ok(), findings);
            if read.is_ok() && shape == Shape::Feed(Format::Atom) {
                app_in_feed(text, findings, options)?;
            }
            read
        }
    };
    // A document that is not well-formed already has an error.
    if contents.is_ok() || matches!(contents, Err(ReadError::UnknownFormat { .. })) {
        Walk::new(text, shape, findings)
            .run(options)
            .map_err(|error| error.into_read_error(text))?;
    }
    contents
}

/// Reads a feed. Adds the diagnostics of reading and the reasons of refusals.
fn feed_contents(
    bytes: &[u8],
    known: &mut Vec<Diagnostic>,
    options: &ReadOptions<'_>,
) -> Result<Contents, ReadError> {
    if sse::uses_sse(bytes, options) {
        let document = sse::Document::read(bytes, options)?;
        known.extend(document.diagnostics().iter().cloned());
        known.extend(document.refused().iter().map(|refused| refused.reason.clone()));
        if let Ok(reading) = read(bytes, None, options) {
            // A document may mix both, which is already a fault. A problem that both readings report is listed once.
            let positions: HashSet<_> = known.iter().map(|remark| remark.position).collect();
            let refused = reading.refused.into_iter().map(|refused| refused.reason);
            let of_feedsync = reading.diagnostics.into_iter().chain(refused);
            known.extend(of_feedsync.filter(|remark| !positions.contains(&remark.position)));
        }
        return Ok(Contents::Feed {
            format: document.format(),
            uses_sse: true,
            items: document.items().count(),
            plain: document.plain_items(),
        });
    }
    let reading = read(bytes, None, options)?;
    known.extend(reading.diagnostics);
    known.extend(reading.refused.into_iter().map(|refused| refused.reason));
    known.sort_by_key(|remark| remark.position);
    Ok(Contents::Feed {
        format: reading.format,
        uses_sse: false,
        items: reading.feed.items.len(),
        plain: reading.feed.plain_items,
    })
}

/// Checks a service document or a categories document.
fn app_contents(
    text: &str,
    findings: &mut Findings,
    options: &ReadOptions<'_>,
) -> Result<Contents, ReadError> {
    let (tree, _) = Tree::parse(text, options.mode, &options.limits)
        .map_err(|error| error.into_read_error(text))?;
    let mut checker = Checker::new(findings);
    if tree.root().local() == "service" {
        let (workspaces, collections) = app::service(&mut checker, tree.root());
        return Ok(Contents::Service { workspaces, collections });
    }
    Ok(Contents::Categories { categories: app::categories(&mut checker, tree.root()) })
}

/// Checks the values of AtomPub in an Atom feed.
fn app_in_feed(
    text: &str,
    findings: &mut Findings,
    options: &ReadOptions<'_>,
) -> Result<(), ReadError> {
    if crate::search::find(text.as_bytes(), APP.as_bytes()).is_some() {
        let (tree, _) = Tree::parse(text, options.mode, &options.limits)
            .map_err(|error| error.into_read_error(text))?;
        app::feed(&mut Checker::new(findings), tree.root());
    }
    Ok(())
}

/// Checks an entry document, and reads its `sx:sync` like that of an entry in a feed.
fn entry_contents(
    text: &str,
    known: &mut Vec<Diagnostic>,
    findings: &mut Findings,
    options: &ReadOptions<'_>,
) -> Result<Contents, ReadError> {
    let (tree, _) = Tree::parse(text, options.mode, &options.limits)
        .map_err(|error| error.into_read_error(text))?;
    entry::check(&mut Checker::new(findings), tree.root());
    let mut items = Items::new(Format::Atom, options);
    let taken = items.take(tree.root(), &Context::outside(options), &Extras::default());
    taken.map_err(|error| error.into_read_error(text))?;
    let mut places = PositionConverter::new(text);
    let refused = items.take_refused(&mut places);
    let takes_part = items.feed.plain_items == 0;
    known.extend(items.remarks.into_diagnostics(&mut places));
    known.extend(refused.into_iter().map(|refused| refused.reason));
    Ok(Contents::Entry { takes_part })
}

/// Reports a root element with a name of Atom or AtomPub and without a namespace. Plain XML may have any root, but
/// other such documents cannot be read.
fn lacks_namespace(root: &Root, is_read: bool, findings: &mut Findings) {
    let (name, iri, clause) = match &*root.name {
        "feed" | "entry" => ("Atom", crate::atom::ATOM, "RFC 4287 1.2"),
        "service" | "categories" => ("AtomPub", APP, "RFC 5023 6.1"),
        _ => return,
    };
    if root.namespace != Namespace::NONE {
        return;
    }
    let message =
        format!("{} is in no namespace; in a document of {name} it is in {iri:?}", root.name);
    let fault = Fault::new(root.start, clause, message);
    if is_read { findings.warn(fault) } else { findings.fault(fault) }
}
