//! `POST /refresh`: fetches all visible subscriptions except paused ones now, and retries waiting edits.

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use feedsync_bitsy::interceptor::{self, SubscriptionId};
use feedsync_bitsy::time::Time;
use feedsync_bitsy::view::Audience as _;
use feedsync_http::Problem;

use super::Control;
use super::answer::{self, refused};
use super::caller::Caller;

pub(crate) async fn all(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    control.refresh(&caller).await?;
    Ok(answer::nothing())
}

impl Control {
    /// Fetches everything that the caller sees now.
    pub(crate) async fn refresh(&self, caller: &Caller) -> Result<(), Problem> {
        let told: Vec<SubscriptionId> = self
            .see(caller, |state, visibility, _| {
                let told = state
                    .stored_subscriptions()
                    .filter(|stored_subscription| visibility.lists(stored_subscription));
                told.map(|stored_subscription| stored_subscription.id).collect()
            })
            .await;
        let requested = move |it: &mut interceptor::State, now: Time| Ok(it.refresh_all(told, now));
        self.change(Box::new(requested)).await.map_err(refused)
    }
}
