//! Acceptance of changes: their effect on articles, and the requests that carry them to the server.

use std::collections::{HashMap, HashSet};

use super::accounts::Accounts;
use super::change::{Change, Mark, StoredChange, Transition, UnsignedRequest};
use super::facts::{Fact, Subject};
use super::form::Filter;
use super::{ChangeKind, ChangeRequest, Interface, google, miniflux, nextcloud, ttrss};
use crate::authentication::Partition;
use crate::interceptor;

/// Maximum number of changes of an account that its server has not received.
pub(super) const MAX_PENDING_CHANGES: usize = 20_000;

/// Maximum size of these changes, in bytes.
pub(super) const MAX_PENDING_BYTES: usize = 32 << 20;

/// Maximum number of articles in a request that is created here.
const BATCH: usize = 200;

/// Reason why a change is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// Too many changes wait already.
    #[error("too many changes are waiting until the server can be reached again: try again later")]
    Full,
    /// The affected articles, or their states, are not known here.
    #[error("the server cannot be reached, and this change is not possible offline")]
    Unknown,
}

impl Accounts {
    /// Accepts a change that its server has not received. It may be acknowledged when the returned changes
    /// are stored.
    pub fn take(
        &mut self,
        interface: Interface,
        partition: Partition,
        writing: &ChangeRequest,
    ) -> Result<Vec<interceptor::Change>, Full> {
        let taken = self.changes(interface, partition, writing)?;
        let pending = self.pending(partition).map(|written| written.change.size());
        let (count, bytes) = pending.fold((0, 0), |(count, bytes), size| (count + 1, bytes + size));
        let more: usize = taken.iter().map(Change::size).sum();
        if count + taken.len() > MAX_PENDING_CHANGES || bytes + more > MAX_PENDING_BYTES {
            return Err(Full::Full);
        }
        Ok(self.add(partition, taken, false))
    }

    /// Notes a change that its server has carried out.
    pub fn made(
        &mut self,
        interface: Interface,
        partition: Partition,
        writing: &ChangeRequest,
    ) -> Vec<interceptor::Change> {
        // Unknown articles are in no stored response.
        let mut made = self.changes(interface, partition, writing).unwrap_or_default();
        made.retain(|change| !change.marks.is_empty());
        for change in &mut made {
            change.request = UnsignedRequest::default();
        }
        let mut changes = self.add(partition, made, true);
        changes.extend(self.prune(partition));
        changes
    }

    fn add(
        &mut self,
        partition: Partition,
        taken: Vec<Change>,
        is_sent: bool,
    ) -> Vec<interceptor::Change> {
        let added = taken.into_iter().map(|change| {
            let written = StoredChange { id: self.next(), partition, is_sent, change };
            self.written.insert(written.id, written.clone());
            interceptor::Change::StoredChange(Box::new(written))
        });
        added.collect()
    }

