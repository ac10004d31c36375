//! One thing that was done, by whatever way it came.

use feedsync_log::{Object, Record, RecordId, Stamp};
use serde_json::{Map, Value};

use crate::action::Action;
use crate::address::FeedAddress;
use crate::feed::FeedState;

/// What a record says, without the name that it has in a log: the same change may be recorded again, by
/// another device and in another log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What it is about.
    pub object: Object,
    /// What was done.
    pub act: String,
    /// What the act says beside that, by name.
    pub details: Map<String, Value>,
    /// When it was done, and on which device.
    pub stamp: Stamp,
}

impl Change {
    /// The feed that it concerns, and the state that knows of nothing else; `None` if it does nothing that is
    /// known here.
    pub fn delta(&self) -> Option<(FeedAddress, FeedState)> {
        let (feed, action) = Action::read(self)?;
        Some((feed, action.state(self.stamp.clone())))
    }

    /// The record of this change under a name.
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
