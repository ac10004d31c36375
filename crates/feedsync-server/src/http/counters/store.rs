//! A store that measures the duration of each operation and delegates to another store.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Bound;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use async_trait::async_trait;
use feedsync_core::ItemId;
use feedsync_couch::view::PositionRange;
use feedsync_couch::{AttachmentDigest, DatabaseName, DocumentId, LocalId, Revision};
use feedsync_store::{
    Append, AuditAction, AuditEntry, AuditSelection, ChangeNumber, ChangePage, Collection,
    CollectionName, CreationContext, Database, DatabaseChange, Databases, Decide, DecideCollection,
    DecideDocuments, Digest, Discarded, DocumentChanges, DocumentPage, DocumentRange,
    DocumentRequest, EndedPosition, EndedRevision, Epoch, Expected, Generation, Grant, GrantFilter,
    Identity, IndexPage, IndexRange, Indexes, ItemPage, ItemStore, LedgerEntry, LocalDocument, Log,
    LogOutcome, LogSnapshot, Logs, Moment, NewCollection, NewDatabase, NewGeneration, NewRemote,
    NewSnapshot, NodeContent, Notices, PageLimit, PastDocuments, PastPage, PastRange, People,
    Queries, RangesLimit, Recent, Remote, RemoteId, RowLimit, SelectBodies, Selection, SkipKind,
    Store, StoreError, StoredItem, StoredViews, Token, Usage, User, UserId, UserName, ViewNode,
    ViewPage, ViewRanges, ViewState, ViewsSignature, ViewsUpdate, WriteOrigin,
};

use super::page::{Histogram, Page};

/// Durations of store operations, by name.
#[derive(Debug, Default)]
pub(crate) struct Timings(Mutex<BTreeMap<&'static str, Operation>>);

#[derive(Debug, Default)]
struct Operation {
    failures: u64,
    times: Histogram,
}

impl Timings {
    async fn time<T>(
        &self,
        name: &'static str,
        operation: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let began = Instant::now();
        let outcome = operation.await;
        let mut operations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let counted = operations.entry(name).or_default();
        counted.failures += u64::from(outcome.is_err());
        counted.times.observe(began.elapsed());
        outcome
    }

    pub(crate) fn render(&self, page: &mut Page) {
        let operations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let name = "feedsync_store_seconds";
        page.head(name, "histogram", "Duration of store operations");
        for (operation, counted) in operations.iter() {
            counted.times.render(page, name, &format!("operation=\"{operation}\""));
        }
        let name = "feedsync_store_failures_total";
        page.head(name, "counter", "Store operations that failed or were refused");
        for (operation, counted) in operations.iter() {
            page.line(name, &format!("operation=\"{operation}\""), counted.failures);
        }
    }
}

/// A store whose operations are timed.
pub(crate) struct TimedStore {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) timings: Arc<Timings>,
}

macro_rules! timed {
    ($contract:ident: $( async fn $name:ident(&self $(, $argument:ident: $type:ty)*) -> $value:ty; )*
     $( fn $plain:ident(&self $(, $given:ident: $of:ty)*) -> $result:ty; )*) => {
        #[async_trait]
        impl $contract for TimedStore {
            $(
                async fn $name(&self $(, $argument: $type)*) -> Result<$value, StoreError> {
                    self.timings.time(stringify!($name), self.store.$name($($argument),*)).await
                }
            )*
            $(
                fn $plain(&self $(, $given: $of)*) -> $result {
                    self.store.$plain($($given),*)
                }
            )*
        }
    };
}