    fn changes(
        &self,
        interface: Interface,
        partition: Partition,
        writing: &ChangeRequest,
    ) -> Result<Vec<Change>, Full> {
        let request = &writing.request;
        let one =
            |marks: Vec<Mark>| Change { request: request.clone(), marks, ..Change::default() };
        Ok(match &writing.change_kind {
            ChangeKind::Edit => vec![one(Vec::new())],
            ChangeKind::Mark { articles, read, starred, tags } => {
                let known = self.known_of(partition, articles);
                let marks = articles.iter().map(|article| mark(&known, *article, *read, *starred));
                vec![Change { tags: tags.clone(), ..one(marks.collect()) }]
            }
            ChangeKind::Star { items, is_starred } => {
                let known = self.known(partition, None);
                let named = |feed: &Subject, names: &[Subject]| {
                    let is_it = |fact: &&Fact| {
                        let has = |name| fact.names.contains(&Some(name));
                        fact.feed == Some(*feed) && names.iter().copied().any(has)
                    };
                    known.values().find(is_it).map(|fact| fact.article)
                };
                let found = items.iter().filter_map(|(feed, names)| named(feed, names));
                vec![one(found.map(|it| mark(&known, it, None, Some(*is_starred))).collect())]
            }
            ChangeKind::All { filter, up_to } => {
                let known = self.known(partition, None);
                let filed = self.filed(partition);
                if !is_known(filter, &known, &filed) {
                    return Err(Full::Unknown);
                }
                let is_meant = |fact: &&Fact| {
                    fact.is_read != Some(true)
                        && up_to.is_none_or(|up_to| fact.article <= up_to)
                        && filter.has(fact, |feed, folder| filed.contains(&(feed, folder)))
                };
                let mut meant: Vec<i64> =
                    known.values().filter(is_meant).map(|fact| fact.article).collect();
                meant.sort_unstable();
                let part = |part: &[i64]| {
                    let marks = part.iter().map(|it| mark(&known, *it, Some(true), None));
                    let request = match interface {
                        Interface::Google => google::marks_read(request, part),
                        Interface::Miniflux => miniflux::marks_read(part),
                        Interface::Nextcloud => nextcloud::marks_read(request, part),
                        Interface::TinyTinyRss => ttrss::updates(request, part, 2, false),
                    };
                    Change { request, marks: marks.collect(), ..Change::default() }
                };
                meant.chunks(BATCH).map(part).collect()
            }
            ChangeKind::Toggle { articles, is_star } => {
                let known = self.known_of(partition, articles);
                let toggled = articles
                    .iter()
                    .map(|article| self.toggled(interface, request, &known, (*article, *is_star)));
                toggled.collect::<Result<_, _>>()?
            }
        })
    }

    fn toggled(
        &self,
        interface: Interface,
        request: &UnsignedRequest,
        known: &HashMap<i64, Fact>,
        (article, is_star): (i64, bool),
    ) -> Result<Change, Full> {
        let fact = known.get(&article).ok_or(Full::Unknown)?;
        let was = if is_star { fact.is_starred } else { fact.is_read };
        let now = !was.ok_or(Full::Unknown)?;
        let (read, starred) = if is_star { (None, Some(now)) } else { (Some(now), None) };
        let marks = vec![mark(known, article, read, starred)];
        Ok(match interface {
            Interface::TinyTinyRss => {
                let (field, is_set) = if is_star { (0, now) } else { (2, !now) };
                let request = ttrss::updates(request, &[article], field, is_set);
                Change { request, marks, ..Change::default() }
            }
            _ => {
                let request = request.clone();
                Change { request, toggles: Some((article, now)), marks, ..Change::default() }
            }
        })
    }

    fn known_of(&self, partition: Partition, articles: &[i64]) -> HashMap<i64, Fact> {
        self.known(partition, Some(&articles.iter().copied().collect()))
    }

    fn filed(&self, partition: Partition) -> HashSet<(Subject, Subject)> {
        self.all_facts(partition).flat_map(|facts| facts.filed.iter().copied()).collect()
    }
}

/// Whether the articles of a list are known here. Articles that were never shown cannot be marked.
fn is_known(
    filter: &Filter,
    known: &HashMap<i64, Fact>,
    filed: &HashSet<(Subject, Subject)>,
) -> bool {
    let has_feed = |requested: Subject| {
        known.values().any(|fact| fact.feed == Some(requested))
            || filed.iter().any(|(feed, _)| *feed == requested)
    };
    let has_folder = |requested: Subject| filed.iter().any(|(_, folder)| *folder == requested);
    !filter.is_narrow && filter.feed.is_none_or(has_feed) && filter.folder.is_none_or(has_folder)
}

fn mark(
    known: &HashMap<i64, Fact>,
    article: i64,
    read: Option<bool>,
    starred: Option<bool>,
) -> Mark {
    let fact = known.get(&article);
    let turn = |now: Option<bool>, was: Option<bool>| now.map(|now| Transition { was, now });
    Mark {
        article,
        feed: fact.and_then(|fact| fact.feed),
        read: turn(read, fact.and_then(|fact| fact.is_read)),
        starred: turn(starred, fact.and_then(|fact| fact.is_starred)),
    }
}
