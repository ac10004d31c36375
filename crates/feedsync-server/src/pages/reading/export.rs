//! `/pages/reading/export/{name}`: files with the subscriptions as OPML, and with all marks of a user.

use axum::extract::State;
use axum::response::Response;
use http::{HeaderValue, header};

use super::reading;
use crate::access::call::Call;
use crate::http::caching::Caching;
use crate::http::problem::Problem;
use crate::http::text_response::in_turn;
use crate::hub::Hub;
use crate::reading::Refusal;

/// Names of the files. `feedsync reader import` accepts both.
pub(super) const SUBSCRIPTIONS: &str = "subscriptions.opml";
pub(super) const EVERYTHING: &str = "everything.jsonl";

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let permit = hub.response_budget.permit().await?;
    let person = reading(&hub, &call).await?.person;
    let (name, kind, text) = match call.segment("name") {
        SUBSCRIPTIONS => {
            let list = person.opml("Subscriptions").await.map_err(Refusal::from)?;
            (SUBSCRIPTIONS, "text/x-opml; charset=utf-8", list)
        }
        EVERYTHING => {
            let everything = person.everything().await.map_err(Refusal::from)?;
            let written = tokio::task::spawn_blocking(move || everything.write());
            let text = written.await.map_err(|_| Problem::internal())?;
            (EVERYTHING, "application/x-ndjson", text)
        }
        _ => return Err(Problem::not_found("there is no such file")),
    };
    let mut answer = in_turn(permit, &call, kind, Caching::OnePerson, text)?;
    let saved = HeaderValue::from_str(&format!("attachment; filename=\"{name}\""));
    let saved = saved.map_err(|_| Problem::internal())?;
    answer.headers_mut().insert(header::CONTENT_DISPOSITION, saved);
    Ok(answer)
}
