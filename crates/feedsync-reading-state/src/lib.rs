//! A user's reading state: subscriptions, marks on articles, and settings (LR1, LR2, LR5).
//!
//! The whole state is one value, [`ReaderState`]. Two states join into one that holds the changes of both
//! (LR15). Joining is commutative, associative and idempotent. Changes may therefore arrive by any transport,
//! in any order and any number of times: as records of a log, as items of a collection, or as documents. A
//! single change is a tiny state too; applying it is joining.
//!
//! The [`Stamp`](feedsync_log::Stamp) of each change decides, never its position in a transport, since two of
//! the three transports have no order.
//!
//! This crate has no I/O, no clock and no randomness.

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
mod mark_lines;
mod marked;
mod marks;
mod members;
mod moving;
mod names;
mod opml;
mod position;
mod register;
mod replica;
mod setting;
mod snapshot;
mod state;
mod up_to;
mod view;

pub use action::Action;
pub use address::{AddressError, FeedAddress, MAX_ADDRESS_BYTES};
pub use arrange::{InvalidTarget, MoveTarget};
pub use article::{ArticleId, ArticleIdError, MAX_ARTICLE_ID_BYTES};
pub use change::Change;
pub use document::{
    DOCUMENT_VERSION, DocumentError, document_id, read_document, read_documents, write_document,
};
pub use feed::FeedState;
pub use identify::{
    IdentificationState, IdentificationStateError, MAX_REMEMBERED_ARTICLES, comparable_address,
    identify,
};
pub use kept::{MAX_PRESERVED_CHANGE_BYTES, MAX_PRESERVED_CHANGES};
pub use mark_lines::{MAX_MARK_LINES, MarkLinesError};
pub use marked::MarkedArticle;
pub use names::{Folder, FolderName, MAX_FOLDER_DEPTH, MAX_NAME_BYTES, NameError, Tag, Title};
pub use opml::{ImportPolicy, ListedFeed, RefusedFeed, SubscriptionList};
pub use position::{Position, PositionError};
pub use replica::{Compaction, Replica, ReplicaError};
pub use setting::{
    MAX_SETTING_NAME_BYTES, MAX_SETTING_VALUE_BYTES, MAX_SETTINGS, SettingError, SettingName,
    SettingValue,
};
pub use snapshot::{MAX_SNAPSHOT_BYTES, Snapshot, SnapshotError, SnapshotFault};
pub use state::ReaderState;
pub use up_to::UpTo;
pub use view::{Branch, Subscription, View};
