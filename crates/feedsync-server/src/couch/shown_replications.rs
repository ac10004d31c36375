//! Parts of replications as responses show them, without credentials.

use feedsync_core::Timestamp;
use feedsync_couch::replicate::ReplicationSide;
use feedsync_couch::replication::UpdateSequence;
use feedsync_couch::{Parameters, Refusal};
use feedsync_endpoint::documents::replication::Replicator;
use feedsync_store::Moment;
use serde_json::{Value, json as value};

use super::replications::RunningReplication;

/// One second in microseconds.
pub(super) const SECOND: u64 = 1_000_000;

/// Default number of rows in a page.
const DEFAULT_LIMIT: u64 = 25;

/// Part of a list that is requested.
pub(super) struct Page {
    pub(super) skip: u64,
    pub(super) limit: u64,
}

impl Page {
    pub(super) fn read(parameters: &Parameters) -> Result<Self, Refusal> {
        let skip = parameters.count("skip")?.unwrap_or(0);
        Ok(Self { skip, limit: parameters.count("limit")?.unwrap_or(DEFAULT_LIMIT) })
    }
}

/// The progress of a replication.
pub(super) fn figures(running: &RunningReplication) -> Value {
    let progress = running.progress.now();
    let stats = progress.stats;
    value!({
        "docs_read": stats.read,
        "docs_written": stats.written,
        "doc_write_failures": stats.refused,
        "revisions_checked": stats.checked,
        "missing_revisions_found": stats.missing,
        "changes_pending": progress.pending,
        "through_seq": progress.reached.as_ref().map(sequence),
    })
}

/// A time as text, in seconds.
pub(super) fn time(moment: Moment) -> Option<String> {
    let seconds = i64::try_from(moment.micros() / SECOND).unwrap_or_default();
    Timestamp::from_unix_seconds(seconds).map(|time| time.to_string())
}

/// Name or address of a database, without credentials.
pub(super) fn shown(
    replicator: &dyn Replicator,
    side: &ReplicationSide,
) -> Result<String, Refusal> {
    match side {
        ReplicationSide::Local(name) => Ok(name.to_string()),
        ReplicationSide::Remote(remote) => replicator.check(remote),
    }
}

/// An update sequence as JSON.
pub(super) fn sequence(place: &UpdateSequence) -> Value {
    serde_json::from_str(place.as_json()).unwrap_or_default()
}
