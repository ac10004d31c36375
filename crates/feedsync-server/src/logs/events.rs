//! `GET /logs/{c}/events`: the position of a log, as Server-Sent Events (LR33).
//!
//! Each event is the newest position, which is also its `id`. Intermediate positions are skipped, since a
//! client reads everything from its own position on. A client that reconnects with the current position as
//! `Last-Event-ID` gets no event; all others get one at once. Events are hints, and the log is
//! authoritative. Each client's stream reads the log by itself: only the few devices of its owner follow a
//! log.

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use feedsync_store::{CollectionName, LogPosition, Notices};
use futures_util::stream;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::access::call::Call;
use crate::access::{Principal, Right};
use crate::http::event_stream::{self, FollowerSlot};
use crate::http::problem::Problem;
use crate::http::stopping::stopped;
use crate::hub::Hub;

pub(crate) async fn follow(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let held = FollowerSlot::take(&hub)?;
    // It subscribes before the log is read, so that no change is missed in between.
    let notices = hub.endpoint.subscribe(&call.bare_collection_name()?);
    let (name, _) = super::found(&hub, &call).await?;
    let last_event = call.headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let following = Following {
        last_sent: last_event.and_then(|text| text.parse().ok()),
        principal: call.principal,
        notices,
        name,
        is_behind: true,
        first: Some(Bytes::from_static(b"retry: 3000\n\n")),
        stopping: hub.stopping.clone(),
        hub,
        _slot: held,
    };
    Ok(event_stream::answer(stream::unfold(following, |mut following| async move {
        Some((following.next().await?, following))
    })))
}

/// One open stream of events.
struct Following {
    hub: Hub,
    principal: Principal,
    notices: Notices,
    name: CollectionName,
    /// Last position that was sent to this client.
    last_sent: Option<LogPosition>,
    /// Whether the log may have changed.
    is_behind: bool,
    first: Option<Bytes>,
    stopping: watch::Receiver<bool>,
    _slot: FollowerSlot,
}

impl Following {
    /// Returns the next lines; none when the stream ends: the hub stops, the log is removed, the right to
    /// read it has ended, or the store fails. The client reconnects with the last id.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        let heartbeat = self.hub.config.limits.heartbeat;
        loop {
            if std::mem::take(&mut self.is_behind) {
                let place = self.place().await?;
                if self.last_sent.replace(place) != Some(place) {
                    return self.may_read().await.then(|| event(place));
                }
            }
            tokio::select! {
                open = self.notices.next() => match open {
                    true => self.is_behind = true,
                    false => return None,
                },
                () = sleep(heartbeat) => {
                    return self.may_read().await.then(|| Bytes::from_static(b":\n\n"));
                }
                () = stopped(&mut self.stopping) => return None,
            }
        }
    }

    /// Position of the log, if it exists.
    async fn place(&self) -> Option<LogPosition> {
        match super::known(&self.hub, &self.name).await {
            Ok(log) => log.filter(|log| !log.removed).map(|log| log.place),
            Err(problem) => {
                tracing::error!(?problem, "event stream ended: the log cannot be read");
                None
            }
        }
    }

    async fn may_read(&self) -> bool {
        let access = &self.hub.access;
        match access.is_still_admitted(&self.principal, Right::Read, &self.name).await {
            Ok(may) => may,
            Err(problem) => {
                tracing::error!(?problem, "event stream ended: rights cannot be read");
                false
            }
        }
    }
}

/// Neither a position nor the JSON contains a line break.
fn event(place: LogPosition) -> Bytes {
    let data = json!({
        "etag": format!("\"{place}\""),
        "generation": place.generation.to_string(),
        "length": place.length,
    });
    format!("id: {place}\ndata: {data}\n\n").into()
}
