//! An entry that a client submits to create an entry or to replace one (RFC 5023 9.2, 9.3).
//!
//! Reading is strict: one well-formed Atom entry, without repeated elements that RFC 4287 4.1.2 allows only once.
//! Missing elements are accepted (AP28), and [`complete`] fills them in. A history in the entry is a [`Claim`] of the
//! client. It never becomes part of the item's history (AP45).

use feedsync_core::{By, Format, Payload, Sequence, Timestamp, Update};

use crate::compose::push_element;
use crate::context::Context;
use crate::control::{controls, drafts};
use crate::diagnostic::{Position, ReadError};
use crate::options::{Limits, Mode, ReadOptions};
use crate::payload::{payload_of, with_end};
use crate::revise::Edits;
use crate::xml::check_is_xml;
use crate::xml::{Element, Namespace, Tree, XmlError, decode, escape_text};

/// A document that a client submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Submission {
    /// An entry.
    Entry {
        /// The entry, self-contained, without `sx:sync`.
        payload: Payload,
        /// The item and version that the entry claims to be.
        claim: Option<Claim>,
    },
    /// A feed. It is merged and creates no member.
    Feed,
}

/// The content of the `sx:sync` of a submitted entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Id of the item as written.
    pub id: String,
    /// Topmost update of the history. `None` if it is invalid.
    pub dot: Option<Update>,
}

/// Reason why a client's entry is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubmissionError {
    /// The entry cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The document can be read but is not an entry that can be stored.
    #[error("{message}")]
    Invalid {
        /// Position of the problem.
        position: Position,
        /// Description of the problem.
        message: String,
    },
}

/// Reads an entry of a client.
pub fn read_submission(
    bytes: &[u8],
    options: &ReadOptions<'_>,
) -> Result<Submission, SubmissionError> {
    let (text, _) = decode(bytes, options)?;
    check_is_xml(&text)?;
    let (tree, namespaces) = Tree::parse(&text, options.mode, &options.limits)
        .map_err(|error: XmlError| error.into_read_error(&text))?;
    let root = tree.root();
    let invalid = |element: Element<'_, '_>, message: String| SubmissionError::Invalid {
        position: Position::of(&text, element.span().start),
        message,
    };
    match (root.namespace(), root.local()) {
        (Namespace::ATOM, "entry") => {}
        (Namespace::ATOM, "feed") => return Ok(Submission::Feed),
        _ => return Err(invalid(root, format!("{:?} is not an atom:entry", root.name()))),
    }
    for local in ["id", "title", "updated", "published", "summary", "content", "rights", "source"] {
        let mut found = root.children().filter(|child| child.is(Namespace::ATOM, local));
        if let Some(second) = found.nth(1) {
            return Err(invalid(second, format!("an entry has one atom:{local} (RFC 4287 4.1.2)")));
        }
    }
    if let Some(second) = controls(root, &namespaces).nth(1) {
        return Err(invalid(second, "an entry has one app:control (RFC 5023 13.1)".to_owned()));
    }
    for draft in drafts(root, &namespaces) {
        let said = draft.text();
        if !matches!(said.trim(), "yes" | "no") {
            let message = format!("app:draft is yes or no, not {:?} (RFC 5023 13.1.1)", &*said);
            return Err(invalid(draft, message));
        }
    }
    let claim = root.child(Namespace::FEEDSYNC, "sync").map(claim);
    let payload = payload_of(Format::Atom, root, &Context::default());
    Ok(Submission::Entry { payload, claim })
}

fn claim(sync: Element<'_, '_>) -> Claim {
    let dot = sync.child(Namespace::FEEDSYNC, "history").and_then(|history| {
        let sequence = Sequence::new(history.value("sequence")?.parse().ok()?).ok()?;
        let when = history.value("when").map(|when| Timestamp::parse(&when)).transpose().ok()?;
        let by = history.value("by").map(|by| By::new(&by)).transpose().ok()?;
        Update::new(sequence, when, by).ok()
    });
    Claim { id: sync.value("id").unwrap_or_default().into_owned(), dot }
}

