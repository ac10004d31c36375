//! Stored hashes of an article, by which it is recognized.

use feedsync_formats::Entry;
use serde::{Deserialize, Serialize};

use super::address::comparable_address;
use super::document_article::{content, link, title};
use crate::article::digest;

/// Hashes of the last known values of an article; absent values have none.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(super) struct ArticleHashes {
    /// Name that its feed gives it, otherwise its link.
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

/// Key that distinguishes the articles of one document.
pub(super) type ArticleKey = (Option<u64>, Option<u64>, Option<u64>, Option<u64>);

impl ArticleHashes {
    pub(super) fn of(entry: &Entry) -> Self {
        let link = hash_text(&comparable_address(link(entry)));
        Self {
            name: hash_text(&comparable_address(entry.id.as_deref().unwrap_or_default())).or(link),
            link,
            title: hash_text(title(entry)),
            content: hash_text(content(entry)),
            published: entry.published.map(|published| published.unix_seconds()),
        }
    }

    /// Name, link and title; also the content of an article without title or name.
    pub(super) fn article_key(&self) -> ArticleKey {
        let is_told = self.name.is_some() && self.title.is_some();
        (self.name, self.link, self.title, self.content.filter(|_| !is_told))
    }

    /// Hash of the name together with the link.
    pub(super) fn named_link(&self) -> Option<u64> {
        let link = self.link.map(|link| link.to_string()).unwrap_or_default();
        Some(hash_texts(&["link", &self.name?.to_string(), &link]))
    }

    /// Hashes that identify one article unless they are known to be shared.
    pub(super) fn trusted(&self) -> impl Iterator<Item = u64> {
        [self.name, self.named_link()].into_iter().flatten()
    }
}

fn hash_text(text: &str) -> Option<u64> {
    (!text.is_empty()).then(|| hash_texts(&[text]))
}

fn hash_texts(texts: &[&str]) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = digest(texts);
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}