timed! {
    ItemStore:
    async fn identity(&self) -> Identity;
    async fn collections(&self) -> Vec<Collection>;
    async fn collections_after(&self, after: Option<&CollectionName>, most: usize) -> Vec<Collection>;
    async fn collection(&self, name: &CollectionName) -> Option<Collection>;
    async fn create_collection_with(&self, new: NewCollection, founding: CreationContext) -> Collection;
    async fn alter_collection(&self, name: &CollectionName, decide: DecideCollection) -> Collection;
    async fn item(&self, collection: &CollectionName, id: &ItemId) -> Option<StoredItem>;
    async fn items(&self, collection: &CollectionName, ids: &[ItemId]) -> Vec<StoredItem>;
    async fn changes(&self, collection: &CollectionName, after: ChangeNumber, up_to: Option<ChangeNumber>, limit: PageLimit) -> ChangePage;
    async fn items_by_id(&self, collection: &CollectionName, after: Option<&ItemId>, limit: PageLimit) -> ItemPage;
    async fn id_before(&self, collection: &CollectionName, before: Option<&ItemId>, places: NonZeroUsize) -> Option<ItemId>;
    async fn last_before(&self, collection: &CollectionName, recent: Recent) -> ChangeNumber;
    async fn listing(&self, collection: &CollectionName, selection: &Selection, limit: PageLimit) -> ItemPage;
    async fn update(&self, collection: &CollectionName, keys: Vec<ItemId>, decide: Decide) -> Collection;
    async fn mark_sent(&self, collection: &CollectionName, up_to: ChangeNumber) -> ();
    async fn issued(&self, item: &ItemId) -> Vec<LedgerEntry>;
    async fn discarded(&self, collection: &CollectionName) -> Vec<Discarded>;
    async fn remotes(&self, collection: Option<&CollectionName>) -> Vec<Remote>;
    async fn add_remote(&self, new: NewRemote) -> Remote;
    async fn change_remote(&self, remote: Remote) -> ();
    async fn check_space(&self) -> ();
    async fn reschedule(&self, id: RemoteId, seen: Option<Moment>, due: Moment) -> bool;
    async fn remove_remote(&self, id: RemoteId) -> ();
    async fn put_blob(&self, bytes: Vec<u8>) -> Digest;
    async fn blob(&self, digest: Digest) -> Option<Vec<u8>>;
    async fn missing_blobs(&self, digests: &[Digest]) -> Vec<Digest>;
    async fn lost_blobs(&self, collection: &CollectionName, from: Digest, most: usize) -> Vec<Digest>;
    async fn blob_named_by(&self, digest: Digest) -> Vec<(CollectionName, ItemId)>;
    async fn sweep_blobs(&self, stored_before: Moment) -> u64;
    fn subscribe(&self, collection: &CollectionName) -> Notices;
    fn directory(&self) -> Option<&Path>;
}

timed! {
    Logs:
    async fn log(&self, collection: &CollectionName) -> Option<Log>;
    async fn append_to_log(&self, collection: &CollectionName, append: Append) -> LogOutcome;
    async fn begin_log_generation(&self, collection: &CollectionName, new: NewGeneration) -> LogOutcome;
    async fn remove_log(&self, collection: &CollectionName, expected: Expected, act: Option<AuditAction>) -> LogOutcome;
    async fn read_log(&self, collection: &CollectionName, generation: Generation, from: u64, most: usize) -> Option<Vec<u8>>;
    async fn put_log_snapshot(&self, collection: &CollectionName, new: NewSnapshot) -> LogOutcome;
    async fn log_snapshot(&self, collection: &CollectionName) -> Option<(LogSnapshot, Vec<u8>)>;
    async fn sweep_logs(&self, ended_before: Moment) -> u64;
}

