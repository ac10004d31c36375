//! The articles of a document, each once.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Place;

use feedsync_formats::Entry;

use super::address::without_tracking;
use super::hashes::ArticleHashes;
use crate::article::hash;

/// An article as a document states it.
#[derive(Debug)]
pub(super) struct DocumentArticle<'a> {
    /// Name that the feed gives the article; never empty.
    pub(super) name: String,
    pub(super) entry: &'a Entry,
    pub(super) hashes: ArticleHashes,
}

/// Returns the articles of a document, in an order that does not depend on the document's, and for each entry
/// the index of its article.
pub(super) fn document_articles(entries: &[Entry]) -> (Vec<DocumentArticle<'_>>, Vec<usize>) {
    let all: Vec<_> = entries.iter().map(|entry| (ArticleHashes::of(entry), entry)).collect();
    let mut latest = HashMap::new();
    for (hashes, entry) in &all {
        match latest.entry(hashes.article_key()) {
            Place::Vacant(place) => _ = place.insert((hashes, *entry)),
            Place::Occupied(mut place) => {
                let (known, before) = *place.get();
                if later(hashes, entry) > later(known, before) {
                    place.insert((hashes, *entry));
                }
            }
        }
    }
    let mut told: Vec<_> = latest.into_iter().collect();
    told.sort_unstable_by_key(|(article_key, _)| *article_key);
    let places: HashMap<_, _> = told.iter().map(|(article_key, _)| *article_key).zip(0..).collect();
    let places = all.iter().map(|(hashes, _)| places[&hashes.article_key()]).collect();
    let document_article = |(_, (hashes, entry)): (_, (&ArticleHashes, _))| DocumentArticle {
        name: name(entry),
        entry,
        hashes: hashes.clone(),
    };
    (told.into_iter().map(document_article).collect(), places)
}

/// Sort key of two entries for one article: the greater one counts, whatever the order of the document.
fn later<'a>(hashes: &ArticleHashes, entry: &'a Entry) -> impl Ord + use<'a> {
    (hashes.published, hashes.content, entry.id.as_deref(), entry.link())
}

/// Name that the feed gives an entry.
fn name(entry: &Entry) -> String {
    let link = without_tracking(link(entry));
    let said = [entry.id.as_deref().unwrap_or_default(), &*link];
    match said.into_iter().find(|name| !name.is_empty()) {
        Some(name) => name.to_owned(),
        None => format!("sha256:{}", hash(&[title(entry), content(entry)])),
    }
}

pub(super) fn link(entry: &Entry) -> &str {
    entry.link().unwrap_or_default()
}

pub(super) fn title(entry: &Entry) -> &str {
    entry.title.as_deref().unwrap_or_default()
}

pub(super) fn content(entry: &Entry) -> &str {
    entry.content.as_deref().or(entry.summary.as_deref()).unwrap_or_default()
}
