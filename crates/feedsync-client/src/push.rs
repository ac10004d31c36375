//! Push: offering a hub the changes made here since the last offer.
//!
//! Items whose every version came from the same hub are not sent back to it, unless it may have lost them. A
//! batch that is refused as a whole is halved until the faulty item is alone. That item is reported and
//! skipped, and the others are sent.

use std::time::Duration;

use feedsync_endpoint::{Counts, Endpoint, EndpointError};
use feedsync_fetch::{FetchError, Fetched, Request, Url, shown};
use feedsync_formats::media_type;
use feedsync_store::{
    ChangeNumber, Collection, Origin, PageLimit, PushRefusal, Remote, RemoteState, StoredItem,
};
use http::StatusCode;
use serde::Deserialize;

use crate::document::PAGE_BYTES;
use crate::error::SyncError;
use crate::progress::Step;
use crate::report::{RefusedItem, Side, Warning};
use crate::session::Run;
use crate::wire;

/// Maximum number of items and bytes in one request that a hub accepts.
const BATCH: PageLimit = PageLimit { items: 1_000, bytes: 4 << 20 };
const BATCH_BYTES: usize = 8 << 20;

/// Maximum number of skipped items that were refused with whole requests. If there are more, the hub is at
/// fault and not an item.
const MAX_FAULTY_ITEMS: usize = 16;

/// State of a hub after a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PushOutcome {
    /// All that it has is known here.
    InSync,
    /// Other clients changed something there in the meantime.
    Behind,
}

/// Response of a hub to offered items.
#[derive(Debug, Deserialize)]
struct PushResponse {
    since: String,
    until: String,
    counts: ItemCounts,
    #[serde(default)]
    items: Vec<ItemVerdict>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ItemCounts {
    added: u64,
    unchanged: u64,
    updated: u64,
    conflict: u64,
    refused: u64,
}

#[derive(Debug, Deserialize)]
struct ItemVerdict {
    id: Option<String>,
    outcome: String,
    reason: Option<String>,
}

/// Outcome of one request.
enum PostResult {
    Taken(PushResponse),
    /// An item is faulty, or there are too many.
    Refused(FetchError),
    /// The hub accepts no pushes from this endpoint.
    Closed(FetchError),
}

/// Time after which changes are offered again to a hub that refused them all.
const REFUSAL_RETRY: Duration = Duration::from_secs(3_600);

/// Whether a collection has changes that a remote has not been offered yet. After a refusal of all changes, only later
/// changes that did not come from the remote count.
pub(crate) async fn has_unsent_changes(
    endpoint: &Endpoint,
    remote: &Remote,
    state: &RemoteState,
) -> Result<bool, SyncError> {
    let name = &remote.collection;
    let last = endpoint.collection(name).await?.last;
    let mut after = match &state.refusal {
        Some(refusal) => refusal.up_to,
        None => return Ok(!state.read_only && last > state.pushed),
    };
    while after < last {
        let page = endpoint.changes(name, after, Some(last), BATCH).await?;
        if page.items.iter().any(|stored| stored.origin != Origin::Remote(remote.id)) {
            return Ok(true);
        }
        after = page.through;
    }
    Ok(false)
}

impl Run<'_> {
    /// Whether changes may be offered now. A hub that refused them all is offered them again when there are new ones,
    /// and after [`REFUSAL_RETRY`]; until then the refusal is reported. A caller that requests only a push may know
    /// that the hub accepts them again.
    pub(crate) async fn may_push(&mut self) -> Result<bool, SyncError> {
        if !self.direction.push || !self.direction.pull {
            return Ok(self.direction.push);
        }
        let Some(refusal) = self.state.refusal.clone() else { return Ok(true) };
        let now = self.endpoint.environment().now().micros();
        // A time in the future was written while the clock was ahead.
        let waited = now.checked_sub(refusal.at.micros()).map(Duration::from_micros);
        let is_due = waited.is_none_or(|waited| waited >= REFUSAL_RETRY);
        if is_due || has_unsent_changes(self.endpoint, &self.remote, &self.state).await? {
            return Ok(true);
        }
        self.warn(Warning::ReadOnly(refusal.reason));
        Ok(false)
    }

