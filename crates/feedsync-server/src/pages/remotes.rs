//! `GET /pages/remotes`: the remotes of collections, and the state of their synchronization.

use std::collections::HashMap;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use feedsync_store::{Collection, Remote, Role};
use http::StatusCode;

use crate::access::call::Call;
use crate::http::paths::collection_page;
use crate::http::problem::Problem;
use crate::hub::Hub;
use crate::pages::answer::{Frame, Time, page};

#[derive(Template)]
#[template(path = "remotes.html")]
struct RemotesPage {
    frame: Frame,
    rows: Vec<Row>,
}

struct Row {
    collection: String,
    page: String,
    name: Option<String>,
    url: String,
    read_only: bool,
    refusal: Option<String>,
    pending: u64,
    succeeded: Option<Time>,
    failures: u32,
    failure: Option<String>,
}

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let permit = hub.response_budget.permit().await?;
    let frame = Frame::of(&hub, &call).await?;
    // Addresses and errors are shown only to users who may synchronize.
    let collections: HashMap<_, _> = call
        .readable_collections(&hub)
        .await?
        .into_iter()
        .filter(|collection| call.principal.role(&collection.name) >= Some(Role::Editor))
        .map(|collection| (collection.name.clone(), collection))
        .collect();
    let remotes = hub.endpoint.remotes(None).await?;
    let rows = remotes
        .iter()
        .filter_map(|remote| Some(row(&frame.root, remote, collections.get(&remote.collection)?)))
        .collect();
    page(permit, &call, StatusCode::OK, move || RemotesPage { frame, rows }).await
}

fn row(root: &str, remote: &Remote, collection: &Collection) -> Row {
    let state = &remote.state;
    Row {
        collection: collection.title.clone(),
        page: collection_page(root, &collection.name),
        name: remote.name.clone(),
        url: without_secrets(&remote.url),
        read_only: !state.may_take_changes(),
        refusal: state.refusal.as_ref().map(|refusal| refusal.reason.clone()),
        pending: state.pending(collection.last),
        succeeded: state.succeeded.map(Time::of),
        failures: state.failures,
        failure: state.failure.clone(),
    }
}

/// Address without user, password and query, which may contain secrets.
fn without_secrets(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let host = authority.rsplit('@').next().unwrap_or_default();
            format!("{scheme}://{host}{path}")
        }
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_what_may_be_secret() {
        for (url, shown) in [
            ("https://u:p@example.org/a?key=1#x", "https://example.org/a"),
            ("https://example.org", "https://example.org"),
            ("http://a@b/c@d", "http://b/c@d"),
            ("feeds/notes.atom", "feeds/notes.atom"),
        ] {
            assert_eq!(without_secrets(url), shown);
        }
    }
}
