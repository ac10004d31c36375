//! The notes of a vault: those that changed, their content, and edits of them.

mod chunks;
mod settings;

use std::collections::BTreeMap;
use std::sync::Arc;

use feedsync_couch::{DatabaseName, DocumentId, Json, RefusalKind, Revision, Submission};
use feedsync_endpoint::Endpoint;
use feedsync_endpoint::documents::validation::Author;
use feedsync_endpoint::documents::{DocumentsError, DocumentsWriter, Edits, NewDocument, leaves};
use feedsync_formats::json::Node;
use feedsync_store::{
    ChangeNumber, Database, Databases, Kind, LoadedDocument, Notices, StoreError,
};

use super::chunk_id::PREFIX;
use super::note::{ContentBuilder, NoteContent, NoteHead, SplitContent, chunks_within, deleted};
use super::state::Entry;
use super::trouble::Trouble;
use crate::failure::Failure;

/// Number of changes in a page.
const PAGE: usize = 500;
/// Maximum size of the bodies in a page, in bytes; the first one can be larger.
const PAGE_BYTES: u64 = 8 << 20;
/// Number of chunks that are in memory at once.
const CHUNKS: usize = 16;

/// A note in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoredNote {
    /// The note in its winning version.
    pub(super) head: NoteHead,
    /// Revision of this version.
    pub(super) revision: Revision,
    /// Number of versions that no edit supersedes: more than one are a conflict of devices.
    pub(super) versions: usize,
}

/// Notes by the id of their document. Those that a body marks as deleted are among them.
pub(super) type StoredNotes = BTreeMap<String, StoredNote>;

/// A result that is a trouble of this note, or a failure of everything.
pub(super) type Outcome<T> = Result<Result<T, Trouble>, Failure>;

/// The database of a vault.
pub(super) struct NoteDatabase {
    databases: Arc<dyn Databases>,
    writer: DocumentsWriter,
    database: Database,
    /// Number of the last change that was read.
    seen: ChangeNumber,
}

impl NoteDatabase {
    /// Opens the database of a vault.
    pub(super) async fn open(endpoint: &Endpoint, name: &DatabaseName) -> Result<Self, Failure> {
        let databases = endpoint.databases();
        let database = databases.database(name).await?;
        let database =
            database.ok_or_else(|| Failure::not_found(format!("there is no vault {name}")))?;
        let writer = endpoint.documents_writer(Author::SERVER);
        Ok(Self { databases, writer, database, seen: ChangeNumber::ZERO })
    }

    pub(super) fn name(&self) -> &DatabaseName {
        &self.database.name
    }

    /// Epoch of the database as text.
    pub(super) fn epoch(&self) -> String {
        self.database.epoch.to_string()
    }

    /// Subscribes to notices of changes.
    pub(super) fn notices(&self) -> Notices {
        self.databases.subscribe_to_database(self.name())
    }

    /// Fails if the database was created again since it was opened.
    fn check_epoch(&self, now: &Database) -> Result<(), Failure> {
        match now.epoch == self.database.epoch {
            true => Ok(()),
            false => Err(Failure::refused(format!(
                "the vault {} was created again while it was mirrored",
                self.name()
            ))),
        }
    }

