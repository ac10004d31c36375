//! Simulation of hubs and replicas, their edits, and the expected result.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use feedsync_core::{
    Base, By, Creation, Edit, Format, Item, ItemId, Keep, Payload, Resolution, Resolved, Stamp,
    Timestamp, Version, line,
};
use feedsync_couch::mapping::{
    SETTLED_BODY, is_settling_deletion, leaves_to_settle, revision_of, settling_deletion,
    update_of, version_of,
};
use feedsync_couch::{Content, Path, Revision};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

mod party;

use party::{EditNumber, Hub, Party, edit_of, number_in, same};

/// Parameters of a simulation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// Number of endpoints, which have both items and documents.
    pub(crate) hubs: usize,
    /// Number of replicas that have documents only.
    pub(crate) replicas: usize,
    /// Number of steps.
    pub(crate) steps: usize,
    /// Maximum number of revisions of a path that are stored.
    pub(crate) revisions_kept: usize,
}

/// An edit with its true history.
#[derive(Debug, Clone, Default)]
struct Truth {
    /// All edits that it followed, directly or indirectly.
    followed: BTreeSet<EditNumber>,
    is_deletion: bool,
    is_revision: bool,
}

/// A running simulation.
pub(crate) struct World {
    random: SmallRng,
    shape: Shape,
    id: ItemId,
    parties: Vec<Party>,
    edits: BTreeMap<EditNumber, Truth>,
    now: i64,
    log: String,
}

impl World {
    pub(crate) fn new(seed: u64, shape: Shape) -> Self {
        let hub = |index| Hub {
            name: format!("hub{index}"),
            item: None,
            issued: BTreeMap::new(),
            opened: None,
        };
        let hubs = (0..shape.hubs).map(|at| Party { hub: Some(hub(at)), ..Party::default() });
        let replicas = (0..shape.replicas).map(|_| Party::default());
        Self {
            random: SmallRng::seed_from_u64(seed),
            shape,
            id: ItemId::new("a").unwrap(),
            parties: hubs.chain(replicas).collect(),
            edits: BTreeMap::new(),
            now: 1_700_000_000,
            log: String::new(),
        }
    }

    pub(crate) fn run(&mut self) {
        for _ in 0..self.shape.steps {
            self.now += self.random.random_range(0..2);
            let at = self.random.random_range(0..self.parties.len());
            match self.random.random_range(0..12) {
                0..=2 => {
                    // Usually users see the current state, and others soon see their edits.
                    if self.random.random_bool(0.5) {
                        self.carry_to_item(at);
                    }
                    self.edit_item(at);
                    if self.random.random_bool(0.5) {
                        self.carry_to_document(at);
                    }
                }
                3..=6 => self.edit_document(at),
                7 => self.carry_to_item(at),
                8 => self.carry_to_document(at),
                9 => {
                    let from = self.random.random_range(0..self.parties.len());
                    self.feed(from, at);
                }
                _ => {
                    let from = self.random.random_range(0..self.parties.len());
                    self.replicate(from, at);
                }
            }
        }
    }

    /// Exchanges everything between all parties until nothing changes.
    pub(crate) fn settle(&mut self) {
        for round in 0..20 {
            let before: Vec<_> = self.parties.iter().map(Party::state).collect();
            for at in 0..self.parties.len() {
                self.carry_to_item(at);
                self.carry_to_document(at);
                for from in 0..self.parties.len() {
                    self.feed(from, at);
                    self.replicate(from, at);
                }
            }
            if before == self.parties.iter().map(Party::state).collect::<Vec<_>>() {
                return;
            }
            assert!(round < 19, "they never come to rest\n{}", self.log);
        }
    }

