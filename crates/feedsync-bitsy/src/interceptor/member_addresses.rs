//! Addresses of members that were created here. For a while both their temporary and their server address are
//! known.

use std::collections::{HashMap, VecDeque};

use crate::authentication::Partition;
use crate::location::Location;

/// Maximum number of known addresses. The oldest are removed first.
const MAX_ADDRESSES: usize = 10_000;

/// Server addresses of members by their temporary addresses.
#[derive(Debug, Default)]
pub(crate) struct MemberAddresses {
    members: HashMap<Location, Vec<(Partition, Option<Location>)>>,
    order: VecDeque<(Partition, Location)>,
}

impl MemberAddresses {
    /// Restores the addresses from a store, the oldest first.
    pub(crate) fn restored(
        named: impl IntoIterator<Item = (Partition, Location, Option<Location>)>,
    ) -> Self {
        let mut naming = Self::default();
        for (partition, pending, member) in named {
            naming.insert(partition, pending, member);
        }
        naming
    }

    /// Server address of a member, if known. The inner value is none if the member does not exist.
    pub(crate) fn get(
        &self,
        partition: Partition,
        pending: &Location,
    ) -> Option<Option<&Location>> {
        self.of(pending).find(|(whose, _)| *whose == partition).map(|(_, member)| member)
    }

    /// Server addresses for all partitions.
    pub(crate) fn of(
        &self,
        pending: &Location,
    ) -> impl Iterator<Item = (Partition, Option<&Location>)> {
        let members = self.members.get(pending).into_iter().flatten();
        members.map(|(partition, member)| (*partition, member.as_ref()))
    }

    /// Notes the address of a member. Returns the entry that is removed for it.
    pub(crate) fn insert(
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
        let oldest =
            (self.order.len() > MAX_ADDRESSES).then(|| self.order.pop_front()).flatten()?;
        self.forget(&oldest);
        Some(oldest)
    }

    /// Removes all addresses of a partition.
    pub(crate) fn forget_all(&mut self, partition: Partition) {
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
    fn member_address_is_known_to_its_partition_until_removed() {
        let (public, pending) = (Partition::public(), at("pending"));
        let named = [
            (public, pending.clone(), Some(at("a"))),
            (OTHER, pending.clone(), None),
            (public, pending.clone(), Some(at("b"))),
        ];
        let mut naming = MemberAddresses::restored(named);
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
    fn oldest_address_is_removed_beyond_the_maximum() {
        let mut naming = MemberAddresses::default();
        let pending = |number: usize| at(&number.to_string());
        for number in 0..MAX_ADDRESSES {
            assert_eq!(naming.insert(Partition::public(), pending(number), None), None);
        }
        naming.insert(OTHER, pending(0), None);
        assert_eq!(naming.get(Partition::public(), &pending(0)), None);
        assert_eq!(naming.get(OTHER, &pending(0)), Some(None), "it is another's");
        let forgotten = naming.insert(OTHER, pending(1), None);
        assert_eq!(forgotten, Some((Partition::public(), pending(1))));
        // An entry that is known already needs no room.
        assert_eq!(naming.insert(OTHER, pending(1), Some(at("a"))), None);
        assert_eq!(naming.members.len(), MAX_ADDRESSES);
    }
}