    /// Whether the database knows the recorded revision of each note. One that was created again or restored lacks some.
    pub(super) async fn knows(&self, entries: &BTreeMap<String, Entry>) -> Result<bool, Failure> {
        let recorded = entries.iter().map(|(id, entry)| Some((id.parse().ok()?, &entry.revision)));
        let Some(recorded) = recorded.collect::<Option<Vec<(DocumentId, _)>>>() else {
            return Ok(false);
        };
        for some in recorded.chunks(PAGE) {
            let ids: Vec<_> = some.iter().map(|(id, _)| id.clone()).collect();
            let page =
                self.databases.documents(self.name(), &ids, leaves::none(), u64::MAX).await?;
            let is_known = |(read, (_, revision)): (&Option<LoadedDocument>, &(_, &String))| {
                let tree = read.as_ref().map(|read| &read.document.tree);
                let revision = revision.parse::<Revision>().ok();
                tree.zip(revision).is_some_and(|(tree, revision)| tree.contains(&revision))
            };
            if page.documents.len() < ids.len() || !page.documents.iter().zip(some).all(is_known) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads the changes since the last call.
    pub(super) async fn refresh(&mut self, notes: &mut StoredNotes) -> Result<(), Failure> {
        loop {
            let is_chunk = |id: &DocumentId, kind: &Kind| {
                id.as_str().starts_with(PREFIX) || *kind == Kind::Text("leaf".to_owned())
            };
            let name = &self.database.name;
            let page = self.databases.document_changes(
                name,
                self.seen,
                PAGE,
                Some(Box::new(is_chunk)),
                leaves::winner(),
                PAGE_BYTES,
            );
            let page = page.await?;
            self.check_epoch(&page.database)?;
            for document in &page.documents {
                let id = document.document.id.as_str();
                match stored_note(document) {
                    Some(note) => drop(notes.insert(id.to_owned(), note)),
                    None => drop(notes.remove(id)),
                }
            }
            self.seen = page.reached.max(self.seen);
            if page.is_end {
                return Ok(());
            }
        }
    }

    /// Reads the winning body of a document at a revision. [`Trouble::Busy`] if another one wins now.
    async fn body(&self, id: &str, revision: &Revision) -> Outcome<Arc<str>> {
        let Ok(id) = id.parse::<DocumentId>() else { return Ok(Err(Trouble::OtherId)) };
        let page =
            self.databases.documents(self.name(), &[id], leaves::winner(), PAGE_BYTES).await?;
        self.check_epoch(&page.database)?;
        let body = page.documents.first().and_then(Option::as_ref);
        let body = body.and_then(|document| document.bodies.get(revision));
        Ok(body.map(|body| Arc::clone(&body.text)).ok_or(Trouble::Busy))
    }

    /// Reads the content of a note at a revision.
    pub(super) async fn content(&self, id: &str, note: &StoredNote) -> Outcome<Vec<u8>> {
        let body = match self.body(id, &note.revision).await? {
            Ok(body) => body,
            Err(trouble) => return Ok(Err(trouble)),
        };
        let root = Node::of_checked(&body);
        let mut content = ContentBuilder::new(note.head.is_text);
        let children = match NoteContent::read(root) {
            Ok(NoteContent::Chunks(children)) => children,
            Ok(NoteContent::Inline) => {
                let pushed = content.push_inline(root);
                return Ok(pushed.and_then(|()| content.finish()));
            }
            Err(trouble) => return Ok(Err(trouble)),
        };
        let within = chunks_within(root);
        for some in children.chunks(CHUNKS) {
            let others = some.iter().filter(|id| !within.contains_key(*id));
            let read = self.chunks(others.map(String::as_str)).await?;
            for id in some {
                let found = within.get(id).copied().or_else(|| {
                    let body = Node::of_checked(read.get(id)?);
                    body.member("data").map(|member| member.value)
                });
                let pushed = match found {
                    Some(data) => content.push(data),
                    None => Err(Trouble::MissingChunk(id.clone())),
                };
                if let Err(trouble) = pushed {
                    return Ok(Err(trouble));
                }
            }
        }
        Ok(content.finish())
    }

    /// Writes the content of a file as a note, on top of a revision if the note exists. [`Trouble::Busy`] if somebody edited
    /// it meanwhile.
    pub(super) async fn write(
        &self,
        id: &str,
        head: &NoteHead,
        base: Option<&Revision>,
        bytes: &[u8],
    ) -> Outcome<Revision> {
        let split = match SplitContent::of(&head.path, bytes) {
            Ok(split) => split,
            Err(trouble) => return Ok(Err(trouble)),
        };
        // The chunks first, so that no note lacks any.
        match self.write_chunks(&split.pieces).await? {
            Ok(children) => self.put(id, base, split.note(head, &children)).await,
            Err(trouble) => Ok(Err(trouble)),
        }
    }

    /// Marks a note as deleted at a time in milliseconds since 1970.
    pub(super) async fn delete(&self, id: &str, base: &Revision, now: u64) -> Outcome<Revision> {
        match self.body(id, base).await? {
            Ok(body) => self.put(id, Some(base), deleted(Node::of_checked(&body), now)).await,
            Err(trouble) => Ok(Err(trouble)),
        }
    }

    async fn put(&self, id: &str, base: Option<&Revision>, text: String) -> Outcome<Revision> {
        let document = match new_document(id, text, base) {
            Ok(document) => document,
            Err(trouble) => return Ok(Err(trouble)),
        };
        let mut written = self.write_all(vec![document]).await?;
        Ok(written.pop().unwrap_or(Err(Trouble::Busy)))
    }

    /// Writes documents as edits.
    async fn write_all(
        &self,
        documents: Vec<NewDocument>,
    ) -> Result<Vec<Result<Revision, Trouble>>, Failure> {
        let trouble = |kind, reason: String| match kind {
            RefusalKind::Conflict => Trouble::Busy,
            _ => Trouble::Refused(reason),
        };
        let count = documents.len();
        match self.writer.write(&self.database, documents, Edits::New).await {
            Ok(written) => Ok(written
                .into_iter()
                .map(|one| one.map_err(|refusal| trouble(refusal.kind, refusal.reason)))
                .collect()),
            Err(DocumentsError::Refused(refusal)) => {
                let trouble = trouble(refusal.kind, refusal.reason);
                Ok((0..count).map(|_| Err(trouble.clone())).collect())
            }
            Err(DocumentsError::Store(StoreError::NoDatabase(_))) => {
                Err(Failure::not_found(format!("the vault {} is gone", self.name())))
            }
            Err(DocumentsError::Store(error)) => Err(error.into()),
        }
    }
}

/// The winning version of a document, if it is a note and not deleted with its document.
fn stored_note(read: &LoadedDocument) -> Option<StoredNote> {
    let tree = &read.document.tree;
    let winner = tree.winner().filter(|leaf| !leaf.content.is_deleted)?;
    let body = read.bodies.get(winner.revision)?;
    Some(StoredNote {
        head: NoteHead::read(read.document.id.as_str(), Node::of_checked(&body.text))?,
        revision: winner.revision.clone(),
        versions: tree.leaves().iter().filter(|leaf| !leaf.content.is_deleted).count(),
    })
}

fn new_document(id: &str, text: String, base: Option<&Revision>) -> Result<NewDocument, Trouble> {
    let refused = |refusal: feedsync_couch::Refusal| Trouble::Refused(refusal.reason);
    let json = Json::read(text.into_bytes()).map_err(refused)?;
    let mut sent = Submission::read(json.root()).map_err(refused)?;
    sent.revision = base.cloned();
    let id = id.parse().map_err(refused)?;
    Ok(NewDocument { id, sent, followed: BTreeMap::new() })
}
