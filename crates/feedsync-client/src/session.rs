//! Synchronising one collection with one remote (section 4.1).
//!
//! Any feed will do: a static file on any web server is read by the letter of 4.1, with the readings
//! R-F28 to R-F38. A feed whose answer names a feed with the relation [`CHANGES_RELATION`] is a hub's:
//! it is read in pages after what we remember, and takes our changes.
//!
//! Order: pull, then push, so that what is pushed has been merged and what the push adds there can be
//! remembered without reading it again. Each page and the place after it are stored in one
//! transaction, so that a crash at any moment costs a repetition of one page at most.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use feedsync_endpoint::{Conclusion, Endpoint, Source};
use feedsync_formats::CHANGES_RELATION;
use feedsync_store::{Digest, Moment, Number, Remote, RemoteState};
use http::StatusCode;

use crate::document::Reader;
use crate::error::SyncError;
use crate::fetch::{
    Fetched, Fetcher, Request, Response, RetryAfter, Url, Validators, address, bare, shown,
    shown_text, with_credentials,
};
use crate::progress::Progress;
use crate::push::Aftermath;
use crate::report::{SyncReport, Warning};
use crate::wire::ACCEPT_FEED;

/// Times that a push which found changes of others is followed by another round.
const ROUNDS: usize = 3;

/// Which ways changes travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Direction {
    /// From the remote to us.
    pub pull: bool,
    /// From us to the remote.
    pub push: bool,
}

impl Direction {
    /// Both ways.
    pub const BOTH: Self = Self { pull: true, push: true };
}

/// An endpoint and its way out.
#[derive(Clone)]
pub struct Session {
    endpoint: Endpoint,
    fetcher: Fetcher,
}

impl Session {
    /// A session of an endpoint.
    pub fn new(endpoint: Endpoint, fetcher: Fetcher) -> Self {
        Self { endpoint, fetcher }
    }

    /// The endpoint.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The way out.
    pub fn fetcher(&self) -> &Fetcher {
        &self.fetcher
    }

    /// The way out to a remote: a subscription reaches private addresses only if a person gave one.
    pub(crate) fn fetcher_for(&self, remote: &Remote) -> Fetcher {
        match &remote.subscription {
            Some(subscription) if !subscription.reaches_private => self.fetcher.refusing_private(),
            _ => self.fetcher.clone(),
        }
    }

    /// Brings a collection in step with a remote. Dropped at any moment, it leaves what was stored
    /// so far, and the next call goes on from there. A dry run reads and counts, and writes nothing on
    /// either side.
    ///
    /// A failure is remembered with the remote, and when it wants to be asked again. A subscription is
    /// only read, whatever direction is asked for.
    pub async fn sync(
        &self,
        remote: &Remote,
        direction: Direction,
        progress: &dyn Progress,
        dry_run: bool,
    ) -> Result<SyncReport, SyncError> {
        let known = self.endpoint.store().remotes(Some(&remote.collection)).await?;
        let remote = known
            .into_iter()
            .find(|known| known.id == remote.id)
            .ok_or_else(|| SyncError::Forgotten { collection: remote.collection.clone() })?;
        let mut direction = direction;
        if remote.subscription.is_some() {
            direction.push = false;
            if !direction.pull {
                return Err(SyncError::ReadOnly { url: shown_text(&remote.url) });
            }
        }
        let now = self.endpoint.environment().now();
        // No server is left alone for longer than that: a later time was written while the clock was ahead.
        let latest = later(now, RetryAfter::Delay(RetryAfter::LONGEST));
        let not_before = remote.state.not_before.filter(|&until| until > now && until <= latest);
        if let Some(until) = not_before {
            return Err(SyncError::NotYet { url: shown_text(&remote.url), until });
        }
        let mut run = Run {
            endpoint: &self.endpoint,
            fetcher: self.fetcher_for(&remote).metered(),
            state: remote.state.clone(),
            remote,
            hub: None,
            direction,
            progress,
            dry_run,
            report: SyncReport::default(),
            lacks_complete: false,
            first_refused: None,
            offers_again: false,
            postponed: false,
            blobs_asked: BTreeSet::new(),
            lacks_room: false,
        };
        match run.through().await {
            Ok(()) => Ok(run.finish().await?),
            Err(error) => {
                // That it cannot be noted is told by whatever fails next; this failure came first.
                let _ = run.fail(&error).await;
                Err(error)
            }
        }
    }
}

