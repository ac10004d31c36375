//! Details of an error that a server returned (RFC 9457, or the form of CouchDB).

use std::fmt;

use serde::Deserialize;

/// Details of an error that a server returned.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Problem {
    /// Kind of the problem, in words.
    pub title: Option<String>,
    /// Description of this occurrence.
    pub detail: Option<String>,
    /// Line in the request body, from 1.
    pub line: Option<u32>,
    /// Column in the request body, from 1.
    pub column: Option<u32>,
}

/// The same in the form of CouchDB.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Reason {
    error: Option<String>,
    reason: Option<String>,
}

impl Problem {
    /// Reads a description; `None` if it is not JSON.
    pub(crate) fn read(bytes: &[u8]) -> Option<Box<Self>> {
        let problem: Self = serde_json::from_slice(bytes).ok()?;
        let Reason { error, reason } = serde_json::from_slice(bytes).unwrap_or_default();
        let (title, detail) = (problem.title.or(error), problem.detail.or(reason));
        Some(Box::new(Self { title, detail, ..problem }))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.detail.as_deref().or(self.title.as_deref()).unwrap_or("no reason given");
        match (self.line, self.column) {
            (Some(line), Some(column)) => write!(f, "{line}:{column}: {text}"),
            _ => f.write_str(text),
        }
    }
}
