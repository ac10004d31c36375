//! `/subscriptions`, `/subscriptions/{id}` and the operations on one (BITSY 2.1).
//!
//! An application sees only the subscriptions that it may know of; others do not exist for it. Its requests
//! concern its own hold, so that intervals and relations of others stay. A subscription ends with its last hold,
//! or at once if an operator of the gateway ends it.

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use feedsync_bitsy::interceptor::{self, ControlError, Step, SubscriptionId};
use feedsync_bitsy::location::Location;
use feedsync_bitsy::subscription::Holder;
use feedsync_bitsy::subscription::builder::{BuildError, SubscriptionBuilder, SubscriptionRequest};
use feedsync_bitsy::time::Time;
use feedsync_bitsy::view::Audience as _;
use feedsync_http::Problem;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tokio::sync::oneshot;

use super::answer::{self, absent, refused};
use super::caller::Caller;
use super::holds::Holds;
use super::{Control, json, view};
use crate::programs;

/// Body of `POST /subscriptions`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct New {
    /// Address of the feed.
    pub(crate) feed: String,
    /// Address of the subscribing document, against which a relative feed is resolved.
    #[serde(default)]
    pub(crate) base: Option<String>,
    /// Request headers to register, in the order of the calls.
    #[serde(default)]
    pub(crate) headers: Vec<Header>,
    /// Polling interval in minutes; 0 leaves the choice to the gateway.
    #[serde(default)]
    pub(crate) interval: u16,
    #[serde(default)]
    pub(crate) follows: Vec<String>,
    #[serde(default)]
    pub(crate) proxy: Option<String>,
}

/// A request header to register.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// Body of `PATCH /subscriptions/{id}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Patch {
    #[serde(default)]
    interval: Option<u16>,
    /// `null` removes the proxy; if the member is missing, the proxy stays.
    #[serde(default, deserialize_with = "deserialize_present")]
    proxy: Option<Option<String>>,
}

fn deserialize_present<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(from).map(Some)
}

/// `GET /subscriptions`.
pub(crate) async fn list(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
) -> Response {
    let views = control.see(&caller, |state, visibility, stamp| {
        let told = state
            .stored_subscriptions()
            .filter(|stored_subscription| visibility.lists(stored_subscription));
        let stamped = |stored_subscription| {
            let mut view = view::subscription(state, visibility, stored_subscription);
            stamp.mark(&mut view);
            view
        };
        told.map(stamped).collect::<Value>()
    });
    answer::json(&views.await)
}

/// `POST /subscriptions`.
pub(crate) async fn create(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let new: New = json::read(&headers, body).await?;
    let wanted = wanted(&new).map_err(|(part, error)| {
        Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "bad-subscription",
            "Invalid subscription",
            error,
        )
        .with("part", part)
    })?;
    let id = control.subscribe(&caller, wanted).await?;
    let view = control.one(&caller, id).await?;
    let mut answer = answer::with_status(StatusCode::CREATED, &view);
    if let Ok(location) = HeaderValue::from_str(&format!("/subscriptions/{}", id.0)) {
        answer.headers_mut().insert(header::LOCATION, location);
    }
    Ok(answer)
}

/// Validates a new subscription; errors name the invalid part and the reason.
pub(crate) fn wanted(new: &New) -> Result<SubscriptionRequest, (&'static str, String)> {
    let at = |part: &'static str| move |error: BuildError| (part, error.to_string());
    let base = new.base.as_deref().map(str::parse::<Location>).transpose();
    let base = base.map_err(|error| ("base", error.to_string()))?;
    let mut builder = SubscriptionBuilder::new(base);
    builder.set_feed(&new.feed).map_err(at("feed"))?.set_interval(new.interval);
    for Header { name, value } in &new.headers {
        builder.add_request_header(name, value).map_err(at("headers"))?;
    }
    for relation in &new.follows {
        builder.add_follow(relation).map_err(at("follows"))?;
    }
    if let Some(proxy) = &new.proxy {
        builder.set_proxy(proxy).map_err(at("proxy"))?;
    }
    builder.build().map_err(at("feed"))
}

/// `GET /subscriptions/{id}`.
pub(crate) async fn read(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    Ok(answer::json(&control.one(&caller, named(&id)?).await?))
}

