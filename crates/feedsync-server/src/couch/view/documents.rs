//! Documents of rows (`include_docs`): that of the row, or another one which its value names by `_id`, and possibly a
//! revision by `_rev`.

use std::collections::{HashMap, VecDeque};

use feedsync_couch::view::{ViewQuery, push_row_with_document};
use feedsync_couch::{DocumentId, Revision, text};
use feedsync_endpoint::documents::show::{AttachmentContents, DocumentOptions};
use feedsync_formats::json::Node;
use feedsync_store::{Database, LoadedDocument, StoredDocument, ViewRow};

use crate::couch::{CouchRequest, Failure, no_database};

/// Maximum number of documents per read, and of bytes of their bodies.
const PAGE: usize = 250;
const PAGE_BYTES: u64 = 4 << 20;

/// The documents of a page of rows, in the order of the rows.
pub(super) struct Documents {
    database: Database,
    /// Those that were not read yet.
    unread: VecDeque<Reference>,
    read: VecDeque<(Reference, Option<LoadedDocument>)>,
}

/// The document of a row; none if the value of the row names an id that is not valid.
#[derive(Clone)]
struct Reference {
    id: Option<DocumentId>,
    revision: Option<Revision>,
}

impl Documents {
    pub(super) fn of(database: &Database, rows: &[ViewRow]) -> Self {
        let unread = rows.iter().map(Reference::of).collect();
        Self { database: database.clone(), unread, read: VecDeque::new() }
    }

    /// Skips the document of the next row.
    pub(super) fn skip(&mut self) {
        if self.read.pop_front().is_none() {
            self.unread.pop_front();
        }
    }

    /// Appends the next row with its document.
    pub(super) async fn push_row(
        &mut self,
        out: &mut String,
        asked: &CouchRequest,
        query: &ViewQuery,
        row: &ViewRow,
    ) -> Result<(), Failure> {
        if self.read.is_empty() {
            self.read_some(asked).await?;
        }
        let document = match self.read.pop_front() {
            Some((reference, Some(read))) => self.shown(asked, query, &reference, &read).await?,
            _ => None,
        };
        let document = document.as_deref().unwrap_or("null");
        push_row_with_document(out, row.document.as_str(), &row.key, &row.value, document);
        Ok(())
    }

    /// The document as JSON; `None` if it is deleted.
    async fn shown(
        &self,
        asked: &CouchRequest,
        query: &ViewQuery,
        reference: &Reference,
        read: &LoadedDocument,
    ) -> Result<Option<String>, Failure> {
        let show = DocumentOptions {
            conflicts: query.conflicts,
            attachments: query.attachments,
            ..DocumentOptions::default()
        };
        let Some(revision) = reference.revision_of(&read.document) else { return Ok(None) };
        let held = match query.attachments {
            true => asked.held(&self.database.name, read).await?,
            false => AttachmentContents::new(),
        };
        let mut document = String::new();
        let shown = show.push(&mut document, read, &revision, &held, &self.database);
        Ok(shown.map(|()| document))
    }

    /// Reads the documents of some rows.
    async fn read_some(&mut self, asked: &CouchRequest) -> Result<(), Failure> {
        let some: Vec<Reference> = self.unread.iter().take(PAGE).cloned().collect();
        let ids: Vec<DocumentId> = some.iter().filter_map(|it| it.id.clone()).collect();
        let mut chosen: HashMap<DocumentId, Vec<Reference>> = HashMap::new();
        for reference in &some {
            if let Some(id) = &reference.id {
                chosen.entry(id.clone()).or_default().push(reference.clone());
            }
        }
        let choose = Box::new(move |stored: &StoredDocument| {
            let references = chosen.get(&stored.id).into_iter().flatten();
            references.filter_map(|reference| reference.revision_of(stored)).collect()
        });
        let page = asked.databases.documents(&self.database.name, &ids, choose, PAGE_BYTES).await?;
        if page.database.epoch != self.database.epoch {
            return Err(no_database().into());
        }
        let mut found = page.documents.into_iter();
        for reference in some {
            let read = match &reference.id {
                None => None,
                Some(_) => match found.next() {
                    Some(read) => read,
                    // The others did not fit into the read.
                    None => break,
                },
            };
            self.unread.pop_front();
            self.read.push_back((reference, read));
        }
        Ok(())
    }
}

impl Reference {
    fn of(row: &ViewRow) -> Self {
        let value = Node::root(&row.value);
        let member = |name: &str| {
            let member = value.member(name)?;
            text(member.value).map(|text| text.into_owned())
        };
        let revision = member("_rev").and_then(|revision| revision.parse().ok());
        match member("_id") {
            Some(id) => Self { id: id.parse().ok(), revision },
            None => Self { id: Some(row.document.clone()), revision },
        }
    }

    /// The revision of a document that is shown; `None` if the document is deleted.
    fn revision_of(&self, stored: &StoredDocument) -> Option<Revision> {
        if let Some(revision) = &self.revision {
            return Some(revision.clone());
        }
        let winner = stored.tree.winner().filter(|winner| !winner.content.is_deleted)?;
        Some(winner.revision.clone())
    }
}