    /// Offers the changes made here. The position is stored after each request. A temporary refusal is an
    /// error and leaves the position unchanged.
    pub(crate) async fn push(&mut self, hub: &Url) -> Result<PushOutcome, SyncError> {
        let name = self.remote.collection.clone();
        let Collection { last: up_to, sent, .. } = self.endpoint.collection(&name).await?;
        let mut aftermath = PushOutcome::InSync;
        // Items that were refused earlier are offered again, once in a synchronisation.
        let again = self.state.may_lack && self.first_refused.is_none();
        let mut after = if again { ChangeNumber::ZERO } else { self.state.pushed };
        // Changes are marked as sent only if all earlier ones are: an earlier push may have left some out.
        let marks = sent >= after;
        while after < up_to {
            let page = self.endpoint.changes(&name, after, Some(up_to), BATCH).await?;
            let offered: Vec<_> =
                page.items.into_iter().filter(|stored| self.must_offer(stored)).collect();
            tracing::debug!(
                items = offered.len(),
                through = page.through.get(),
                of = up_to.get(),
                "sending changes"
            );
            match self.offer(hub, &page.collection, offered, up_to).await? {
                Some(PushOutcome::InSync) => {}
                Some(PushOutcome::Behind) => aftermath = PushOutcome::Behind,
                None => return Ok(PushOutcome::InSync),
            }
            after = page.through;
            let taken = self.first_refused.map_or(after, |refused| {
                after.min(ChangeNumber::new(refused.get().saturating_sub(1)))
            });
            if !self.dry_run && marks && taken > page.collection.sent {
                let marked = self.endpoint.mark_sent(&name, taken).await;
                self.tolerate_full_disk(marked.map_err(SyncError::from))?;
            }
            self.progress.step(Step::Pushed { changes: after.get(), of: up_to.get() });
        }
        let pushed = after.max(self.state.pushed);
        if self.offers_again {
            self.warn(Warning::OfferedAgain);
        }
        let may_lack = self.offers_again;
        // The hub has refused nothing, or there was nothing to offer.
        let (read_only, refusal) = (false, None);
        let state = RemoteState { pushed, may_lack, read_only, refusal, ..self.state.clone() };
        self.remember(state).await?;
        Ok(aftermath)
    }

    fn must_offer(&self, stored: &StoredItem) -> bool {
        self.state.may_lack || stored.origin != Origin::Remote(self.remote.id)
    }

    /// Sends items in order, in as many requests as needed; `None` if the hub accepts no pushes. `up_to` is the last
    /// change that this push offers.
    async fn offer(
        &mut self,
        hub: &Url,
        collection: &Collection,
        items: Vec<StoredItem>,
        up_to: ChangeNumber,
    ) -> Result<Option<PushOutcome>, SyncError> {
        self.report.offered += items.len() as u64;
        if items.is_empty() || self.dry_run {
            return Ok(Some(PushOutcome::InSync));
        }
        self.send_blobs(hub, &items).await?;
        let identity = self.endpoint.identity().await?;
        let now = self.endpoint.environment().now();
        let updated = now.timestamp().ok_or(EndpointError::Clock)?;
        let mut aftermath = PushOutcome::InSync;
        let mut faulty = 0;
        let mut waiting = vec![items];
        while let Some(mut batch) = waiting.pop() {
            let through = batch.last().map_or(self.state.pushed, |stored| stored.number);
            let body = wire::offer(collection, identity.name.as_str(), updated, &batch);
            let fits = body.len() <= BATCH_BYTES || batch.len() == 1;
            let posted = if fits { Some(self.post(hub, collection, body).await?) } else { None };
            match posted {
                Some(PostResult::Taken(answer)) => {
                    if self.account(answer, through, &batch).await? == PushOutcome::Behind {
                        aftermath = PushOutcome::Behind;
                    }
                }
                Some(PostResult::Closed(error)) => {
                    tracing::debug!(%error, "the hub accepts no changes from here");
                    self.close(error, up_to).await?;
                    return Ok(None);
                }
                Some(PostResult::Refused(error)) if batch.len() == 1 => {
                    tracing::debug!(%error, number = batch[0].number.get(), "the hub refused an item");
                    faulty += 1;
                    if faulty > MAX_FAULTY_ITEMS {
                        return Err(error.into());
                    }
                    self.note_refused(batch[0].number);
                    let id = Some(batch[0].item.id.to_string());
                    let reason = error.to_string();
                    self.report.refused.push(RefusedItem { by: Side::There, id, reason });
                    self.report.pushed.refused += 1;
                    self.remember(RemoteState { pushed: through, ..self.state.clone() }).await?;
                }
                Some(PostResult::Refused(_)) | None => {
                    let second = batch.split_off(batch.len() / 2);
                    waiting.push(second);
                    waiting.push(batch);
                }
            }
        }
        Ok(Some(aftermath))
    }