/// One synchronisation under way. `state` is what is stored of the remote.
pub(crate) struct Run<'a> {
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) fetcher: Fetcher,
    pub(crate) remote: Remote,
    /// The address of its changes, if it is a hub.
    pub(crate) hub: Option<Url>,
    pub(crate) state: RemoteState,
    pub(crate) direction: Direction,
    pub(crate) progress: &'a dyn Progress,
    pub(crate) dry_run: bool,
    pub(crate) report: SyncReport,
    /// The complete feed could not be read; it is not tried again now.
    pub(crate) lacks_complete: bool,
    /// The first of our changes that was refused there in this synchronisation.
    pub(crate) first_refused: Option<Number>,
    /// An item was refused that may be taken another time.
    pub(crate) offers_again: bool,
    /// An item that came was refused by a bound of ours that may pass. It is read again, but not by
    /// this run: `state` does not ask for it, what is stored does.
    pub(crate) postponed: bool,
    /// Blobs that the remote was asked for.
    pub(crate) blobs_asked: BTreeSet<Digest>,
    /// Something could not be stored, since the disk is full. The run offers what it can, and fails at its end.
    pub(crate) lacks_room: bool,
}

/// What an address turned out to be.
enum Peer {
    Hub(Url),
    Feed(Box<Response>),
    /// A feed that is as it was.
    Unchanged,
}

