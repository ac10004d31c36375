//! Requests to `_replicate`, and documents of `_replicator`.
//!
//! Source: CouchDB's `couch_replicator_parse.erl`. Errors do not contain addresses or headers, which may have secrets.

mod side;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use feedsync_formats::json::{Kind, Node};

pub use side::{RemoteAddress, ReplicationSide};

use crate::ChangesFilter;
use crate::json::{boolean, text};
use crate::many::named;
use crate::refusal::{Refusal, RefusalKind};
use crate::replication::UpdateSequence;
use crate::selector::{Selector, SelectorError};

/// Members that select documents; a request may have one of them.
const SELECTIONS: [&str; 3] = ["doc_ids", "filter", "selector"];

/// Members that name a running replication.
const IDS: [&str; 3] = ["replication_id", "_local_id", "id"];

/// Numbers that affect only the speed of CouchDB's replicator.
const TUNING: [&str; 6] = [
    "checkpoint_interval",
    "connection_timeout",
    "http_connections",
    "retries_per_request",
    "worker_batch_size",
    "worker_processes",
];

/// Other members without an effect on the result.
const IGNORED: [&str; 4] =
    ["create_target_params", "query_params", "socket_options", "use_bulk_get"];

/// Members that the hub refuses with a reason.
const REFUSED: [(&str, &str); 6] = [
    ("filter", "Replications cannot use filter functions here. Use selector or doc_ids."),
    ("winning_revs_only", "Replications always copy all leaf revisions here."),
    ("proxy", PROXY),
    ("source_proxy", PROXY),
    ("target_proxy", PROXY),
    ("user_ctx", "Replications are carried out on behalf of the user who starts them here."),
];

const PROXY: &str = "A replication cannot choose a proxy here. The hub uses its own one.";

/// Members with a meaning, besides those above.
const KNOWN: [&str; 9] = [
    "source",
    "target",
    "continuous",
    "create_target",
    "doc_ids",
    "selector",
    "since_seq",
    "use_checkpoints",
    "cancel",
];

/// Members of a document of `_replicator` that do not affect the result, besides those that begin with `_`.
const DOCUMENT_MEMBERS: [&str; 2] = ["owner", "user_ctx"];

/// A request to `_replicate`.
#[derive(Debug, Clone)]
pub enum ReplicateCommand {
    /// Start a replication, or join a running one.
    Begin(ReplicateRequest),
    /// Cancel the replication that this request has started.
    Cancel(ReplicateRequest),
    /// Cancel the replication with this id.
    CancelId(String),
}

/// A requested replication.
#[derive(Debug, Clone)]
pub struct ReplicateRequest {
    /// Database that is read.
    pub source: ReplicationSide,
    /// Database that is written.
    pub target: ReplicationSide,
    /// Selection of documents.
    pub filter: ReplicationFilter,
    /// Whether the replication continues with each later change.
    pub is_continuous: bool,
    /// Whether the target is created if it does not exist.
    pub creates_target: bool,
    /// Position in the changes of the source at which the replication begins.
    pub since: Option<UpdateSequence>,
    /// Whether checkpoints are read and written.
    pub uses_checkpoints: bool,
}

/// Selection of the documents that are replicated.
#[derive(Debug, Clone, Default)]
pub enum ReplicationFilter {
    /// All documents.
    #[default]
    All,
    /// The documents that match a selector.
    Selector {
        /// The selector as JSON.
        text: String,
        /// The parsed selector.
        filter: Arc<ChangesFilter>,
    },
    /// The documents with these ids.
    Ids(Vec<String>),
}

impl ReplicationFilter {
    /// Parses a selector.
    pub fn selector(node: Node<'_>) -> Result<Self, SelectorError> {
        let selector = Selector::parse_filter(node)?;
        let filter = Arc::new(ChangesFilter::Selector(Box::new(selector)));
        Ok(Self::Selector { text: node.raw().to_owned(), filter })
    }

    /// A text that differs for different selections, and is empty for all documents.
    pub fn identity(&self) -> String {
        match self {
            Self::All => String::new(),
            Self::Selector { text, .. } => format!("selector {text}"),
            Self::Ids(ids) => format!("ids {}", ids.join("\n")),
        }
    }
}

impl ReplicateCommand {
    /// Parses the body of a request.
    pub fn parse(sent: Node<'_>) -> Result<Self, Refusal> {
        if sent.kind() != Kind::Object {
            return Err(bad("The request must be a JSON object"));
        }
        check_members(sent, |_| false)?;
        let is_cancelled = flag(sent, "cancel", false)?;
        let id = IDS.iter().find_map(|name| sent.member(name));
        match id {
            Some(id) if is_cancelled => {
                let id = text(id.value).ok_or_else(|| bad("replication_id must be a string"))?;
                Ok(Self::CancelId(id.into_owned()))
            }
            Some(_) => Err(bad("replication_id is only for cancel")),
            None if is_cancelled => Ok(Self::Cancel(ReplicateRequest::read(sent)?)),
            None => Ok(Self::Begin(ReplicateRequest::read(sent)?)),
        }
    }
}

