//! Adding the knowledge of a FeedSync endpoint to an item that returns from SSE peers.
//!
//! SSE has one line of versions. An item that a peer edited lists the versions that it was based on, one for
//! each number, as far as the peer keeps them. FeedSync keeps more (merged histories, resolved conflicts,
//! `noconflicts`), and it assumes that a later update of an endpoint knows all its earlier ones. Neither
//! holds where SSE peers edit, so an item of theirs is not merged as it was upgraded
//! ([`upgrade`](super::upgrade)):
//! - A version that is based on one that is known here gets that version's history below its own updates.
//! - A known version that the item would cover, but does not list as its base, is issued again beside it. An
//!   SSE peer may lose its own edit to another without notice (S42), and its next edit then does not list it.
//!   The same happens where the peer keeps fewer `sx:update`s than it has made (S34).

use crate::history::History;
use crate::identifier::By;
use crate::item::{Item, Update, Version};

/// Suffix of an endpoint's authoring line for an edit that its own later edits do not know, followed by its
/// number.
const LOST: &str = ".lost-";

/// Adds local knowledge to an upgraded item.
pub fn graft<P: Clone>(incoming: Item<P>, known: &Item<P>) -> Item<P> {
    let mut item = incoming;
    let mut unknown = vec![true; known.versions().count()];
    let mut covered = vec![false; unknown.len()];
    for version in item.versions_mut() {
        let lines: Vec<Update> = version.history.updates().to_vec();
        let base = base_of(&lines, known);
        for (place, other) in known.versions().enumerate() {
            if version.history.covers(other.dot()) {
                covered[place] = true;
                unknown[place] &= is_foreign(&lines, base, other);
            }
        }
        let Some((own, base)) = base else { continue };
        match History::from_updates([&lines[..own], base.history.updates()].concat()) {
            Some(history) if own > 0 => {
                version.history = history;
                version.noconflicts = base.noconflicts;
            }
            // It is exactly that version.
            _ => *version = base.clone(),
        }
    }
    for (place, version) in known.versions().enumerate() {
        if covered[place]
            && unknown[place]
            && let Some(again) = reissued(version)
        {
            item.conflicts.push(again);
        }
    }
    item
}

/// The latest known version in a line of updates, and the number of updates after it.
fn base_of<'k, P>(line: &[Update], known: &'k Item<P>) -> Option<(usize, &'k Version<P>)> {
    line.iter().enumerate().find_map(|(own, update)| {
        let is_it = |version: &&Version<P>| is_identical(update, version.dot());
        known.versions().find(is_it).map(|version| (own, version))
    })
}

/// Whether a line of updates covers a version without listing it as its base. The list may have been cut off:
/// a false doubt costs a conflict, a missed one costs an edit.
fn is_foreign<P>(line: &[Update], base: Option<(usize, &Version<P>)>, other: &Version<P>) -> bool {
    let own = base.map_or(line.len(), |(own, _)| own);
    let is_listed = line[..own].iter().any(|update| is_identical(update, other.dot()));
    !is_listed && base.is_none_or(|(_, base)| !base.history.covers(other.dot()))
}

/// Whether two updates are the same, with equal time and not only equal endpoint and number.
fn is_identical(one: &Update, other: &Update) -> bool {
    let times = one.when().zip(other.when());
    one.is_same(other) && times.is_none_or(|(one, other)| one == other)
}

