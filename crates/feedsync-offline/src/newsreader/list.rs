//! Lists of articles in JSON, whatever their interface: what was changed changes in them, comes in or goes.

use std::cmp::Ordering;
use std::collections::HashSet;

use serde_json::Value;

use super::form::{Filter, List};
use super::known::Fact;
use super::overlay::{Overlay, State};

/// How an interface writes articles.
pub(super) struct Articles {
    /// What is said of one; nothing if it is none.
    pub(super) fact: fn(&Value) -> Option<Fact>,
    /// Changes one.
    pub(super) set: fn(&mut Value, &State),
    /// Where it stands in a list.
    pub(super) place: fn(&Value) -> (i64, String),
    /// An article of which nothing but the number is told; none where more is.
    pub(super) made: fn(i64) -> Option<Value>,
}

impl Articles {
    /// Changes a list; by how many articles it has grown.
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
                self.add(items, list, overlay, &new, others());
            }
        }
        items.len() as i64 - before as i64
    }

    /// Changes an article; whether it stays where it is.
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
        new: &HashSet<i64>,
        others: Vec<Value>,
    ) {
        let mut missing = new.clone();
        let made = new.iter().filter_map(|number| (self.made)(*number));
        for mut item in made.collect::<Vec<_>>().into_iter().chain(others) {
            let number = (self.fact)(&item).map(|fact| fact.article);
            let Some(number) = number.filter(|number| missing.remove(number)) else { continue };
            // It may be from an answer that is older than this one.
            (self.set)(&mut item, &overlay.whole(number));
            let place = (self.place)(&item);
            let comes_later = |there: &Value| match (self.place)(there).cmp(&place) {
                Ordering::Less => list.is_descending,
                Ordering::Greater => !list.is_descending,
                Ordering::Equal => false,
            };
            let at = items.iter().position(comes_later).unwrap_or(items.len());
            items.insert(at, item);
        }
    }

    /// What is said of all of them.
    pub(super) fn facts(&self, items: &[Value]) -> Vec<Fact> {
        items.iter().filter_map(self.fact).collect()
    }
}

/// The articles of answers that are like this one; where they are in it, `of` tells.
pub(super) fn gathered(
    answers: &[Vec<u8>],
    of: impl Fn(&mut Value) -> Option<&mut Vec<Value>>,
) -> Vec<Value> {
    let parsed = answers.iter().filter_map(|body| serde_json::from_slice(body).ok());
    parsed.flat_map(|mut value| of(&mut value).map(std::mem::take)).flatten().collect()
}

/// How many articles such a list has where it had so many; what nobody knows does not count.
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

/// The members of an object, of which one is a list.
pub(super) fn array<'v>(value: &'v mut Value, name: &str) -> Option<&'v mut Vec<Value>> {
    value.get_mut(name)?.as_array_mut()
}

/// A number, also if it stands there as a text.
pub(super) fn number(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// Changes a number where one stands in a member, as a text if it is one.
pub(super) fn put_number(value: &mut Value, name: &str, change: impl FnOnce(i64) -> i64) {
    let Some(member) = value.get_mut(name) else { return };
    let Some(before) = number(member) else { return };
    let now = change(before);
    *member = if member.is_string() { now.to_string().into() } else { now.into() };
}

/// Marks an article that says whether it is unread, and by this member whether it is starred.
pub(super) fn put_marks(article: &mut Value, state: &State, starred: &str) {
    if let Some(is_read) = state.read {
        put(article, "unread", !is_read);
    }
    if let Some(is_starred) = state.starred {
        put(article, starred, is_starred);
    }
}

/// Puts a member where it is told of something.
pub(super) fn put(value: &mut Value, name: &str, member: impl Into<Value>) {
    if let Some(members) = value.as_object_mut() {
        members.insert(name.to_owned(), member.into());
    }
}
