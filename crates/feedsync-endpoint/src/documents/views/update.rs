//! Updates of views: documents that changed are mapped, and their rows replaced.

use std::sync::atomic::{AtomicUsize, Ordering};

use feedsync_couch::collation::compare;
use feedsync_couch::view::{level, position};
use feedsync_couch::{DocumentId, Refusal};
use feedsync_formats::json::Node;
use feedsync_store::{
    ChangeNumber, Database, DocumentChanges, DocumentRows, LoadedDocument, StoredViews, ViewRow,
    ViewsUpdate,
};
use tokio::task::spawn_blocking;

use super::Views;
use crate::documents::functions::{Call, CallError, refusal};
use crate::documents::show::{AttachmentContents, DocumentOptions};
use crate::documents::{DocumentsError, leaves};

/// Number of documents of a step, and of bytes of their bodies.
const STEP_DOCUMENTS: usize = 1_000;
const STEP_BYTES: u64 = 4 << 20;

/// Number of documents of a call, and of bytes after which no further document is added.
const CALL_DOCUMENTS: usize = 250;
const CALL_BYTES: usize = 1 << 20;

/// Number of rows, and of bytes of their keys and values, after which a step maps no further documents. Other writers get a
/// turn between steps.
const STEP_ROWS: usize = 20_000;
const STEP_ROW_BYTES: usize = 8 << 20;

/// Number of parts into which documents are divided whose call exceeds a limit.
const PARTS: usize = 10;

/// Number of documents of an update for which a function may take too long.
const MAX_SLOW_DOCUMENTS: usize = 3;

/// A changed document.
struct Changed {
    number: ChangeNumber,
    id: DocumentId,
    /// The document as map functions see it, unless views do not contain it.
    text: Option<String>,
}

/// The speed of functions during an update.
struct Pace {
    /// Maximum number of documents of a call.
    documents: AtomicUsize,
    /// Number of documents for which a function took too long.
    slow: AtomicUsize,
}

impl Views {
    /// Brings the rows up to the last change at the time of the call.
    pub async fn update(&self) -> Result<StoredViews, DocumentsError> {
        let pace = Pace { documents: CALL_DOCUMENTS.into(), slow: 0.into() };
        let mut stored = self.stored().await?;
        let mut last = stored.database.last;
        while stored.reached < last {
            let page = self.changes(&stored).await?;
            let (documents, reached) = self.map(page, &pace).await?;
            let (views, after) = (stored.id, stored.reached);
            let update = ViewsUpdate { views, after, reached, documents };
            match self.databases.update_views(&self.database, update).await? {
                true => stored.reached = reached,
                // Another node updated the rows, or the database was created again.
                false => {
                    stored = self.stored().await?;
                    last = stored.database.last;
                }
            }
        }
        self.stored().await
    }

    async fn changes(&self, stored: &StoredViews) -> Result<DocumentChanges, DocumentsError> {
        let (name, after) = (&self.database, stored.reached);
        let winner = leaves::winner();
        let page =
            self.databases.document_changes(name, after, STEP_DOCUMENTS, None, winner, STEP_BYTES);
        Ok(page.await?)
    }

    /// The rows of the first documents of a page, and the change that they follow then.
    async fn map(
        &self,
        page: DocumentChanges,
        pace: &Pace,
    ) -> Result<(Vec<DocumentRows>, ChangeNumber), DocumentsError> {
        let DocumentChanges { database, documents, .. } = page;
        let changed = |read: LoadedDocument| {
            let text = self.shown(&read, &database);
            Changed { number: read.document.number, id: read.document.id, text }
        };
        let changed: Vec<Changed> = documents.into_iter().map(changed).collect();
        let (mut rows, mut left) = (Vec::with_capacity(changed.len()), &changed[..]);
        let (mut count, mut bytes) = (0, 0);
        while let [_, ..] = left {
            let most = pace.documents.load(Ordering::Relaxed);
            let (one, rest) = split(left, most);
            let (other, rest) = split(rest, most);
            let (mapped, others) =
                tokio::try_join!(self.map_piece(one, pace), self.map_piece(other, pace))?;
            for document in mapped.into_iter().chain(others) {
                for row in document.views.iter().flatten() {
                    count += 1;
                    bytes += row.key.len() + row.value.len();
                }
                rows.push(document);
            }
            left = rest;
            if let ([_, ..], Some(last)) = (left, other.last().or(one.last()))
                && (count >= STEP_ROWS || bytes >= STEP_ROW_BYTES)
            {
                return Ok((rows, last.number));
            }
        }
        Ok((rows, if page.is_end { database.last } else { page.reached }))
    }

    /// A document as map functions see it, unless it is deleted or not for views.
    fn shown(&self, read: &LoadedDocument, database: &Database) -> Option<String> {
        let is_seen = !read.document.id.is_design() || self.definition.include_design;
        let winner = read.document.tree.winner().filter(|_| is_seen)?;
        if winner.content.is_deleted {
            return None;
        }
        let show = DocumentOptions {
            conflicts: true,
            deleted_conflicts: true,
            local_seq: self.definition.local_seq,
            ..DocumentOptions::default()
        };
        let mut text = String::new();
        show.push(&mut text, read, winner.revision, &AttachmentContents::new(), database)?;
        Some(text)
    }

