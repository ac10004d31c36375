//! The first line of a log (LR8).
//!
//! ```json
//! {"v":1,"log":{"generation":"f81d4fae7dec11d0","number":2,"snapshot":{"covers":"1.9c2e11ab-4096"}}}
//! ```
//!
//! Whoever compacts a log begins its next generation with it. `snapshot` says from where on the generation goes:
//! what came before is not in it, but in the snapshot beside the log, which covers at least as much.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::record::{LineError, VERSION};

/// What a log says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Named by whoever began this generation: random, never used again.
    pub generation: String,
    /// How many generations there have been, this one among them.
    pub number: u64,
    /// Where this generation goes on from; `None` if it holds all there ever was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<Base>,
}

/// What a generation goes on from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// The place up to which the snapshot stands for the log, as the entity tag of the log said it.
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
