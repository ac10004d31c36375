//! `/pages/reading/transfer`: import of subscriptions from other newsreaders, and export of
//! everything.

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use feedsync_reading_state::{ImportPolicy, Snapshot, SubscriptionList};
use http::StatusCode;

use super::export::{EVERYTHING, SUBSCRIPTIONS};
use super::{home, reading};
use crate::access::call::Call;
use crate::http::html::content::short;
use crate::http::problem::Problem;
use crate::hub::Hub;
use crate::pages::answer::{Frame, page, sentence};
use crate::pages::assets::READING;
use crate::pages::form_token;
use crate::pages::upload;
use crate::reading::Refusal;

/// Maximum number of refused outlines that are listed.
const MAX_LISTED_REFUSALS: usize = 50;

#[derive(Template)]
#[template(path = "transfer.html")]
struct TransferPage {
    frame: Frame,
    script: &'static str,
    page: String,
    exports: String,
    subscriptions: &'static str,
    everything: &'static str,
    taken: Option<ImportResult>,
    error: String,
}

/// Result of an import.
struct ImportResult {
    feeds: usize,
    changes: usize,
    refused: usize,
    /// The first refused outlines.
    named: Vec<String>,
}

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    reading(&hub, &call).await?;
    shown(&hub, &call, None, String::new(), StatusCode::OK).await
}

/// Kind of a file.
enum ImportedFile {
    List(SubscriptionList),
    Everything(Snapshot),
}

/// `POST`: imports a file.
pub(crate) async fn merge_state(
    State(hub): State<Hub>,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let upload = upload::read(&hub, &call, body).await?;
    let reading = reading(&hub, &call).await?;
    if !form_token::is_genuine(&hub, &call, upload.text("form")) {
        return Err(form_token::refused());
    }
    let refile = upload.text("refile") == "1";
    let again = |error: String| shown(&hub, &call, None, error, StatusCode::UNPROCESSABLE_ENTITY);
    let Some(file) = upload.file("file").filter(|file| !file.is_empty()) else {
        return again("Choose a file first.".to_owned()).await;
    };
    let contents = tokio::task::spawn_blocking(move || match file.starts_with(b"{") {
        true => Snapshot::read(&file).map(ImportedFile::Everything).map_err(sentence),
        false => SubscriptionList::read(&file).map(ImportedFile::List).map_err(sentence),
    });
    let taken = match contents.await.map_err(|_| Problem::internal())? {
        Err(error) => return again(error).await,
        Ok(ImportedFile::Everything(snapshot)) => {
            let feeds = snapshot.state.feeds().count();
            let changes =
                reading.person.merge_state(snapshot.state).await.map_err(Refusal::from)?;
            ImportResult { feeds, changes, refused: 0, named: Vec::new() }
        }
        Ok(ImportedFile::List(list)) => {
            let filing =
                if refile { ImportPolicy::ReplaceExisting } else { ImportPolicy::KeepExisting };
            let changes = reading.person.subscribe(&list, filing).await.map_err(Refusal::from)?;
            let named = list
                .refused
                .iter()
                .take(MAX_LISTED_REFUSALS)
                .map(|one| short(&one.to_string(), 300));
            let (feeds, refused) = (list.feeds.len(), list.refused.len());
            ImportResult { feeds, changes, refused, named: named.collect() }
        }
    };
    // New subscriptions are fetched from now on.
    reading.person.subscription_view().await.map_err(Refusal::from)?;
    shown(&hub, &call, Some(taken), String::new(), StatusCode::OK).await
}

async fn shown(
    hub: &Hub,
    call: &Call,
    taken: Option<ImportResult>,
    error: String,
    status: StatusCode,
) -> Result<Response, Problem> {
    let permit = hub.response_budget.permit().await?;
    let frame = Frame::of(hub, call).await?;
    let home = home(&frame.root);
    let (page_of, exports) = (format!("{home}/transfer"), format!("{home}/export"));
    page(permit, call, status, move || TransferPage {
        script: &READING.name,
        page: page_of,
        exports,
        subscriptions: SUBSCRIPTIONS,
        everything: EVERYTHING,
        taken,
        error,
        frame,
    })
    .await
}
