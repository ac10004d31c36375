//! What somebody reads and has read: subscriptions, and marks on articles (LR1, LR2, LR5).
//!
//! All of it is one value, [`ReaderState`], and two of them join into one that holds what either knows
//! (LR15). Joining is commutative, associative and idempotent, so that it does not matter which way, in
//! which order or how often a change arrives: as a record of a log, as an item of a collection, as a
//! document. A single change is a state too, a tiny one; applying it is joining.
//!
//! What decides is the [`Stamp`](feedsync_log::Stamp) of each change, never the place where it was found: two
//! of the three ways have no order.
//!
//! There is no I/O, no clock and no randomness in here.

mod action;
mod address;
mod arrange;
mod article;
mod change;
pub mod collection;
mod difference;
mod document;
mod feed;
mod identify;
mod kept;
mod maintain;
mod marked;
mod marks;
mod members;
mod moving;
mod names;
mod opml;
mod position;
mod register;
mod replica;
mod snapshot;
mod state;
mod up_to;
mod view;

pub use action::Action;
pub use address::{AddressError, FeedAddress, MOST_ADDRESS};
pub use arrange::{NoOther, Place};
pub use article::{ArticleId, ArticleIdError, MOST_ARTICLE_ID};
pub use change::Change;
pub use document::{
    DOCUMENT_VERSION, DocumentError, document_id, read_document, read_documents, write_document,
};
pub use feed::FeedState;
pub use identify::{MOST_REMEMBERED, Remembered, RememberedError, identify};
pub use kept::{MOST_KEPT, MOST_KEPT_BYTES};
pub use marked::MarkedArticle;
pub use names::{Folder, FolderName, MOST_FOLDERS, MOST_NAME, NameError, Tag, Title};
pub use opml::{Filing, ListedFeed, RefusedFeed, SubscriptionList};
pub use position::{Position, PositionError};
pub use replica::{Compaction, Replica, ReplicaError};
pub use snapshot::{MOST_SNAPSHOT, Snapshot, SnapshotError, SnapshotFault};
pub use state::ReaderState;
pub use up_to::UpTo;
pub use view::{Branch, Subscription, View};
