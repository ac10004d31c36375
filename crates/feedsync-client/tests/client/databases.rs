//! Databases of documents, replicated between hubs and stores.

mod large;
mod remote;
mod together;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

use feedsync_client::replicate::{
    Replica, Replicated, Replication, ReplicationError, ReplicationProgress, StoredDatabase,
};
use feedsync_couch::replication::RejectedDocument;
use feedsync_couch::{DatabaseName, DocumentId, Json, Revision, Submission};
use feedsync_endpoint::Endpoint;
use feedsync_endpoint::documents::leaves::{self, Leaves};
use feedsync_endpoint::documents::validation::Author;
use feedsync_endpoint::documents::{Edits, NewDocument};
use feedsync_server::{Config, serve};
use feedsync_store::conformance::TestEnvironment;
use feedsync_store::{ChangeNumber, EndpointName, Environment, LoadedDocument, MemoryStore};

/// An endpoint with a database.
pub(crate) struct Shelf {
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) endpoint: Endpoint,
    environment: Arc<TestEnvironment>,
}

/// Ignores all reports.
pub(crate) struct NoProgress;

impl ReplicationProgress for NoProgress {
    fn begins(&self, _is_resumed: bool) {}
    fn examined(&self, _documents: u64, _pending: Option<u64>) {}
    fn refused(&self, _refused: &RejectedDocument) {}
    fn replicated(&self, _documents: u64) {}
}

/// A leaf in a form that is equal in all databases: revision, whether it is deleted, and content.
pub(crate) type KnownLeaf = (String, bool, String);

pub(crate) fn notes() -> DatabaseName {
    "notes".parse().unwrap()
}

impl Shelf {
    pub(crate) async fn new(seed: u64) -> Self {
        let environment = Arc::new(TestEnvironment::new(seed));
        let name = EndpointName::new(&format!("hub{seed}")).unwrap();
        let shelf = Self::over(MemoryStore::new(&name, Arc::clone(&environment) as _), environment);
        shelf.endpoint.databases().create_database(&notes(), Default::default()).await.unwrap();
        shelf
    }

    fn over(store: MemoryStore, environment: Arc<TestEnvironment>) -> Self {
        let store = Arc::new(store);
        let endpoint = Endpoint::new(Arc::clone(&store) as _, Arc::clone(&environment) as _);
        Self { store, endpoint, environment }
    }

    pub(crate) fn environment(&self) -> Arc<dyn Environment> {
        Arc::clone(&self.environment) as _
    }

    /// Serves the database; returns the address.
    pub(crate) async fn serve(&self, config: Config) -> SocketAddr {
        let config = Config { listen: vec![([127, 0, 0, 1], 0).into()], ..config };
        let serving = serve(self.endpoint.clone(), config, std::future::pending()).await;
        serving.unwrap().address()
    }

    pub(crate) fn replica(&self) -> Arc<dyn Replica> {
        Arc::new(StoredDatabase::new(self.endpoint.clone(), notes()))
    }

    /// Writes a document; returns its revision, or `None` if it was refused.
    pub(crate) async fn write(&self, text: &str, edits: Edits) -> Option<Revision> {
        let databases = self.endpoint.databases();
        let database = databases.database(&notes()).await.unwrap().unwrap();
        let json = Json::read(text.as_bytes().to_vec()).unwrap();
        let sent = Submission::read(json.root()).unwrap();
        let id = sent.id.clone().unwrap();
        let new = NewDocument { id, sent, followed: BTreeMap::new() };
        let writer = self.endpoint.documents_writer(Author::SERVER);
        let written = writer.write(&database, vec![new], edits).await.unwrap();
        written.into_iter().next().unwrap().ok()
    }

    /// Returns all documents, in the order of their changes, with the bodies of all leaves.
    pub(crate) async fn documents(&self) -> Vec<LoadedDocument> {
        let choose = leaves::chosen(Leaves::All);
        let databases = self.endpoint.databases();
        let (name, all) = (notes(), u64::MAX);
        let page =
            databases.document_changes(&name, ChangeNumber::ZERO, usize::MAX, None, choose, all);
        page.await.unwrap().documents
    }

    /// Returns the leaves of all documents.
    pub(crate) async fn leaves(&self) -> BTreeMap<String, BTreeSet<KnownLeaf>> {
        let known = |read: &LoadedDocument| {
            let leaves = read.document.tree.leaves().into_iter().map(|leaf| {
                let body = &read.bodies[leaf.revision];
                let attachments =
                    body.attachments.iter().map(|it| format!("{} {}", it.name, it.digest));
                let said = format!("{} {}", body.text, attachments.collect::<Vec<_>>().join(" "));
                (leaf.revision.to_string(), leaf.content.is_deleted, said)
            });
            (read.document.id.as_str().to_owned(), leaves.collect())
        };
        self.documents().await.iter().map(known).collect()
    }

    /// Whether a revision is in the tree of a document.
    pub(crate) async fn has(&self, id: &DocumentId, revision: &Revision) -> bool {
        let documents = self.documents().await;
        let found = documents.iter().find(|read| read.document.id == *id);
        found.is_some_and(|read| read.document.tree.contains(revision))
    }

    /// Replicates from another database until all documents are transferred.
    pub(crate) async fn take(&self, from: &Self) -> Replicated {
        replicated(&Replication::default(), from.replica(), self.replica(), self.environment())
            .await
            .unwrap()
    }
}

pub(crate) async fn replicated(
    replication: &Replication,
    source: Arc<dyn Replica>,
    target: Arc<dyn Replica>,
    environment: Arc<dyn Environment>,
) -> Result<Replicated, ReplicationError> {
    replication.run(source, target, environment, &NoProgress, std::future::pending()).await
}
