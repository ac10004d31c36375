//! `/pages/reading/offline`: reading without a network.
//!
//! The page and its scripts keep articles in the browser ([`list`], [`contents`]) and show them while the hub cannot
//! be reached. A Service Worker ([`worker`]) answers for the reading pages then. Marks wait in the browser as records of
//! the reading log, with the browser as their device, and arrive by [`changes`]. A record that arrives twice is merged
//! once, and marks from several devices are ordered by their time.

pub(crate) mod changes;
pub(crate) mod contents;
pub(crate) mod list;
pub(crate) mod worker;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use feedsync_http::browser_policy;
use http::StatusCode;
use serde::Serialize;

use super::{home, reading};
use crate::access::call::Call;
use crate::http::caching::Caching;
use crate::http::problem::Problem;
use crate::http::response_budget::ResponsePermit;
use crate::http::text_response::in_turn;
use crate::hub::Hub;
use crate::pages::answer::{Frame, page};
use crate::pages::assets::{OFFLINE_PAGE, OFFLINE_STORE};

/// Content security policy of the page: in addition to that of other pages, it has a worker and a manifest.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; worker-src 'self'; \
                      manifest-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; \
                      frame-ancestors 'none'; base-uri 'none'";

#[derive(Template)]
#[template(path = "offline.html")]
struct OfflinePage {
    frame: Frame,
    home: String,
    store: &'static str,
    script: &'static str,
}

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let permit = hub.response_budget.permit().await?;
    reading(&hub, &call).await?;
    let frame = Frame::of(&hub, &call).await?;
    let shell = OfflinePage {
        home: home(&frame.root),
        store: &OFFLINE_STORE.name,
        script: &OFFLINE_PAGE.name,
        frame,
    };
    let mut answer = page(permit, &call, StatusCode::OK, move || shell).await?;
    browser_policy::mark_page(&mut answer, POLICY);
    Ok(answer)
}

/// Response with a JSON document for the scripts of the page.
fn json(permit: ResponsePermit, call: &Call, value: &impl Serialize) -> Result<Response, Problem> {
    let text = serde_json::to_string(value).map_err(|_| Problem::internal())?;
    in_turn(permit, call, "application/json", Caching::OnePerson, text)
}
