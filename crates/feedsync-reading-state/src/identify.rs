//! Ids of articles, which are the same on every device and in every document of a feed (LR7).
//!
//! **New articles.** The name of a new article is `atom:id` or `guid`, otherwise its link, otherwise a hash
//! of its contents. A name that several articles of the feed share is extended by a hash of what
//! distinguishes them: the link, otherwise the title, otherwise the content. Entries with the same name, link
//! and title (without a title, the same content) are one article; the later entry counts.
//!
//! **Remembered articles keep their ids.** An entry is a remembered article if one of the following rules
//! finds it; earlier rules take precedence. A rule applies only if it singles out one article of the document
//! and one remembered article:
//!
//! 1. Name, link and title are the same; without a title, the content instead.
//! 2. Name and link are the same: the article was edited.
//! 3. Link and title are the same, and either the times of publication do not differ or the content is the
//!    same: the feed changed its names, as it does when it moves or generates new ones each time.
//! 4. The name is the same and was never seen to be shared, and the title, the content or the time of
//!    publication is the same: the link changed.
//! 5. Title, content and time of publication are the same: name and link changed.
//!
//! If only the name is the same, the feed has reused the name, and the article is new.
//!
//! **A shared name never identifies an article again** by itself. A name is shared if several articles of one
//! document had it, or if it was reused. The same applies to a link that several articles of one name had.
//!
//! In names and links that are addresses, the scheme (`http` or `https`), `utm_*` parameters and slashes at
//! the end of the path are ignored in comparisons. The name of a new article has the feed's spelling, except
//! for `utm_*` parameters of a link.
//!
//! **Agreement of devices.** Devices that read the same documents from the first one on have the same ids. A
//! device that starts later has the same ids for all articles whose name is and stays unique. It cannot know
//! the past: that a name which it sees once was shared, or that an article had another name, scheme or link
//! when the other devices first saw it. Such articles have another id on that device until they leave the
//! document; newer articles agree.

mod address;
mod document_article;
mod hashes;
mod identification_state;
mod naming;
mod same;

use std::collections::{BTreeSet, HashSet};

use feedsync_formats::Entry;

use crate::article::ArticleId;
use document_article::DocumentArticle;
use hashes::ArticleHashes;
use naming::Names;

pub use address::comparable_address;
pub use identification_state::{
    IdentificationState, IdentificationStateError, MAX_REMEMBERED_ARTICLES,
};

/// The ids of all entries of one document of a feed, in order, and the updated state of the feed for the next
/// one.
///
/// The remembered state belongs to the feed and not to its address: it must be retained when the feed moves.
pub fn identify(
    entries: &[Entry],
    before: IdentificationState,
) -> (Vec<ArticleId>, IdentificationState) {
    let (told, places) = document_article::document_articles(entries);
    let mut shared: BTreeSet<u64> = shared_in(&told).chain(before.shared.iter().copied()).collect();
    let said: Vec<_> = told.iter().map(|document_article| &document_article.hashes).collect();
    let known: Vec<_> = before.articles.iter().map(|(_, hashes)| hashes).collect();
    let same = same::same(&said, &known, |trace| shared.contains(trace));

    let is_new = same.iter().map(Option::is_none);
    let new: Vec<_> =
        told.iter().zip(is_new).filter_map(|(told, new)| new.then_some(told)).collect();
    shared.extend(reused_hashes(&new, &before));
    let taken = before.articles.iter().map(|(id, _)| id.clone()).collect();
    let mut new_ids = Names::new(taken).all(&new, |trace| shared.contains(trace)).into_iter();
    let id = |same: &Option<usize>| match same {
        Some(place) => before.articles.get(*place).map(|(id, _)| id.clone()),
        None => new_ids.next(),
    };
    // Each new article was assigned an id.
    let ids: Vec<ArticleId> = same.iter().filter_map(id).collect();

    let found = places.iter().filter_map(|place| ids.get(*place).cloned()).collect();
    let told = told.into_iter().map(|document_article| document_article.hashes);
    (found, before.renewed(ids.iter().cloned().zip(told), shared))
}

/// Hashes that several articles of a document share: of names, and of links under one name.
fn shared_in(told: &[DocumentArticle<'_>]) -> impl Iterator<Item = u64> {
    let mut once = HashSet::new();
    told.iter()
        .flat_map(|document_article| document_article.hashes.trusted())
        .filter(move |trace| !once.insert(*trace))
}

/// Hashes that new articles share with remembered articles which are different ones.
fn reused_hashes(new: &[&DocumentArticle<'_>], before: &IdentificationState) -> Vec<u64> {
    let had: HashSet<_> = before
        .articles
        .iter()
        .flat_map(|(_, hashes): &(_, ArticleHashes)| hashes.trusted())
        .collect();
    let ids: HashSet<_> = before.articles.iter().map(|(id, _)| id).collect();
    let again = |document_article: &&DocumentArticle<'_>| {
        let is_id = ArticleId::of(&document_article.name).is_some_and(|id| ids.contains(&id));
        let name = document_article.hashes.name.filter(|_| is_id);
        document_article
            .hashes
            .trusted()
            .filter(|trace| had.contains(trace))
            .chain(name)
            .collect::<Vec<_>>()
    };
    new.iter().flat_map(again).collect()
}

#[cfg(test)]
mod tests;
