//! Sanitizing of untrusted HTML for display; the stored bytes stay as received (AP55, RFC 4287 8.1).
//!
//! Cleaning removes scripts, styles, forms, frames, ids, classes and event handlers; links lead to absolute
//! web or mail addresses. An HTML parser can take time that grows with the square of its input, so [`bounded`]
//! limits depth, copies and work before a tree is built. Each document is cleaned once for each purpose:
//! results are cached by digest. The requesting client's budget pays for the work ([`Cleaning`]).

mod cleaning;
pub(crate) mod content;
#[cfg(test)]
mod picture_tests;
mod rules;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use ammonia::Url;
use feedsync_aggregator::html::bounded;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use sha2::{Digest as _, Sha256};

pub(crate) use cleaning::{CancelOnDrop, Cleaning, Ticket};

/// Maximum size of a document that is cleaned, in bytes. A larger one is shown as text.
pub(crate) const MAX_BYTES: usize = 256 << 10;

/// Maximum size of all cached results, in bytes.
const CACHE_BYTES: u64 = 32 << 20;

/// Size of a cache entry without its text, about.
const OVERHEAD_BYTES: u64 = 200;

/// Purpose of cleaned HTML, which decides what stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// An item on a page: pictures become their descriptions.
    Item,
    /// An article on a page.
    Article {
        /// Base of relative addresses.
        base: Option<Url>,
        /// Address below which the hub serves the pictures of the article; `None` if they are not loaded.
        pictures: Option<String>,
    },
    /// An article in a newsreader, which loads pictures itself.
    Newsreader,
}

/// Result of cleaning a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cleaned {
    /// Safe HTML; `None` if the document is too large or would take too much work.
    pub(crate) html: Option<String>,
    /// Addresses of the pictures of an article, by the names that the hub gives them.
    pub(crate) pictures: ArticlePictures,
}

/// Addresses of pictures by name. A name is the first half of the
/// SHA-256 of the address, so it stays the same when the article changes.
pub(crate) type ArticlePictures = BTreeMap<String, String>;

type Key = [u8; 32];

#[derive(Clone)]
struct Weight;

impl Weighter<Key, Arc<Cleaned>> for Weight {
    fn weight(&self, _: &Key, cleaned: &Arc<Cleaned>) -> u64 {
        let html = cleaned.html.as_ref().map_or(0, String::len);
        let pictures = cleaned.pictures.iter().map(|(name, address)| name.len() + address.len());
        (html + pictures.sum::<usize>()) as u64 + OVERHEAD_BYTES
    }
}

/// Results by the digest of document and purpose. They depend on nothing else, so all hubs of a process share them.
static CACHE: LazyLock<Cache<Key, Arc<Cleaned>, Weight>> =
    LazyLock::new(|| Cache::with_weighter(4_096, CACHE_BYTES, Weight));

/// Cleans a document, or returns the cached result. The ticket pays for the bytes that are cleaned.
pub(crate) fn cleaned(html: &str, purpose: &Purpose, ticket: &Ticket) -> Arc<Cleaned> {
    if html.len() > MAX_BYTES {
        return Arc::new(Cleaned::default());
    }
    let key = key(html, purpose);
    if let Some(known) = CACHE.get(&key) {
        return known;
    }
    ticket.charge(html.len());
    let cleaned = Arc::new(clean(html, purpose));
    CACHE.insert(key, Arc::clone(&cleaned));
    cleaned
}

fn clean(html: &str, purpose: &Purpose) -> Cleaned {
    match bounded(html).html {
        Some(html) => {
            let (html, pictures) = rules::apply(&html, purpose);
            Cleaned { html: Some(html), pictures }
        }
        None => Cleaned::default(),
    }
}

fn key(html: &str, purpose: &Purpose) -> Key {
    let (kind, base, pictures) = match purpose {
        Purpose::Item => (0, None, None),
        Purpose::Newsreader => (1, None, None),
        Purpose::Article { base, pictures: None } => (2, base.as_ref(), None),
        Purpose::Article { base, pictures } => (3, base.as_ref(), pictures.as_deref()),
    };
    let mut digest = Sha256::new();
    digest.update([kind]);
    for text in [base.map_or("", Url::as_str), pictures.unwrap_or_default()] {
        digest.update((text.len() as u64).to_be_bytes());
        digest.update(text);
    }
    digest.update(html);
    digest.finalize().into()
}
