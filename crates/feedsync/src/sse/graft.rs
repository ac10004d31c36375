//! Adding the knowledge of an endpoint of FeedSync to an item that comes back from peers of SSE.
//!
//! SSE has one line of versions: an item that a peer edited tells the versions that it was made on, one a number, as
//! far as the peer keeps them. FeedSync keeps more (histories that were merged, resolved conflicts, `noconflicts`), and
//! it takes a later update of an endpoint for one that knows all earlier updates of that endpoint. Both differ where
//! peers of SSE edit, so that an item of theirs is not merged as it was upgraded ([`upgrade`](super::upgrade)):
//! - A version that is made on one that is known here has that version's history below its own updates.
//! - A version that is known here, and that the item would cover without telling that it was made on it, is issued
//!   again beside it: a peer of SSE may lose an edit of its own to another without being told of it (S42), and its next
//!   edit says nothing of that one. Nor does it where the peer keeps fewer `sx:update`s than it has made (S34).

use crate::history::History;
use crate::identifier::By;
use crate::item::{Item, Update, Version};

/// Follows the line of an endpoint in that of an edit which its own later edits do not know, before its number.
const LOST: &str = ".lost-";

/// Gives an upgraded item what is known of it here.
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
            // It is that version.
            _ => *version = base.clone(),
        }
    }
    for (place, version) in known.versions().enumerate() {
        if covered[place]
            && unknown[place]
            && let Some(again) = issued_again(version)
        {
            item.conflicts.push(again);
        }
    }
    item
}

/// The latest version that is known here and that a line of updates has; and how many updates come after it.
fn base_of<'k, P>(line: &[Update], known: &'k Item<P>) -> Option<(usize, &'k Version<P>)> {
    line.iter().enumerate().find_map(|(own, update)| {
        let is_it = |version: &&Version<P>| is_very(update, version.dot());
        known.versions().find(is_it).map(|version| (own, version))
    })
}

/// Whether a line of updates covers a version without telling that it was made on it. What was cut off may have told so:
/// the price of doubting is a conflict, that of believing an edit.
fn is_foreign<P>(line: &[Update], base: Option<(usize, &Version<P>)>, other: &Version<P>) -> bool {
    let own = base.map_or(line.len(), |(own, _)| own);
    let is_listed = line[..own].iter().any(|update| is_very(update, other.dot()));
    !is_listed && base.is_none_or(|(_, base)| !base.history.covers(other.dot()))
}

/// Whether two updates are the same, and not only of one endpoint and number.
fn is_very(one: &Update, other: &Update) -> bool {
    let times = one.when().zip(other.when());
    one.is_same(other) && times.is_none_or(|(one, other)| one == other)
}

/// A version under a line of its own, the same wherever it is issued again; none if its line would be too long.
fn issued_again<P: Clone>(version: &Version<P>) -> Option<Version<P>> {
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
        // What G and J did beside each other was merged by F; a line of SSE has one of them.
        let known = item(vec![version(&[(5, "F"), (4, "G"), (4, "J"), (3, "J")], "five")]);
        let came = item(vec![version(&[(6, "P"), (5, "F"), (4, "J"), (3, "J")], "six")]);
        let grafted = graft(came, &known);
        assert_eq!(lines(&grafted.winner), ["6P", "5F", "4G", "4J", "3J"]);
        assert_eq!(grafted.conflicts, []);
        // The version itself is what it was, whatever a peer keeps of its history and bytes.
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
        // P has taken over F's fourth, and goes on from there.
        let came = item(vec![version(&[(5, "P"), (4, "F"), (3, "F")], "next")]);
        let grafted = graft(came.clone(), &known);
        assert_eq!(lines(&grafted.conflicts[0]), ["4P.lost-4", "4P", "3F"]);
        assert_eq!(grafted.conflicts[0].payload, "lost");
        let (merged, _) = crate::merge(Some(known.clone()), grafted.clone()).unwrap();
        let payloads: Vec<_> = merged.versions().map(|version| version.payload).collect();
        assert_eq!(payloads, ["next", "lost"]);
        // Whoever does the same comes to the same, and doing it again changes nothing.
        assert_eq!(graft(came.clone(), &merged).conflicts, []);
        let (again, _) = crate::merge(Some(merged.clone()), graft(came, &merged)).unwrap();
        assert_eq!(again, merged);
        // P who goes on from its own edit knows it.
        let own = item(vec![version(&[(5, "P"), (4, "P"), (3, "F")], "next")]);
        assert_eq!(graft(own, &known).conflicts, []);
        // Of a line that was cut off nothing is known.
        let cut = item(vec![version(&[(6, "P")], "next")]);
        assert_eq!(graft(cut, &known).conflicts.len(), 1);
        let beside = item(vec![version(&[(6, "P"), (5, "X"), (4, "X")], "next")]);
        assert_eq!(graft(beside, &item(vec![lost])).conflicts.len(), 1);
    }
}
