//! `GET /metrics`: metrics of the hub for Prometheus (text format 0.0.4).

use std::sync::atomic::Ordering;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, header};

use crate::access::call::Call;
use crate::access::{Right, require};
use crate::configuration::Audience;
use crate::http::counters::Page;
use crate::http::problem::Problem;
use crate::hub::Hub;

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    if hub.config.metrics == Audience::Administrators {
        require(&hub.endpoint, &call.principal, Right::Administer, None).await?;
    }
    let collections = hub.endpoint.collections().await?;
    let mut page = Page::default();
    page.head("feedsync_build_info", "gauge", "Version of the hub");
    let version = format!("version=\"{}\"", env!("CARGO_PKG_VERSION"));
    page.line("feedsync_build_info", &version, 1);
    hub.metrics.render_requests(&mut page);
    hub.metrics.render_merges(&mut page);
    let sum = |of: fn(&feedsync_store::Collection) -> u64| collections.iter().map(of).sum::<u64>();
    let gauges = [
        ("feedsync_collections", "Collections", collections.len() as u64),
        ("feedsync_items", "Items that are not deleted", sum(|one| one.live)),
        ("feedsync_conflicted_items", "Items with open conflicts", sum(|one| one.conflicted)),
        ("feedsync_changes", "Changes of all collections", sum(|one| one.last.get())),
    ];
    for (name, help, value) in gauges {
        page.single(name, "gauge", help, value);
    }
    let limits = &hub.config.limits;
    let followers = limits.followers.saturating_sub(hub.followers.available_permits());
    page.single("feedsync_followers", "gauge", "Open event streams", followers);
    let uploads = limits.uploads.saturating_sub(hub.uploads.available_permits());
    let losses = hub.lossy_databases.load(Ordering::Relaxed);
    let help = "Databases of which a large part was deleted within an hour";
    page.single("feedsync_mass_losses", "gauge", help, losses);
    page.single("feedsync_uploads", "gauge", "Request bodies held in memory", uploads);
    hub.timings.render(&mut page);
    let headers = [
        (
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8"),
        ),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, page.into_text()).into_response())
}
