//! `/pages/reading`: the subscriptions by folder, with unread counts and errors.

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use feedsync_aggregator::FeedView;
use http::StatusCode;

use super::folders::{Group, groups};
use super::list::{List, ListSource};
use super::subscribing::{Draft, Subscribed, subscribe};
use super::{home, reading, with};
use crate::access::call::Call;
use crate::http::problem::Problem;
use crate::hub::Hub;
use crate::pages::answer::{Frame, page, see_other};
use crate::pages::assets::READING;
use crate::pages::form::Posted;
use crate::pages::form_token::STALE;

/// Action that subscribes to the feed at an address, after a look at it.
const SUBSCRIBE: &str = "subscribe";

/// Action that subscribes to an address which could not be read.
const SUBSCRIBE_UNCHECKED: &str = "subscribe-unchecked";

#[derive(Template)]
#[template(path = "subscriptions.html")]
struct SubscriptionsPage {
    frame: Frame,
    script: &'static str,
    page: String,
    said: String,
    unread: u64,
    everything: String,
    tags: Vec<(String, String)>,
    groups: Vec<Group>,
    /// Which feeds are shown.
    shows: Shows,
    /// Number of feeds that could not be read.
    faulty: usize,
    has_feeds: bool,
    /// Names of the folders.
    folders: Vec<String>,
    draft: Draft,
}

/// Which feeds are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shows {
    All,
    /// Those with unread articles.
    Unread,
    /// Those that could not be read.
    Faulty,
}

impl Shows {
    fn includes(self, feed: &FeedView) -> bool {
        match self {
            Self::All => true,
            Self::Unread => feed.unread > 0,
            Self::Faulty => feed.kept.state.fault.is_some(),
        }
    }
}

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    shown(&hub, &call, Draft::default(), StatusCode::OK).await
}

/// `POST`: subscribes, refreshes feeds, or creates a folder.
pub(crate) async fn change(
    State(hub): State<Hub>,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let posted = Posted::read(&hub, &call, body).await?;
    let mut reading = reading(&hub, &call).await?;
    let form = match &posted {
        Posted::Genuine(form) => form,
        Posted::Foreign(form) => {
            let draft = Draft { error: STALE.to_owned(), ..Draft::of(form) };
            return shown(&hub, &call, draft, StatusCode::FORBIDDEN).await;
        }
    };
    let said = match form.text("action") {
        action @ (SUBSCRIBE | SUBSCRIBE_UNCHECKED) => {
            let is_checked = action == SUBSCRIBE;
            match subscribe(&mut reading, Draft::of(form), is_checked).await? {
                Ok(subscribed) => return see_other(&subscribed.address(&call)),
                Err(draft) => {
                    let is_choice = !draft.choices.is_empty();
                    let status =
                        if is_choice { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
                    return shown(&hub, &call, draft, status).await;
                }
            }
        }
        "refresh" => {
            let feeds: Vec<_> =
                reading.subscription_view.feeds().iter().map(FeedView::number).collect();
            reading.make_due(&feeds).await?;
            "asked"
        }
        _ => return Err(Problem::bad_request("the form has no such action")),
    };
    see_other(&with(&home(call.base.path()), "said", said))
}

async fn shown(
    hub: &Hub,
    call: &Call,
    draft: Draft,
    status: StatusCode,
) -> Result<Response, Problem> {
    let permit = hub.response_budget.permit().await?;
    let reading = reading(hub, call).await?;
    let frame = Frame::of(hub, call).await?;
    let root = frame.root.clone();
    let shows = match call.query.text("show") {
        Some("unread") => Shows::Unread,
        Some("faults") => Shows::Faulty,
        _ => Shows::All,
    };
    let said = match call.query.text("said").unwrap_or_default() {
        "subscribed" => Subscribed::message(call, &reading),
        "unsubscribed" => "Unsubscribed. Your read marks, stars and tags are kept.".to_owned(),
        "asked" => "Your feeds are being refreshed. Reload this page in a moment.".to_owned(),
        _ => String::new(),
    };
    page(permit, call, status, move || {
        let tag = |tag: &feedsync_reading_state::Tag| {
            (tag.as_str().to_owned(), List::new(ListSource::Tag(tag.clone())).page(&root))
        };
        SubscriptionsPage {
            script: &READING.name,
            page: home(&root),
            said,
            unread: reading.subscription_view.feeds().iter().map(|feed| feed.unread).sum(),
            everything: List::new(ListSource::All).page(&root),
            tags: reading.subscription_view.tags().into_iter().map(tag).collect(),
            groups: groups(&reading, &root, usize::MAX, |feed| shows.includes(feed)),
            shows,
            faulty: reading
                .subscription_view
                .feeds()
                .iter()
                .filter(|feed| Shows::Faulty.includes(feed))
                .count(),
            has_feeds: !reading.subscription_view.feeds().is_empty(),
            folders: reading.folders.iter().map(|shown| shown.name.to_string()).collect(),
            draft,
            frame,
        }
    })
    .await
}
