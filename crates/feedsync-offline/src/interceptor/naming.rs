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
