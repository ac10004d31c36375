//! Members that were made here and have got an address of their server's: for a while both are known.

use std::collections::{HashMap, VecDeque};

use crate::authentication::Partition;
use crate::location::Location;

/// How many are known at most; the oldest are forgotten first.
const MOST: usize = 10_000;

/// Where members are that had an address of ours.
#[derive(Debug, Default)]
pub(super) struct Naming {
    members: HashMap<Location, Vec<(Partition, Option<Location>)>>,
    order: VecDeque<(Partition, Location)>,
}

impl Naming {
    /// Those of a store that is opened again, the oldest first.
    pub(super) fn restored(
        named: impl IntoIterator<Item = (Partition, Location, Option<Location>)>,
    ) -> Self {
        let mut naming = Self::default();
        for (partition, pending, member) in named {
            naming.insert(partition, pending, member);
        }
        naming
    }

    /// Where a member is, if that is known; none if it is nowhere.
    pub(super) fn get(
        &self,
        partition: Partition,
        pending: &Location,
    ) -> Option<Option<&Location>> {
        self.of(pending).find(|(whose, _)| *whose == partition).map(|(_, member)| member)
    }

    /// The same for all who may know.
    pub(super) fn of(
        &self,
        pending: &Location,
    ) -> impl Iterator<Item = (Partition, Option<&Location>)> {
        let members = self.members.get(pending).into_iter().flatten();
        members.map(|(partition, member)| (*partition, member.as_ref()))
    }

    /// Notes where a member is; what is forgotten for it.
    pub(super) fn insert(
        &mut self,
        partition: Partition,
        pending: Location,
        member: Option<Location>,
    ) -> Option<(Partition, Location)> {
        let members = self.members.entry(pending.clone()).or_default();
        match members.iter_mut().find(|(whose, _)| *whose == partition) {
            Some((_, known)) => {
                *known = member;
                return None;
            }
            None => members.push((partition, member)),
        }
        self.order.push_back((partition, pending));
        let oldest = (self.order.len() > MOST).then(|| self.order.pop_front()).flatten()?;
        self.forget(&oldest);
        Some(oldest)
    }

    /// Forgets all that these people had.
    pub(super) fn forget_all(&mut self, partition: Partition) {
        self.order.retain(|(whose, _)| *whose != partition);
        self.members.retain(|_, members| {
            members.retain(|(whose, _)| *whose != partition);
            !members.is_empty()
        });
    }

    fn forget(&mut self, (partition, pending): &(Partition, Location)) {
        if let Some(members) = self.members.get_mut(pending) {
            members.retain(|(whose, _)| whose != partition);
            if members.is_empty() {
                self.members.remove(pending);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::at;

    const OTHER: Partition = Partition::of_bytes([7; 32]);

    #[test]
    fn a_member_is_known_to_those_who_made_it_until_it_is_forgotten() {
        let (public, pending) = (Partition::public(), at("pending"));
        let named = [
            (public, pending.clone(), Some(at("a"))),
            (OTHER, pending.clone(), None),
            (public, pending.clone(), Some(at("b"))),
        ];
        let mut naming = Naming::restored(named);
        assert_eq!(naming.get(public, &pending), Some(Some(&at("b"))), "the newest counts");
        assert_eq!(naming.get(OTHER, &pending), Some(None));
        assert_eq!(naming.get(public, &at("else")), None);
        assert_eq!(naming.of(&pending).count(), 2);
        naming.forget_all(public);
        assert_eq!((naming.get(public, &pending), naming.get(OTHER, &pending)), (None, Some(None)));
        assert_eq!(naming.order, [(OTHER, pending.clone())]);
        naming.forget_all(OTHER);
        assert!(naming.members.is_empty() && naming.order.is_empty());
    }

    #[test]
    fn the_oldest_of_too_many_members_is_forgotten() {
        let mut naming = Naming::default();
        let pending = |number: usize| at(&number.to_string());
        for number in 0..MOST {
            assert_eq!(naming.insert(Partition::public(), pending(number), None), None);
        }
        naming.insert(OTHER, pending(0), None);
        assert_eq!(naming.get(Partition::public(), &pending(0)), None);
        assert_eq!(naming.get(OTHER, &pending(0)), Some(None), "it is another's");
        let forgotten = naming.insert(OTHER, pending(1), None);
        assert_eq!(forgotten, Some((Partition::public(), pending(1))));
        // What is known already takes no place.
        assert_eq!(naming.insert(OTHER, pending(1), Some(at("a"))), None);
        assert_eq!(naming.members.len(), MOST);
    }
}
