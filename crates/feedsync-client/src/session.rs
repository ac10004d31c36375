//! Synchronisation of one collection with one remote (section 4.1).
//!
//! The remote may be any feed: a static file on any web server is read as 4.1 specifies, with the readings
//! R-F28 to R-F38. A feed whose response links to a feed with the relation [`CHANGES_RELATION`] is a hub's.
//! It is read in pages after the stored position, and accepts changes from here.
//!
//! Pull comes before push, so that pushed items are merged already. Then the changes that the push causes
//! there need not be read again. Each page and the position after it are stored in one transaction. So a
//! crash at any moment costs a repetition of at most one page.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use feedsync_endpoint::{Conclusion, Endpoint, Source};
use feedsync_fetch::{
    Fetched, Fetcher, Request, Response, RetryAfter, Url, Validators, address, shown, shown_text,
    without_credentials,
};
use feedsync_formats::CHANGES_RELATION;
use feedsync_store::{ChangeNumber, Digest, Moment, Remote, RemoteState};
use http::StatusCode;
use tracing::Instrument as _;

use crate::address::with_credentials;
use crate::document::DocumentReader;
use crate::error::SyncError;
use crate::progress::Progress;
use crate::push::PushOutcome;
use crate::report::{SyncReport, Warning};
use crate::wire::ACCEPT_FEED;

/// Maximum number of rounds, when a push finds changes of others.
const ROUNDS: usize = 3;

/// Directions in which changes are transferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Direction {
    /// From the remote to this endpoint.
    pub pull: bool,
    /// From this endpoint to the remote.
    pub push: bool,
}

impl Direction {
    /// Both directions.
    pub const BOTH: Self = Self { pull: true, push: true };
}

/// An endpoint and its fetcher.
#[derive(Clone)]
pub struct Session {
    endpoint: Endpoint,
    fetcher: Fetcher,
}

impl Session {
    /// Creates a session of an endpoint.
    pub fn new(endpoint: Endpoint, fetcher: Fetcher) -> Self {
        Self { endpoint, fetcher }
    }

    /// Returns the endpoint.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Returns the fetcher.
    pub fn fetcher(&self) -> &Fetcher {
        &self.fetcher
    }

    /// Returns the fetcher for a remote: a subscription reaches private addresses only if a person gave one.
    pub(crate) fn fetcher_for(&self, remote: &Remote) -> Fetcher {
        match &remote.subscription {
            Some(subscription) if !subscription.reaches_private => self.fetcher.public_only(),
            _ => self.fetcher.clone(),
        }
    }

    /// Synchronises a collection with a remote. The future may be dropped at any moment: what was stored
    /// stays, and the next call continues from there. A dry run reads and counts, and writes nothing on
    /// either side.
    ///
    /// A failure is stored with the remote, together with the time before which the remote asked not to be
    /// read. A subscription is only read, whatever the direction.
    pub async fn sync(
        &self,
        remote: &Remote,
        direction: Direction,
        progress: &dyn Progress,
        dry_run: bool,
    ) -> Result<SyncReport, SyncError> {
        let span = tracing::info_span!(
            "sync",
            remote = remote.id.0,
            collection = %remote.collection,
            url = shown_text(&remote.url),
        );
        self.sync_within(remote, direction, progress, dry_run).instrument(span).await
    }

    async fn sync_within(
        &self,
        remote: &Remote,
        direction: Direction,
        progress: &dyn Progress,
        dry_run: bool,
    ) -> Result<SyncReport, SyncError> {
        let known = self.endpoint.remotes(Some(&remote.collection)).await?;
        let remote = known.into_iter().find(|known| known.id == remote.id).ok_or_else(|| {
            SyncError::Forgotten {
                collection: remote.collection.clone(),
                url: shown_text(&remote.url),
            }
        })?;
        let mut direction = direction;
        if remote.subscription.is_some() {
            direction.push = false;
            if !direction.pull {
                return Err(SyncError::ReadOnly { url: shown_text(&remote.url) });
            }
        }
        let now = self.endpoint.environment().now();
        // No server can ask for a longer pause than this: a later time was written while the clock was ahead.
        let latest = later(now, RetryAfter::Delay(RetryAfter::MAX_DELAY));
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
            requested_blobs: BTreeSet::new(),
            is_disk_full: false,
        };
        match run.through().await {
            Ok(()) => Ok(run.finish().await?),
            Err(error) => {
                tracing::debug!(%error, "synchronisation failed");
                // If it cannot be stored, a later failure will show that; this failure came first.
                let _ = run.fail(&error).await;
                Err(error)
            }
        }
    }
}

