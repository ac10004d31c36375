//! An entry as a client submits it to be created or to replace another (RFC 5023 9.2, 9.3).
//!
//! Reading is strict: one Atom entry, well-formed, with no element twice that RFC 4287 4.1.2 allows once.
//! Missing elements are accepted (AP28): [`complete`] fills them in. A history in the entry is a [`Claim`] of the client.
//! It never becomes part of the item's history (AP45).

use feedsync_core::{By, Format, Payload, Sequence, Timestamp, Update};

use crate::compose::push_element;
use crate::context::Context;
use crate::control::{controls, drafts};
use crate::diagnostic::{Position, ReadError};
use crate::options::{Limits, Mode, ReadOptions};
use crate::payload::with_end;
use crate::plain;
use crate::read::check_is_xml;
use crate::revise::Edits;
use crate::xml::{Element, Namespace, Tree, XmlError, decode, escape_text};

/// What a client sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Submission {
    /// An entry.
    Entry {
        /// The entry, self-contained, without `sx:sync`.
        payload: Payload,
        /// Which version of which item it says it is.
        claim: Option<Claim>,
    },
    /// A feed, which is merged and creates no member.
    Feed,
}

/// What the `sx:sync` of a submitted entry says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The item's id as it stands.
    pub id: String,
    /// The topmost update; `None` if it cannot be one.
    pub dot: Option<Update>,
}

/// Why a client's entry is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubmissionError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It can be read and is no entry that can be stored.
    #[error("{message}")]
    Invalid {
        /// Where.
        position: Position,
        /// What is wrong.
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
        _ => return Err(invalid(root, format!("{:?} is no atom:entry", root.name()))),
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
    let payload = plain::payload(Format::Atom, root, &Context::default());
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

/// The texts of an entry that a server looks at to the letter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Terms {
    /// `atom:id`.
    pub id: Option<String>,
    /// `atom:updated`.
    pub updated: Option<String>,
    /// `atom:published`.
    pub published: Option<String>,
    /// Whether it says who wrote it.
    pub has_author: bool,
}

/// What an Atom entry says in these; blank texts are absent.
pub fn terms(payload: &Payload) -> Terms {
    let parsed = Tree::parse(&payload.text, Mode::Tolerant, &Limits::default());
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

/// What becomes of one element of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill<'a> {
    /// It has this text whatever it had.
    Always(&'a str),
    /// It has this text if it had none.
    Missing(&'a str),
}

/// What an entry has once it is complete (RFC 4287 4.1.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion<'a> {
    /// `atom:id`.
    pub id: Fill<'a>,
    /// `atom:updated`.
    pub updated: Fill<'a>,
    /// `atom:title`, if it has none.
    pub title: &'a str,
    /// `atom:published`, if it is to have one.
    pub published: Option<Fill<'a>>,
    /// The name of who wrote it, if nobody is named.
    pub author: &'a str,
    /// `fs:slug`, the name that its creator asked for, if it has none.
    pub slug: Option<&'a str>,
    /// `atom:summary`, if it has none and needs one.
    pub summary: Option<&'a str>,
}

/// The entry with what a server fills in; every other byte stays. A payload that is no Atom entry
/// comes back as it is.
pub fn complete(payload: &Payload, completion: &Completion<'_>) -> Payload {
    let text = &*payload.text;
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
    Payload { text: text.into(), ..payload.clone() }
}

#[cfg(test)]
mod tests;
