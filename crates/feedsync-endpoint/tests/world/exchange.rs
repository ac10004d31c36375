//! Exchange of feeds between two endpoints of the simulation: by section 4 of the specification and the rules
//! of a hub, over a network that loses requests and responses.
//!
//! The library decides what each side does; this module only transfers it.

use feedsync_core::window::{Reason, Step, after_complete, after_reading};
use feedsync_core::{Format, Item, Payload, Related, RelatedKind, Sharing, Timestamp, Window};
use feedsync_endpoint::{Conclusion, Publication, SeenVersions, Source};
use feedsync_formats::{FeedHead, FeedWriter, ReadOptions, project, read};
use feedsync_store::{ChangeNumber, Origin, PageLimit, Remote, RemoteState, StoredItem};

use super::peer::{Peer, list, now};

/// Behaviour of the network in one exchange.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weather {
    /// Number of messages after which all are lost.
    pub(crate) messages: usize,
    /// Whether the last message takes effect, although its response is lost.
    pub(crate) last_takes_effect: bool,
    /// Number of items in one page.
    pub(crate) page: usize,
    /// Format of the feeds, unless their writer knows only one format. Absent, items are passed as values,
    /// which is faster.
    pub(crate) wire: Option<Format>,
}

/// The network failed in the middle.
pub(crate) struct Lost;

/// One exchange between a peer and a remote of it.
pub(crate) struct Exchange<'a> {
    here: &'a mut Peer,
    there: &'a mut Peer,
    remote: Remote,
    weather: Weather,
    /// Items that were pushed, for a network that repeats them later.
    pub(crate) pushed: Vec<Item<Payload>>,
}

impl<'a> Exchange<'a> {
    pub(crate) fn new(
        here: &'a mut Peer,
        there: &'a mut Peer,
        there_index: usize,
        weather: Weather,
    ) -> Self {
        let remote = here.remote(there_index);
        Self { here, there, remote, weather, pushed: Vec::new() }
    }

    /// Pulls, then pushes.
    pub(crate) fn sync(&mut self) -> Result<(), Lost> {
        self.pull()?;
        if self.there.takes_pushes {
            return self.push();
        }
        self.change_state(|state| state.read_only = true);
        Ok(())
    }

    /// Reads the remote's feed (4.1).
    pub(crate) fn pull(&mut self) -> Result<(), Lost> {
        let state = self.remote.state.clone();
        // A file is the same for all readers.
        let since = state.until.as_deref().filter(|_| self.there.takes_pushes);
        let publication = self.publication(since)?;
        let address = format!("{}/changes", self.remote.url);
        let sharing = self.sharing(publication.window.clone());
        match after_reading(state.until.as_deref(), Some(&sharing), &address) {
            Step::Merge(_) => self.read_changes(&publication, None),
            Step::ReadComplete { reason, .. } | Step::IsComplete { reason } => {
                self.read_complete(&publication, reason, &sharing)
            }
        }
    }

    fn read_complete(
        &mut self,
        publication: &Publication,
        reason: Reason,
        partial: &Sharing,
    ) -> Result<(), Lost> {
        if reason != Reason::Initial && self.there.takes_pushes {
            // The remote first gets back any items that it may have purged or lost.
            self.change_state(|state| state.may_lack = true);
            self.push()?;
        }
        let until = publication.window.until.clone();
        let mut seen = SeenVersions::default();
        let mut after = None;
        loop {
            self.message()?;
            let store = self.there.endpoint.store();
            let limit = PageLimit::items(self.weather.page);
            let page = now(store.items_by_id(&list(), after.as_ref(), limit)).expect("a page");
            page.items.iter().for_each(|stored| seen.insert(&stored.item));
            after = page.items.last().map(|stored| stored.item.id.clone());
            self.take(page.items, None);
            if !page.more {
                break;
            }
        }
        self.read_changes(publication, Some(&mut seen))?;
        let complete = self.sharing(Window { since: publication.window.since.clone(), until });
        let conclusion = after_complete(reason, Some(partial), Some(&complete));
        if conclusion.discard {
            let endpoint = &self.here.endpoint;
            now(endpoint.discard_absent(&list(), self.remote.id, &seen)).expect("a discard");
        }
        self.change_state(|state| state.until = conclusion.remember.or(state.until.take()));
        Ok(())
    }

    /// Reads the pages of a window. Without `seen`, the progress is stored page by page.
    fn read_changes(
        &mut self,
        publication: &Publication,
        mut seen: Option<&mut SeenVersions>,
    ) -> Result<(), Lost> {
        let mut after = publication.after;
        loop {
            self.message()?;
            let there = &self.there.endpoint;
            let limit = PageLimit::items(self.weather.page);
            let page = now(there.page(publication, after, limit)).expect("a page");
            let through = if page.more { page.through } else { publication.up_to };
            after = page.through;
            let until = publication.collection.until(through).to_string();
            let remember = match &mut seen {
                Some(seen) => {
                    page.items.iter().for_each(|stored| seen.insert(&stored.item));
                    None
                }
                None => Some(until),
            };
            self.take(page.items, remember);
            now(self.there.endpoint.mark_sent(&list(), through)).expect("a mark");
            if !page.more {
                return Ok(());
            }
        }
    }

