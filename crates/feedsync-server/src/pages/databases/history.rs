//! `/pages/history?name=N`: what changed in a database while it kept its history, and the forms that bring documents
//! back to a past moment and that say how long the history is kept.

mod words;

use std::collections::HashSet;

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use feedsync_couch::{DatabaseName, DocumentId};
use feedsync_endpoint::documents::history::{
    LOSS_PERIOD, MassLoss, RestoreError, RestoreRequest, RestoreSummary,
};
use feedsync_endpoint::documents::leaves;
use feedsync_store::{Database, EndedPosition, EndedRevision, History, Moment};
use http::StatusCode;

use words::{period, said, typed_time};

use super::document::document_page;
use super::request::DatabasesRequest;
use super::{database_page, size};
use crate::access::Principal;
use crate::access::call::Call;
use crate::access::databases::{Need, database_at, may_access, restore_documents};
use crate::access::quotas;
use crate::http::problem::Problem;
use crate::http::query::encoded;
use crate::hub::Hub;
use crate::pages::answer::{Frame, Time, page, see_other, sentence};
use crate::pages::form::{Form, Posted};
use crate::pages::form_token::{self, STALE};

/// Number of changes on one page.
const PAGE: usize = 50;

/// Maximum number of documents that a page restores at once; the command has no such bound.
const MAX_RESTORED: u64 = 100_000;

/// Periods of histories that the form offers, in days.
const PERIODS: [u64; 5] = [1, 7, 30, 90, 365];

const DAY: u64 = 24 * 60 * 60;

#[derive(Template)]
#[template(path = "history.html")]
struct HistoryPage {
    frame: Frame,
    database: String,
    database_page: String,
    page: String,
    /// Text for the period of the history; `None` if none is kept.
    kept: Option<String>,
    since: Option<Time>,
    size: String,
    may_set: bool,
    periods: Vec<Period>,
    loss: Option<Loss>,
    rows: Vec<Row>,
    next: Option<String>,
    /// The typed time, and what a restore of that time would do.
    time: String,
    deletes_newer: bool,
    preview: Option<RestoreSummary>,
    error: String,
    said: String,
}

struct Period {
    days: u64,
    is_kept: bool,
}

/// A mass loss, with the address of what bringing the documents back would do.
struct Loss {
    lost: u64,
    existed: u64,
    page: String,
}

/// A revision that an edit or a deletion ended.
struct Row {
    id: String,
    page: String,
    revision: String,
    ended: Time,
    by: String,
    /// Whether the document is deleted now.
    is_deleted: bool,
    /// The last moment at which it was a leaf, in microseconds since 1970.
    moment: u64,
}

/// A form that was refused: its status and the error.
pub(super) type Refused = (StatusCode, String);

/// Address of the page of a database's history.
pub(super) fn history_page(root: &str, name: &DatabaseName) -> String {
    format!("{root}/pages/history?name={}", encoded(name.as_str()))
}

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let asked = DatabasesRequest::new(hub, call);
    let database = asked.database().await?;
    shown(asked, database, None).await
}

pub(crate) async fn change(
    State(hub): State<Hub>,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let posted = Posted::read(&hub, &call, body).await?;
    let asked = DatabasesRequest::new(hub, call);
    let database = match (asked.database().await, &posted) {
        (Err(_), Posted::Foreign(_)) => return Err(form_token::refused()),
        (found, _) => found?,
    };
    let form = match posted {
        Posted::Genuine(form) => form,
        Posted::Foreign(_) => {
            let refused = (StatusCode::FORBIDDEN, STALE.to_owned());
            return shown(asked, database, Some(refused)).await;
        }
    };
    match carry_out(&asked, &database, &form).await {
        Ok(said) => {
            let here = history_page(asked.call.base.path(), &database.name);
            see_other(&format!("{here}&said={said}"))
        }
        Err(Failure::Refused(refused)) => shown(asked, database, Some(refused)).await,
        Err(Failure::Problem(problem)) => Err(problem),
    }
}