impl<'a> Run<'a> {
    /// The way to the remote's documents.
    pub(crate) fn reader(&self) -> Reader<'a> {
        Reader { fetcher: self.fetcher.clone(), progress: self.progress }
    }

    async fn through(&mut self) -> Result<(), SyncError> {
        // All that is asked of this remote is learnt from this address.
        self.fetcher = self.fetcher.given(address(&self.remote.url)?);
        let hub = match self.peer().await? {
            Peer::Hub(hub) => hub,
            Peer::Unchanged if self.direction.pull => return Ok(()),
            Peer::Feed(feed) if self.direction.pull => return self.pull_feed(*feed).await,
            Peer::Unchanged | Peer::Feed(_) => {
                return Err(SyncError::ReadOnly { url: shown_text(&self.remote.url) });
            }
        };
        self.hub = Some(hub.clone());
        for _ in 0..ROUNDS {
            if self.direction.pull && !self.lacks_room {
                let pulled = self.pull_with_blobs(&hub).await;
                self.tolerate_full_disk(pulled)?;
            }
            // Who asks for nothing but a push may know that the remote takes them again.
            let push = self.direction.push && !(self.state.read_only && self.direction.pull);
            let settled = !push || self.push(&hub).await? == Aftermath::InStep;
            if settled || self.dry_run || self.lacks_complete || self.lacks_room {
                break;
            }
        }
        self.check_room()
    }

    async fn pull_with_blobs(&mut self, hub: &Url) -> Result<(), SyncError> {
        self.pull_hub(hub).await?;
        self.fetch_lost_blobs(hub).await
    }

    /// Goes on where something could not be stored, since the disk is full: what changed here can still be offered.
    pub(crate) fn tolerate_full_disk(
        &mut self,
        stored: Result<(), SyncError>,
    ) -> Result<(), SyncError> {
        match stored {
            Err(error) if error.is_full() => {
                self.lacks_room = true;
                Ok(())
            }
            stored => stored,
        }
    }

    fn check_room(&self) -> Result<(), SyncError> {
        if self.lacks_room {
            let url = shown_text(&self.remote.url);
            return Err(SyncError::DiskFull { url, offered: self.report.offered });
        }
        Ok(())
    }

    /// Finds out what the remote is; asks only where that is not known.
    async fn peer(&mut self) -> Result<Peer, SyncError> {
        if let Some(changes) = &self.state.changes {
            return Ok(Peer::Hub(with_credentials(address(changes)?, &self.remote.url)));
        }
        let url = address(&self.remote.url)?;
        let request = Request::read(url.clone()).accept(ACCEPT_FEED).unless(&self.validators());
        let response = match self.reader().ask(request, &url).await? {
            Fetched::NotModified => return Ok(Peer::Unchanged),
            Fetched::Answer(response) => response,
        };
        let Some(hub) = response.link(CHANGES_RELATION) else {
            return Ok(Peer::Feed(response));
        };
        if hub.origin() != response.url().origin() {
            // Nobody has us send what we hold to a third party.
            self.warn(Warning::Elsewhere(shown(&hub)));
            return Ok(Peer::Feed(response));
        }
        // The body stays unread: the hub's pages hold it.
        let changes = Some(bare(&hub));
        self.remember(RemoteState { changes, read_only: false, ..self.state.clone() }).await?;
        Ok(Peer::Hub(with_credentials(hub, &self.remote.url)))
    }

    /// What to ask with; nothing where an unchanged feed would still leave something to do.
    pub(crate) fn validators(&self) -> Validators {
        if self.state.needs_complete && self.state.complete.is_some() {
            return Validators::default();
        }
        Validators {
            etag: self.state.etag.clone(),
            last_modified: self.state.last_modified.clone(),
        }
    }

    /// Stores how far we are. In a dry run it is only kept in mind.
    pub(crate) async fn remember(&mut self, state: RemoteState) -> Result<(), SyncError> {
        if !self.dry_run && state != self.state {
            let conclusion = self.conclusion(state.clone());
            let source = Source::Remote(self.remote.id);
            let name = &self.remote.collection;
            let stored =
                self.endpoint.incorporate(name, source, Vec::new(), Some(conclusion)).await;
            self.tolerate_full_disk(stored.map(drop).map_err(SyncError::from))?;
        }
        self.state = state;
        Ok(())
    }

    /// What is stored of a state.
    pub(crate) fn conclusion(&self, state: RemoteState) -> Conclusion {
        let state = if self.postponed { state.to_be_read_again() } else { state };
        Conclusion { remote: self.remote.id, state }
    }

    pub(crate) fn warn(&mut self, warning: impl Into<Warning>) {
        let warning = warning.into();
        if !self.report.warnings.contains(&warning) {
            self.report.warnings.push(warning);
        }
    }

    async fn finish(mut self) -> Result<SyncReport, SyncError> {
        let state = RemoteState {
            not_before: None,
            failures: 0,
            failure: None,
            succeeded: Some(self.endpoint.environment().now()),
            ..self.state.clone()
        };
        self.remember(state).await?;
        self.check_room()?;
        self.state = self.conclusion(self.state.clone()).state;
        let traffic = self.fetcher.traffic();
        Ok(SyncReport {
            requests: traffic.requests(),
            sent: traffic.sent(),
            received: traffic.received(),
            state: self.state,
            ..self.report
        })
    }

    async fn fail(&mut self, error: &SyncError) -> Result<(), SyncError> {
        let wish = match error {
            SyncError::Fetch(error) => error.retry_after(),
            _ => None,
        };
        let gone = matches!(error, SyncError::Fetch(error)
            if matches!(error.status(), Some(StatusCode::NOT_FOUND | StatusCode::GONE)));
        let now = self.endpoint.environment().now();
        let state = RemoteState {
            // What is gone may have moved: the next time it is looked for again.
            changes: self.state.changes.clone().filter(|_| !gone),
            failures: self.state.failures.saturating_add(1),
            failure: Some(error.to_string()),
            not_before: wish.map(|wish| later(now, wish)),
            // A clock that was ahead may have written a moment in the future.
            succeeded: self.state.succeeded.map(|succeeded| succeeded.min(now)),
            ..self.state.clone()
        };
        self.remember(state).await
    }
}

fn later(now: Moment, wish: RetryAfter) -> Moment {
    let clock = SystemTime::UNIX_EPOCH + Duration::from_micros(now.micros());
    let delay = u64::try_from(wish.from_now(clock).as_micros()).unwrap_or(u64::MAX);
    Moment::from_micros(now.micros().saturating_add(delay))
}
