//! Incorporation of the items of a hub's document (1.2 rule 8, 3.3), and the reissue of versions whose authoring line
//! another endpoint uses.

use std::collections::BTreeMap;

use feedsync_core::{
    By, Incorporation, Item, MAX_READ_UPDATES, Payload, Sequence, incorporate as merged, line,
};
use feedsync_formats::ReadOptions;
use feedsync_formats::json::{self, push_string};

use crate::failure::Failure;
use crate::item::{bounded, push_item, read_item};
use crate::request::{Issued, Request};

/// A stored item, and the sequences that were issued for it.
struct Stored {
    item: Option<Item<Payload>>,
    issued: Issued,
}

/// An item with versions that were issued again, and the sequences of their new authoring lines.
type Reissued = (Item<Payload>, Vec<(By, Sequence)>);

/// Incorporates the items of a document. The response has the result of each: `outcome`, the `item` if it changed, the
/// sequences that were `issued`, and whether all versions of the result are the sender's (`theirs`). If an item shows that
/// another endpoint writes with the current authoring line, nothing is merged, and `collides` is true.
pub(crate) fn incorporate(request: &Request<'_>, document: &str) -> Result<String, Failure> {
    let reading = json::read_unmapped(document.as_bytes(), &ReadOptions::strict())?;
    let (incarnation, fresh) = (request.by("by")?, request.by("fresh")?);
    let mut locals = BTreeMap::new();
    for member in request.get("stored")?.members() {
        let part = Request::of(member.value);
        let item = part.find("item").map(|item| read_item(item.raw())).transpose();
        let item = item.map_err(Failure::Damaged)?;
        locals.insert(member.name.into_owned(), Stored { item, issued: part.issued("issued")? });
    }
    let none = Stored { item: None, issued: Issued::new() };
    let mut out = String::from("{");
    push_window(&mut out, &reading);
    let collides = reading.feed.items.iter().any(|item| {
        let local = locals.get(item.id.as_str()).unwrap_or(&none);
        let issued = |by: &By| local.issued.get(by).copied();
        is_read(item) && line::collides(&incarnation, issued, local.item.as_ref(), item)
    });
    if collides {
        out.push_str("\"collides\":true,\"items\":[]}");
        return Ok(out);
    }
    out.push_str("\"items\":[");
    for incoming in reading.feed.items {
        let local = locals.get(incoming.id.as_str()).unwrap_or(&none);
        let result = Incorporated::of(local, incoming, &fresh);
        result.push(&mut out);
        out.push(',');
    }
    for refused in &reading.refused {
        out.push_str("{\"outcome\":\"refused\",\"id\":");
        push_string(&mut out, refused.id.as_deref().unwrap_or_default());
        out.push_str(",\"reason\":");
        push_string(&mut out, &refused.reason.message);
        out.push_str("},");
    }
    if out.ends_with(',') {
        out.pop();
    }
    out.push_str("]}");
    Ok(out)
}

/// Issues the versions of an authoring line again whose sequences no other endpoint was shown. `unsent` has the first such
/// sequence of each line.
pub(crate) fn reissue(request: &Request<'_>) -> Result<String, Failure> {
    let mut item = request.item()?;
    let fresh = request.by("fresh")?;
    let doubts: line::DisputedSequences = request.issued("unsent")?.into_iter().collect();
    let mut issued = Vec::new();
    for version in item.versions_mut() {
        let is_doubted = doubts
            .iter()
            .any(|(by, from)| version.dot().by() == Some(by) && version.dot().sequence() >= *from);
        if is_doubted {
            let by = line::branch(&fresh, issued.len()).unwrap_or_else(|| fresh.clone());
            line::reissue(version, &doubts, &by);
            issued.push((by, version.dot().sequence()));
        }
    }
    let mut out = String::from("{");
    push_issued(&mut out, &issued);
    out.push_str("\"item\":");
    push_item(&mut out, &item);
    out.push('}');
    Ok(out)
}

struct Incorporated {
    id: String,
    outcome: &'static str,
    reason: Option<String>,
    item: Option<Item<Payload>>,
    is_theirs: bool,
    issued: Vec<(By, Sequence)>,
}