    /// Incorporates a page here, and stores the progress in the same transaction.
    fn take(&mut self, items: Vec<StoredItem>, until: Option<String>) {
        let items = items.into_iter().map(|stored| stored.item).collect();
        let items = self.here.received(self.travel(self.there, items));
        if until.is_some() {
            self.remote.state.until = until;
        }
        let conclusion = Conclusion { remote: self.remote.id, state: self.remote.state.clone() };
        let source = Source::Remote(self.remote.id);
        now(self.here.endpoint.incorporate(&list(), source, items, Some(conclusion)))
            .expect("a store that works");
    }

    /// Offers items that changed here since the last time.
    pub(crate) fn push(&mut self) -> Result<(), Lost> {
        let may_lack = self.remote.state.may_lack;
        let mut after = if may_lack { ChangeNumber::ZERO } else { self.remote.state.pushed };
        loop {
            let store = self.here.endpoint.store();
            let limit = PageLimit::items(self.weather.page);
            let page = now(store.changes(&list(), after, None, limit)).expect("changes");
            let theirs = Origin::Remote(self.remote.id);
            let items: Vec<_> = page
                .items
                .into_iter()
                .filter(|stored| may_lack || stored.origin != theirs)
                .map(|stored| stored.item)
                .collect();
            if !items.is_empty() {
                self.offer(items)?;
            }
            after = page.through;
            let done = !page.more;
            self.change_state(|state| {
                state.pushed = after.max(state.pushed);
                state.may_lack &= !done;
            });
            now(self.here.endpoint.mark_sent(&list(), after)).expect("a mark");
            if done {
                return Ok(());
            }
        }
    }

    fn offer(&mut self, items: Vec<Item<Payload>>) -> Result<(), Lost> {
        let answered = self.message();
        if answered.is_ok() || self.weather.last_takes_effect {
            self.pushed.extend(items.iter().cloned());
            let items = self.travel(self.here, items);
            self.there.offered(items);
        }
        answered
    }

    fn publication(&mut self, since: Option<&str>) -> Result<Publication, Lost> {
        self.message()?;
        Ok(now(self.there.endpoint.publish(&list(), since)).expect("a publication"))
    }

    fn sharing(&self, window: Window) -> Sharing {
        let link = format!("{}/complete", self.remote.url);
        let complete = Related { link, title: None, kind: RelatedKind::Complete };
        Sharing { window: Some(window), expires: None, related: vec![complete] }
    }

    fn change_state(&mut self, change: impl FnOnce(&mut RemoteState)) {
        change(&mut self.remote.state);
        let conclusion = Conclusion { remote: self.remote.id, state: self.remote.state.clone() };
        let source = Source::Remote(self.remote.id);
        now(self.here.endpoint.incorporate(&list(), source, Vec::new(), Some(conclusion)))
            .expect("a store that works");
    }

    fn message(&mut self) -> Result<(), Lost> {
        self.weather.messages = self.weather.messages.checked_sub(1).ok_or(Lost)?;
        Ok(())
    }

    fn travel(&self, from: &Peer, items: Vec<Item<Payload>>) -> Vec<Item<Payload>> {
        match self.weather.wire {
            Some(_) if from.knows_one_format => through_a_feed(items, from.format),
            Some(format) => through_a_feed(items, format),
            None => items,
        }
    }
}

impl Peer {
    /// Returns incoming items in the form in which this peer stores them.
    pub(crate) fn received(&self, items: Vec<Item<Payload>>) -> Vec<Item<Payload>> {
        if !self.knows_one_format {
            return items;
        }
        let keep = |mut item: Item<Payload>| {
            let Item { id, winner, conflicts } = &mut item;
            for version in std::iter::once(winner).chain(conflicts) {
                version.payload = project(id, version, self.format);
            }
            item
        };
        items.into_iter().map(keep).collect()
    }

    /// Incorporates offered items.
    pub(crate) fn offered(&self, items: Vec<Item<Payload>>) {
        let items = self.received(items);
        now(self.endpoint.incorporate(&list(), Source::Offered, items, None))
            .expect("a store that works");
    }
}

/// Writes items as a feed and reads them back.
fn through_a_feed(items: Vec<Item<Payload>>, format: Format) -> Vec<Item<Payload>> {
    let updated = Timestamp::from_unix_seconds(1_700_000_000).expect("a date");
    let head = FeedHead {
        id: "urn:uuid:60a76c80-d399-11d9-b93c-0003939e0af6",
        title: "List",
        updated,
        author: "somebody",
        details: None,
        self_link: None,
        next: None,
        links: &[],
        complete: false,
        sharing: None,
    };
    let mut writer = FeedWriter::new(format);
    let mut text = String::new();
    writer.begin(&mut text, &head);
    items.iter().for_each(|item| writer.item(&mut text, item));
    writer.end(&mut text);
    let reading =
        read(text.as_bytes(), Some(format), &ReadOptions::strict()).expect("our own feed");
    assert!(reading.refused.is_empty(), "{:?}", reading.refused);
    reading.feed.items
}
