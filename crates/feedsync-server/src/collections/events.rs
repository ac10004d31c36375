//! `GET /collections/{c}/events`: changes as they happen, as Server-Sent Events (WHATWG, AD24 to AD34).
//!
//! Each event is a change: `id` is its position in the change order, `data` its item. A client resumes
//! after its `Last-Event-ID` or `since`. If that position is no longer valid, it gets a `reset` event
//! with the current one (AD28) and reads the feed. Events are hints and the change order is
//! authoritative: every event is read from it, so that none is missed or sent twice (AD34). Clients that
//! are up to date share one reader ([`crate::collections::live`]). The right to read is checked again before anything
//! is sent (AD32).

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use feedsync_store::{ChangeNumber, Collection, CollectionName, Epoch, StoreError, Until};
use futures_util::stream;
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{self};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::access::call::Call;
use crate::access::{Principal, RIGHTS_CACHE_TIME, Right, may_follow};
use crate::collections::live::{Batch, PAGE, push_event};
use crate::http::event_stream::{self, FollowerSlot};
use crate::http::problem::Problem;
use crate::http::stopping::stopped;
use crate::hub::Hub;

pub(crate) async fn follow(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let name = call.collection(&hub).await?.name;
    let held = FollowerSlot::take(&hub)?;
    // It subscribes before the collection is read, so that no change is missed in between.
    let batches = hub.live.listen(&name);
    let collection = hub.endpoint.collection(&name).await?;
    let last_event = call.headers.get("last-event-id").map(|value| value.to_str().unwrap_or("?"));
    let asked = last_event.or_else(|| call.query.text("since"));
    let (after, reset) = match asked.map(|text| place(text, &collection)) {
        None => (collection.last, false),
        Some(Some(after)) => (after, false),
        Some(None) => (collection.last, true),
    };
    // The first lines give the client a position to resume from even if it never receives an event.
    let mut first = format!("retry: 3000\nid: {}\n\n", collection.until(after));
    if reset {
        push_reset(&mut first, &collection);
    }
    let following = Following {
        principal: call.principal,
        batches,
        is_behind: after < collection.last,
        epoch: collection.epoch,
        after,
        name,
        first: Some(first),
        stopping: hub.stopping.clone(),
        hub,
        _slot: held,
    };
    Ok(event_stream::answer(stream::unfold(following, |mut following| async move {
        Some((following.next().await?, following))
    })))
}

/// The change after which the client resumes; none if the text is from another epoch of the collection,
/// or if changes after it were purged.
fn place(text: &str, collection: &Collection) -> Option<ChangeNumber> {
    let until: Until = text.parse().ok()?;
    let known = collection.horizon..=collection.last;
    (until.epoch == collection.epoch && known.contains(&until.number)).then_some(until.number)
}

/// One open stream of events.
struct Following {
    hub: Hub,
    principal: Principal,
    batches: broadcast::Receiver<Batch>,
    /// Whether the store has changes that this client was not sent.
    is_behind: bool,
    name: CollectionName,
    epoch: Epoch,
    after: ChangeNumber,
    first: Option<String>,
    stopping: watch::Receiver<bool>,
    _slot: FollowerSlot,
}

impl Following {
    /// Returns the next lines; none when the stream ends: the hub stops, the collection is removed, the
    /// right to read it has ended, or the store fails. The client reconnects with the last id.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first.into());
        }
        let heartbeat = self.hub.config.limits.heartbeat;
        loop {
            if self.is_behind {
                let events = self.catch_up().await?;
                if !events.is_empty() {
                    return self.may_read().await.then(|| events.into());
                }
            }
            let batch = tokio::select! {
                batch = self.batches.recv() => batch,
                () = sleep(heartbeat) => {
                    return self.may_read().await.then(|| Bytes::from_static(b":\n\n"));
                }
                () = stopped(&mut self.stopping) => return None,
            };
            match batch {
                Ok(batch) if batch.epoch != self.epoch => self.is_behind = true,
                // The change order already contained it.
                Ok(batch) if batch.through <= self.after => {}
                Ok(batch) if batch.after == self.after => {
                    self.after = batch.through;
                    return self.may_read_batch(&batch).await.then_some(batch.events);
                }
                Ok(_) | Err(RecvError::Lagged(_)) => self.is_behind = true,
                Err(RecvError::Closed) => {
                    self.batches = self.hub.live.listen(&self.name);
                    self.is_behind = true;
                }
            }
        }
    }

    async fn may_read(&self) -> bool {
        let access = &self.hub.access;
        self.is_allowed(access.is_still_admitted(&self.principal, Right::Follow, &self.name).await)
    }

    /// The same check for a batch, by the settings that it was read with while they are fresh.
    async fn may_read_batch(&self, batch: &Batch) -> bool {
        match batch.settings.as_deref().filter(|_| batch.read.elapsed() < RIGHTS_CACHE_TIME) {
            Some(settings) => {
                let now = self.hub.access.now(&self.principal).await;
                self.is_allowed(
                    now.map(|now| now.is_some_and(|now| may_follow(&now, &self.name, settings))),
                )
            }
            None => self.may_read().await,
        }
    }

    fn is_allowed(&self, may: Result<bool, Problem>) -> bool {
        match may {
            Ok(may) => may,
            Err(problem) => {
                tracing::error!(?problem, "event stream ended: rights cannot be read");
                false
            }
        }
    }

    /// Reads the next changes for this client from the change order; none once it is up to date.
    async fn catch_up(&mut self) -> Option<String> {
        let endpoint = &self.hub.endpoint;
        let page = match endpoint.changes(&self.name, self.after, None, PAGE).await {
            Ok(page) => page,
            Err(StoreError::NoCollection(_)) => return None,
            Err(error) => {
                tracing::error!(%error, "event stream ended: the store failed");
                return None;
            }
        };
        let collection = &page.collection;
        let mut events = String::new();
        if collection.epoch != self.epoch || collection.horizon > self.after {
            // A purge removed changes that this client was not sent.
            self.epoch = collection.epoch;
            self.after = collection.last;
            push_reset(&mut events, collection);
        } else {
            page.items.iter().for_each(|stored| push_event(&mut events, collection, stored));
            self.after = page.through;
        }
        self.is_behind = !events.is_empty();
        Some(events)
    }
}

fn push_reset(events: &mut String, collection: &Collection) {
    let since = collection.until(collection.horizon).to_string();
    let until = collection.until(collection.last).to_string();
    let data = json!({ "since": since, "until": until });
    events.push_str(&format!("event: reset\nid: {until}\ndata: {data}\n\n"));
}
