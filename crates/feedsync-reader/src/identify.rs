//! The ids of the articles of a feed, the same on every device, and the same from one document to the next (LR7).
//!
//! **What a new article is called.** What its feed calls it: `atom:id` or `guid`, else its link, else a hash of
//! what it says. A name that does not tell articles of the feed apart is extended by a hash of what does: the
//! link, else the title, else the content. What has the same name, link and title (the same content, where
//! it has no title) is one article, told twice, of which the later telling counts.
//!
//! **What is remembered keeps its id.** An entry is an article that is remembered if one of these finds it, the
//! first of them first. Each counts only where it singles out one article of the document and one that is
//! remembered:
//!
//! 1. name, link and title are the same; without a title, the content instead.
//! 2. Name and link are the same: it was edited.
//! 3. Link and title are the same, and the time of publication is no other one or the content is the same: a feed
//!    changed its names, as it does when it moves or makes new ones each time.
//! 4. The name is the same, was never seen to be shared, and the title, the content or the time of publication is
//!    the same: the link changed.
//! 5. Title, content and the time of publication are the same: name and link changed.
//!
//! Where nothing but the name is left of an article, the feed has given the name again: it is a new one.
//!
//! **A shared name is never trusted again**, by itself: one that several articles of one document had, or that was
//! given again. The same goes for a link that several articles of one name had.
//!
//! Of names and links that are addresses, scheme (`http` or `https`), `utm_*` parameters and slashes at the end
//! of the path tell nothing apart. What a new article is called is spelled as its feed spells it, but for
//! `utm_*` parameters of a link.
//!
//! **Who meets.** Devices that read the same documents from the first on have the same ids. One that comes later
//! has the ids of the others wherever a name is one article's and stays so. It cannot know what was before:
//! that a name that it sees once was shared, or that an article had another name, scheme or link while the others
//! first saw it. Such articles have another id there until they leave the document; newer ones meet.

mod address;
mod naming;
mod remembered;
mod same;
mod telling;
mod traces;

use std::collections::{BTreeSet, HashSet};

use feedsync_formats::Entry;

use crate::article::ArticleId;
use naming::Names;
use telling::Telling;
use traces::Traces;

pub use remembered::{MOST_REMEMBERED, Remembered, RememberedError};

/// The ids of all entries of one document of a feed, in their order, and what to remember of the feed for the next
/// one.
///
/// What is remembered is the feed's and not its address's: it goes along when the feed moves.
pub fn identify(entries: &[Entry], before: Remembered) -> (Vec<ArticleId>, Remembered) {
    let (told, places) = telling::tellings(entries);
    let mut shared: BTreeSet<u64> = shared_in(&told).chain(before.shared.iter().copied()).collect();
    let said: Vec<_> = told.iter().map(|telling| &telling.traces).collect();
    let known: Vec<_> = before.articles.iter().map(|(_, traces)| traces).collect();
    let same = same::same(&said, &known, |trace| shared.contains(trace));

    let is_new = same.iter().map(Option::is_none);
    let new: Vec<_> =
        told.iter().zip(is_new).filter_map(|(told, new)| new.then_some(told)).collect();
    shared.extend(given_again(&new, &before));
    let taken = before.articles.iter().map(|(id, _)| id.clone()).collect();
    let mut new_ids = Names::new(taken).all(&new, |trace| shared.contains(trace)).into_iter();
    let id = |same: &Option<usize>| match same {
        Some(place) => before.articles.get(*place).map(|(id, _)| id.clone()),
        None => new_ids.next(),
    };
    // Each that is new was given an id.
    let ids: Vec<ArticleId> = same.iter().filter_map(id).collect();

    let found = places.iter().filter_map(|place| ids.get(*place).cloned()).collect();
    let told = told.into_iter().map(|telling| telling.traces);
    (found, before.renewed(ids.iter().cloned().zip(told), shared))
}

/// What several articles of a document share: names, and links under one name.
fn shared_in(told: &[Telling<'_>]) -> impl Iterator<Item = u64> {
    let mut once = HashSet::new();
    told.iter()
        .flat_map(|telling| telling.traces.trusted())
        .filter(move |trace| !once.insert(*trace))
}

/// What new articles share with those of before, which they are not.
fn given_again(new: &[&Telling<'_>], before: &Remembered) -> Vec<u64> {
    let had: HashSet<_> =
        before.articles.iter().flat_map(|(_, traces): &(_, Traces)| traces.trusted()).collect();
    let ids: HashSet<_> = before.articles.iter().map(|(id, _)| id).collect();
    let again = |telling: &&Telling<'_>| {
        let is_id = ArticleId::of(&telling.name).is_some_and(|id| ids.contains(&id));
        let name = telling.traces.name.filter(|_| is_id);
        telling.traces.trusted().filter(|trace| had.contains(trace)).chain(name).collect::<Vec<_>>()
    };
    new.iter().flat_map(again).collect()
}

#[cfg(test)]
mod tests;
