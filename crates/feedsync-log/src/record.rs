//! Records: one JSON object a line (LR7).
//!
//! ```json
//! {"v":1,"id":"laptop:7","ts":"1795330800000.0","obj":{"kind":"article","id":"urn:x:1","feed":"https://example.org/feed"},"act":"read"}
//! ```
//!
//! `v` is the version of this format, `id` names the record, `ts` says when it was done (on the device of `id`,
//! unless it says `@` another), `obj` what it is about and `act` what was done to it. Whatever else stands there
//! belongs to the act. The log itself needs no more than `v`, `id` and `ts`; a line that it does not know is
//! kept, handed on as it is, and changes nothing (LR2, LR48).

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::device::{Device, RecordId};
use crate::stamp::{Stamp, Tick};

/// The version of records that is written here.
pub const VERSION: u64 = 1;

/// The most bytes that a record may have, with its line feed.
pub const MOST_RECORD: usize = 256 << 10;

/// The deepest nesting of a record's values.
const MOST_DEPTH: usize = 32;

/// One thing that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its name.
    pub id: RecordId,
    /// When it was done. Usually on the device that recorded it; a record that repeats what another device
    /// had done carries that one's.
    pub stamp: Stamp,
    /// What it is about.
    pub object: Object,
    /// What was done: `read`, `subscribe` and so on.
    pub act: String,
    /// What the act says beside that, by name.
    pub details: Map<String, Value>,
}

/// What a record is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// `feed`, `article` or another kind.
    pub kind: String,
    /// Its id among its kind.
    pub id: String,
    /// The feed of an article.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feed: Option<String>,
}

/// What a line of a log turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A record of this version.
    Record(Record),
    /// The first line of a log.
    Header(crate::header::Header),
    /// A line of a later version: who does not understand it must not append (LR48).
    Newer {
        /// The version.
        version: u64,
    },
    /// No record: it is kept and passed over.
    Foreign(LineError),
}

/// Why a line is no record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// Not JSON, or not an object.
    #[error("not a JSON object: {0}")]
    Json(String),
    /// It begins as an object and breaks off, or is empty: an append that was cut off.
    #[error("it breaks off")]
    Torn,
    /// Nested too deeply or too long.
    #[error("a record of more than {MOST_RECORD} bytes or {MOST_DEPTH} levels")]
    TooLarge,
    /// A member is missing or is not what it must be.
    #[error("member {0:?} is missing or not what it must be")]
    Member(&'static str),
}

impl Record {
    /// The line of this record, with its line feed.
    pub fn line(&self) -> String {
        let mut object = Map::new();
        object.insert("v".to_owned(), VERSION.into());
        object.insert("id".to_owned(), self.id.to_string().into());
        let when = if self.stamp.device == self.id.device {
            self.stamp.tick.to_string()
        } else {
            self.stamp.to_string()
        };
        object.insert("ts".to_owned(), when.into());
        let mut about = Map::new();
        about.insert("kind".to_owned(), self.object.kind.as_str().into());
        about.insert("id".to_owned(), self.object.id.as_str().into());
        if let Some(feed) = &self.object.feed {
            about.insert("feed".to_owned(), feed.as_str().into());
        }
        object.insert("obj".to_owned(), about.into());
        object.insert("act".to_owned(), self.act.as_str().into());
        // What the record itself says is not said twice, nor what only a header says.
        for (name, value) in self.details.iter().filter(|(name, _)| *name != "log") {
            object.entry(name.as_str()).or_insert_with(|| value.clone());
        }
        let mut line = Value::Object(object).to_string();
        line.push('\n');
        line
    }
}

impl Line {
    /// Reads a line, with or without its line feed.
    pub fn read(line: &[u8]) -> Self {
        match read(line) {
            Ok(line) => line,
            Err(error) => Self::Foreign(error),
        }
    }
}

fn read(line: &[u8]) -> Result<Line, LineError> {
    if line.len() > MOST_RECORD {
        return Err(LineError::TooLarge);
    }
    let value: Value = serde_json::from_slice(line).map_err(|error| match line {
        [] | [b'\n' | b'{', ..] if error.is_eof() => LineError::Torn,
        _ => LineError::Json(error.to_string()),
    })?;
    if depth(&value) > MOST_DEPTH {
        return Err(LineError::TooLarge);
    }
    let Value::Object(mut object) = value else {
        return Err(LineError::Json("another value".to_owned()));
    };
    let version = object.remove("v").and_then(|version| version.as_u64());
    let version = version.ok_or(LineError::Member("v"))?;
    match version.cmp(&VERSION) {
        Ordering::Less => return Err(LineError::Member("v")),
        Ordering::Equal => {}
        Ordering::Greater => return Ok(Line::Newer { version }),
    }
    if object.contains_key("log") {
        return crate::header::Header::read(&object).map(Line::Header);
    }
    let id: RecordId = text(&mut object, "id")?.parse().map_err(|_| LineError::Member("id"))?;
    let stamp = stamp(&text(&mut object, "ts")?, &id.device)?;
    let about = object.remove("obj").ok_or(LineError::Member("obj"))?;
    let about = Object::deserialize(about).map_err(|_| LineError::Member("obj"))?;
    let act = text(&mut object, "act")?;
    Ok(Line::Record(Record { id, stamp, object: about, act, details: object }))
}

fn text(object: &mut Map<String, Value>, name: &'static str) -> Result<String, LineError> {
    match object.remove(name) {
        Some(Value::String(text)) => Ok(text),
        _ => Err(LineError::Member(name)),
    }
}

fn stamp(text: &str, device: &Device) -> Result<Stamp, LineError> {
    if let Ok(tick) = text.parse::<Tick>() {
        return Ok(Stamp { tick, device: device.clone() });
    }
    text.parse().map_err(|_| LineError::Member("ts"))
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(values) => 1 + values.iter().map(depth).max().unwrap_or_default(),
        Value::Object(values) => 1 + values.values().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
