//! `_all_docs` with `keys`: a row for each of them, in their order, whether there is such a document or not.

use feedsync_couch::{DocumentId, Parameters, Refusal, RefusalKind, named, text};
use feedsync_formats::json::{Kind, Node};
use feedsync_store::Database;

use super::{PAGE, PAGE_BYTES, Rows, held_of};
use crate::couch::{Asked, Failure, no_database};

/// What the keys of a request may be together, in bytes.
const MOST_KEY_BYTES: usize = 32 << 20;

/// A key as it was sent; what is no text is the id of nothing.
pub(super) type Key = (String, Option<DocumentId>);

/// Keys as far as they were not told of yet.
pub(super) struct Keys {
    asked: Asked,
    database: Database,
    rows: Rows,
    keys: Vec<Key>,
    next: usize,
}

/// Those of the keys that are asked for, in their order.
pub(super) fn read(parameters: &Parameters, keys: Node<'_>) -> Result<Vec<Key>, Refusal> {
    if keys.kind() != Kind::Array {
        return Err(RefusalKind::BadRequest.because("`keys` must be an array of strings"));
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
    if keys.iter().map(|(key, _)| key.len()).sum::<usize>() > MOST_KEY_BYTES {
        let reason = format_args!("the keys of a request are {MOST_KEY_BYTES} bytes at most");
        return Err(RefusalKind::TooLarge.because(reason));
    }
    Ok(keys)
}

impl Keys {
    pub(super) fn new(asked: Asked, database: Database, rows: Rows, keys: Vec<Key>) -> Self {
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
                // There was no room for it.
                Some(None) => return Ok(()),
                Some(Some(read)) => read,
                None => None,
            };
            text.push_str(if self.next > 0 { ",\n" } else { "\n" });
            self.next += 1;
            match read {
                None => text.push_str(&format!("{{\"key\":{key},\"error\":\"not_found\"}}")),
                Some(read) => {
                    let held = held_of(&self.asked, &page.database, &self.rows, &read).await?;
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