/// Reason for not carrying out a form.
pub(super) enum Failure {
    Refused(Refused),
    Problem(Problem),
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl Failure {
    fn invalid(error: impl Into<String>) -> Self {
        Self::Refused((StatusCode::BAD_REQUEST, error.into()))
    }

    /// The form does not fit the present state.
    pub(super) fn conflict(error: impl Into<String>) -> Self {
        Self::Refused((StatusCode::CONFLICT, error.into()))
    }
}

/// Makes the change of a form. Returns what the next page says.
async fn carry_out(
    asked: &DatabasesRequest,
    database: &Database,
    form: &Form,
) -> Result<String, Failure> {
    match form.text("action") {
        "keep" => keep(asked, database, form).await,
        "restore" => {
            let id: DocumentId = form.text("id").parse().map_err(|_| unknown_form())?;
            let moment = form.text("moment").parse().map_err(|_| unknown_form())?;
            let request = RestoreRequest {
                moment: Moment::from_micros(moment),
                documents: Some(vec![id]),
                deletes_newer: false,
                is_trial: false,
            };
            restore(asked, database, &request).await
        }
        "restore-all" => {
            let request = RestoreRequest {
                moment: typed_time(form.text("time")).map_err(Failure::invalid)?,
                documents: None,
                deletes_newer: form.has("newer"),
                is_trial: false,
            };
            restore(asked, database, &request).await
        }
        _ => Err(unknown_form()),
    }
}

fn unknown_form() -> Failure {
    Problem::bad_request("the form has no known action").into()
}

/// Changes the period of the history. States that are no longer kept are lost, so the form has to confirm that.
async fn keep(
    asked: &DatabasesRequest,
    database: &Database,
    form: &Form,
) -> Result<String, Failure> {
    let days: u64 = form.text("days").parse().map_err(|_| unknown_form())?;
    if days != 0 && !PERIODS.contains(&days) {
        return Err(unknown_form());
    }
    let principal = asked.current_principal().await?;
    let may_set = may_access(&asked.hub.endpoint, &principal, database, Need::Administer).await;
    if !may_set.map_err(Problem::from)? {
        return Err(Problem::forbidden().into());
    }
    let seconds = days * DAY;
    if seconds < seconds_of(database.history) && !form.has("confirm") {
        return Err(Failure::invalid(
            "Nothing was changed: older states would be lost. Confirm that, and try again.",
        ));
    }
    let history = if days == 0 { History::Off } else { History::Kept { seconds } };
    asked.hub.endpoint.set_history(database, history).await.map_err(Problem::from)?;
    Ok("kept".to_owned())
}

async fn restore(
    asked: &DatabasesRequest,
    database: &Database,
    request: &RestoreRequest,
) -> Result<String, Failure> {
    let principal = asked.current_user_of(database).await?;
    let source = source(asked, &principal, database, request).await?;
    restore_from(asked, &principal, (database, &source), request).await
}

/// Restores a past state of a source, within the quota of the owner. Returns what the next page says.
pub(super) async fn restore_from(
    asked: &DatabasesRequest,
    principal: &Principal,
    (database, source): (&Database, &Database),
    request: &RestoreRequest,
) -> Result<String, Failure> {
    check_size(&[database, source], request)?;
    // A restore adds revisions: an owner who has used up the quota makes room first. Documents of another database are new.
    let (documents, bytes) = match (source.epoch == database.epoch, &request.documents) {
        (false, None) => (source.documents, source.bytes),
        _ => (0, 1),
    };
    quotas::documents(&asked.hub, &database.name, documents, bytes).await?;
    let call = &asked.call;
    let done = restore_documents(&asked.hub, call, principal, (database, source), request).await;
    let done = done.map_err(failure)?;
    Ok(format!("restored-{}-{}-{}", done.restored, done.deleted, done.refused))
}

/// The database that had the name at the moment.
async fn source(
    asked: &DatabasesRequest,
    principal: &Principal,
    database: &Database,
    request: &RestoreRequest,
) -> Result<Database, Failure> {
    let endpoint = &asked.hub.endpoint;
    let found = database_at(endpoint, principal, database, request.moment).await;
    let unknown = || failure(RestoreError::Unknown { since: database.past.since });
    found.map_err(Problem::from)?.ok_or_else(unknown)
}

fn failure(error: RestoreError) -> Failure {
    match error {
        RestoreError::Unknown { .. } => Failure::invalid(sentence(error)),
        RestoreError::Store(error) => Problem::from(error).into(),
    }
}

/// Fails if a page may not restore all documents of databases, because they are too many.
fn check_size(databases: &[&Database], request: &RestoreRequest) -> Result<(), Failure> {
    let is_large = |it: &&Database| it.documents + it.deleted > MAX_RESTORED;
    match request.documents.is_none() && databases.iter().any(is_large) {
        true => Err(Failure::invalid(format!(
            "A page restores at most {MAX_RESTORED} documents. Use the command `feedsync database restore`."
        ))),
        false => Ok(()),
    }
}

async fn shown(
    asked: DatabasesRequest,
    database: Database,
    refused: Option<Refused>,
) -> Result<Response, Problem> {
    let permit = asked.hub.response_budget.permit().await?;
    let frame = Frame::of(&asked.hub, &asked.call).await?;
    let (name, root) = (&database.name, frame.root.clone());
    let query = &asked.call.query;
    let before = query.text("before").and_then(position);
    let (rows, next) = rows(&asked, &root, name, before).await?;
    let here = history_page(&root, name);
    let time = query.text("time").unwrap_or_default().to_owned();
    let deletes_newer = query.text("newer").is_some();
    let mut refused = refused;
    let preview = match time.is_empty() || refused.is_some() {
        true => None,
        false => match preview(&asked, &database, &time, deletes_newer).await {
            Ok(preview) => Some(preview),
            Err(Failure::Problem(problem)) => return Err(problem),
            Err(Failure::Refused(failure)) => {
                refused = Some(failure);
                None
            }
        },
    };
    let loss = asked.hub.mass_losses.of(&asked.hub.endpoint, &database).await?;
    let may_set =
        may_access(&asked.hub.endpoint, &asked.call.principal, &database, Need::Administer).await?;
    let (status, error) = refused.unwrap_or((StatusCode::OK, String::new()));
    let seconds = seconds_of(database.history);
    let kept = (seconds > 0).then(|| period(seconds));
    let now = asked.hub.endpoint.environment().now();
    let shown = HistoryPage {
        database: name.to_string(),
        database_page: database_page(&root, name),
        kept,
        since: database.past.since.map(Time::of),
        size: size(database.past.bytes),
        may_set,
        periods: periods(seconds),
        loss: loss.map(|MassLoss { lost, existed }| {
            let time = Time::of(Moment::from_micros(
                now.micros().saturating_sub(LOSS_PERIOD.as_micros() as u64),
            ));
            Loss { lost, existed, page: format!("{here}&time={}", encoded(&time.to_string())) }
        }),
        rows,
        next: next.map(|next| format!("{here}&before={next}")),
        page: here,
        time,
        deletes_newer,
        preview,
        error,
        said: said(query.text("said").unwrap_or_default()),
        frame,
    };
    page(permit, &asked.call, status, move || shown).await
}

/// Counts of documents that a restore of everything would change.
async fn preview(
    asked: &DatabasesRequest,
    database: &Database,
    time: &str,
    deletes_newer: bool,
) -> Result<RestoreSummary, Failure> {
    let moment = typed_time(time).map_err(Failure::invalid)?;
    let request = RestoreRequest { moment, documents: None, deletes_newer, is_trial: true };
    let (call, principal) = (&asked.call, &asked.call.principal);
    let source = source(asked, principal, database, &request).await?;
    check_size(&[database, &source], &request)?;
    let ends = (database, &source);
    restore_documents(&asked.hub, call, principal, ends, &request).await.map_err(failure)
}

/// A page of changes, and the position after it.
async fn rows(
    asked: &DatabasesRequest,
    root: &str,
    name: &DatabaseName,
    before: Option<EndedPosition>,
) -> Result<(Vec<Row>, Option<String>), Problem> {
    let mut ended = asked.databases.ended_revisions(name, None, before, PAGE + 1).await?;
    let is_more = ended.len() > PAGE;
    ended.truncate(PAGE);
    let next = ended.last().filter(|_| is_more);
    let next =
        next.map(|last| format!("{}-{}", last.ended.moment.micros(), last.content.body.number));
    let ids: Vec<DocumentId> = ended.iter().map(|one| one.id.clone()).collect();
    let page = asked.databases.documents(name, &ids, leaves::none(), u64::MAX).await?;
    let live = |found: &feedsync_store::LoadedDocument| {
        let winner = found.document.tree.winner();
        winner.is_some_and(|leaf| !leaf.content.is_deleted)
    };
    let present: HashSet<&DocumentId> =
        page.documents.iter().flatten().filter(|it| live(it)).map(|it| &it.document.id).collect();
    let row = |one: &EndedRevision| Row {
        id: one.id.to_string(),
        page: document_page(root, name, &one.id),
        revision: one.revision.to_string(),
        ended: Time::of(one.ended.moment),
        by: one.ended.author.as_deref().unwrap_or_default().to_owned(),
        is_deleted: !present.contains(&one.id),
        moment: one.ended.moment.previous().micros(),
    };
    Ok((ended.iter().map(row).collect(), next))
}

/// A position in an address.
fn position(text: &str) -> Option<EndedPosition> {
    let (moment, body) = text.split_once('-')?;
    let ended = Moment::from_micros(moment.parse().ok()?);
    Some(EndedPosition { ended, body: body.parse().ok()? })
}

/// Text for the period of a history.
pub(super) fn period_of(history: History) -> String {
    period(seconds_of(history))
}

fn seconds_of(history: History) -> u64 {
    history.seconds().unwrap_or_default()
}

fn periods(seconds: u64) -> Vec<Period> {
    let period = |days: u64| Period { days, is_kept: days * DAY == seconds };
    PERIODS.into_iter().map(period).collect()
}
