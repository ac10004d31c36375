//! `/pages/reading-worker.js` and `/pages/reading.webmanifest`: what makes the reading pages an application that can be
//! installed.
//!
//! The address of the worker is above that of the pages, so that it may control `/pages/reading` and everything below.
//! Both files are the same for everybody.

use axum::extract::State;
use axum::response::Response;
use feedsync_http::browser_policy;
use serde_json::json;

use crate::access::call::Call;
use crate::http::caching::Caching;
use crate::http::problem::Problem;
use crate::http::text_response::conditional;
use crate::hub::Hub;
use crate::pages::assets::OFFLINE_STORE;

/// Content security policy of the worker: it only sends requests to the hub.
const POLICY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'";

const WORKER: &str = include_str!("../../../../web/reading-worker.js");

/// Icon of the application.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 64 64'%3E%3Crect \
                    width='64' height='64' fill='%230b5cad'/%3E%3Ccircle cx='32' cy='32' r='15' fill='none' \
                    stroke='%23fff' stroke-width='7' stroke-dasharray='70 25'/%3E%3C/svg%3E";

/// `GET /pages/reading-worker.js`.
pub(crate) async fn script(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let root = call.base.path();
    let store = format!("{root}/pages/assets/{}", OFFLINE_STORE.name);
    let settings = json!({ "root": root, "store": store });
    let text = format!("self.FEEDSYNC = {settings};\n{WORKER}");
    let kind = "text/javascript; charset=utf-8";
    let mut answer = conditional(&hub, &call, kind, Caching::Everybody, text).await?;
    browser_policy::mark_page(&mut answer, POLICY);
    Ok(answer)
}

/// `GET /pages/reading.webmanifest`.
pub(crate) async fn manifest(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let pages = format!("{}/pages/reading", call.base.path());
    let name = hub.endpoint.identity().await?.name.to_string();
    let manifest = json!({
        "id": pages,
        "name": format!("Reading - {name}"),
        "short_name": "Reading",
        "start_url": format!("{pages}/offline"),
        "scope": pages,
        "display": "standalone",
        "background_color": "#fbfaf8",
        "theme_color": "#0b5cad",
        "icons": [{ "src": ICON, "sizes": "any", "type": "image/svg+xml", "purpose": "any maskable" }],
    });
    let text = manifest.to_string();
    conditional(&hub, &call, "application/manifest+json", Caching::Everybody, text).await
}
