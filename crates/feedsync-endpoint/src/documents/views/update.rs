//! Updates of views: documents that changed are mapped, and their rows replaced.

use feedsync_couch::collation::compare;
use feedsync_couch::view::{level, position};
use feedsync_couch::{DocumentId, Refusal};
use feedsync_formats::json::Node;
use feedsync_store::{
    Database, DocumentChanges, DocumentRows, LoadedDocument, StoredViews, ViewRow, ViewsUpdate,
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

/// Number of documents at which a function that takes too long is given up.
const MIN_SLOW_DOCUMENTS: usize = 25;

/// A document as map functions see it.
struct Document {
    id: DocumentId,
    text: String,
}

impl Views {
    /// Brings the rows up to the last change at the time of the call.
    pub async fn update(&self) -> Result<StoredViews, DocumentsError> {
        let mut stored = self.stored().await?;
        let mut last = stored.database.last;
        while stored.reached < last {
            let page = self.changes(&stored).await?;
            let reached = match page.is_end {
                true => page.database.last,
                false => page.reached,
            };
            let documents = self.map(page).await?;
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

    /// The rows of documents. Those that views do not contain have none.
    async fn map(&self, page: DocumentChanges) -> Result<Vec<DocumentRows>, DocumentsError> {
        let DocumentChanges { database, documents, .. } = page;
        let views = self.definition.views.len();
        let (mut seen, mut rows) = (Vec::new(), Vec::with_capacity(documents.len()));
        for read in documents {
            match self.shown(&read, &database) {
                Some(text) => seen.push(Document { id: read.document.id, text }),
                None => rows.push(DocumentRows {
                    document: read.document.id,
                    views: vec![Vec::new(); views],
                }),
            }
        }
        let mut pieces = pieces(&seen).into_iter();
        while let Some(one) = pieces.next() {
            let other = pieces.next().unwrap_or_default();
            let (one, other) = tokio::try_join!(self.map_piece(one), self.map_piece(other))?;
            rows.extend(one);
            rows.extend(other);
        }
        Ok(rows)
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

    /// Maps documents by one call, or by several ones if it exceeds limits.
    async fn map_piece(&self, documents: &[Document]) -> Result<Vec<DocumentRows>, Refusal> {
        let (mut rows, mut left) = (Vec::with_capacity(documents.len()), vec![documents]);
        while let Some(piece) = left.pop().filter(|piece| !piece.is_empty()) {
            let texts: Vec<&str> = piece.iter().map(|document| &*document.text).collect();
            let result = self.functions.call(&self.design, &Call::Map { documents: &texts }).await;
            match result {
                Ok(result) => rows.extend(self.parse(piece, result).await?),
                Err(error) if may_split(&error, piece.len()) => {
                    let (first, second) = piece.split_at(piece.len() / 2);
                    left.extend([second, first]);
                }
                Err(error) => return Err(self.refused(&error)),
            }
        }
        Ok(rows)
    }

    async fn parse(
        &self,
        documents: &[Document],
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

/// Whether a call may succeed for fewer documents.
fn may_split(error: &CallError, documents: usize) -> bool {
    match error {
        CallError::OutputLimit | CallError::MemoryLimit => documents > 1,
        CallError::TimeLimit => documents > MIN_SLOW_DOCUMENTS,
        _ => false,
    }
}

/// The documents of each call.
fn pieces(documents: &[Document]) -> Vec<&[Document]> {
    let (mut pieces, mut begin, mut bytes) = (Vec::new(), 0, 0);
    for (at, document) in documents.iter().enumerate() {
        bytes += document.text.len();
        if at + 1 - begin == CALL_DOCUMENTS || bytes >= CALL_BYTES {
            pieces.push(&documents[begin..=at]);
            (begin, bytes) = (at + 1, 0);
        }
    }
    pieces.push(&documents[begin..]);
    pieces
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