/// A running synchronisation. `state` is the stored state of the remote.
pub(crate) struct Run<'a> {
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) fetcher: Fetcher,
    pub(crate) remote: Remote,
    /// Address of its changes, if it is a hub.
    pub(crate) hub: Option<Url>,
    pub(crate) state: RemoteState,
    pub(crate) direction: Direction,
    pub(crate) progress: &'a dyn Progress,
    pub(crate) dry_run: bool,
    pub(crate) report: SyncReport,
    /// Whether the complete feed could not be read; this run does not try it again.
    pub(crate) lacks_complete: bool,
    /// The first local change that the remote refused in this synchronisation.
    pub(crate) first_refused: Option<ChangeNumber>,
    /// Whether an item was refused that may be accepted at another time.
    pub(crate) offers_again: bool,
    /// Whether a temporary bound here refused an incoming item. It is read again, but not by this run: only
    /// the stored state asks for that, and not `state`.
    pub(crate) postponed: bool,
    /// Blobs that were requested from the remote.
    pub(crate) requested_blobs: BTreeSet<Digest>,
    /// Whether something could not be stored, since the disk is full. The run offers what it can, and fails
    /// at its end.
    pub(crate) is_disk_full: bool,
}

/// Kind of a remote.
enum Peer {
    Hub(Url),
    Feed(Box<Response>),
    /// A feed that has not changed.
    Unchanged,
}

impl Peer {
    /// Name of the kind, for logs.
    fn name(&self) -> &'static str {
        match self {
            Self::Hub(_) => "hub",
            Self::Unchanged => "unchanged feed",
            Self::Feed(_) => "feed",
        }
    }
}

impl<'a> Run<'a> {
    /// Returns the reader of the remote's documents.
    pub(crate) fn reader(&self) -> DocumentReader<'a> {
        DocumentReader { fetcher: self.fetcher.clone(), progress: self.progress }
    }

    async fn through(&mut self) -> Result<(), SyncError> {
        // All requests to this remote derive from this address.
        self.fetcher = self.fetcher.given(address(&self.remote.url)?);
        let peer = self.peer().await?;
        tracing::debug!(kind = peer.name(), "the kind of the remote is known");
        let hub = match peer {
            Peer::Hub(hub) => hub,
            Peer::Unchanged if self.direction.pull => return Ok(()),
            Peer::Feed(feed) if self.direction.pull => return self.pull_feed(*feed).await,
            Peer::Unchanged | Peer::Feed(_) => {
                return Err(SyncError::ReadOnly { url: shown_text(&self.remote.url) });
            }
        };
        self.hub = Some(hub.clone());
        for _ in 0..ROUNDS {
            if self.direction.pull && !self.is_disk_full {
                let pulled = self.pull_with_blobs(&hub).await;
                self.tolerate_full_disk(pulled)?;
            }
            let settled = !self.may_push().await? || self.push(&hub).await? == PushOutcome::InSync;
            if settled || self.dry_run || self.lacks_complete || self.is_disk_full {
                break;
            }
        }
        self.check_space()
    }

    async fn pull_with_blobs(&mut self, hub: &Url) -> Result<(), SyncError> {
        self.pull_hub(hub).await?;
        self.fetch_lost_blobs(hub).await
    }

    /// Continues after something could not be stored because the disk is full: changes made here can still be
    /// offered.
    pub(crate) fn tolerate_full_disk(
        &mut self,
        stored: Result<(), SyncError>,
    ) -> Result<(), SyncError> {
        match stored {
            Err(error) if error.is_full() => {
                self.is_disk_full = true;
                Ok(())
            }
            stored => stored,
        }
    }

    fn check_space(&self) -> Result<(), SyncError> {
        if self.is_disk_full {
            let url = shown_text(&self.remote.url);
            return Err(SyncError::DiskFull { url, offered: self.report.offered });
        }
        Ok(())
    }

    /// Determines the kind of the remote; sends a request only if it is not known.
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
            // Local items must not be sent to a third party.
            self.warn(Warning::Elsewhere(shown(&hub)));
            return Ok(Peer::Feed(response));
        }
        // The body is not read: the hub's pages contain it.
        let changes = Some(without_credentials(hub.as_str()));
        let (read_only, refusal) = (false, None);
        self.remember(RemoteState { changes, read_only, refusal, ..self.state.clone() }).await?;
        Ok(Peer::Hub(with_credentials(hub, &self.remote.url)))
    }

    /// Returns the validators for a request; none if an unchanged feed would still leave something to do.
    pub(crate) fn validators(&self) -> Validators {
        if self.state.needs_complete && self.state.complete.is_some() {
            return Validators::default();
        }
        Validators {
            etag: self.state.etag.clone(),
            last_modified: self.state.last_modified.clone(),
        }
    }

    /// Stores the state of the remote. A dry run keeps it only in memory.
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

    /// Returns the conclusion that stores a state.
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
        self.check_space()?;
        self.state = self.conclusion(self.state.clone()).state;
        let traffic = self.fetcher.traffic();
        tracing::debug!(
            changed = self.report.pulled.changed(),
            offered = self.report.offered,
            discarded = self.report.discarded,
            refused = self.report.refused.len(),
            requests = traffic.requests(),
            "synchronised"
        );
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
            // A feed that is gone may have moved: it is looked up again the next time.
            changes: self.state.changes.clone().filter(|_| !gone),
            failures: self.state.failures.saturating_add(1),
            failure: Some(error.to_string()),
            not_before: wish.map(|wish| later(now, wish)),
            // A clock that was ahead may have written a time in the future.
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