    /// Compares the state of all parties with the expected result.
    pub(crate) fn check(&self) -> Result<(), String> {
        let hubs: Vec<&Item<Payload>> =
            self.parties.iter().filter_map(|party| party.hub.as_ref()?.item.as_ref()).collect();
        let Some(first) = hubs.first() else { return Ok(()) };
        for other in &hubs {
            same(first, other)?;
        }
        let is_short = self.shape.revisions_kept < 1_000;
        let mut left: BTreeSet<EditNumber> = self.edits.keys().copied().collect();
        for truth in self.edits.values() {
            left.retain(|edit| !truth.followed.contains(edit));
        }
        // Deletions of documents are ended by the remaining versions, or otherwise by one of the deletions.
        let is_settled = |edit: &EditNumber| {
            let truth = &self.edits[edit];
            truth.is_deletion && truth.is_revision
        };
        let have: BTreeSet<EditNumber> = first.versions().map(edit_of).collect();
        if left.iter().all(is_settled) {
            // The remaining deletion may depend on when a resolution was received.
            let is_over = have.len() == 1 && have.iter().all(|edit| self.edits[edit].is_deletion);
            if !is_short && !is_over {
                return Err(format!("left are {have:?}, and should be one of {left:?}"));
            }
        } else {
            left.retain(|edit| !is_settled(edit));
            if !left.is_subset(&have) {
                return Err(format!("lost: left are {have:?}, and should be {left:?}"));
            }
            // Replicas that drop ancestors of a revision find conflicts that no user caused; this is
            // expected.
            if !is_short && have != left {
                return Err(format!("left are {have:?}, and should be {left:?}"));
            }
        }
        let live: BTreeSet<Revision> = first
            .versions()
            .filter(|version| !version.deleted)
            .map(|version| revision_of(&self.id, version).unwrap().path.newest())
            .collect();
        // Replicas that drop ancestors of a revision may treat it as a leaf again, or the reverse.
        for (at, party) in self.parties.iter().enumerate().filter(|_| !is_short) {
            let leaves = party.tree.leaves();
            let leaves: BTreeSet<Revision> = leaves
                .iter()
                .filter(|leaf| !leaf.content.is_deleted)
                .map(|leaf| leaf.revision.clone())
                .collect();
            if leaves != live {
                return Err(format!("{at} has the leaves {leaves:?}, and should have {live:?}"));
            }
        }
        Ok(())
    }

    /// Log of the simulation.
    pub(crate) fn told(&self) -> &str {
        &self.log
    }

    fn say(&mut self, what: impl std::fmt::Display) {
        let _ = writeln!(self.log, "{what}");
    }

    /// Records a new edit that follows some others.
    fn number(&mut self, bases: &[EditNumber], is_deletion: bool, is_revision: bool) -> EditNumber {
        let number = self.edits.len() as EditNumber;
        let mut followed: BTreeSet<EditNumber> = bases.iter().copied().collect();
        for base in bases {
            followed.extend(&self.edits[base].followed);
        }
        self.edits.insert(number, Truth { followed, is_deletion, is_revision });
        number
    }

    fn payload(&mut self, edit: EditNumber) -> Payload {
        match self.random.random_range(0..3) {
            0 => Payload::from_parsed(
                Format::Atom,
                format!(
                    "<entry xmlns=\"http://www.w3.org/2005/Atom\"><title>{edit}</title></entry>"
                ),
            ),
            1 => Payload::from_parsed(
                Format::Json,
                format!("{{\"_odd\":1,\"fs:sync\":2,\"edit\":{edit}}}"),
            ),
            _ => Payload::from_parsed(Format::Json, format!("{{\"edit\":{edit}}}")),
        }
    }

    /// Signs an edit of versions by the rules of authoring lines.
    fn stamp(&self, at: usize, bases: &[feedsync_core::History]) -> Stamp {
        let when = Timestamp::from_unix_seconds(self.now).unwrap();
        let hub = self.parties[at].hub.as_ref().unwrap();
        let own = By::new(&hub.name).unwrap();
        let (by, issued) = line::line_for(&own, |by| hub.issued.get(by).copied(), bases).unwrap();
        Stamp::new(when, by).above(issued)
    }

