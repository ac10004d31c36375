//! Changes of a user: the request, and its effect on articles.

use std::fmt;

use feedsync_reader_api::RawRequest;
use serde::{Deserialize, Serialize};

use super::facts::Subject;
use crate::authentication::Partition;

/// Number of a change. Later changes have higher numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChangeId(pub u64);

/// A change that a user made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredChange {
    /// Number of the change.
    pub id: ChangeId,
    /// Partition of the account.
    pub partition: Partition,
    /// Whether its server has received the change. The change is still needed while a stored response does
    /// not include it.
    pub is_sent: bool,
    /// The change itself.
    pub change: Change,
}

/// The request to the server, and its effect.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The request without its credentials; empty after it was sent.
    pub request: UnsignedRequest,
    /// Article whose state the request toggles, and the intended state. The state is read first.
    pub toggles: Option<(i64, bool)>,
    /// Effects on articles.
    pub marks: Vec<Mark>,
    /// Tags of these articles, and whether each is added or removed.
    pub tags: Vec<(String, bool)>,
}

/// A request without its credentials.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnsignedRequest {
    /// Method of the request.
    pub method: String,
    /// Path and query, below the address of the interface.
    pub path: String,
    /// Media type of the body.
    pub content_type: Option<String>,
    /// Body of the request.
    pub body: String,
}

/// Effect of a change on an article.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Number of the article.
    pub article: i64,
    /// Feed of the article, if known.
    pub feed: Option<Subject>,
    /// Change of the read state.
    pub read: Option<Transition>,
    /// Change of the star state.
    pub starred: Option<Transition>,
}

/// Change of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transition {
    /// Previous state, if known.
    pub was: Option<bool>,
    /// New state.
    pub now: bool,
}

impl Transition {
    /// Change of the number of articles with the state. An unknown previous state counts as the opposite,
    /// because newsreaders do not send a state that they already show.
    pub(super) fn step(self) -> i64 {
        match (self.was.unwrap_or(!self.now), self.now) {
            (false, true) => 1,
            (true, false) => -1,
            _ => 0,
        }
    }
}

impl UnsignedRequest {
    /// Converts a request whose credentials are in the headers only.
    pub(super) fn of(requested: &RawRequest<'_>) -> Self {
        let path = requested.path.trim_start_matches('/');
        Self {
            method: requested.method.to_owned(),
            path: match requested.query {
                "" => path.to_owned(),
                query => format!("{path}?{query}"),
            },
            content_type: requested.content_type.map(str::to_owned),
            body: String::from_utf8_lossy(requested.body).into_owned(),
        }
    }
}

impl Change {
    /// Serialized form, for storage.
    pub fn to_text(&self) -> String {
        // Serialization fails only for map keys that are not texts, and there are none.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Parses the stored form; none if it is invalid.
    pub fn of_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Approximate size in bytes.
    pub(super) fn size(&self) -> usize {
        self.request.path.len() + self.request.body.len() + self.marks.len() * 64 + 128
    }
}

impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Change")
            .field("request", &self.request)
            .field("marks", &self.marks)
            .finish()
    }
}

impl fmt::Debug for UnsignedRequest {
    /// Leaves out the body and the query, which may contain private data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path.split('?').next().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_changes_are_restored_and_their_debug_output_has_no_body() {
        let turn = Transition { was: Some(false), now: true };
        let change = Change {
            request: UnsignedRequest {
                method: "PUT".to_owned(),
                path: "v1/entries?secret=1".to_owned(),
                content_type: Some("application/json".to_owned()),
                body: "{\"entry_ids\":[7]}".to_owned(),
            },
            toggles: Some((7, true)),
            marks: vec![Mark { article: 7, feed: None, read: Some(turn), starred: None }],
            tags: vec![("later".to_owned(), false)],
        };
        assert_eq!(Change::of_text(&change.to_text()), Some(change.clone()));
        assert_eq!(Change::of_text("{}"), None);
        let shown = format!("{change:?}");
        assert!(shown.contains("PUT v1/entries"), "{shown}");
        assert!(!shown.contains("secret") && !shown.contains("entry_ids"), "{shown}");
    }
}
