//! A round in progress, and what it has found so far.

use feedsync_formats::MemberFeed;

use crate::collections::{SortedMap, SortedSet};
use crate::interception::Role;
use crate::interceptor::step::Belonging;
use crate::interceptor::stored::{Content, Representation};
use crate::location::Location;
use crate::overlay;
use crate::subscription::round::Round;

/// Generation of resources that are seen for the first time, until the generation has a number.
pub(crate) const UNASSIGNED: u64 = u64::MAX;

/// A round in progress.
#[derive(Debug)]
pub(crate) struct ActiveRound {
    pub(crate) round: Round,
    pub(crate) findings: RoundFindings,
    /// Number of the round.
    pub(crate) number: u64,
    /// Number of running requests of the round.
    pub(crate) tasks: usize,
    /// Number of times that a page in place of the feed was attributed to a captive portal.
    pub(crate) portals: u32,
    /// Addresses that are requested without conditions.
    pub(crate) unconditional: SortedSet<Location>,
}

/// Findings of a round so far, or of one of its responses.
#[derive(Debug, Default)]
pub(crate) struct RoundFindings {
    /// Documents of the feed and its pages.
    pub(crate) documents: SortedMap<Location, Representation>,
    /// Resources that belong to the feed.
    pub(crate) belongings: SortedMap<Location, Belonging>,
    /// Collection of the feed, once the feed was read.
    pub(crate) collection: Option<Option<Location>>,
    /// Temporary and real addresses of members whose address the server had not named.
    pub(crate) found: Vec<(Location, Location)>,
    /// Permanent new address of the feed.
    pub(crate) moved: Option<Location>,
    /// Whether a part of the feed could not be fetched.
    pub(crate) is_partial: bool,
    /// Edits that were carried out before the edit with this number show in the feed.
    pub(crate) began: u64,
    /// Whether any document differs from the stored one.
    pub(crate) is_new: bool,
}

impl ActiveRound {
    /// Creates a round without findings.
    pub(crate) fn new(round: Round, number: u64) -> Self {
        let (findings, unconditional) = (RoundFindings::default(), SortedSet::new());
        Self { round, findings, number, tasks: 0, portals: 0, unconditional }
    }

    /// Contents of the documents for the next generation.
    pub(crate) fn contents(&self) -> impl Iterator<Item = Content> {
        self.findings.documents.values().map(|document| document.content)
    }
}

impl RoundFindings {
    /// Adds a document of the feed.
    pub(crate) fn take(
        &mut self,
        location: &Location,
        address: &Location,
        document: &MemberFeed,
        is_first: bool,
    ) {
        let role = Role::Feed;
        self.belongings.insert(location.clone(), Belonging { role, entry: None, seen: UNASSIGNED });
        if is_first {
            let collection = document.collection();
            let collection = collection.and_then(|it| Location::resolve(Some(address), it).ok());
            self.collection = Some(collection);
        }
        for (member, entry) in document.members().iter().flat_map(|it| edited_at(it, address)) {
            let role = Role::Synchronizable;
            self.belongings.entry(member).or_insert(Belonging { role, entry, seen: UNASSIGNED });
        }
    }

    /// Adds a document of a feed that cannot be edited.
    pub(crate) fn take_read_only(&mut self, location: &Location, is_first: bool) {
        let belonging = Belonging { role: Role::Feed, entry: None, seen: UNASSIGNED };
        self.belongings.insert(location.clone(), belonging);
        if is_first {
            self.collection = Some(None);
        }
    }

    /// Notes the address of a member whose address was unknown.
    pub(crate) fn find(&mut self, pending: &Location, member: Location) {
        self.found.push((pending.clone(), member));
    }

    /// Whether an address was already found for another member.
    pub(crate) fn has(&self, member: &Location) -> bool {
        self.found.iter().any(|(_, found)| found == member)
    }

    /// Adds the target of a link.
    pub(crate) fn linked(&mut self, location: &Location) {
        let role = Role::Subscribable;
        self.belongings.entry(location.clone()).or_insert(Belonging {
            role,
            entry: None,
            seen: UNASSIGNED,
        });
    }

    /// Resources of which the round does not know yet whether they were seen before.
    pub(crate) fn unassigned(&self) -> impl Iterator<Item = &Location> {
        let unassigned = self.belongings.iter().filter(|(_, it)| it.seen == UNASSIGNED);
        unassigned.map(|(location, _)| location)
    }

    /// Adds the findings of a document that was read at an address.
    pub(crate) fn merge(&mut self, location: &Location, mut of: Self) {
        self.belongings.extend(of.belongings.remove_entry(location));
        for (location, belonging) in of.belongings {
            self.belongings.entry(location).or_insert(belonging);
        }
        self.documents.extend(std::mem::take(&mut of.documents));
        self.collection = of.collection.or(self.collection.take());
        self.found.append(&mut of.found);
        self.is_new |= of.is_new;
    }

    /// Sets the generation of resources that were seen before.
    pub(crate) fn assign(&mut self, seen: Vec<(Location, u64)>) {
        for (location, seen) in seen {
            let belonging = self.belongings.get_mut(&location);
            if let Some(belonging) = belonging.filter(|it| it.seen == UNASSIGNED) {
                belonging.seen = seen;
            }
        }
    }
}

/// Addresses at which a member and its media are edited. The address of media comes with that of the entry.
fn edited_at<'m>(
    member: &'m feedsync_formats::Member,
    address: &'m Location,
) -> impl Iterator<Item = (Location, Option<Location>)> + 'm {
    let entry = overlay::edit_links(member, address).next();
    let edits = overlay::edit_links(member, address).map(|location| (location, None));
    let media = overlay::edit_media_links(member, address);
    edits.chain(media.map(move |location| (location, entry.clone())))
}
