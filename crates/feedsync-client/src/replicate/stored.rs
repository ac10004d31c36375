//! A database of a local store.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use async_trait::async_trait;
use feedsync_couch::replication::{
    ChangedDocument, ChangesPage, FetchedDocument, MissingDocument, RejectedDocument,
    UnavailableRevision, UpdateSequence,
};
use feedsync_couch::{
    ChangesFilter, DatabaseName, DocumentId, Json, LocalId, Refusal, RefusalKind, Revision, Since,
    SpecialMembers, Submission, members,
};
use feedsync_endpoint::Endpoint;
use feedsync_endpoint::documents::difference::find_missing;
use feedsync_endpoint::documents::leaves::Leaves;
use feedsync_endpoint::documents::show::{AttachmentContents, DocumentOptions};
use feedsync_endpoint::documents::validation::Author;
use feedsync_endpoint::documents::{DocumentsWriter, Edits, NewDocument, filter, sequence};
use feedsync_store::{Database, Databases, LocalDocument, SelectBodies, StoreError};
use tokio::sync::OnceCell;

use super::{ChangesQuery, Replica, ReplicaLocalDocument, ReplicationError, ReplicationFilter};

/// Maximum number of bytes of bodies in one page, if a selector examines them.
const PAGE_BYTES: u64 = 8 << 20;

/// A database of a local store.
pub struct StoredDatabase {
    endpoint: Endpoint,
    databases: Arc<dyn Databases>,
    writer: DocumentsWriter,
    name: DatabaseName,
    opened: OnceCell<Database>,
}

impl StoredDatabase {
    /// Creates a replica, to which documents are written on behalf of the server. Whether the database exists is
    /// checked when it is opened.
    pub fn new(endpoint: Endpoint, name: DatabaseName) -> Self {
        let databases = endpoint.databases();
        let writer = endpoint.documents_writer(Author::SERVER);
        Self { endpoint, databases, writer, name, opened: OnceCell::new() }
    }

    /// Returns the same database, to which documents are written on behalf of a user.
    #[must_use]
    pub fn on_behalf_of(self, author: Author) -> Self {
        let writer = self.endpoint.documents_writer(author);
        Self { writer, ..self }
    }

    fn refused(&self, refusal: Refusal) -> ReplicationError {
        ReplicationError::Refused { database: self.shown(), refusal }
    }

    fn failed(&self, error: StoreError) -> ReplicationError {
        (error.into(), &*self.shown()).into()
    }

    /// Returns the database; an error if it was replaced since it was opened.
    async fn database(&self) -> Result<Database, ReplicationError> {
        let missing = || ReplicationError::NoDatabase { database: self.shown() };
        let now = self.databases.database(&self.name).await?;
        let now = now.filter(|now| now.dropped.is_none()).ok_or_else(missing)?;
        match self.opened.get() {
            Some(opened) if opened.epoch != now.epoch => {
                Err(ReplicationError::Replaced { database: self.shown() })
            }
            _ => Ok(now),
        }
    }
}

#[async_trait]
impl Replica for StoredDatabase {
    fn shown(&self) -> String {
        self.name.to_string()
    }

    async fn open(&self, creates: bool) -> Result<String, ReplicationError> {
        if creates {
            // A database that exists already is fine.
            self.databases.create_database(&self.name, Default::default()).await?;
        }
        let database = self.database().await?;
        self.opened.get_or_init(async || database).await;
        let identity = self.endpoint.identity().await?;
        let first = identity.retired.first().unwrap_or(&identity.by);
        Ok(format!("{first} {}", self.name))
    }