/// The version under a line of its own, the same wherever it is issued again; none if the name of its line
/// would be too long.
fn reissued<P: Clone>(version: &Version<P>) -> Option<Version<P>> {
    let dot = version.dot();
    let by = By::new(&format!("{}{LOST}{}", dot.by()?, dot.sequence())).ok()?;
    let update = Update::new(dot.sequence(), dot.when(), Some(by)).ok()?;
    let mut history = History::new(update);
    history.extend(version.history.updates().iter().cloned());
    Some(Version { history, ..version.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counter::{Sequence, Updates};
    use crate::identifier::ItemId;
    use crate::timestamp::Timestamp;

    fn version(line: &[(u32, &str)], payload: &'static str) -> Version<&'static str> {
        let updates = line.iter().map(|(number, by)| {
            let when = Timestamp::from_unix_seconds(i64::from(*number) * 60).unwrap();
            Update::signed(Sequence::new(*number).unwrap(), when, By::new(by).unwrap())
        });
        Version {
            updates: Updates::new(line[0].0).unwrap(),
            deleted: false,
            noconflicts: None,
            history: History::from_updates(updates.collect()).unwrap(),
            payload,
        }
    }

    fn item(versions: Vec<Version<&'static str>>) -> Item<&'static str> {
        let mut versions = versions.into_iter();
        let winner = versions.next().unwrap();
        Item { id: ItemId::new("a").unwrap(), winner, conflicts: versions.collect() }
    }

    fn lines(version: &Version<&'static str>) -> Vec<String> {
        let line = |update: &Update| format!("{}{}", update.sequence(), update.by().unwrap());
        version.history.updates().iter().map(line).collect()
    }

    #[test]
    fn a_version_stands_on_all_that_is_known_of_its_base() {
        // F merged concurrent updates of G and J; a line of SSE has only one of them.
        let known = item(vec![version(&[(5, "F"), (4, "G"), (4, "J"), (3, "J")], "five")]);
        let came = item(vec![version(&[(6, "P"), (5, "F"), (4, "J"), (3, "J")], "six")]);
        let grafted = graft(came, &known);
        assert_eq!(lines(&grafted.winner), ["6P", "5F", "4G", "4J", "3J"]);
        assert_eq!(grafted.conflicts, []);
        // The version itself is unchanged, whatever a peer keeps of its history and bytes.
        let grafted = graft(item(vec![version(&[(5, "F")], "FIVE")]), &known);
        assert_eq!(grafted, known);
        let other_time = item(vec![version(&[(5, "Q")], "another")]);
        assert_eq!(graft(other_time.clone(), &known), other_time);
    }

    #[test]
    fn an_edit_that_its_own_maker_has_lost_stays_beside_the_next_one() {
        let base = version(&[(4, "F"), (3, "F")], "winner");
        let lost = version(&[(4, "P"), (3, "F")], "lost");
        let known = item(vec![base, lost.clone()]);
        // P has incorporated F's fourth update, and continues from there.
        let came = item(vec![version(&[(5, "P"), (4, "F"), (3, "F")], "next")]);
        let grafted = graft(came.clone(), &known);
        assert_eq!(lines(&grafted.conflicts[0]), ["4P.lost-4", "4P", "3F"]);
        assert_eq!(grafted.conflicts[0].payload, "lost");
        let (merged, _) = crate::merge(Some(known.clone()), grafted.clone()).unwrap();
        let payloads: Vec<_> = merged.versions().map(|version| version.payload).collect();
        assert_eq!(payloads, ["next", "lost"]);
        // Repeating it has the same result, and changes nothing.
        assert_eq!(graft(came.clone(), &merged).conflicts, []);
        let (again, _) = crate::merge(Some(merged.clone()), graft(came, &merged)).unwrap();
        assert_eq!(again, merged);
        // If P continues from its own edit, it knows that edit.
        let own = item(vec![version(&[(5, "P"), (4, "P"), (3, "F")], "next")]);
        assert_eq!(graft(own, &known).conflicts, []);
        // A line that was cut off lists no base.
        let cut = item(vec![version(&[(6, "P")], "next")]);
        assert_eq!(graft(cut, &known).conflicts.len(), 1);
        let beside = item(vec![version(&[(6, "P"), (5, "X"), (4, "X")], "next")]);
        assert_eq!(graft(beside, &item(vec![lost])).conflicts.len(), 1);
    }
}
