//! Requests to `_find`: pages of documents that match a selector, in the order of ids or of an index.
//!
//! Source: CouchDB's documentation of `/{db}/_find`, and its `mango_opts.erl`.

use feedsync_formats::json::{Kind, Node};

use crate::json::{boolean, text};
use crate::options::{check_selector, flag, number, positive, refuse_unknown, required, string};
use crate::plan::UseIndex;
use crate::refusal::{Refusal, RefusalKind};
use crate::selector::{Fields, Selector};
use crate::sort::Sort;

mod bookmark;
mod statistics;

#[cfg(test)]
mod tests;

pub use bookmark::Position;
pub use statistics::FindStatistics;

/// Default number of documents in a page.
const DEFAULT_LIMIT: u64 = 25;

/// The members of a request.
const KNOWN: [&str; 15] = [
    "selector",
    "use_index",
    "allow_fallback",
    "bookmark",
    "limit",
    "skip",
    "sort",
    "fields",
    "partition",
    "r",
    "conflicts",
    "stale",
    "update",
    "stable",
    "execution_stats",
];

/// A request for documents that match a selector.
#[derive(Debug, Clone)]
pub struct FindRequest {
    /// Selector of the documents.
    pub selector: Selector,
    /// Whether the selector is only an `$and` or `$or` without conditions. Such a request finds nothing, as in CouchDB.
    pub finds_nothing: bool,
    /// Position at which the page begins.
    pub position: Position,
    /// Order of the documents; without fields it is that of the index that is used.
    pub sort: Sort,
    /// The index that the client names.
    pub use_index: Option<UseIndex>,
    /// Whether another index than the named one may be used, or none.
    pub allow_fallback: bool,
    /// Maximum number of documents that are returned.
    pub limit: u64,
    /// Number of matching documents that are skipped first.
    pub skip: u64,
    /// Parts of the documents that are returned.
    pub fields: Fields,
    /// Whether other leaves of the documents are listed.
    pub conflicts: bool,
    /// Whether the response has statistics.
    pub execution_stats: bool,
    /// Options without an effect.
    pub replicas: ReplicaOptions,
}

/// Options about replicas of documents and outdated indexes. They have no effect: there is one replica, and indexes are
/// always current.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplicaOptions {
    /// Number of replicas from which documents are read.
    pub r: u64,
    /// Whether the index is updated before it is read.
    pub update: bool,
    /// Whether all requests read the same replicas.
    pub stable: bool,
    /// Whether the index may be outdated.
    pub stale: bool,
}

impl FindRequest {
    /// Parses a request. [`plan`](crate::plan::plan) chooses an index for it.
    pub fn parse(sent: Node<'_>) -> Result<Self, Refusal> {
        let member = |name: &str| sent.member(name).map(|member| member.value);
        let selector = required(sent, "selector")?;
        check_selector(selector)?;
        let finds_nothing = is_empty_combination(selector);
        let selector = Selector::parse(selector)
            .map_err(|error| RefusalKind::BadRequest.with_reason(error))?;
        if string(sent, "partition")?.is_some_and(|partition| !partition.is_empty()) {
            let reason = "partition is not supported: this database is not partitioned";
            return Err(RefusalKind::BadRequest.with_reason(reason));
        }
        let request = Self {
            selector,
            finds_nothing,
            position: position(member("bookmark"))?,
            sort: member("sort").map_or(Ok(Sort::default()), Sort::read)?,
            use_index: member("use_index").map_or(Ok(None), UseIndex::read)?,
            allow_fallback: flag(sent, "allow_fallback", true)?,
            limit: number(sent, "limit", DEFAULT_LIMIT)?,
            skip: number(sent, "skip", 0)?,
            fields: member("fields").map_or(Ok(Fields::default()), Fields::read)?,
            conflicts: flag(sent, "conflicts", false)?,
            execution_stats: flag(sent, "execution_stats", false)?,
            replicas: ReplicaOptions {
                r: positive(sent, "r", 1)?,
                update: flag(sent, "update", true)?,
                stable: flag(sent, "stable", false)?,
                stale: member("stale").map_or(Ok(false), stale)?,
            },
        };
        refuse_unknown(sent, &KNOWN)?;
        Ok(request)
    }
}

/// Whether a selector is only an `$and` or `$or` without conditions.
fn is_empty_combination(selector: Node<'_>) -> bool {
    let mut members = selector.members();
    let (Some(member), None) = (members.next(), members.next()) else { return false };
    let is_combination = matches!(&*member.name, "$and" | "$or");
    is_combination && member.value.kind() == Kind::Array && member.value.elements().next().is_none()
}

fn position(bookmark: Option<Node<'_>>) -> Result<Position, Refusal> {
    let Some(sent) = bookmark.filter(|it| it.kind() != Kind::Null) else {
        return Ok(Position::Start);
    };
    let reason = || format!("Invalid bookmark value: {}", sent.raw());
    let bookmark = text(sent).ok_or_else(|| RefusalKind::InvalidBookmark.with_reason(reason()))?;
    if bookmark.is_empty() { Ok(Position::Start) } else { Position::parse(&bookmark) }
}

/// Parses the member `stale`: `"ok"` or `false`.
fn stale(sent: Node<'_>) -> Result<bool, Refusal> {
    match (text(sent).as_deref(), boolean(sent)) {
        (Some("ok"), _) => Ok(true),
        (Some("false"), _) | (_, Some(false)) => Ok(false),
        _ => {
            let reason =
                format_args!("Invalid value of stale: {}, expected \"ok\" or false", sent.raw());
            Err(RefusalKind::InvalidBoolean.with_reason(reason))
        }
    }
}
