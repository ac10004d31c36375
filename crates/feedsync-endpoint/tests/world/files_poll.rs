//! An endpoint that polls the partial feed of another one (4.1).
//!
//! The library decides what it does; this module only transfers files.

use std::rc::Rc;

use feedsync_core::window::{self, Reason, Step, Warning, without_complete};
use feedsync_core::{Item, Payload};
use feedsync_endpoint::subscriber::{
    Judgement, after_both, concluded, is_complete_feed, leads_back,
};
use feedsync_endpoint::{Conclusion, SeenVersions, Source};
use feedsync_store::{Remote, RemoteState};

use super::peer::{Peer, list, now};
use super::static_files::Version;

/// The outcome of a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Polled {
    /// The file is the one that was read last.
    NotModified,
    /// The partial feed was merged.
    Partial,
    /// Both feeds were merged.
    Both,
    /// The process died in the middle.
    Died,
}

/// One poll of the files of a publisher.
pub(crate) struct Poll<'a> {
    here: &'a mut Peer,
    remote: Remote,
    /// Number of transactions after which the process dies.
    transactions: usize,
}

impl<'a> Poll<'a> {
    pub(crate) fn new(here: &'a mut Peer, publisher: usize, transactions: usize) -> Self {
        let remote = here.remote(publisher);
        Self { here, remote, transactions }
    }

    /// Reads the partial feed, and the complete one if it is needed. `fetch` returns the file at an address,
    /// or `None` if it cannot be read.
    pub(crate) fn run(
        mut self,
        partial: &Version,
        fetch: impl FnOnce(&str) -> Option<Rc<Version>>,
    ) -> Polled {
        let state = self.remote.state.clone();
        let is_unconditional = state.needs_complete && state.complete.is_some();
        if !is_unconditional && state.etag.as_ref() == Some(&partial.etag) {
            return Polled::NotModified;
        }
        let sharing = partial.sharing();
        let Judgement { step, reason } = Judgement::of(&state, sharing, &self.remote.url, false);
        let noted = RemoteState {
            complete: sharing
                .and_then(|it| it.complete())
                .map(str::to_owned)
                .or(state.complete.clone()),
            etag: Some(partial.etag.clone()),
            read_only: true,
            ..state
        };
        let outcome = match step {
            Step::Merge(conclusion) => {
                let is_complete = reason.is_some() && is_complete_feed(sharing);
                self.conclude_with(partial, noted, &conclusion, is_complete)
            }
            Step::IsComplete { .. } => panic!("no publisher has one file for both feeds"),
            Step::ReadComplete { link, reason } => match fetch(&link) {
                Some(complete) => self.take_both(partial, &complete, reason, noted),
                None => {
                    let conclusion = without_complete(reason, sharing);
                    self.conclude_with(partial, noted, &conclusion, false)
                }
            },
        };
        outcome.unwrap_or(Polled::Died)
    }

    /// Merges the partial feed alone.
    fn conclude_with(
        &mut self,
        partial: &Version,
        noted: RemoteState,
        conclusion: &window::Conclusion,
        is_complete: bool,
    ) -> Option<Polled> {
        self.protect(&noted, conclusion, &[partial])?;
        self.store(partial, Some(concluded(noted, conclusion, is_complete)))?;
        Some(Polled::Partial)
    }

    fn protect(
        &mut self,
        state: &RemoteState,
        conclusion: &window::Conclusion,
        versions: &[&Version],
    ) -> Option<()> {
        if leads_back(state, conclusion) {
            self.transaction()?;
            let (endpoint, seen) = (&self.here.endpoint, seen(versions));
            now(endpoint.protect_unseen(&list(), self.remote.id, &seen))
                .expect("a store that works");
        }
        Some(())
    }

    /// Merges both feeds, the complete one first. Items that are in neither are discarded by the safe rule.
    fn take_both(
        &mut self,
        partial: &Version,
        complete: &Version,
        reason: Reason,
        noted: RemoteState,
    ) -> Option<Polled> {
        self.store(complete, None)?;
        self.store(partial, None)?;
        let conclusion = after_both(reason, partial.sharing(), complete.sharing());
        self.protect(&noted, &conclusion, &[partial, complete])?;
        if conclusion.discard {
            let seen = seen(&[partial, complete]);
            self.transaction()?;
            let endpoint = &self.here.endpoint;
            now(endpoint.discard_absent(&list(), self.remote.id, &seen)).expect("a discard");
        }
        let is_stale = conclusion.warning == Some(Warning::StaleComplete);
        self.incorporate(Vec::new(), Some(concluded(noted, &conclusion, !is_stale)))?;
        Some(Polled::Both)
    }

    fn store(&mut self, version: &Version, state: Option<RemoteState>) -> Option<()> {
        self.incorporate(version.reading().feed.items.clone(), state)
    }

    fn incorporate(&mut self, items: Vec<Item<Payload>>, state: Option<RemoteState>) -> Option<()> {
        self.transaction()?;
        let conclusion = state.map(|state| Conclusion { remote: self.remote.id, state });
        let source = Source::Remote(self.remote.id);
        let report = now(self.here.endpoint.incorporate(&list(), source, items, conclusion));
        assert_eq!(report.expect("a store that works").counts.refused, 0);
        Some(())
    }

    /// Counts a transaction; `None` if the process is dead by then.
    fn transaction(&mut self) -> Option<()> {
        self.transactions = self.transactions.checked_sub(1)?;
        Some(())
    }
}

fn seen(versions: &[&Version]) -> SeenVersions {
    let mut seen = SeenVersions::default();
    let items = versions.iter().flat_map(|version| &version.reading().feed.items);
    items.for_each(|item| seen.insert(item));
    seen
}
