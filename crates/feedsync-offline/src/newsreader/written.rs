//! What somebody changes: the request that does it, and what becomes of which article.

use std::fmt;

use feedsync_newsreader::Asked;
use serde::{Deserialize, Serialize};

use super::known::Subject;
use crate::authentication::Partition;

/// The place of a change among all; a later one has a higher place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WrittenId(pub u64);

/// A change that somebody made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Its place.
    pub id: WrittenId,
    /// Whose it is.
    pub partition: Partition,
    /// Whether its server has it. It is needed all the same as long as an answer is kept that does not show it.
    pub is_sent: bool,
    /// What it is.
    pub change: Change,
}

/// What is asked of the server, and what that changes.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The request, without what says who asks. Of one that was sent nothing.
    pub request: Sending,
    /// The state that the request turns into its opposite, and what it is to become: it is looked at first.
    pub toggles: Option<(i64, bool)>,
    /// What becomes of articles.
    pub marks: Vec<Mark>,
    /// The tags that these articles get, or lose.
    pub tags: Vec<(String, bool)>,
}

/// A request, without what says who asks.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sending {
    /// Its method.
    pub method: String,
    /// Path and query, below the address of the interface.
    pub path: String,
    /// What the body is said to be.
    pub content_type: Option<String>,
    /// The body.
    pub body: String,
}

/// What becomes of an article.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Its number.
    pub article: i64,
    /// Its feed, if that is known.
    pub feed: Option<Subject>,
    /// Whether it is read.
    pub read: Option<Turn>,
    /// Whether it is starred.
    pub starred: Option<Turn>,
}

/// What was so or not, as far as that is known, and is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// What was known of it.
    pub was: Option<bool>,
    /// What it is from now on.
    pub now: bool,
}

impl Turn {
    /// By how much what is so has become more. What nobody knew before counts as the opposite: newsreaders do not
    /// say again what they show.
    pub(super) fn step(self) -> i64 {
        match (self.was.unwrap_or(!self.now), self.now) {
            (false, true) => 1,
            (true, false) => -1,
            _ => 0,
        }
    }
}

impl Sending {
    /// A request whose header alone says who asks.
    pub(super) fn of(asked: &Asked<'_>) -> Self {
        let path = asked.path.trim_start_matches('/');
        Self {
            method: asked.method.to_owned(),
            path: match asked.query {
                "" => path.to_owned(),
                query => format!("{path}?{query}"),
            },
            content_type: asked.content_type.map(str::to_owned),
            body: String::from_utf8_lossy(asked.body).into_owned(),
        }
    }
}

impl Change {
    /// As text, to be stored.
    pub fn to_text(&self) -> String {
        // Nothing in it has keys that are no texts, which is all that could fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The change of such a text; none if it is no change.
    pub fn of_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// About how many bytes it takes.
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

impl fmt::Debug for Sending {
    /// Bodies may say what nobody else is to know.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path.split('?').next().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_changes_come_back_and_show_no_body_in_logs() {
        let turn = Turn { was: Some(false), now: true };
        let change = Change {
            request: Sending {
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