/// `PATCH /subscriptions/{id}`.
pub(crate) async fn change(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let patch: Patch = json::read(&headers, body).await?;
    let id = named(&id)?;
    let proxy = patch.proxy.map(|proxy| proxy.map(|text| text.parse::<Location>()).transpose());
    let proxy = proxy.transpose().map_err(|error| {
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-proxy", "No proxy", error.to_string())
            .with("part", "proxy")
    })?;
    if let Some(minutes) = patch.interval {
        control
            .change_holds(&caller, id, move |it, holders, now| {
                Step::of_each(holders, |holder| it.set_interval(id, holder, minutes, now))
            })
            .await?;
    }
    if let Some(proxy) = proxy {
        proxy.iter().try_for_each(|proxy| caller.may_reach(proxy))?;
        control.require_readable(&caller, id).await?;
        control
            .change(Box::new(move |it, now| it.set_proxy(id, proxy, now)))
            .await
            .map_err(refused)?;
    }
    Ok(answer::json(&control.one(&caller, id).await?))
}

/// `DELETE /subscriptions/{id}`: ends the subscription for an operator of the gateway, and the caller's own hold for
/// an application.
pub(crate) async fn end(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    control.unsubscribe(&caller, named(&id)?).await?;
    Ok(answer::nothing())
}

/// `POST /subscriptions/{id}/pause`.
pub(crate) async fn pause(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    control.apply(&caller, named(&id)?, interceptor::State::pause).await
}

/// `POST /subscriptions/{id}/resume`.
pub(crate) async fn resume(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    control.apply(&caller, named(&id)?, interceptor::State::resume).await
}

/// Parses the identifier of a subscription.
pub(crate) fn named(id: &str) -> Result<SubscriptionId, Problem> {
    json::number(id).map(SubscriptionId).ok_or_else(|| absent("subscription"))
}

/// Completes the work even if the caller disconnects, so that the record of holds stays correct.
async fn run_detached<T: Send + 'static>(
    work: impl Future<Output = Result<T, Problem>> + Send + 'static,
) -> Result<T, Problem> {
    let given_up = |_| {
        Problem::unavailable(
            "the request was cancelled because the gateway is shutting down; try again",
        )
    };
    tokio::spawn(work).await.map_err(given_up)?
}

fn bad_header(why: &str) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-subscription", "Invalid subscription", why)
        .with("part", "headers")
}

fn other_credentials() -> Problem {
    Problem::new(
        StatusCode::FORBIDDEN,
        "credentials",
        "Other credentials needed",
        "the subscription uses other credentials than this application has registered: subscribe \
         with those credentials",
    )
}

impl Control {
    /// Returns the view of a subscription for a caller.
    pub(crate) async fn one(&self, caller: &Caller, id: SubscriptionId) -> Result<Value, Problem> {
        let seen = self.see(caller, |state, visibility, stamp| {
            let stored_subscription = state
                .stored_subscription(id)
                .filter(|stored_subscription| visibility.lists(stored_subscription))?;
            let mut view = view::subscription(state, visibility, stored_subscription);
            stamp.mark(&mut view);
            Some(view)
        });
        seen.await.ok_or_else(|| absent("subscription"))
    }

    /// Returns 404 unless the caller may see that a subscription exists.
    pub(crate) async fn require_visible(
        &self,
        caller: &Caller,
        id: SubscriptionId,
    ) -> Result<(), Problem> {
        self.one(caller, id).await.map(|_| ())
    }

    /// Returns an error unless the caller may see the contents of a subscription.
    async fn require_readable(&self, caller: &Caller, id: SubscriptionId) -> Result<(), Problem> {
        self.require_visible(caller, id).await?;
        let knows = self.see(caller, |state, visibility, _| {
            state
                .stored_subscription(id)
                .is_some_and(|stored_subscription| visibility.knows(stored_subscription))
        });
        if knows.await { Ok(()) } else { Err(other_credentials()) }
    }

    /// Subscribes for a caller.
    pub(crate) async fn subscribe(
        &self,
        caller: &Caller,
        mut wanted: SubscriptionRequest,
    ) -> Result<SubscriptionId, Problem> {
        caller.may_reach(&wanted.feed)?;
        if programs::is_registered(&wanted.registered) {
            return Err(bad_header(
                "this header is reserved for the gateway, which marks programs of this machine \
                 with it",
            ));
        }
        let is_of_a_hub = self.0.hubs.as_ref().is_some_and(|hubs| {
            caller.is_operator() && programs::hub_is_known_at(hubs, &wanted.feed)
        });
        if is_of_a_hub {
            programs::register(&mut wanted.registered)
                .map_err(|error| bad_header(&error.to_string()))?;
        }
        wanted.proxy.iter().try_for_each(|proxy| caller.may_reach(proxy))?;
        let (control, caller) = (self.clone(), caller.clone());
        run_detached(async move { control.hold(&caller, wanted).await }).await
    }

