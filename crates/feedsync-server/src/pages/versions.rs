//! The versions of an item side by side, with the words that only one of them has marked.

use std::time::Instant;

use feedsync_core::{Payload, Version};
use feedsync_formats::{Entry, entry};

use feedsync_http::pages::{Side, sides};

use crate::http::html::content::cut;
use crate::pages::answer::Time;

/// A conflict and the winner.
pub(super) struct Pair {
    /// Number of the conflict, from 1, as on the command line.
    pub(super) number: usize,
    /// Index among the conflicts of the item.
    pub(super) place: usize,
    pub(super) winner: VersionSide,
    pub(super) conflict: VersionSide,
    /// Whether only the markup differs; then the markup is compared.
    pub(super) markup: bool,
    /// Other fields that differ: name, the winner's value, the conflict's value.
    pub(super) others: Vec<(&'static str, String, String)>,
}

/// One side of a pair.
pub(super) struct VersionSide {
    pub(super) title: Side,
    pub(super) content: Side,
    pub(super) deleted: bool,
    pub(super) signed: Signed,
}

/// Author and time of a version.
pub(super) struct Signed {
    pub(super) by: Option<String>,
    pub(super) when: Option<Time>,
}

impl Pair {
    pub(super) fn of(
        number: usize,
        place: usize,
        winner: &Version<Payload>,
        conflict: &Version<Payload>,
        deadline: Instant,
    ) -> Self {
        let (one, other) = (entry(&winner.payload), entry(&conflict.payload));
        let title = |entry: &Entry| entry.title.clone().unwrap_or_default();
        let (winner_title, conflict_title) = sides(&title(&one), &title(&other), deadline);
        let (mut left, mut right) = (plain(&one), plain(&other));
        let markup = left == right && one.content != other.content;
        if markup {
            (left, right) = (raw(&one), raw(&other));
        }
        let (left, right) = sides(&left, &right, deadline);
        Self {
            number,
            place,
            winner: VersionSide::of(winner, winner_title, left),
            conflict: VersionSide::of(conflict, conflict_title, right),
            markup,
            others: others(&one, &other),
        }
    }
}

impl VersionSide {
    fn of(version: &Version<Payload>, title: Side, content: Side) -> Self {
        Self { title, content, deleted: version.deleted, signed: Signed::of(version) }
    }
}

impl Signed {
    pub(super) fn of(version: &Version<Payload>) -> Self {
        let dot = version.dot();
        Self {
            by: dot.by().map(|by| by.as_str().to_owned()),
            when: dot.when().map(|when| Time::text(when.to_string())),
        }
    }
}

fn plain(entry: &Entry) -> String {
    cut(&entry.plain_content().or_else(|| entry.content.clone()).unwrap_or_default()).0
}

fn raw(entry: &Entry) -> String {
    cut(entry.content.as_deref().unwrap_or_default()).0
}

fn others(one: &Entry, other: &Entry) -> Vec<(&'static str, String, String)> {
    type Field = (&'static str, fn(&Entry) -> String);
    let fields: [Field; 4] = [
        ("Summary", |entry| entry.summary.clone().unwrap_or_default()),
        ("Author", |entry| author(entry).unwrap_or_default()),
        ("Categories", |entry| {
            let terms: Vec<_> = entry.categories.iter().map(|one| one.term.as_str()).collect();
            terms.join(", ")
        }),
        ("Links", |entry| {
            let links: Vec<_> = entry.links.iter().map(|link| link.href.as_str()).collect();
            links.join(" ")
        }),
    ];
    let texts = fields.map(|(name, field)| (name, cut(&field(one)).0, cut(&field(other)).0));
    texts.into_iter().filter(|(_, one, other)| one != other).collect()
}

/// Author of an item, for people.
pub(super) fn author(entry: &Entry) -> Option<String> {
    let author = entry.author.as_ref()?;
    author.name.clone().or_else(|| author.email.clone()).or_else(|| author.uri.clone())
}