    async fn changes(&self, asked: ChangesQuery<'_>) -> Result<ChangesPage, ReplicationError> {
        let wanted = match asked.filter {
            ReplicationFilter::All => Arc::new(ChangesFilter::None),
            ReplicationFilter::Selector { filter, .. } => Arc::clone(filter),
            ReplicationFilter::Ids(ids) => {
                let ids: HashSet<DocumentId> =
                    ids.iter().filter_map(|it| it.parse().ok()).collect();
                Arc::new(ChangesFilter::Ids(ids))
            }
        };
        let mut notices = self.databases.subscribe_to_database(&self.name);
        let place = Since::At(asked.after.in_query().into_owned());
        let place =
            if *asked.after == UpdateSequence::beginning() { Since::Beginning } else { place };
        let database = self.database().await?;
        let after = sequence::after(&database, &place).map_err(|it| self.refused(it))?;
        let mut page = ChangesPage {
            documents: Vec::new(),
            last: UpdateSequence::of_text(&sequence::text(&database, after)),
            pending: None,
        };
        let mut after = after;
        loop {
            let most = asked.most - page.documents.len();
            let (skip_kind, choose) =
                (filter::skips_kind(&wanted), filter::chosen(&wanted, true, false));
            let read = self
                .databases
                .document_changes(&self.name, after, most, skip_kind, choose, PAGE_BYTES)
                .await
                .map_err(|error| self.failed(error))?;
            // A position of another epoch is meaningless in this one.
            if read.database.epoch != database.epoch {
                return Err(ReplicationError::Replaced { database: self.shown() });
            }
            for document in &read.documents {
                let told = filter::listed_leaves(&wanted, document, true);
                if !told.is_empty() {
                    let id = document.document.id.as_str().to_owned();
                    let revisions = told.iter().map(|leaf| leaf.revision.to_string()).collect();
                    page.documents.push(ChangedDocument { id, revisions });
                }
            }
            after = read.reached.max(after);
            page.last = UpdateSequence::of_text(&sequence::text(&read.database, after));
            if page.documents.len() >= asked.most || (read.is_end && !asked.waits) {
                break;
            }
            if read.is_end {
                if !page.documents.is_empty() || !notices.next().await {
                    break;
                }
                self.database().await?;
            }
        }
        let pending = self.databases.count_changes(&self.name, after).await;
        page.pending = Some(pending.map_err(|error| self.failed(error))?);
        Ok(page)
    }

    async fn missing(
        &self,
        changed: &[ChangedDocument],
    ) -> Result<Vec<MissingDocument>, ReplicationError> {
        let mut wanted = Vec::with_capacity(changed.len());
        for ChangedDocument { id, revisions } in changed {
            let parsed: Result<Vec<Revision>, _> = revisions.iter().map(|it| it.parse()).collect();
            let parsed = parsed.map_err(|error| self.refused(Refusal::from(error)))?;
            wanted.push((id.clone(), parsed));
        }
        let compared = find_missing(&*self.databases, &self.name, wanted).await;
        let texts = |revisions: Vec<Revision>| revisions.iter().map(Revision::to_string).collect();
        let compared = compared.map_err(|error| self.failed(error))?.into_iter();
        let missing = compared.map(|it| MissingDocument {
            id: it.id,
            revisions: texts(it.missing),
            ancestors: texts(it.ancestors),
        });
        Ok(missing.collect())
    }

    async fn documents(
        &self,
        missing: &[MissingDocument],
        most_bytes: u64,
    ) -> Result<(Vec<FetchedDocument>, Vec<UnavailableRevision>), ReplicationError> {
        let mut wanted: HashMap<DocumentId, (Leaves, Vec<Revision>)> = HashMap::new();
        let mut ids = Vec::with_capacity(missing.len());
        for MissingDocument { id, revisions, ancestors } in missing {
            let id: DocumentId = id.parse().map_err(|it| self.refused(it))?;
            let leaves = Leaves::Named { revisions: parsed(revisions), latest: true };
            wanted.insert(id.clone(), (leaves, parsed(ancestors)));
            ids.push(id);
        }
        let wanted = Arc::new(wanted);
        let chosen = Arc::clone(&wanted);
        let choose: SelectBodies = Box::new(move |document| {
            let asked = chosen.get(&document.id).map(|(leaves, _)| leaves.of(&document.tree));
            asked.into_iter().flatten().flatten().collect()
        });
        let page = self.databases.documents(&self.name, &ids, choose, most_bytes).await;
        let page = page.map_err(|error| self.failed(error))?;
        let too_large = || ReplicationError::TooLarge { database: self.shown(), most_bytes };
        if page.documents.len() < ids.len() {
            return Err(too_large());
        }
        let (mut fetched, mut unread, mut bytes) = (Vec::new(), Vec::new(), 0_u64);
        for (id, read) in ids.iter().zip(&page.documents) {
            let Some((leaves, had)) = wanted.get(id) else { continue };
            let missing = |revision: String| UnavailableRevision {
                id: id.as_str().to_owned(),
                revision,
                error: RefusalKind::NotFound.error().to_owned(),
                reason: "missing".to_owned(),
            };
            let Some(read) = read else {
                unread.push(missing(String::new()));
                continue;
            };
            for revision in leaves.of(&read.document.tree) {
                let revision = match revision {
                    Ok(revision) => revision,
                    Err(revision) => {
                        unread.push(missing(revision.to_string()));
                        continue;
                    }
                };
                let show =
                    DocumentOptions { revs: true, attachments: true, ..DocumentOptions::default() };
                let show = show.since(had, &read.document.tree, &revision);
                let mut held = AttachmentContents::new();
                let all =
                    read.bodies.get(&revision).into_iter().flat_map(|it| it.attachments.iter());
                for attachment in all.filter(|it| show.includes_content(it)) {
                    bytes += attachment.length / 3 * 4;
                    if bytes > most_bytes {
                        return Err(too_large());
                    }
                    let digest = &attachment.digest;
                    let found = self.databases.attachment(&self.name, digest).await;
                    let found = found.map_err(|error| self.failed(error))?;
                    held.extend(found.map(|bytes| (digest.clone(), bytes)));
                }
                let mut text = String::new();
                let shown = show.push(&mut text, read, &revision, &held, &page.database);
                bytes += text.len() as u64;
                let (id, revision) = (id.as_str().to_owned(), revision.to_string());
                match shown {
                    Some(()) => fetched.push(FetchedDocument { id, revision, text }),
                    None => unread.push(missing(revision)),
                }
            }
        }
        if bytes > most_bytes && fetched.len() > 1 {
            return Err(too_large());
        }
        Ok((fetched, unread))
    }

