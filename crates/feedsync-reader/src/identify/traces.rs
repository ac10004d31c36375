//! What is kept of what an article said: enough to know it again.

use feedsync_formats::Entry;
use serde::{Deserialize, Serialize};

use super::address::essence;
use super::telling::{content, link, title};
use crate::article::digest;

/// Hashes of what an article said last; what it did not say is absent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(super) struct Traces {
    /// What its feed calls it: its name, else its link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) link: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) title: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<u64>,
    /// When it was published, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) published: Option<i64>,
}

/// What tells the articles of one document apart.
pub(super) type Apart = (Option<u64>, Option<u64>, Option<u64>, Option<u64>);

impl Traces {
    pub(super) fn of(entry: &Entry) -> Self {
        let link = said(&essence(link(entry)));
        Self {
            name: said(&essence(entry.id.as_deref().unwrap_or_default())).or(link),
            link,
            title: said(title(entry)),
            content: said(content(entry)),
            published: entry.published.map(|published| published.unix_seconds()),
        }
    }

    /// Name, link and title. The content, too, of what has no title or no name.
    pub(super) fn apart(&self) -> Apart {
        let is_told = self.name.is_some() && self.title.is_some();
        (self.name, self.link, self.title, self.content.filter(|_| !is_told))
    }

    /// The link under the name.
    pub(super) fn named_link(&self) -> Option<u64> {
        let link = self.link.map(|link| link.to_string()).unwrap_or_default();
        Some(trace(&["link", &self.name?.to_string(), &link]))
    }

    /// What is trusted to be one article's, until it is seen to be shared.
    pub(super) fn trusted(&self) -> impl Iterator<Item = u64> {
        [self.name, self.named_link()].into_iter().flatten()
    }
}

fn said(text: &str) -> Option<u64> {
    (!text.is_empty()).then(|| trace(&[text]))
}

fn trace(texts: &[&str]) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = digest(texts);
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}
