//! `_local_docs`: local documents by id. They have no change numbers and no count.

use std::collections::VecDeque;
use std::ops::{Bound, RangeBounds as _};

use feedsync_couch::{LocalId, quoted, text};
use feedsync_endpoint::bridge::PROGRESS_DOCUMENT;
use feedsync_formats::json::Node;
use feedsync_store::{Database, LocalDocument, PageLimit};

use super::by_range::Range;
use super::{PAGE, RequestedRows, Rows};
use crate::couch::local::{self, LOCAL};
use crate::couch::{CouchRequest, Failure};

/// Rows that were not sent yet.
pub(super) struct LocalRows {
    asked: CouchRequest,
    database: Database,
    rows: Rows,
    left: RemainingRows,
    is_first: bool,
}

/// Remaining rows.
enum RemainingRows {
    /// Keys that were requested, as JSON.
    Keys(VecDeque<String>),
    /// A range that is read in ascending order after an id.
    Ascending(Range, Option<LocalId>, bool),
    /// A range that will be read from its end.
    Descending(Range),
    /// Ids of a range that is read from its end.
    Ids(VecDeque<LocalId>),
}

impl LocalRows {
    pub(super) fn new(
        asked: CouchRequest,
        database: Database,
        rows: Rows,
        wanted: RequestedRows,
    ) -> Self {
        let left = match wanted {
            RequestedRows::Keys(keys) => {
                RemainingRows::Keys(keys.into_iter().map(|(key, _)| key).collect())
            }
            RequestedRows::Range(range) if range.range.is_descending => {
                RemainingRows::Descending(range)
            }
            RequestedRows::Range(range) => {
                let is_over = range.left == Some(0);
                RemainingRows::Ascending(range, None, is_over)
            }
        };
        Self { asked, database, rows, left, is_first: true }
    }

    pub(super) fn database(&self) -> &Database {
        &self.database
    }

    pub(super) fn rows(&self) -> Rows {
        self.rows
    }

    pub(super) fn is_over(&self) -> bool {
        match &self.left {
            RemainingRows::Keys(keys) => keys.is_empty(),
            RemainingRows::Ids(ids) => ids.is_empty(),
            RemainingRows::Ascending(_, _, is_over) => *is_over,
            RemainingRows::Descending(_) => false,
        }
    }

    pub(super) async fn push_some(&mut self, out: &mut String) -> Result<(), Failure> {
        let (rows, mut is_first) = (self.rows, self.is_first);
        let mut push = |out: &mut String, key: &str, found: Option<(&LocalId, &LocalDocument)>| {
            out.push_str(if is_first { "\n" } else { ",\n" });
            is_first = false;
            push_row(out, rows, key, found);
        };
        let (databases, name) = (&self.asked.databases, &self.database.name);
        match &mut self.left {
            RemainingRows::Keys(keys) => {
                for key in keys.drain(..keys.len().min(PAGE)) {
                    let id = text(Node::root(&key))
                        .and_then(|key| key.strip_prefix(LOCAL)?.parse().ok().filter(is_listed));
                    let found = match &id {
                        Some(id) => databases.local_document(name, id).await?,
                        None => None,
                    };
                    push(out, &key, id.as_ref().zip(found.as_ref()));
                }
            }
            RemainingRows::Ids(ids) => {
                for id in ids.drain(..ids.len().min(PAGE)) {
                    if let Some(found) = databases.local_document(name, &id).await? {
                        push(out, &full(&id), Some((&id, &found)));
                    }
                }
            }
            RemainingRows::Ascending(range, after, is_over) => {
                let limit = PageLimit::items(PAGE);
                let page = databases.local_documents_by_id(name, after.as_ref(), limit).await?;
                *is_over = page.is_empty();
                for (id, found) in page {
                    if is_listed(&id) && is_within(range, &id) && takes(range) {
                        push(out, &full(&id), Some((&id, &found)));
                    }
                    *after = Some(id);
                    if range.left == Some(0) {
                        *is_over = true;
                        break;
                    }
                }
            }
            // Ids are few and short; each body is read when its row is written.
            RemainingRows::Descending(range) => {
                let (mut ids, mut after) = (VecDeque::new(), None);
                loop {
                    let limit = PageLimit::items(PAGE);
                    let page = databases.local_documents_by_id(name, after.as_ref(), limit).await?;
                    let Some((last, _)) = page.last() else { break };
                    after = Some(last.clone());
                    let listed = page.into_iter().map(|(id, _)| id);
                    let listed = listed.filter(|id| is_listed(id) && is_within(range, id));
                    listed.for_each(|id| ids.push_front(id));
                }
                ids.retain(|_| takes(range));
                self.left = RemainingRows::Ids(ids);
            }
        }
        self.is_first = is_first;
        Ok(())
    }
}

/// Whether a local document is listed: the hub's own checkpoint is hidden.
fn is_listed(id: &LocalId) -> bool {
    id.as_str() != PROGRESS_DOCUMENT
}

fn is_within(range: &Range, id: &LocalId) -> bool {
    let id = format!("{LOCAL}{id}");
    let bound = |bound: &Bound<String>| bound.clone();
    (bound(&range.range.from), bound(&range.range.to)).contains(&id)
}

/// Counts the next row, and returns whether it is requested.
fn takes(range: &mut Range) -> bool {
    if range.range.skip > 0 {
        range.range.skip -= 1;
        return false;
    }
    match &mut range.left {
        None => true,
        Some(0) => false,
        Some(left) => {
            *left -= 1;
            true
        }
    }
}

fn full(id: &LocalId) -> String {
    quoted(&format!("{LOCAL}{id}"))
}

fn push_row(out: &mut String, rows: Rows, key: &str, found: Option<(&LocalId, &LocalDocument)>) {
    let Some((id, document)) = found else {
        out.push_str(&format!("{{\"key\":{key},\"error\":\"not_found\"}}"));
        return;
    };
    let (id_text, revision) = (full(id), document.revision);
    out.push_str(&format!(
        "{{\"id\":{id_text},\"key\":{id_text},\"value\":{{\"rev\":\"0-{revision}\"}}"
    ));
    if rows.include_docs {
        out.push_str(",\"doc\":");
        out.push_str(&local::shown(id, document));
    }
    out.push('}');
}