    /// Maps documents by one call, or by several ones if it exceeds limits. A document with which a call exceeds a limit has
    /// no rows, as one for which a function throws an exception.
    async fn map_piece(
        &self,
        documents: &[Changed],
        pace: &Pace,
    ) -> Result<Vec<DocumentRows>, Refusal> {
        let seen: Vec<&Changed> = documents.iter().filter(|it| it.text.is_some()).collect();
        let unseen = documents.iter().filter(|it| it.text.is_none());
        let mut rows: Vec<DocumentRows> = unseen.map(|it| self.no_rows(&it.id)).collect();
        let mut left = vec![&seen[..]];
        while let Some(piece) = left.pop() {
            let texts: Vec<&str> = piece.iter().filter_map(|it| it.text.as_deref()).collect();
            if texts.is_empty() {
                continue;
            }
            let result = self.functions.call(&self.design, &Call::Map { documents: &texts }).await;
            match (result, piece) {
                (Ok(result), _) => rows.extend(self.parse(piece, result).await?),
                (Err(error), _) if !is_limit(&error) => return Err(self.refused(&error)),
                (Err(error), [document]) => {
                    self.skip(document, &error, pace)?;
                    rows.push(self.no_rows(&document.id));
                }
                (Err(error), _) => {
                    let part = piece.len().div_ceil(PARTS);
                    if error == CallError::TimeLimit {
                        pace.documents.fetch_min(part, Ordering::Relaxed);
                    }
                    left.extend(piece.chunks(part).rev());
                }
            }
        }
        Ok(rows)
    }

    /// Reports a document with which a call exceeds a limit. If a function takes too long for several ones, it is refused.
    fn skip(&self, document: &Changed, error: &CallError, pace: &Pace) -> Result<(), Refusal> {
        let is_slow = *error == CallError::TimeLimit;
        let before = pace.slow.fetch_add(usize::from(is_slow), Ordering::Relaxed);
        if is_slow && before + 1 >= MAX_SLOW_DOCUMENTS {
            let functions = format!("the map functions of {} for {}", self.design.id, document.id);
            return Err(refusal(error, &functions));
        }
        self.functions.report_skipped(&self.design, &document.id, error);
        Ok(())
    }

    fn no_rows(&self, document: &DocumentId) -> DocumentRows {
        let views = vec![Vec::new(); self.definition.views.len()];
        DocumentRows { document: document.clone(), views }
    }

    async fn parse(
        &self,
        documents: &[&Changed],
        result: String,
    ) -> Result<Vec<DocumentRows>, Refusal> {
        let ids: Vec<DocumentId> = documents.iter().map(|document| document.id.clone()).collect();
        let views = self.definition.views.len();
        // Keys of many rows take long enough to delay other requests.
        let rows = spawn_blocking(move || rows_of(ids, &result, views)).await.ok().flatten();
        let failed = || CallError::Process("a result of another shape".to_owned());
        rows.ok_or_else(|| self.refused(&failed()))
    }

    fn refused(&self, error: &CallError) -> Refusal {
        refusal(error, &format!("the map functions of {}", self.design.id))
    }
}

/// Whether a call may succeed for other documents.
fn is_limit(error: &CallError) -> bool {
    matches!(error, CallError::OutputLimit | CallError::MemoryLimit | CallError::TimeLimit)
}

/// The documents of the next call, and the others.
fn split(documents: &[Changed], most: usize) -> (&[Changed], &[Changed]) {
    let mut bytes = 0;
    let is_last = |document: &Changed| {
        bytes += document.text.as_ref().map_or(0, String::len);
        bytes >= CALL_BYTES
    };
    let last = documents.iter().position(is_last);
    let count = last.map_or(documents.len(), |last| last + 1);
    documents.split_at(count.min(most))
}

/// Parses the result of a call: an element for each document, with an element for each view, which is a list of rows
/// `[key, value]`.
fn rows_of(ids: Vec<DocumentId>, result: &str, views: usize) -> Option<Vec<DocumentRows>> {
    let mut mapped = Node::root(result).elements();
    let mut all = Vec::with_capacity(ids.len());
    for document in ids {
        let of_views = mapped.next()?.elements();
        let rows: Option<Vec<Vec<ViewRow>>> =
            of_views.map(|rows| rows_of_view(rows, &document)).collect();
        let rows = rows.filter(|rows| rows.len() == views)?;
        all.push(DocumentRows { document, views: rows });
    }
    mapped.next().is_none().then_some(all)
}

/// The rows of a document in a view. Those with equal keys are in the order of their values, as in CouchDB.
fn rows_of_view(rows: Node<'_>, document: &DocumentId) -> Option<Vec<ViewRow>> {
    let pair = |row: Node<'_>| {
        let mut members = row.elements();
        let (key, value) = (members.next()?, members.next()?);
        Some((position(key, document, 0), key.raw().to_owned(), value.raw().to_owned()))
    };
    let mut pairs = rows.elements().map(pair).collect::<Option<Vec<_>>>()?;
    pairs.sort_by(|(one, _, value), (other, _, another)| {
        one.cmp(other).then_with(|| compare(Node::root(value), Node::root(another)))
    });
    let mut rows: Vec<ViewRow> = Vec::with_capacity(pairs.len());
    let (mut first, mut nth) = (Vec::new(), 0_u32);
    for (place, key, value) in pairs {
        nth = if place == first { nth + 1 } else { 0 };
        let position = position(Node::root(&key), document, nth);
        rows.push(ViewRow {
            level: level(&position),
            position,
            document: document.clone(),
            key,
            value,
        });
        first = place;
    }
    Some(rows)
}
