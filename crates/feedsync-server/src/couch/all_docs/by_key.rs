//! `_all_docs` with `keys`: a row for each key, in the order of the keys, whether the document exists or
//! not.

use feedsync_couch::{DocumentId, Parameters, Refusal, RefusalKind, named, text};
use feedsync_formats::json::{Kind, Node};
use feedsync_store::Database;

use super::{PAGE, PAGE_BYTES, Rows, attachment_contents};
use crate::couch::{CouchRequest, Failure, no_database};

/// Maximum total size of the keys of a request, in bytes.
const MAX_KEY_BYTES: usize = 32 << 20;

/// A key as it was sent. A key that is not a text is the id of no document.
pub(super) type Key = (String, Option<DocumentId>);

/// Keys whose rows were not sent yet.
pub(super) struct Keys {
    asked: CouchRequest,
    database: Database,
    rows: Rows,
    keys: Vec<Key>,
    next: usize,
}

/// Returns the requested keys, in their order.
pub(super) fn read(parameters: &Parameters, keys: Node<'_>) -> Result<Vec<Key>, Refusal> {
    if keys.kind() != Kind::Array {
        return Err(RefusalKind::BadRequest.with_reason("`keys` must be an array of strings"));
    }
    let mut keys = named(keys)?;
    if parameters.flag("descending")? {
        keys.reverse();
    }
    let skip = parameters.count("skip")?.unwrap_or(0);
    let limit = parameters.count("limit")?.unwrap_or(u64::MAX);
    let usize_of = |number| usize::try_from(number).unwrap_or(usize::MAX);
    let keys = keys.into_iter().skip(usize_of(skip)).take(usize_of(limit));
    let id = |key: Node<'_>| text(key)?.parse().ok();
    let keys: Vec<Key> = keys.map(|key| (key.raw().to_owned(), id(key))).collect();
    if keys.iter().map(|(key, _)| key.len()).sum::<usize>() > MAX_KEY_BYTES {
        let reason = format_args!("the keys of a request can have at most {MAX_KEY_BYTES} bytes");
        return Err(RefusalKind::TooLarge.with_reason(reason));
    }
    Ok(keys)
}

impl Keys {
    pub(super) fn new(asked: CouchRequest, database: Database, rows: Rows, keys: Vec<Key>) -> Self {
        Self { asked, database, rows, keys, next: 0 }
    }

    pub(super) fn database(&self) -> &Database {
        &self.database
    }

    pub(super) fn rows(&self) -> Rows {
        self.rows
    }

    pub(super) fn is_over(&self) -> bool {
        self.next == self.keys.len()
    }

    pub(super) async fn push_some(&mut self, text: &mut String) -> Result<(), Failure> {
        let some = &self.keys[self.next..self.keys.len().min(self.next + PAGE)];
        let ids: Vec<DocumentId> = some.iter().filter_map(|(_, id)| id.clone()).collect();
        let (name, choose) = (&self.database.name, self.rows.choose());
        let page = self.asked.databases.documents(name, &ids, choose, PAGE_BYTES).await?;
        if page.database.epoch != self.database.epoch {
            return Err(no_database().into());
        }
        let (mut found, begun) = (page.documents.into_iter(), text.len());
        for (key, id) in some {
            let read = match id.as_ref().map(|_| found.next()) {
                // It did not fit into the read.
                Some(None) => return Ok(()),
                Some(Some(read)) => read,
                None => None,
            };
            text.push_str(if self.next > 0 { ",\n" } else { "\n" });
            self.next += 1;
            match read {
                None => text.push_str(&format!("{{\"key\":{key},\"error\":\"not_found\"}}")),
                Some(read) => {
                    let held =
                        attachment_contents(&self.asked, &page.database, &self.rows, &read).await?;
                    let pushed = self.rows.push(text, &read, &held, &page.database);
                    pushed.ok_or_else(Refusal::missing)?;
                }
            }
            if (text.len() - begun) as u64 > PAGE_BYTES {
                return Ok(());
            }
        }
        Ok(())
    }
}