timed! {
    People:
    async fn users(&self) -> Vec<User>;
    async fn user(&self, name: &UserName) -> Option<User>;
    async fn add_user(&self, user: User) -> ();
    async fn change_user(&self, user: User) -> ();
    async fn usage(&self, user: &UserId) -> Usage;
    async fn charge_collection(&self, collection: &CollectionName, owner: &UserId) -> ();
    async fn collection_charged_to(&self, collection: &CollectionName) -> Option<UserId>;
    async fn remove_user(&self, name: &UserName) -> ();
    async fn grants(&self, of: GrantFilter<'_>) -> Vec<Grant>;
    async fn grant(&self, grant: Grant) -> ();
    async fn revoke(&self, user: &UserName, collection: &CollectionName) -> bool;
    async fn tokens(&self, user: &UserName) -> Vec<Token>;
    async fn token(&self, digest: Digest) -> Option<Token>;
    async fn add_token(&self, token: Token) -> ();
    async fn remove_token(&self, digest: Digest) -> ();
    async fn remove_expired_tokens(&self, before: Moment) -> u64;
    async fn record(&self, act: AuditAction) -> ();
    async fn acts(&self, selection: AuditSelection<'_>) -> Vec<AuditEntry>;
    async fn remove_acts(&self, before: Moment) -> u64;
}

timed! {
    Databases:
    async fn databases(&self, after: Option<&DatabaseName>, most: usize) -> Vec<Database>;
    async fn database(&self, name: &DatabaseName) -> Option<Database>;
    async fn create_database(&self, name: &DatabaseName, new: NewDatabase) -> Option<Database>;
    async fn charge(&self, name: &DatabaseName, owner: &UserId) -> ();
    async fn charged(&self, name: &DatabaseName) -> Option<UserId>;
    async fn drop_database(&self, name: &DatabaseName, epoch: Epoch) -> ();
    async fn change_database(&self, name: &DatabaseName, epoch: Epoch, change: DatabaseChange) -> Database;
    async fn update_documents(&self, name: &DatabaseName, wanted: Vec<DocumentRequest>, decide: DecideDocuments) -> Database;
    async fn documents(&self, name: &DatabaseName, ids: &[DocumentId], choose: SelectBodies, most_bytes: u64) -> DocumentPage;
    async fn documents_by_id(&self, name: &DatabaseName, range: DocumentRange, choose: SelectBodies, most_bytes: u64) -> DocumentPage;
    async fn count_documents(&self, name: &DatabaseName, from: Bound<String>, to: Bound<String>) -> Option<u64>;
    async fn document_changes(&self, name: &DatabaseName, after: ChangeNumber, most: usize, skip_kind: Option<SkipKind>, choose: SelectBodies, most_bytes: u64) -> DocumentChanges;
    async fn latest_document_changes(&self, name: &DatabaseName, after: ChangeNumber, before: Option<ChangeNumber>, most: usize, choose: SelectBodies, most_bytes: u64) -> DocumentChanges;
    async fn count_changes(&self, name: &DatabaseName, after: ChangeNumber) -> u64;
    async fn local_document(&self, name: &DatabaseName, id: &LocalId) -> Option<LocalDocument>;
    async fn local_documents_by_id(&self, name: &DatabaseName, after: Option<&LocalId>, limit: PageLimit) -> Vec<(LocalId, LocalDocument)>;
    async fn put_local_document(&self, name: &DatabaseName, epoch: Epoch, id: &LocalId, document: Option<LocalDocument>) -> bool;
    async fn compact_documents(&self, name: &DatabaseName, after: Option<&DocumentId>, most: usize) -> Option<DocumentId>;
    async fn put_attachment(&self, name: &DatabaseName, digest: &AttachmentDigest, bytes: Vec<u8>) -> bool;
    async fn attachment(&self, name: &DatabaseName, digest: &AttachmentDigest) -> Option<Vec<u8>>;
    async fn is_attachment_referenced(&self, name: &DatabaseName, digest: &AttachmentDigest) -> bool;
    async fn sweep_attachments(&self, of: Option<&DatabaseName>, stored_before: Moment) -> u64;
    async fn sweep_databases(&self) -> bool;
    fn subscribe_to_database(&self, name: &DatabaseName) -> Notices;
}

timed! {
    PastDocuments:
    async fn documents_at(&self, name: &DatabaseName, moment: Moment, range: PastRange, most_bytes: u64) -> PastPage;
    async fn ended_revisions(&self, name: &DatabaseName, of: Option<&DocumentId>, before: Option<EndedPosition>, most: usize) -> Vec<EndedRevision>;
    async fn leaf_origins(&self, name: &DatabaseName, id: &DocumentId) -> Vec<(Revision, WriteOrigin)>;
    async fn drop_and_keep_database(&self, name: &DatabaseName, epoch: Epoch, author: Option<Arc<str>>) -> bool;
    async fn undrop_database(&self, kept: &DatabaseName, epoch: Epoch) -> bool;
    async fn dropped_databases(&self, name: Option<&DatabaseName>) -> Vec<Database>;
    async fn expire_history(&self, name: &DatabaseName, ended_before: Moment, most: usize) -> bool;
}

timed! {
    Queries:
    async fn indexes(&self, name: &DatabaseName) -> Indexes;
    async fn build_indexes(&self, name: &DatabaseName, most: usize) -> bool;
    async fn documents_by_key(&self, name: &DatabaseName, range: IndexRange, choose: SelectBodies, most_bytes: u64) -> Option<IndexPage>;
    async fn views(&self, name: &DatabaseName, signature: &ViewsSignature, views: usize) -> Option<StoredViews>;
    async fn update_views(&self, name: &DatabaseName, update: ViewsUpdate) -> bool;
    async fn view_rows(&self, name: &DatabaseName, view: ViewState, range: PositionRange, limit: RowLimit) -> Option<ViewPage>;
    async fn view_ranges(&self, name: &DatabaseName, view: ViewState, ranges: Vec<PositionRange>, limit: RangesLimit) -> Option<ViewRanges>;
    async fn view_nodes(&self, name: &DatabaseName, view: ViewState, level: u8, range: PositionRange, most: usize) -> Option<Vec<ViewNode>>;
    async fn put_view_nodes(&self, name: &DatabaseName, view: ViewState, level: u8, nodes: Vec<(Vec<u8>, NodeContent)>) -> bool;
    async fn drop_views(&self, name: &DatabaseName, kept: &[ViewsSignature]) -> ();
}
