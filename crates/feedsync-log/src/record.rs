//! Records, each of them one JSON object on a line (LR7).
//!
//! ```json
//! {"v":1,"id":"laptop:7","ts":"1795330800000.0","obj":{"kind":"article","id":"urn:x:1","feed":"https://example.org/feed"},"act":"read"}
//! ```
//!
//! `v` is the version of this format. `id` identifies the record. `ts` is the time of the change, made on the
//! device of `id` unless another device follows after `@`. `obj` is the changed object, and `act` the kind of
//! the change. Other members are parameters of the act. The log itself requires only `v`, `id` and `ts`; an
//! unknown line is preserved, forwarded unchanged, and has no effect (LR2, LR48).

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::device::{Device, RecordId};
use crate::stamp::{Stamp, Tick};

/// Version of the records that are written.
pub const VERSION: u64 = 1;

/// Maximum size of a record in bytes, including its line feed.
pub const MAX_RECORD_BYTES: usize = 256 << 10;

/// Maximum nesting depth of a record's values.
const MAX_DEPTH: usize = 32;

/// A change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Id of the record.
    pub id: RecordId,
    /// Time and device of the change. Usually the device is the one that recorded it. A record that repeats
    /// another device's change retains that device's stamp.
    pub stamp: Stamp,
    /// The changed object.
    pub object: Object,
    /// Kind of the change: `read`, `subscribe` and so on.
    pub act: String,
    /// Parameters of the act, by name.
    pub details: Map<String, Value>,
}

/// The object of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// `feed`, `article` or another kind.
    pub kind: String,
    /// Id among the objects of its kind.
    pub id: String,
    /// The feed of an article.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feed: Option<String>,
}

/// A parsed line of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A record of this version.
    Record(Record),
    /// The first line of a log.
    Header(crate::header::Header),
    /// A line of a later version. A program that does not support the version must not append (LR48).
    Newer {
        /// The version.
        version: u64,
    },
    /// Not a record: the line is preserved and ignored.
    Foreign(LineError),
}

/// Why a line is not a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// Not JSON, or not an object.
    #[error("not a JSON object: {0}")]
    Json(String),
    /// An object that is incomplete, or an empty line: an interrupted append.
    #[error("the JSON object is incomplete")]
    Torn,
    /// Too deeply nested, or too long.
    #[error("a record can have at most {MAX_RECORD_BYTES} bytes and {MAX_DEPTH} levels")]
    TooLarge,
    /// A member is missing or invalid.
    #[error("member {0:?} is missing or invalid")]
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
        // Parameters must not repeat the record's own members, nor have the name that marks a header.
        for (name, value) in self.details.iter().filter(|(name, _)| *name != "log") {
            object.entry(name.as_str()).or_insert_with(|| value.clone());
        }
        let mut line = Value::Object(object).to_string();
        line.push('\n');
        line
    }
}

impl Line {
    /// Parses a line, with or without its line feed.
    pub fn read(line: &[u8]) -> Self {
        match read(line) {
            Ok(line) => line,
            Err(error) => Self::Foreign(error),
        }
    }
}

fn read(line: &[u8]) -> Result<Line, LineError> {
    if line.len() > MAX_RECORD_BYTES {
        return Err(LineError::TooLarge);
    }
    let value: Value = serde_json::from_slice(line).map_err(|error| match line {
        [] | [b'\n' | b'{', ..] if error.is_eof() => LineError::Torn,
        _ => LineError::Json(error.to_string()),
    })?;
    if depth(&value) > MAX_DEPTH {
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