impl Incorporated {
    fn of(local: &Stored, incoming: Item<Payload>, fresh: &By) -> Self {
        let id = incoming.id.to_string();
        let reissued =
            local.item.as_ref().and_then(|item| reconciled(item, local, &incoming, fresh));
        let before = reissued.as_ref().map(|(item, _)| item).or(local.item.as_ref());
        let dots: Vec<_> = incoming.versions().map(|version| version.dot().clone()).collect();
        let (outcome, item) = match merged(before, None, incoming) {
            Incorporation::Added(item) => ("added", Some(item)),
            Incorporation::Updated(item) => ("updated", Some(item)),
            Incorporation::Conflict(item) => ("conflict", Some(item)),
            // A reissued version must reach others, even if the incoming item is known.
            Incorporation::Unchanged => match &reissued {
                Some((item, _)) => ("updated", Some(item.clone())),
                None => ("unchanged", None),
            },
            Incorporation::Refused(refusal) => return Self::refused(id, refusal.to_string()),
        };
        let item = match item.map(|item| bounded(item, before)).transpose() {
            Ok(item) => item,
            Err(refusal) => return Self::refused(id, refusal.to_string()),
        };
        let is_theirs = item.as_ref().is_some_and(|item| {
            item.versions().all(|version| dots.iter().any(|dot| dot.is_same(version.dot())))
        });
        let issued = reissued.map(|(_, issued)| issued).unwrap_or_default();
        Self { id, outcome, reason: None, item, is_theirs, issued }
    }

    fn refused(id: String, reason: String) -> Self {
        let reason = Some(reason);
        Self { id, outcome: "refused", reason, item: None, is_theirs: false, issued: Vec::new() }
    }

    fn push(&self, out: &mut String) {
        out.push_str("{\"id\":");
        push_string(out, &self.id);
        out.push_str(",\"outcome\":");
        push_string(out, self.outcome);
        if let Some(reason) = &self.reason {
            out.push_str(",\"reason\":");
            push_string(out, reason);
        }
        if let Some(item) = &self.item {
            out.push(',');
            push_issued(out, &self.issued);
            out.push_str(if self.is_theirs { "\"theirs\":true," } else { "\"theirs\":false," });
            out.push_str("\"item\":");
            push_item(out, item);
        }
        out.push('}');
    }
}

/// Reissues our versions that an incoming item would supersede without knowing them.
fn reconciled(
    item: &Item<Payload>,
    local: &Stored,
    incoming: &Item<Payload>,
    fresh: &By,
) -> Option<Reissued> {
    let mut item = item.clone();
    let mut issued = Vec::new();
    for version in item.versions_mut() {
        let is_own = version.dot().by().is_some_and(|by| local.issued.contains_key(by));
        if let Some(doubts) = line::disputed_sequences(version, incoming).filter(|_| is_own) {
            let by = line::branch(fresh, issued.len()).unwrap_or_else(|| fresh.clone());
            line::reissue(version, &doubts, &by);
            issued.push((by, version.dot().sequence()));
        }
    }
    (!issued.is_empty()).then_some((item, issued))
}

/// Whether the histories of an item are short enough to be processed; longer ones are refused.
fn is_read(item: &Item<Payload>) -> bool {
    let updates: usize = item.versions().map(|version| version.history.updates().len()).sum();
    updates <= MAX_READ_UPDATES
}

fn push_window(out: &mut String, reading: &feedsync_formats::Reading) {
    let window = reading.feed.sharing.as_ref().and_then(|sharing| sharing.window.as_ref());
    if let Some(window) = window {
        out.push_str("\"since\":");
        push_string(out, &window.since);
        out.push_str(",\"until\":");
        push_string(out, &window.until);
        out.push(',');
    }
}

fn push_issued(out: &mut String, issued: &[(By, Sequence)]) {
    out.push_str("\"issued\":{");
    for (index, (by, sequence)) in issued.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        push_string(out, by.as_str());
        out.push(':');
        out.push_str(&sequence.to_string());
    }
    out.push_str("},");
}