impl ReplicateRequest {
    /// Parses a document of `_replicator`, which describes a replication with the members of a request.
    pub fn of_document(document: Node<'_>) -> Result<Self, Refusal> {
        let of_request = |name: &&str| *name == "cancel" || IDS.contains(name);
        let found = document.members().find(|member| of_request(&&*member.name));
        if let Some(member) = found {
            return Err(bad(format!("Unknown member {} of a replication", member.name)));
        }
        let is_of_document = |name: &str| name.starts_with('_') || DOCUMENT_MEMBERS.contains(&name);
        check_members(document, is_of_document)?;
        Self::read(document)
    }

    fn read(sent: Node<'_>) -> Result<Self, Refusal> {
        let side = |name: &str| {
            let missing = || bad(format!("Missing required parameter: {name}"));
            let member = sent.member(name).ok_or_else(missing)?;
            ReplicationSide::read(name, member.value)
        };
        Ok(Self {
            source: side("source")?,
            target: side("target")?,
            filter: filter(sent)?,
            is_continuous: flag(sent, "continuous", false)?,
            creates_target: flag(sent, "create_target", false)?,
            since: since(sent)?,
            uses_checkpoints: flag(sent, "use_checkpoints", true)?,
        })
    }
}

fn bad(reason: impl std::fmt::Display) -> Refusal {
    RefusalKind::BadRequest.with_reason(reason)
}

/// Refuses unknown members, those that the hub does not support, and values of a wrong type.
fn check_members(sent: Node<'_>, is_ignored: impl Fn(&str) -> bool) -> Result<(), Refusal> {
    for member in sent.members() {
        let name = &*member.name;
        if is_ignored(name) {
            continue;
        }
        let is_in = |names: &[&str]| names.contains(&name);
        let refused = REFUSED.iter().find(|(refused, _)| *refused == name);
        match refused {
            // This is what happens without it.
            Some(("winning_revs_only", _)) if boolean(member.value) == Some(false) => {}
            Some((_, reason)) => return Err(RefusalKind::NotImplemented.with_reason(reason)),
            None if is_in(&TUNING) && member.value.kind() != Kind::Number => {
                return Err(bad(format!("{name} must be a number")));
            }
            None if [&KNOWN[..], &IDS, &TUNING, &IGNORED].iter().any(|names| is_in(names)) => {}
            None => return Err(bad(format!("Unknown member {name} of a replication"))),
        }
    }
    let selections = SELECTIONS.iter().filter(|name| sent.member(name).is_some());
    if selections.count() > 1 {
        return Err(bad("`doc_ids`,`filter`,`selector` are mutually exclusive"));
    }
    let params = sent.member("create_target_params");
    match params.and_then(|params| params.value.member("partitioned")) {
        Some(partitioned) if boolean(partitioned.value) != Some(false) => {
            let reason = "Partitioned databases are not supported here.";
            Err(RefusalKind::NotImplemented.with_reason(reason))
        }
        _ => Ok(()),
    }
}

fn flag(sent: Node<'_>, name: &str, default: bool) -> Result<bool, Refusal> {
    let Some(member) = sent.member(name) else { return Ok(default) };
    boolean(member.value).ok_or_else(|| bad(format!("{name} must be true or false")))
}

fn filter(sent: Node<'_>) -> Result<ReplicationFilter, Refusal> {
    if let Some(selector) = sent.member("selector") {
        let refuse = |error| RefusalKind::BadRequest.with_reason(error);
        return ReplicationFilter::selector(selector.value).map_err(refuse);
    }
    let Some(ids) = sent.member("doc_ids") else { return Ok(ReplicationFilter::All) };
    let wrong = || bad("doc_ids must be an array of strings");
    if ids.value.kind() != Kind::Array {
        return Err(wrong());
    }
    let ids = named(ids.value)?.into_iter();
    let ids: Option<Vec<String>> = ids.map(|id| text(id).map(String::from)).collect();
    let mut ids = ids.ok_or_else(wrong)?;
    // The order has no meaning: the same ids are the same replication.
    ids.sort_unstable();
    ids.dedup();
    Ok(ReplicationFilter::Ids(ids))
}

fn since(sent: Node<'_>) -> Result<Option<UpdateSequence>, Refusal> {
    let Some(since) = sent.member("since_seq") else { return Ok(None) };
    let wrong = || bad("since_seq must be an update sequence");
    UpdateSequence::read(since.value).map(Some).ok_or_else(wrong)
}
