//! The first line of a log (LR8).
//!
//! ```json
//! {"v":1,"log":{"generation":"f81d4fae7dec11d0","number":2,"snapshot":{"covers":"1.9c2e11ab-4096"}}}
//! ```
//!
//! It is written when a log is compacted and begins the next generation. `snapshot` states what the
//! generation continues from. Earlier bytes are not in it, but in the snapshot of the log, which covers at
//! least as much.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::record::{LineError, VERSION};

/// The header of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Random name that is never used again; chosen when the generation began.
    pub generation: String,
    /// Number of generations so far, including this one.
    pub number: u64,
    /// The position that the generation continues from; `None` if it is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<Base>,
}

/// The end of the bytes that a generation leaves out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// Position up to which the snapshot covers the log, as in the entity tag of the log.
    pub covers: String,
}

impl Header {
    /// The line of this header, with its line feed.
    pub fn line(&self) -> String {
        let mut object = Map::new();
        object.insert("v".to_owned(), VERSION.into());
        let log = serde_json::to_value(self).unwrap_or(Value::Null);
        object.insert("log".to_owned(), log);
        format!("{}\n", Value::Object(object))
    }

    pub(crate) fn read(object: &Map<String, Value>) -> Result<Self, LineError> {
        let log = object.get("log").cloned().unwrap_or(Value::Null);
        Self::deserialize(log).map_err(|_| LineError::Member("log"))
    }
}
