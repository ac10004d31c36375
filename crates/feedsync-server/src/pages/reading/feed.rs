//! `/pages/reading/feeds/{number}`: information about a feed, its title and its folder.

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use feedsync_aggregator::FeedView;
use feedsync_reader_api::FeedNumber;
use feedsync_reading_state::{Action, Title};
use http::StatusCode;

use super::list::{List, ListSource};
use super::{feed_page, home, reading, time, typed_folder, with};
use crate::access::call::Call;
use crate::http::html::content::short;
use crate::http::problem::Problem;
use crate::hub::Hub;
use crate::pages::answer::{Frame, Time, page, see_other, sentence};
use crate::pages::assets::READING;
use crate::pages::form::{Form, Posted};
use crate::pages::form_token::STALE;
use crate::reading::Reading;
use crate::reading::articles::is_web;

#[derive(Template)]
#[template(path = "feed.html")]
struct FeedPage {
    frame: Frame,
    script: &'static str,
    said: &'static str,
    page: String,
    list_page: String,
    title: String,
    /// Title in the feed itself.
    own_title: String,
    address: String,
    site: Option<String>,
    description: Option<String>,
    articles: u64,
    unread: u64,
    checked: Option<Time>,
    due: Time,
    newest: Option<Time>,
    moved_to: Option<String>,
    fault: Option<String>,
    failures: u32,
    is_gone: bool,
    folders: Vec<String>,
    draft: Draft,
}

/// Input for its title and folder.
#[derive(Default)]
struct Draft {
    title: String,
    folder: String,
    title_error: String,
    folder_error: String,
    error: String,
}

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    shown(&hub, &call, None, StatusCode::OK).await
}

/// `POST`: changes title and folder, refreshes the feed, or ends the subscription.
pub(crate) async fn change(
    State(hub): State<Hub>,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let posted = Posted::read(&hub, &call, body).await?;
    let mut reading = reading(&hub, &call).await?;
    let feed = found(&reading, &call)?;
    let (number, address) = (feed.number(), feed.subscription.address.clone());
    let now = (feed.subscription.title.clone(), feed.subscription.folder.clone());
    let typed = |form: &Form| Draft {
        title: form.text("title").trim().to_owned(),
        folder: form.text("folder").trim().to_owned(),
        ..Draft::default()
    };
    let form = match &posted {
        Posted::Genuine(form) => form,
        Posted::Foreign(form) => {
            let draft = Draft { error: STALE.to_owned(), ..typed(form) };
            return shown(&hub, &call, Some(draft), StatusCode::FORBIDDEN).await;
        }
    };
    let root = call.base.path();
    let said = match form.text("action") {
        "save" => {
            let draft = typed(form);
            let again = |draft| shown(&hub, &call, Some(draft), StatusCode::UNPROCESSABLE_ENTITY);
            let title = Some(&draft.title).filter(|title| !title.is_empty());
            let title: Option<Title> = match title.map(|title| title.parse()).transpose() {
                Ok(title) => title,
                Err(error) => return again(Draft { title_error: sentence(error), ..draft }).await,
            };
            let folder = match typed_folder(&reading, &draft.folder) {
                Ok(folder) => folder,
                Err(folder_error) => return again(Draft { folder_error, ..draft }).await,
            };
            let mut actions = Vec::new();
            if title != now.0 {
                actions.push((address.clone(), Action::Rename { title }));
            }
            if folder != now.1 {
                actions.push((address, Action::Move { folder }));
            }
            reading.file(actions).await?;
            "saved"
        }
        "refresh" => {
            reading.make_due(&[number]).await?;
            "asked"
        }
        "unsubscribe" => {
            reading.file(vec![(address, Action::Unsubscribe)]).await?;
            return see_other(&with(&home(root), "said", "unsubscribed"));
        }
        _ => return Err(Problem::bad_request("the form has no such action")),
    };
    see_other(&with(&feed_page(root, number), "said", said))
}

/// The feed that the address of a page names, if the person is subscribed to it.
pub(super) fn found<'r>(reading: &'r Reading, call: &Call) -> Result<&'r FeedView, Problem> {
    let number = call.segment("number").parse::<FeedNumber>().ok();
    let feed = number.and_then(|number| reading.subscription_view.feed(number));
    feed.ok_or_else(|| Problem::not_found("you have no subscription to this feed"))
}

async fn shown(
    hub: &Hub,
    call: &Call,
    draft: Option<Draft>,
    status: StatusCode,
) -> Result<Response, Problem> {
    let permit = hub.response_budget.permit().await?;
    let reading = reading(hub, call).await?;
    let feed = found(&reading, call)?;
    let frame = Frame::of(hub, call).await?;
    let (kept, subscription) = (&feed.kept, &feed.subscription);
    let filed = reading.folders.shown(&subscription.folder);
    let now = || Draft {
        title: subscription.title.as_ref().map(ToString::to_string).unwrap_or_default(),
        folder: filed.map(|shown| shown.name.to_string()).unwrap_or_default(),
        ..Draft::default()
    };
    let shown = FeedPage {
        script: &READING.name,
        said: match call.query.text("said").unwrap_or_default() {
            "saved" => "The title and folder were saved.",
            "asked" => "The feed is being refreshed. Reload this page in a moment.",
            _ => "",
        },
        page: feed_page(&frame.root, feed.number()),
        list_page: List::new(ListSource::Feed(feed.number())).page(&frame.root),
        title: short(feed.title(), 200),
        own_title: short(kept.head.title.as_deref().unwrap_or_default(), 200),
        address: subscription.address.as_str().to_owned(),
        site: kept.head.site.clone().filter(|site| is_web(site)),
        description: kept.head.description.as_ref().map(|text| short(text, 400)),
        articles: feed.listed_articles(),
        unread: feed.unread,
        checked: kept.state.checked.map(time),
        due: time(kept.state.due),
        newest: kept.newest.map(time),
        moved_to: kept.state.redirect_target.as_ref().map(|address| address.as_str().to_owned()),
        fault: kept.state.fault.clone(),
        failures: kept.state.failures,
        is_gone: kept.state.gone,
        folders: reading.folders.iter().map(|shown| shown.name.to_string()).collect(),
        draft: draft.unwrap_or_else(now),
        frame,
    };
    page(permit, call, status, move || shown).await
}