    /// Subscribes for a caller, and releases the holds that earlier instances of the application left behind.
    async fn hold(
        &self,
        caller: &Caller,
        wanted: SubscriptionRequest,
    ) -> Result<SubscriptionId, Problem> {
        // The lock prevents events of the subscription from being sent before its hold is recorded.
        let mut holds = self.0.holds.lock().await;
        let there = self.inspect(caller, Default::default(), |state, _, _| {
            state.stored_subscriptions().map(|stored_subscription| stored_subscription.id).collect()
        });
        holds.prune(&there);
        if !holds.is_below_limit(caller) {
            return Err(Problem::new(
                StatusCode::INSUFFICIENT_STORAGE,
                "too-many",
                "Too many subscriptions",
                "this application has the maximum number of subscriptions",
            ));
        }
        let (id, holder) = self.join(wanted).await?;
        let left = holds.left(caller, id);
        holds.add(caller, id, holder);
        self.release(&mut holds, id, left).await?;
        Ok(id)
    }

    async fn join(&self, wanted: SubscriptionRequest) -> Result<(SubscriptionId, Holder), Problem> {
        let (tell, told) = oneshot::channel();
        let requested = move |state: &mut interceptor::State, now: Time| {
            let (id, holder, step) = state.subscribe(wanted, now);
            // If the request was cancelled, the receiver is gone.
            let _ = tell.send((id, holder));
            Ok(step)
        };
        self.change(Box::new(requested)).await.map_err(refused)?;
        told.await.map_err(|_| absent("subscription"))
    }

    /// Releases holds.
    async fn release(
        &self,
        holds: &mut Holds,
        id: SubscriptionId,
        holders: Vec<Holder>,
    ) -> Result<(), Problem> {
        if holders.is_empty() {
            return Ok(());
        }
        let gone = holders.clone();
        let requested = move |state: &mut interceptor::State, now: Time| {
            Step::of_each(&holders, |holder| state.unsubscribe(id, holder, now))
        };
        self.change(Box::new(requested)).await.map_err(refused)?;
        holds.remove(&gone);
        Ok(())
    }

    /// Changes the settings of a caller's own holds; creates a hold if there is none.
    pub(crate) async fn change_holds(
        &self,
        caller: &Caller,
        id: SubscriptionId,
        change: impl FnOnce(&mut interceptor::State, &[Holder], Time) -> Result<Step, ControlError>
        + Send
        + 'static,
    ) -> Result<(), Problem> {
        let (control, caller) = (self.clone(), caller.clone());
        run_detached(async move {
            control.require_visible(&caller, id).await?;
            let mut holds = control.0.holds.lock().await;
            let mut own = holds.own(&caller, id);
            if own.is_empty() {
                // Joining a subscription gives the same access as creating it, so the caller must have shown the
                // credentials.
                let wanted = control.inspect(&caller, holds.of(&caller), |state, visibility, _| {
                    let stored_subscription = state
                        .stored_subscription(id)
                        .filter(|stored_subscription| visibility.knows(stored_subscription))?;
                    let subscription = &stored_subscription.subscription;
                    Some(SubscriptionRequest {
                        feed: subscription.feed().clone(),
                        registered: subscription.registered().clone(),
                        interval: 0,
                        follows: Default::default(),
                        proxy: subscription.proxy().cloned(),
                    })
                });
                let wanted = wanted.ok_or_else(other_credentials)?;
                let (joined, holder) = control.join(wanted).await?;
                holds.add(&caller, joined, holder);
                if joined != id {
                    return Err(absent("subscription"));
                }
                own.push(holder);
            }
            let requested = move |it: &mut interceptor::State, now: Time| change(it, &own, now);
            control.change(Box::new(requested)).await.map_err(refused)
        })
        .await
    }

    /// Ends a subscription for an operator, or the caller's holds for an application.
    pub(crate) async fn unsubscribe(
        &self,
        caller: &Caller,
        id: SubscriptionId,
    ) -> Result<(), Problem> {
        self.require_visible(caller, id).await?;
        let mut holds = self.0.holds.lock().await;
        if caller.is_operator() {
            return self.change(Box::new(move |it, now| it.close(id, now))).await.map_err(refused);
        }
        let mut holders = holds.own(caller, id);
        holders.extend(holds.left(caller, id));
        self.release(&mut holds, id, holders).await
    }

    async fn apply(
        &self,
        caller: &Caller,
        id: SubscriptionId,
        apply: fn(&mut interceptor::State, SubscriptionId, Time) -> Result<Step, ControlError>,
    ) -> Result<Response, Problem> {
        self.require_visible(caller, id).await?;
        self.change(Box::new(move |it, now| apply(it, id, now))).await.map_err(refused)?;
        Ok(self.one(caller, id).await.map(|view| answer::json(&view)).into_response())
    }
}
