//! Matching of entries with remembered articles.

use std::collections::HashMap;
use std::hash::Hash;

use super::hashes::ArticleHashes;

/// For each article of the document, the index of the same remembered article; no index occurs twice.
pub(super) fn same(
    told: &[&ArticleHashes],
    known: &[&ArticleHashes],
    is_shared: impl Fn(&u64) -> bool,
) -> Vec<Option<usize>> {
    let mut pairs =
        Pairs { told, known, found: vec![None; told.len()], is_found: vec![false; known.len()] };
    let trusted = |trace: Option<u64>| trace.filter(|trace| !is_shared(trace));
    pairs.find(|hashes| Some(hashes.article_key()), |_, _| true);
    pairs
        .find(|hashes| trusted(hashes.named_link()).filter(|_| hashes.link.is_some()), |_, _| true);
    pairs.find(|hashes| hashes.link.zip(hashes.title), is_of_one_time_or_content);
    pairs.find(|hashes| trusted(hashes.name), share_a_value);
    pairs.find(
        |hashes| hashes.title.zip(hashes.content),
        |one, other| both(one.published, other.published),
    );
    pairs.found
}

fn is_of_one_time_or_content(one: &ArticleHashes, other: &ArticleHashes) -> bool {
    let is_of_another = one.published.zip(other.published).is_some_and(|(one, other)| one != other);
    !is_of_another || both(one.content, other.content)
}

fn share_a_value(one: &ArticleHashes, other: &ArticleHashes) -> bool {
    both(one.title, other.title)
        || both(one.content, other.content)
        || both(one.published, other.published)
}

/// Whether both values are present and equal.
fn both<T: PartialEq>(one: Option<T>, other: Option<T>) -> bool {
    one.is_some() && one == other
}

/// The articles of the document and the remembered ones, with the pairs found so far.
struct Pairs<'a> {
    told: &'a [&'a ArticleHashes],
    known: &'a [&'a ArticleHashes],
    found: Vec<Option<usize>>,
    is_found: Vec<bool>,
}

impl Pairs<'_> {
    /// Pairs articles that have the same key and that agree, if the key is unique on both sides.
    fn find<K: Hash + Eq>(
        &mut self,
        mark: impl Fn(&ArticleHashes) -> Option<K>,
        agree: impl Fn(&ArticleHashes, &ArticleHashes) -> bool,
    ) {
        let (told, known) = (alone(self.told, &mark), alone(self.known, &mark));
        for (mark, place) in told {
            let Some(Some(place)) = place.map(|told| Some((told, (*known.get(&mark)?)?))) else {
                continue;
            };
            let (told, known) = place;
            let is_free = self.found[told].is_none() && !self.is_found[known];
            if is_free && agree(self.told[told], self.known[known]) {
                self.found[told] = Some(known);
                self.is_found[known] = true;
            }
        }
    }
}

/// Index of the article of each key; `None` if several articles have the key.
fn alone<K: Hash + Eq>(
    articles: &[&ArticleHashes],
    mark: impl Fn(&ArticleHashes) -> Option<K>,
) -> HashMap<K, Option<usize>> {
    let mut places = HashMap::new();
    for (place, hashes) in articles.iter().enumerate() {
        if let Some(mark) = mark(hashes) {
            places.entry(mark).and_modify(|place| *place = None).or_insert(Some(place));
        }
    }
    places
}
