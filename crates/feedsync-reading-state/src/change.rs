//! A single change, independent of its transport.

use feedsync_log::{Object, Record, RecordId, Stamp};
use serde_json::{Map, Value};

use crate::action::Action;
use crate::address::FeedAddress;
use crate::feed::FeedState;

/// Content of a record without the record's id: the same change may be recorded again, by another device and
/// in another log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The feed or article that it changes.
    pub object: Object,
    /// Kind of the change.
    pub act: String,
    /// Parameters of the act, by name.
    pub details: Map<String, Value>,
    /// Time and device of the change.
    pub stamp: Stamp,
}

impl Change {
    /// The feed that it changes, and a state that consists of this change only; `None` if the change is
    /// unknown to this version.
    pub fn delta(&self) -> Option<(FeedAddress, FeedState)> {
        let (feed, action) = Action::read(self)?;
        Some((feed, action.state(self.stamp.clone())))
    }

    /// A record of this change with an id.
    pub fn recorded(self, id: RecordId) -> Record {
        let Self { object, act, details, stamp } = self;
        Record { id, stamp, object, act, details }
    }
}

impl From<&Record> for Change {
    fn from(record: &Record) -> Self {
        let Record { object, act, details, stamp, .. } = record.clone();
        Self { object, act, details, stamp }
    }
}
