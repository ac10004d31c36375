//! `/network`: the network policy, and the reachable servers (BITSY 1.3).

use std::collections::BTreeMap;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use feedsync_bitsy::interceptor::Policy;
use feedsync_bitsy::view::Audience as _;
use feedsync_http::Problem;
use http::HeaderMap;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{self, operators_only, refused};
use super::caller::Caller;
use super::{Control, json};

/// Requested network policy.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RequestedPolicy {
    /// The network is used whenever it is available.
    Auto,
    /// The network is not used.
    Offline,
    /// The network is used, and unreachable servers are retried now.
    Online,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Network {
    policy: RequestedPolicy,
}

/// `GET /network`.
pub(crate) async fn read(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
) -> Response {
    answer::json(&control.network(&caller).await)
}

/// `PUT /network`.
pub(crate) async fn change(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    if !caller.is_operator() {
        return Err(operators_only());
    }
    let Network { policy } = json::read(&headers, body).await?;
    control.use_network(policy).await?;
    Ok(answer::json(&control.network(&caller).await))
}

impl Control {
    /// Returns the policy, and whether each visible server is reachable.
    pub(crate) async fn network(&self, caller: &Caller) -> Value {
        let seen = self.see(caller, |state, visibility, _| {
            let told = state
                .stored_subscriptions()
                .filter(|stored_subscription| visibility.lists(stored_subscription));
            let origins: BTreeMap<String, bool> = told
                .map(|stored_subscription| {
                    let feed = stored_subscription.subscription.feed();
                    (feed.origin().to_owned(), state.is_online(feed))
                })
                .collect();
            (state.policy(), origins)
        });
        let (policy, origins) = seen.await;
        let origin =
            |(origin, reached): (&String, &bool)| json!({ "origin": origin, "reached": reached });
        json!({
            "policy": match policy { Policy::Auto => "auto", Policy::Offline => "offline" },
            "origins": origins.iter().map(origin).collect::<Vec<_>>(),
        })
    }

    /// Sets the network policy.
    pub(crate) async fn use_network(
        &self,
        requested_policy: RequestedPolicy,
    ) -> Result<(), Problem> {
        let requested = self.change(Box::new(move |it, _| {
            let policy = match requested_policy {
                RequestedPolicy::Auto | RequestedPolicy::Online => Policy::Auto,
                RequestedPolicy::Offline => Policy::Offline,
            };
            let step = it.set_policy(policy);
            if matches!(requested_policy, RequestedPolicy::Online) {
                it.retry_all();
            }
            Ok(step)
        }));
        requested.await.map_err(refused)
    }
}