    fn edit_item(&mut self, at: usize) {
        let Some(hub) = &self.parties[at].hub else { return };
        let item = hub.item.clone();
        let opened = hub.opened.clone();
        let Some(mut item) = item else {
            let stamp = self.stamp(at, &[]);
            let edit = self.number(&[], false, false);
            let payload = self.payload(edit);
            self.say(format_args!("{at} creates {edit}"));
            let item = Item::create(self.id.clone(), Creation::default(), &stamp, payload).unwrap();
            return self.edited(at, item);
        };
        let winner = edit_of(&item.winner);
        let history = item.winner.history.clone();
        match self.random.random_range(0..6) {
            0 => {
                let hub = self.parties[at].hub.as_mut().unwrap();
                hub.opened = Some((winner, Base::from(&item.winner)));
            }
            1 if opened.is_some() => {
                let (seen, base) = opened.unwrap();
                let stamp = self.stamp(at, std::slice::from_ref(&base.history));
                let edit = self.number(&[seen], false, false);
                let payload = self.payload(edit);
                self.say(format_args!("{at} saves {edit}, seeing {seen}"));
                let item = item.branch(base, &stamp, payload, false).unwrap();
                self.parties[at].hub.as_mut().unwrap().opened = None;
                self.edited(at, item);
            }
            2 | 3 if !item.conflicts.is_empty() => {
                let count = item.conflicts.len();
                let one = self.random.random_range(0..count);
                let resolved = match self.random.random_bool(0.5) {
                    true => Resolved::All,
                    false => Resolved::Some(vec![one]),
                };
                let mut resolution = Resolution { resolved, keep: Keep::Winner };
                let resolved_indices = item.resolved_indices(&resolution).unwrap();
                let folded: Vec<_> =
                    resolved_indices.iter().map(|&at| item.conflicts[at].history.clone()).collect();
                let mut bases: Vec<EditNumber> =
                    resolved_indices.iter().map(|&at| edit_of(&item.conflicts[at])).collect();
                bases.push(winner);
                let all: Vec<_> = std::iter::once(history).chain(folded.clone()).collect();
                let stamp = self.stamp(at, &all);
                let edit = self.number(&bases, false, false);
                let payload = self.payload(edit);
                resolution.keep = Keep::Content { payload, deleted: Some(false) };
                self.say(format_args!("{at} resolves {bases:?} as {edit}"));
                item.resolve(&stamp, resolution).unwrap();
                folded.iter().for_each(|history| item.winner.history.remember(history));
                self.edited(at, item);
            }
            kind => {
                let stamp = self.stamp(at, &[history]);
                let is_deletion = kind == 4;
                let edit = self.number(&[winner], is_deletion, false);
                let payload = self.payload(edit);
                self.say(format_args!("{at} edits {winner} as {edit}, deleted: {is_deletion}"));
                let change = Edit { payload: Some(payload), deleted: Some(is_deletion) };
                item.update(&stamp, change).unwrap();
                self.edited(at, item);
            }
        }
    }

    /// Stores the result of an edit, and the issued sequences.
    fn edited(&mut self, at: usize, item: Item<Payload>) {
        let hub = self.parties[at].hub.as_mut().unwrap();
        for update in item.versions().map(Version::dot) {
            let own = By::new(&hub.name).unwrap();
            let is_own = |by: &&By| line::belongs_to(by, &own);
            if let Some(by) = update.by().filter(is_own) {
                let issued = hub.issued.entry(by.clone()).or_insert(update.sequence());
                *issued = update.sequence().max(*issued);
            }
        }
        hub.item = Some(item);
    }

    fn edit_document(&mut self, at: usize) {
        let leaves: Vec<(Revision, bool)> = self.parties[at]
            .tree
            .leaves()
            .iter()
            .map(|leaf| (leaf.revision.clone(), leaf.content.is_deleted))
            .collect();
        let Some((winner, is_deleted)) = leaves.first().cloned() else {
            return self.put(at, None, false);
        };
        let live: Vec<Revision> =
            leaves.iter().filter(|(_, deleted)| !deleted).map(|(leaf, _)| leaf.clone()).collect();
        match self.random.random_range(0..6) {
            0 if !is_deleted => self.put(at, Some(&winner), true),
            1 if !live.is_empty() => {
                let leaf = live.choose(&mut self.random).unwrap().clone();
                let is_deletion = self.random.random_bool(0.5);
                self.put(at, Some(&leaf), is_deletion);
            }
            // Resolves a conflict as users do: the other leaves are deleted, and the remaining one may be
            // edited.
            2 | 3 if live.len() > 1 => {
                for leaf in &live[1..] {
                    self.put(at, Some(leaf), true);
                }
                if self.random.random_bool(0.5) {
                    self.put(at, Some(&winner), false);
                }
            }
            _ => self.put(at, Some(&winner), false),
        }
    }