/// Texts of an entry that a server compares exactly.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Terms {
    /// `atom:id`.
    pub id: Option<String>,
    /// `atom:updated`.
    pub updated: Option<String>,
    /// `atom:published`.
    pub published: Option<String>,
    /// Whether the entry has an author.
    pub has_author: bool,
}

/// Returns these texts of an Atom entry. Blank texts are absent.
pub fn terms(payload: &Payload) -> Terms {
    let parsed = Tree::parse(payload.text(), Mode::Tolerant, &Limits::default());
    let Ok((tree, _)) = parsed else { return Terms::default() };
    let text = |local| {
        let text = tree.root().child(Namespace::ATOM, local)?.text().trim().to_owned();
        (!text.is_empty()).then_some(text)
    };
    Terms {
        id: text("id"),
        updated: text("updated"),
        published: text("published"),
        has_author: tree.root().child(Namespace::ATOM, "author").is_some(),
    }
}

/// Rule for completing one element of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill<'a> {
    /// The element gets this text, replacing any other.
    Always(&'a str),
    /// The element gets this text if it has none.
    Missing(&'a str),
}

/// Elements that a server completes in an entry (RFC 4287 4.1.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion<'a> {
    /// `atom:id`.
    pub id: Fill<'a>,
    /// `atom:updated`.
    pub updated: Fill<'a>,
    /// `atom:title`, if the entry has none.
    pub title: &'a str,
    /// `atom:published`, if the server sets it.
    pub published: Option<Fill<'a>>,
    /// Name of the author, if the entry has none.
    pub author: &'a str,
    /// `fs:slug`, the name that the client requested, if the entry has none.
    pub slug: Option<&'a str>,
    /// `atom:summary`, if the entry has none and requires one.
    pub summary: Option<&'a str>,
}

/// Returns the entry with the elements that the server completes. Every other byte stays. A payload that is not an
/// Atom entry is returned unchanged.
pub fn complete(payload: &Payload, completion: &Completion<'_>) -> Payload {
    let text = payload.text();
    let Ok((tree, _)) = Tree::parse(text, Mode::Tolerant, &Limits::default()) else {
        return payload.clone();
    };
    let entry = tree.root();
    if !entry.is(Namespace::ATOM, "entry") {
        return payload.clone();
    }
    let prefix = match entry.prefix() {
        "" => String::new(),
        prefix => format!("{prefix}:"),
    };
    let (mut edits, mut added) = (Edits::default(), String::new());
    let mut set = |local: &str, fill: Fill<'_>| {
        let (always, value) = match fill {
            Fill::Always(value) => (true, value),
            Fill::Missing(value) => (false, value),
        };
        match entry.child(Namespace::ATOM, local) {
            None => push_element(&mut added, &format!("{prefix}{local}"), Some(value)),
            Some(element) if always || element.text().trim().is_empty() => {
                let mut whole = format!("<{}>", element.name());
                escape_text(&mut whole, value);
                whole.push_str(&format!("</{}>", element.name()));
                edits.replace(element.span(), whole);
            }
            Some(_) => {}
        }
    };
    set("id", completion.id);
    if entry.child(Namespace::ATOM, "title").is_none() {
        set("title", Fill::Missing(completion.title));
    }
    set("updated", completion.updated);
    if let Some(published) = completion.published {
        set("published", published);
    }
    if let Some(summary) = completion.summary {
        set("summary", Fill::Missing(summary));
    }
    if entry.child(Namespace::ATOM, "author").is_none() {
        added.push_str(&format!("<{prefix}author>"));
        push_element(&mut added, &format!("{prefix}name"), Some(completion.author));
        added.push_str(&format!("</{prefix}author>"));
    }
    if let Some(slug) = completion.slug
        && entry.child(Namespace::OWN, "slug").is_none()
    {
        added.push_str("<fs:slug xmlns:fs=\"urn:feedsync:1\">");
        escape_text(&mut added, slug);
        added.push_str("</fs:slug>");
    }
    let text = with_end(&edits.apply(text), &added);
    payload.with_parsed_text(text)
}

#[cfg(test)]
mod tests;
