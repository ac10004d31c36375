//! `GET /newsreaders`: the pending changes of each newsreader account.

use std::time::{SystemTime, UNIX_EPOCH};

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use feedsync_bitsy::interceptor::{WaitingChanges, WaitingFor};
use feedsync_bitsy::time::Time;
use serde_json::{Value, json};

use super::caller::Caller;
use super::{Control, answer};

pub(crate) async fn list(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
) -> Response {
    answer::json(&control.waiting_changes(&caller).await.iter().map(value).collect::<Value>())
}

impl Control {
    /// Returns the pending changes. Only operators of the gateway see them.
    async fn waiting_changes(&self, caller: &Caller) -> Vec<WaitingChanges> {
        if !caller.is_operator() {
            return Vec::new();
        }
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = Time::from_millis(u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX));
        self.see(caller, |state, _, _| state.waiting_changes(now)).await
    }
}

fn value(changes: &WaitingChanges) -> Value {
    let (why, until) = match changes.why {
        WaitingFor::Capacity => ("are sent next", None),
        WaitingFor::Network => ("wait until the gateway uses the network again", None),
        WaitingFor::Server => ("wait because the server cannot be reached", None),
        WaitingFor::Time(until) => ("wait because the server asked for a pause", Some(until)),
        WaitingFor::SignIn => ("are held until the newsreader signs in again", None),
    };
    json!({
        "newsreader": changes.interface.name(),
        "location": changes.base.as_str(),
        "changes": changes.count,
        "why": why,
        "until": until.map(|time| time.millis()),
    })
}