    /// Writes a document on top of a revision.
    fn put(&mut self, at: usize, base: Option<&Revision>, is_deleted: bool) {
        let bases = match base {
            Some(base) => self.edits_before(at, base),
            None => Vec::new(),
        };
        let edit = self.number(&bases, is_deleted, true);
        let signature = match self.random.random_bool(0.5) {
            true => format!("{:032x}", self.random.random::<u128>()),
            false => format!("{edit}x"),
        };
        let signature = signature.parse().unwrap();
        let path = match base {
            Some(base) => {
                let path = self.parties[at].tree.path(base).unwrap();
                let signatures = std::iter::once(signature).chain(path.signatures().to_vec());
                Path::new(base.generation() + 1, signatures.collect()).unwrap()
            }
            None => Path::new(1, vec![signature]).unwrap(),
        };
        self.say(format_args!(
            "{at} writes {edit} as {} on {bases:?}, deleted: {is_deleted}",
            path.newest()
        ));
        let body = format!("{{\"edit\":{edit},\"sync\":true,\"_access\":[]}}");
        let body = if self.random.random_bool(0.2) { body } else { format!("{{\"edit\":{edit}}}") };
        self.graft(at, &path, Content { is_deleted, body });
    }

    fn graft(&mut self, at: usize, path: &Path, content: Content<String>) {
        let tree = &mut self.parties[at].tree;
        tree.graft(path, content);
        tree.stem(self.shape.revisions_kept);
    }

    /// The edit of a leaf; for a deletion that only ends another leaf, the edit of that leaf.
    fn edits_before(&self, at: usize, leaf: &Revision) -> Vec<EditNumber> {
        let tree = &self.parties[at].tree;
        let path = tree.path(leaf).unwrap();
        // In the simulation the bodies of all revisions are stored.
        let body = path.revisions().find_map(|revision| self.body(&revision));
        body.map(|body| vec![number_in(&body)]).unwrap_or_default()
    }

    /// The body of a revision, from any party that has it.
    fn body(&self, revision: &Revision) -> Option<String> {
        let contents = self.parties.iter().filter_map(|party| party.tree.content(revision));
        contents.map(|content| content.body.clone()).find(|body| body != SETTLED_BODY)
    }

    fn carry_to_item(&mut self, at: usize) {
        let id = self.id.clone();
        let Party { hub: Some(hub), tree } = &mut self.parties[at] else { return };
        for leaf in tree.leaves() {
            let path = tree.path(leaf.revision).unwrap();
            let Content { is_deleted, body } = leaf.content;
            if is_settling_deletion(&path, *is_deleted, body) {
                continue;
            }
            let is_over =
                update_of(leaf.revision).zip(hub.item.as_ref()).is_some_and(|(it, item)| {
                    item.covers(&it) && !item.versions().any(|version| version.dot().is_same(&it))
                });
            if *is_deleted && is_over {
                continue;
            }
            let version = version_of(&id, &path, *is_deleted, body, &[]).unwrap();
            let item = Item { id: id.clone(), winner: version, conflicts: Vec::new() };
            hub.incorporate(item);
        }
        self.log.push_str(&format!("{at} carries to its item\n"));
    }

    fn carry_to_document(&mut self, at: usize) {
        let Some(hub) = &self.parties[at].hub else { return };
        let Some(item) = &hub.item else { return };
        let item = item.clone();
        let mut versions = Vec::new();
        for version in item.versions() {
            let revision = revision_of(&self.id, version).unwrap();
            let path = revision.path_into(&self.parties[at].tree);
            let content = Content { is_deleted: revision.is_deleted, body: revision.body };
            self.graft(at, &path, content);
            versions.push(revision.path.newest());
        }
        for leaf in leaves_to_settle(&self.parties[at].tree, &item, &versions) {
            let content = Content { is_deleted: true, body: SETTLED_BODY.to_owned() };
            self.graft(at, &settling_deletion(&leaf).unwrap(), content);
        }
        self.log.push_str(&format!("{at} carries to its document\n"));
    }

    fn feed(&mut self, from: usize, to: usize) {
        let Some(item) = self.parties[from].hub.as_ref().and_then(|hub| hub.item.clone()) else {
            return;
        };
        if let Some(hub) = &mut self.parties[to].hub {
            hub.incorporate(item);
            self.say(format_args!("{to} reads the feed of {from}"));
        }
    }

    fn replicate(&mut self, from: usize, to: usize) {
        let tree = &self.parties[from].tree;
        let leaves: Vec<(Path, Content<String>)> = tree
            .leaves()
            .iter()
            .map(|leaf| (tree.path(leaf.revision).unwrap(), leaf.content.clone()))
            .collect();
        self.say(format_args!("{from} replicates to {to}"));
        for (path, content) in leaves {
            self.graft(to, &path, content);
        }
    }
}