    async fn write(
        &self,
        documents: &[FetchedDocument],
    ) -> Result<Vec<RejectedDocument>, ReplicationError> {
        let database = self.database().await?;
        let mut new = Vec::with_capacity(documents.len());
        for document in documents {
            let read = || -> Result<NewDocument, Refusal> {
                let json = Json::read(document.text.clone().into_bytes())?;
                let sent = Submission::read(json.root())?;
                Ok(NewDocument { id: document.id.parse()?, sent, followed: BTreeMap::new() })
            };
            new.push(read().map_err(|it| self.refused(it))?);
        }
        let written = self.writer.write(&database, new, Edits::Replicated).await;
        let written = written.map_err(|error| ReplicationError::from((error, &*self.shown())))?;
        let refused = documents.iter().zip(written).filter_map(|(document, done)| {
            let refusal = done.err()?;
            let (error, reason) = (refusal.kind.error().to_owned(), refusal.reason.to_string());
            Some(RejectedDocument { id: document.id.clone(), error, reason })
        });
        Ok(refused.collect())
    }

    async fn settle(&self) -> Result<String, ReplicationError> {
        // Written documents are durable.
        Ok(self.database().await?.epoch.to_string())
    }

    async fn local(&self, id: &str) -> Result<Option<ReplicaLocalDocument>, ReplicationError> {
        let id: LocalId = id.parse().map_err(|it| self.refused(it))?;
        let found = self.databases.local_document(&self.name, &id).await;
        let found = found.map_err(|error| self.failed(error))?;
        Ok(found.map(|LocalDocument { revision, body }| ReplicaLocalDocument {
            revision: format!("0-{revision}"),
            text: format!("{{{}}}", members(&body)),
        }))
    }

    async fn put_local(&self, id: &str, text: String) -> Result<String, ReplicationError> {
        let id: LocalId = id.parse().map_err(|it| self.refused(it))?;
        let json = Json::read(text.into_bytes()).map_err(|it| self.refused(it))?;
        let sent = Submission::read_with(json.root(), SpecialMembers::Dropped);
        let body = sent.map_err(|it| self.refused(it))?.body.into_text();
        let epoch = self.database().await?.epoch;
        let found = self.databases.local_document(&self.name, &id).await;
        let before = found.map_err(|error| self.failed(error))?.map_or(0, |it| it.revision);
        let revision = before + 1;
        let document = LocalDocument { revision, body };
        let put = self.databases.put_local_document(&self.name, epoch, &id, Some(document)).await;
        put.map_err(|error| self.failed(error))?;
        Ok(format!("0-{revision}"))
    }
}

/// Parses revisions; invalid ones are left out, since they do not exist here.
fn parsed(revisions: &[String]) -> Vec<Revision> {
    revisions.iter().filter_map(|it| it.parse().ok()).collect()
}
