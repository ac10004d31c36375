//! `/pages/dropped`: databases that were dropped and are kept for their history, and the forms that bring them back.

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use feedsync_endpoint::documents::history::RestoreRequest;
use feedsync_store::{Database, Dropped};
use http::StatusCode;

use super::history::{Failure, Refused, history_page, period_of, restore_from};
use super::request::DatabasesRequest;
use super::{database_page, size};
use crate::access::Principal;
use crate::access::call::Call;
use crate::http::problem::Problem;
use crate::hub::Hub;
use crate::pages::answer::{Frame, Time, page, see_other};
use crate::pages::form::Posted;
use crate::pages::form_token::STALE;

#[derive(Template)]
#[template(path = "dropped.html")]
struct DroppedPage {
    frame: Frame,
    rows: Vec<Row>,
    error: String,
}

/// A dropped database.
struct Row {
    name: String,
    kept_as: String,
    dropped: Time,
    by: String,
    documents: u64,
    size: String,
    period: String,
    /// Whether there is a new database of its name.
    is_taken: bool,
}

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let asked = DatabasesRequest::new(hub, call);
    shown(asked, None).await
}

pub(crate) async fn change(
    State(hub): State<Hub>,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let posted = Posted::read(&hub, &call, body).await?;
    let asked = DatabasesRequest::new(hub, call);
    let Posted::Genuine(form) = posted else {
        return shown(asked, Some((StatusCode::FORBIDDEN, STALE.to_owned()))).await;
    };
    let principal = asked.current_principal().await?;
    let kept_as = form.text("database");
    let found =
        asked.dropped(&principal).await?.into_iter().find(|kept| kept.name.as_str() == kept_as);
    let found = found.and_then(|kept| Some((kept.dropped.clone()?, kept)));
    let Some((dropped, kept)) = found else {
        let missing = "The database is no longer kept.".to_owned();
        return shown(asked, Some((StatusCode::NOT_FOUND, missing))).await;
    };
    let done = match form.text("action") {
        "undrop" => undrop(&asked, &dropped, &kept).await,
        "restore" => restore(&asked, &principal, &dropped, &kept).await,
        "forget" => forget(&asked, form.has("confirm"), &kept).await,
        _ => Err(Problem::bad_request("the form has no known action").into()),
    };
    match done {
        Ok(next) => see_other(&next),
        Err(Failure::Refused(refused)) => shown(asked, Some(refused)).await,
        Err(Failure::Problem(problem)) => Err(problem),
    }
}

/// Brings a database back under its name. Returns the address of its page.
async fn undrop(
    asked: &DatabasesRequest,
    dropped: &Dropped,
    kept: &Database,
) -> Result<String, Failure> {
    let name = &dropped.name;
    match asked.hub.endpoint.undrop_database(kept).await.map_err(Problem::from)? {
        true => Ok(database_page(asked.call.base.path(), name)),
        false => {
            let taken = format!("There is a new database or a collection {name} by now.");
            Err(Failure::conflict(taken))
        }
    }
}

/// Writes the documents of a dropped database into the new one of its name. Returns the address of the page of its history.
async fn restore(
    asked: &DatabasesRequest,
    principal: &Principal,
    dropped: &Dropped,
    kept: &Database,
) -> Result<String, Failure> {
    let name = &dropped.name;
    let database = asked.databases.database(name).await.map_err(Problem::from)?;
    let gone = || Failure::conflict(format!("There is no database {name} any more."));
    let database = database.ok_or_else(gone)?;
    if !asked.may(principal, &database).await? {
        return Err(Problem::forbidden().into());
    }
    let request = RestoreRequest {
        moment: dropped.moment,
        documents: None,
        deletes_newer: false,
        is_trial: false,
    };
    let said = restore_from(asked, principal, (&database, kept), &request).await?;
    Ok(format!("{}&said={said}", history_page(asked.call.base.path(), name)))
}

/// Deletes a dropped database for good. Returns the address of the page of dropped databases.
async fn forget(
    asked: &DatabasesRequest,
    is_confirmed: bool,
    kept: &Database,
) -> Result<String, Failure> {
    if !is_confirmed {
        let unconfirmed = "Nothing was deleted: confirm that the database cannot be brought back.";
        return Err(Failure::conflict(unconfirmed));
    }
    let dropped = asked.databases.drop_database(&kept.name, kept.epoch).await;
    dropped.map_err(Problem::from)?;
    Ok(format!("{}/pages/dropped", asked.call.base.path()))
}

async fn shown(asked: DatabasesRequest, refused: Option<Refused>) -> Result<Response, Problem> {
    let permit = asked.hub.response_budget.permit().await?;
    let frame = Frame::of(&asked.hub, &asked.call).await?;
    let mut rows = Vec::new();
    for kept in asked.dropped(&asked.call.principal).await? {
        let Some(Dropped { name, moment, author }) = &kept.dropped else { continue };
        rows.push(Row {
            name: name.to_string(),
            kept_as: kept.name.to_string(),
            dropped: Time::of(*moment),
            by: author.as_deref().unwrap_or_default().to_owned(),
            documents: kept.documents,
            size: size(kept.bytes),
            period: period_of(kept.history),
            is_taken: asked.databases.database(name).await?.is_some(),
        });
    }
    let (status, error) = refused.unwrap_or((StatusCode::OK, String::new()));
    let shown = DroppedPage { rows, error, frame };
    page(permit, &asked.call, status, move || shown).await
}
