//! Lists of articles in JSON, for all interfaces: changes modify, add or remove articles.

use std::cmp::Ordering;
use std::collections::HashSet;

use serde_json::Value;

use super::facts::Fact;
use super::form::{Filter, List};
use super::overlay::{Overlay, State};

/// Representation of articles in an interface.
pub(super) struct Articles {
    /// Reads the facts of an article; none if the value is not an article.
    pub(super) fact: fn(&Value) -> Option<Fact>,
    /// Applies a state to an article.
    pub(super) set: fn(&mut Value, &State),
    /// Returns the sort key of an article in a list.
    pub(super) sort_key: fn(&Value) -> (i64, String),
    /// Creates an article that consists of its number only; none for other representations.
    pub(super) made: fn(i64) -> Option<Value>,
}

impl Articles {
    /// Applies changes to a list. Returns the growth of the number of articles.
    pub(super) fn merge(
        &self,
        items: &mut Vec<Value>,
        list: &List,
        overlay: &Overlay,
        others: impl Fn() -> Vec<Value>,
    ) -> i64 {
        let before = items.len();
        let mut there = HashSet::new();
        items.retain_mut(|item| {
            let Some(fact) = (self.fact)(item) else { return true };
            there.insert(fact.article);
            self.stays(item, &fact, list, overlay)
        });
        if list.filter.gains() {
            let filed = |feed, folder| overlay.is_filed(feed, folder);
            let is_new = |fact: &&Fact| {
                !there.contains(&fact.article)
                    && list.filter.has(fact, filed)
                    && list.above.is_none_or(|above| fact.article > above)
            };
            let new: HashSet<i64> =
                overlay.facts().filter(is_new).map(|fact| fact.article).collect();
            if !new.is_empty() {
                self.add(items, list, overlay, (&new, others()));
            }
        }
        items.len() as i64 - before as i64
    }

    /// Applies changes to an article. Returns whether it remains in the list.
    fn stays(&self, item: &mut Value, fact: &Fact, list: &List, overlay: &Overlay) -> bool {
        let Some(state) = overlay.state(fact.article) else {
            return list.above.is_none_or(|above| fact.article > above);
        };
        (self.set)(item, state);
        list.filter.may_have(state.read, state.starred)
            && list.above.is_none_or(|above| fact.article > above)
    }

    fn add(
        &self,
        items: &mut Vec<Value>,
        list: &List,
        overlay: &Overlay,
        (new, others): (&HashSet<i64>, Vec<Value>),
    ) {
        let mut missing = new.clone();
        let made = new.iter().filter_map(|number| (self.made)(*number));
        for mut item in made.collect::<Vec<_>>().into_iter().chain(others) {
            let number = (self.fact)(&item).map(|fact| fact.article);
            let Some(number) = number.filter(|number| missing.remove(number)) else { continue };
            // The article may come from an older response.
            (self.set)(&mut item, &overlay.whole(number));
            let sort_key = (self.sort_key)(&item);
            let comes_later = |there: &Value| match (self.sort_key)(there).cmp(&sort_key) {
                Ordering::Less => list.is_descending,
                Ordering::Greater => !list.is_descending,
                Ordering::Equal => false,
            };
            let at = items.iter().position(comes_later).unwrap_or(items.len());
            items.insert(at, item);
        }
    }

    /// Facts of all articles.
    pub(super) fn facts(&self, items: &[Value]) -> Vec<Fact> {
        items.iter().filter_map(self.fact).collect()
    }
}

/// Collects the articles of similar responses. `of` returns the list in a response.
pub(super) fn gathered(
    answers: &[Vec<u8>],
    of: impl Fn(&mut Value) -> Option<&mut Vec<Value>>,
) -> Vec<Value> {
    let parsed = answers.iter().filter_map(|body| serde_json::from_slice(body).ok());
    parsed.flat_map(|mut value| of(&mut value).map(std::mem::take)).flatten().collect()
}

/// Number of articles in a list after the changes. Unknown articles do not count.
pub(super) fn counted(filter: &Filter, before: i64, overlay: &Overlay) -> i64 {
    match (filter.is_narrow, filter.is_read, filter.is_starred) {
        (false, Some(false), None) => match (filter.feed, filter.folder) {
            (Some(feed), None) => overlay.of_feed(feed, before),
            (None, Some(folder)) => overlay.of_folder(folder, before),
            (None, None) => overlay.of_all(before),
            _ => before,
        },
        (false, None, Some(true)) if filter.feed.or(filter.folder).is_none() => {
            overlay.starred(before)
        }
        _ => before,
    }
}

/// A member of an object that is a list.
pub(super) fn array<'v>(value: &'v mut Value, name: &str) -> Option<&'v mut Vec<Value>> {
    value.get_mut(name)?.as_array_mut()
}

/// Reads a number, which may be written as a text.
pub(super) fn number(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// Changes a numeric member, and writes it as a text if it was one.
pub(super) fn put_number(value: &mut Value, name: &str, change: impl FnOnce(i64) -> i64) {
    let Some(member) = value.get_mut(name) else { return };
    let Some(before) = number(member) else { return };
    let now = change(before);
    *member = if member.is_string() { now.to_string().into() } else { now.into() };
}

/// Applies a state to an article with `unread` and with this member for the star.
pub(super) fn put_marks(article: &mut Value, state: &State, starred: &str) {
    if let Some(is_read) = state.read {
        put(article, "unread", !is_read);
    }
    if let Some(is_starred) = state.starred {
        put(article, starred, is_starred);
    }
}

/// Sets a member of an object.
pub(super) fn put(value: &mut Value, name: &str, member: impl Into<Value>) {
    if let Some(members) = value.as_object_mut() {
        members.insert(name.to_owned(), member.into());
    }
}
