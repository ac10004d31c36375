//! Hubs and replicas of the simulation, and comparison of their items.

use std::collections::BTreeMap;

use feedsync_core::{Base, By, Incorporation, Item, Payload, Sequence, Version, incorporate};
use feedsync_couch::Tree;

/// Number of an edit, which is part of its payload.
pub(super) type EditNumber = u32;

/// A hub or a replica.
#[derive(Default)]
pub(super) struct Party {
    /// `None` for a replica.
    pub(super) hub: Option<Hub>,
    pub(super) tree: Tree<String>,
}

/// An endpoint of a hub, with the only item of the simulation.
pub(super) struct Hub {
    pub(super) name: String,
    pub(super) item: Option<Item<Payload>>,
    pub(super) issued: BTreeMap<By, Sequence>,
    /// The edit and the version that an editor opened earlier.
    pub(super) opened: Option<(EditNumber, Base)>,
}

impl Party {
    /// The documents and the item, to compare them with later ones.
    pub(super) fn state(&self) -> (Tree<String>, Option<Item<Payload>>) {
        (self.tree.clone(), self.hub.as_ref().and_then(|hub| hub.item.clone()))
    }
}

impl Hub {
    pub(super) fn incorporate(&mut self, item: Item<Payload>) {
        match incorporate(self.item.as_ref(), None, item) {
            Incorporation::Added(item)
            | Incorporation::Updated(item)
            | Incorporation::Conflict(item) => self.item = Some(item),
            Incorporation::Unchanged => {}
            Incorporation::Refused(refusal) => panic!("{refusal}"),
        }
    }
}

/// Whether the versions of an item together cover those that a version covers.
fn knows_all(item: &Item<Payload>, version: &Version<Payload>) -> bool {
    version.history.updates().iter().all(|update| item.covers(update))
}

/// A version as one line of text.
fn shown(version: &Version<Payload>) -> String {
    let Version { updates, deleted, history, payload, .. } = version;
    let update = |update: &feedsync_core::Update| {
        format!("{}/{}", update.sequence(), update.by().map_or("-", By::as_str))
    };
    let mut history: Vec<String> = history.updates().iter().map(update).collect();
    history[1..].sort();
    format!("{updates} {deleted} {history:?} {}", payload.text())
}

/// The edit of a version.
pub(super) fn edit_of(version: &Version<Payload>) -> EditNumber {
    number_in(version.payload.text())
}

/// The edit number in a body, or in the native text within it.
pub(super) fn number_in(text: &str) -> EditNumber {
    let begin = text.find("edit").or_else(|| text.find("<title>")).unwrap();
    let digits = text[begin..].chars().skip_while(|it| !it.is_ascii_digit());
    digits.take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

/// Checks that two items are equivalent: the same versions, with the same joint history.
pub(super) fn same(one: &Item<Payload>, other: &Item<Payload>) -> Result<(), String> {
    let of = |item: &Item<Payload>| -> Vec<EditNumber> { item.versions().map(edit_of).collect() };
    if !one.winner.dot().is_same(other.winner.dot()) || one.conflicts.len() != other.conflicts.len()
    {
        return Err(format!("two hubs have {:?} and {:?}", of(one), of(other)));
    }
    for version in one.versions() {
        let same = other.versions().find(|it| it.dot().is_same(version.dot()));
        let same = same.ok_or_else(|| format!("{:?} and {:?}", of(one), of(other)))?;
        let is_same = version.payload == same.payload
            && version.deleted == same.deleted
            && version.updates == same.updates
            && knows_all(one, same)
            && knows_all(other, version);
        if !is_same {
            return Err(format!("two hubs differ:\n{}\n{}", shown(version), shown(same)));
        }
    }
    Ok(())
}
