//! The only way in which documents are written: all checks happen here, and those of
//! [documents of users](super::users).

use std::collections::BTreeMap;
use std::sync::Arc;

use feedsync_couch::view::DesignViews;
use feedsync_couch::{DatabaseName, Refusal, RefusalKind};
use feedsync_formats::json::Node;
use feedsync_store::Database;

use super::validation::Author;
use super::{
    DocumentsError, Edits, NewDocument, PreparedDocument, WRITE_BATCH, Written, prepare,
    replicator, stored_elsewhere, write_prepared,
};
use crate::endpoint::Endpoint;

/// Writes documents on behalf of a user.
#[derive(Clone)]
pub struct DocumentsWriter {
    pub(super) endpoint: Endpoint,
    pub(super) author: Author,
}

impl Endpoint {
    /// Returns a writer of documents that acts on behalf of a user.
    pub fn documents_writer(&self, author: Author) -> DocumentsWriter {
        DocumentsWriter { endpoint: self.clone(), author }
    }
}

impl DocumentsWriter {
    /// Writes documents, if the database still has the same epoch, two thousand in one transaction.
    ///
    /// A replicated document ([`Edits::Replicated`]) is refused alone: its result gives the reason, and the
    /// others are written. Among [edits](Edits::New), an invalid document causes its whole transaction to be
    /// refused, as in CouchDB. A conflict, a design document that the author may not write, and the refusal of
    /// a [function](super::validation) are results of their document alone.
    pub async fn write(
        &self,
        database: &Database,
        documents: Vec<NewDocument>,
        edits: Edits,
    ) -> Result<Written, DocumentsError> {
        match database.name.as_str() == DatabaseName::USERS {
            true => self.write_users(database, documents, edits).await,
            false => self.write_ordinary(database, documents, edits).await,
        }
    }

    /// The same for every database but that of users.
    pub(super) async fn write_ordinary(
        &self,
        database: &Database,
        documents: Vec<NewDocument>,
        edits: Edits,
    ) -> Result<Written, DocumentsError> {
        let databases = &*self.endpoint.databases();
        let count = documents.len();
        let (mut prepared, mut refused) = (Vec::with_capacity(count), BTreeMap::new());
        let are_replications = database.name.as_str() == DatabaseName::REPLICATOR;
        for (at, mut document) in documents.into_iter().enumerate() {
            if are_replications
                && let Err(refusal) = replicator::prepare(&self.author, &mut document, edits)
            {
                refused.insert(at, refusal);
                continue;
            }
            match prepare(databases, &database.name, document, edits).await {
                Ok(document) => prepared.push((at, document)),
                Err(DocumentsError::Refused(refusal)) if edits == Edits::Replicated => {
                    refused.insert(at, refusal);
                }
                Err(error) => return Err(error),
            }
        }
        let mut prepared = prepared.into_iter();
        let mut written = Vec::with_capacity(prepared.len());
        let mut current = database.clone();
        while prepared.len() > 0 {
            let (places, some): (Vec<_>, Vec<_>) = prepared.by_ref().take(WRITE_BATCH).unzip();
            let mut accepted = Vec::with_capacity(some.len());
            let checked = self.check(&current, &some, edits).await?;
            for ((at, document), refusal) in places.into_iter().zip(some).zip(checked) {
                match refusal {
                    None => accepted.push(document),
                    Some(refusal) => drop(refused.insert(at, refusal)),
                }
            }
            let (after, mut done) = self.write_checked(&current, accepted.into(), edits).await?;
            current = after;
            written.append(&mut done);
        }
        let mut written = written.into_iter();
        let result = |at| refused.remove(&at).map_or_else(|| written.next(), |it| Some(Err(it)));
        Ok((0..count).filter_map(result).collect())
    }

    /// Returns a refusal for each document that the author may not write, that is not a valid design document, or that
    /// functions of the database refuse.
    async fn check(
        &self,
        database: &Database,
        documents: &[PreparedDocument],
        edits: Edits,
    ) -> Result<Vec<Option<Refusal>>, DocumentsError> {
        let refusal = |document: &PreparedDocument| {
            if document.id.is_design() && !self.author.may_design {
                let reason = "You are not a db or server admin.";
                return Some(RefusalKind::Forbidden.with_reason(reason));
            }
            // A replicated one is stored as it is, so that no server keeps an edit to itself.
            (edits == Edits::New).then(|| invalid_design(document)).flatten()
        };
        let refused: Vec<_> = documents.iter().map(refusal).collect();
        let Some(validation) = &self.endpoint.validation else { return Ok(refused) };
        let databases = self.endpoint.databases();
        let said = validation.check(&*databases, (database, &self.author), documents).await?;
        Ok(refused.into_iter().zip(said).map(|(one, other)| one.or(other)).collect())
    }

    /// Writes documents in one transaction.
    async fn write_checked(
        &self,
        database: &Database,
        documents: Arc<[PreparedDocument]>,
        edits: Edits,
    ) -> Result<(Database, Written), DocumentsError> {
        let databases = &*self.endpoint.databases();
        if documents.is_empty() {
            return Ok((database.clone(), Vec::new()));
        }
        let author: Option<Arc<str>> = self.author.name.as_deref().map(Arc::from);
        let all = Arc::clone(&documents);
        let mut done = write_prepared(databases, database, all, None, author.clone()).await;
        if let Err(DocumentsError::Refused(refusal)) = &done
            && refusal.kind == RefusalKind::MissingStub
        {
            let elsewhere = stored_elsewhere(databases, &database.name, &documents).await?;
            if !elsewhere.is_empty() || edits == Edits::Replicated {
                let documents = Arc::clone(&documents);
                let elsewhere = Some(elsewhere);
                done = write_prepared(databases, database, documents, elsewhere, author).await;
            }
        }
        let (seen, after, written) = done?;
        if let Some(validation) = &self.endpoint.validation
            && !documents.iter().any(|document| document.id.is_design())
        {
            validation.keep(seen, &after);
        }
        Ok((after, written))
    }
}

/// Why a design document is not valid, if so: its views could never be read.
fn invalid_design(document: &PreparedDocument) -> Option<Refusal> {
    let is_checked = document.id.is_design() && !document.is_deleted;
    let read = is_checked.then(|| DesignViews::read(Node::root(&document.text)))?;
    read.err().filter(|refusal| refusal.kind == RefusalKind::InvalidDesign)
}
