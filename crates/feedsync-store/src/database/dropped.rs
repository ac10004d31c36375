//! Databases that were dropped, and that are kept under another name for their history.

use std::sync::Arc;

use feedsync_couch::DatabaseName;

use crate::order::Moment;

/// How a database was dropped. Its contents stay as they were, under another name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// The name that it had.
    pub name: DatabaseName,
    /// When it was dropped.
    pub moment: Moment,
    /// Name of the user who dropped it, if there is one.
    pub author: Option<Arc<str>>,
}
