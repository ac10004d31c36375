//! The reading state of a user as the documents of a database of this endpoint, one for each feed
//! (`docs/reader-schema.md`, In a database). Replication transfers them to other devices.
//!
//! All leaves of the documents are merged into the state. Missing information is written as a new revision of
//! the winner, and the other leaves are deleted. Devices that do this with the same leaves at the same time
//! make the same revision. A concurrent edit of a document causes a conflict, and the next merge resolves it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use feedsync_couch::{Body, DatabaseName, DocumentId, Revision, Submission};
use feedsync_endpoint::Endpoint;
use feedsync_endpoint::documents::leaves;
use feedsync_endpoint::documents::validation::Author;
use feedsync_endpoint::documents::{Edits, NewDocument};
use feedsync_reading_state::{
    DocumentError, FeedAddress, FeedState, ReaderState, document_id, read_documents, write_document,
};
use feedsync_store::{DocumentRange, LoadedDocument, StoreError};

use super::{ReaderJoin, ReaderJoinError, StoredReader};

/// Maximum number of documents in one page.
const PAGE: usize = 500;

/// Maximum number of bytes of their bodies in one page.
const PAGE_BYTES: u64 = 8 << 20;

/// Leaves of a document that are not deleted, the winner first, with their bodies.
type Leaves = Vec<(Revision, String)>;

impl StoredReader {
    /// Merges the state with the documents of a database of this endpoint, in both directions. The database
    /// is created if it does not exist.
    pub async fn join_database(
        &mut self,
        endpoint: &Endpoint,
        name: &DatabaseName,
    ) -> Result<ReaderJoin, ReaderJoinError> {
        let databases = endpoint.databases();
        let writer = endpoint.documents_writer(Author::SERVER);
        databases.create_database(name, Default::default()).await?;
        let database = databases.database(name).await?;
        let database = database.ok_or_else(|| StoreError::NoDatabase(name.clone()))?;
        let mut done = ReaderJoin::default();
        let mut told = ReaderState::default();
        let mut found: BTreeMap<FeedAddress, Leaves> = BTreeMap::new();
        let mut others: BTreeSet<DocumentId> = BTreeSet::new();
        let mut from = Bound::Included("feed:".to_owned());
        loop {
            let range = DocumentRange {
                from,
                to: Bound::Excluded("feed;".to_owned()),
                is_descending: false,
                live_only: true,
                skip: 0,
                most: PAGE,
            };
            let choose = leaves::chosen(leaves::Leaves::All);
            let page = databases.documents_by_id(name, range, choose, PAGE_BYTES).await?;
            let Some(last) = page.documents.iter().flatten().last() else { break };
            from = Bound::Excluded(last.document.id.as_str().to_owned());
            for read in page.documents.into_iter().flatten() {
                let (id, leaves) = there(read);
                match stated_by(&id, &leaves) {
                    Ok(Some((feed, state))) => {
                        told.join_feed(feed.clone(), state);
                        found.insert(feed, leaves);
                    }
                    Ok(None) => drop(others.insert(id)),
                    Err(DocumentError::Newer { .. }) => {
                        done.newer.insert(id.to_string());
                        others.insert(id);
                    }
                    // The document is not of a reader.
                    Err(_) => drop(others.insert(id)),
                }
            }
        }
        done.has_read = self.replica.merge_state(told);
        self.store()?;
        let mut news = Vec::new();
        for (feed, state) in self.replica.state().feeds() {
            // The id has 64 digits, so it is valid.
            let Ok(id) = document_id(feed).parse::<DocumentId>() else { continue };
            if !others.contains(&id) {
                let edits = edits(&id, found.get(feed), write_document(feed, state));
                done.written += u64::from(!edits.is_empty());
                news.extend(edits);
            }
        }
        for some in news.chunks(PAGE) {
            // Refused documents were changed in the meantime, and are merged the next time.
            writer.write(&database, some.to_vec(), Edits::New).await?;
        }
        Ok(done)
    }
}

/// Returns a document's leaves that are not deleted, the winner first.
fn there(read: LoadedDocument) -> (DocumentId, Leaves) {
    let leaves = read.document.tree.leaves().into_iter();
    let there = leaves.filter(|leaf| !leaf.content.is_deleted).filter_map(|leaf| {
        Some((leaf.revision.clone(), read.bodies.get(leaf.revision)?.text.to_string()))
    });
    let there = there.collect();
    (read.document.id, there)
}

/// Returns the merged state of a document's leaves, with its feed; `None` if the document concerns no feed.
fn stated_by(
    id: &DocumentId,
    leaves: &[(Revision, String)],
) -> Result<Option<(FeedAddress, FeedState)>, DocumentError> {
    let told = read_documents(leaves.iter().map(|(_, text)| &**text))?;
    Ok(told.filter(|(feed, _)| document_id(feed) == id.as_str()))
}

/// Returns the edits after which a document has this text, and no conflict.
fn edits(id: &DocumentId, found: Option<&Leaves>, text: String) -> Vec<NewDocument> {
    let edit = |base: Option<&Revision>, is_deleted: bool, text: String| {
        let sent = Submission {
            id: Some(id.clone()),
            revision: base.cloned(),
            is_deleted,
            body: Body::kept(text),
            ..Submission::default()
        };
        NewDocument { id: id.clone(), sent, followed: BTreeMap::new() }
    };
    let Some(((winner, said), others)) = found.and_then(|leaves| leaves.split_first()) else {
        return vec![edit(None, false, text)];
    };
    if *said == text && others.is_empty() {
        return Vec::new();
    }
    let gone = others.iter().map(|(leaf, _)| edit(Some(leaf), true, "{}".to_owned()));
    std::iter::once(edit(Some(winner), false, text)).chain(gone).collect()
}