    async fn post(
        &self,
        hub: &Url,
        collection: &Collection,
        body: String,
    ) -> Result<PostResult, SyncError> {
        let request = Request::post(hub.clone(), media_type(collection.format), body)
            .accept("application/json")
            .within(PAGE_BYTES);
        let response = match self.fetcher.fetch(request).await {
            Ok(Fetched::Answer(response)) => response,
            Ok(Fetched::NotModified) => return Err(nonsense(hub, "304 in response to a POST")),
            Err(error) => return refusal(error),
        };
        response.refuse_page()?;
        let bytes = response.into_bytes().await?;
        let answer = serde_json::from_slice(&bytes);
        Ok(PostResult::Taken(answer.map_err(|error| nonsense(hub, &error.to_string()))?))
    }

    /// Processes a response. If the hub was at the known position, all of its later changes come from this
    /// push. Then its new position can be stored, and none of these changes is read again.
    async fn account(
        &mut self,
        answer: PushResponse,
        through: ChangeNumber,
        batch: &[StoredItem],
    ) -> Result<PushOutcome, SyncError> {
        let PushResponse { since, until, counts, items } = answer;
        let named = |id: Option<&str>| batch.iter().find(|one| Some(one.item.id.as_str()) == id);
        // The hub has a conflict that is not here: it added a version of its own in this transaction.
        let surprise = items.iter().any(|item| {
            item.outcome == "conflict"
                && named(item.id.as_deref()).is_none_or(|one| one.item.conflicts.is_empty())
        });
        for item in items.iter().filter(|item| item.outcome == "refused") {
            // An item without a legible id may be any of the batch.
            let one = named(item.id.as_deref()).or(batch.first());
            self.offers_again = true;
            self.note_refused(one.map_or(through, |one| one.number));
        }
        self.report.pushed += Counts {
            added: counts.added,
            unchanged: counts.unchanged,
            updated: counts.updated,
            conflict: counts.conflict,
            refused: counts.refused,
        };
        self.report.refused.extend(items.into_iter().filter(|item| item.outcome == "refused").map(
            |item| RefusedItem {
                by: Side::There,
                id: item.id,
                reason: item.reason.unwrap_or_default(),
            },
        ));
        let known = self.state.until.as_ref() == Some(&since) && !surprise;
        let (read_only, refusal) = (false, None);
        let mut state = RemoteState { pushed: through, read_only, refusal, ..self.state.clone() };
        if known && since != until {
            (state.until, state.etag, state.last_modified) = (Some(until), None, None);
        }
        self.remember(state).await?;
        Ok(if known { PushOutcome::InSync } else { PushOutcome::Behind })
    }

    fn note_refused(&mut self, number: ChangeNumber) {
        let first = self.first_refused.map_or(number, |first| first.min(number));
        self.first_refused = Some(first);
    }

    /// Stores a refusal of all changes. Those after `up_to` were made during the push: they are new for the hub.
    async fn close(&mut self, error: FetchError, up_to: ChangeNumber) -> Result<(), SyncError> {
        let at = self.endpoint.environment().now();
        let refusal = Some(PushRefusal { at, up_to, reason: error.to_string() });
        self.remember(RemoteState { read_only: true, refusal, ..self.state.clone() }).await?;
        if !self.direction.pull {
            return Err(error.into());
        }
        self.warn(Warning::ReadOnly(error.to_string()));
        Ok(())
    }
}

/// Distinguishes refusals of an item from refusals of everything, and temporary from permanent ones. A hub
/// gives a reason if it refuses an item or a user. The same status without a reason may come from a proxy,
/// and is temporary.
fn refusal(error: FetchError) -> Result<PostResult, SyncError> {
    let gives_reason = matches!(error, FetchError::Status { problem: Some(_), .. });
    match error.status() {
        Some(StatusCode::PAYLOAD_TOO_LARGE) => Ok(PostResult::Refused(error)),
        Some(StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY) if gives_reason => {
            Ok(PostResult::Refused(error))
        }
        Some(StatusCode::FORBIDDEN) if gives_reason => Ok(PostResult::Closed(error)),
        Some(
            StatusCode::METHOD_NOT_ALLOWED
            | StatusCode::UNSUPPORTED_MEDIA_TYPE
            | StatusCode::NOT_IMPLEMENTED,
        ) => Ok(PostResult::Closed(error)),
        _ => Err(error.into()),
    }
}

fn nonsense(hub: &Url, reason: &str) -> SyncError {
    let reason = format!("the server did not answer as a hub does: {reason}");
    SyncError::Protocol { url: shown(hub), reason }
}
