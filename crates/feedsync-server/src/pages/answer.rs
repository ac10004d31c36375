//! Common parts of all pages: frame, headers, and times for people.

use std::fmt;

use askama::Template;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use feedsync_http::pages::{MEDIA_TYPE, set_page_headers};
use feedsync_store::Moment;
use http::{HeaderValue, StatusCode, header};

use crate::access::call::Call;
use crate::access::{Principal, session};
use crate::http::caching::Caching;
use crate::http::problem::Problem;
use crate::http::response::nothing;
use crate::http::response_budget::{MAX_UNCOUNTED_BYTES, ResponsePermit};
use crate::http::text_response::in_turn;
use crate::hub::Hub;
use crate::pages::assets::{READING_COMMON, SCRIPT, STYLE};
use crate::pages::form_token;
use crate::pages::return_target::ReturnTarget;

/// Frame of each page.
pub(super) struct Frame {
    /// The endpoint's name.
    pub(super) hub: String,
    /// Prefix of every path: the path of the public base.
    pub(super) root: String,
    pub(super) style: &'static str,
    pub(super) script: &'static str,
    /// Script that the scripts of the reading pages share.
    pub(super) reading_common: &'static str,
    /// The signed-in user.
    pub(super) user: Option<String>,
    /// Whether no sign-in is needed.
    pub(super) open: bool,
    /// Whether the user may manage their account; a restricted token does not allow it.
    pub(super) account: bool,
    pub(super) administers: bool,
    /// Whether newsreading is available to them.
    pub(super) reads: bool,
    /// Form token for each form; empty for pages without forms.
    pub(super) form: String,
    /// Address of the sign-in page, with the page to return to.
    pub(super) login: String,
}

impl Frame {
    pub(super) async fn of(hub: &Hub, call: &Call) -> Result<Self, Problem> {
        let principal = &call.principal;
        let root = call.base.path().to_owned();
        Ok(Self {
            hub: hub.endpoint.identity().await?.name.to_string(),
            style: &STYLE.name,
            script: &SCRIPT.name,
            reading_common: &READING_COMMON.name,
            user: principal.user().map(ToString::to_string),
            open: matches!(principal, Principal::Local),
            account: principal.is_unbounded(),
            administers: principal.administers(),
            reads: hub.newsreading.is_some() && !matches!(principal, Principal::Anonymous),
            form: match principal {
                Principal::Anonymous => String::new(),
                _ => form_token::token(hub, call),
            },
            login: ReturnTarget::here(&call.uri).login(&root),
            root,
        })
    }
}

/// Renders a page on a blocking thread, under a permit that was taken before anything was read for it. A
/// successful page is cacheable for its reader only, and a reader that already has it gets 304.
pub(super) async fn page<T: Template>(
    permit: ResponsePermit,
    call: &Call,
    status: StatusCode,
    make: impl FnOnce() -> T + Send + 'static,
) -> Result<Response, Problem> {
    let made = tokio::task::spawn_blocking(move || rendered(&make()));
    let text = made.await.map_err(|_| Problem::internal())??;
    let mut answer = if status == StatusCode::OK {
        in_turn(permit, call, MEDIA_TYPE, Caching::OnePerson, text)?
    } else {
        let place = permit.end(text.len() > MAX_UNCOUNTED_BYTES)?;
        (status, Body::from(place.hold(text.into_bytes()))).into_response()
    };
    set_page_headers(&mut answer);
    // Otherwise the cookie of an ended session would be looked up for each page.
    let anonymous = matches!(call.principal, Principal::Anonymous);
    if anonymous && call.session().is_some() {
        answer.headers_mut().append(header::SET_COOKIE, session::end(call.base.is_secure()));
    }
    Ok(answer)
}

pub(super) fn rendered(page: &impl Template) -> Result<String, Problem> {
    page.render().map_err(|error| {
        tracing::error!(%error, "cannot render a page");
        Problem::internal()
    })
}

/// Redirects a browser after its form was processed.
pub(super) fn see_other(path: &str) -> Result<Response, Problem> {
    let place = HeaderValue::from_str(path).map_err(|_| Problem::internal())?;
    Ok((StatusCode::SEE_OTHER, [(header::LOCATION, place)], nothing()).into_response())
}

/// An error as a sentence of a page.
pub(super) fn sentence(error: impl fmt::Display) -> String {
    let text = error.to_string();
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

/// A moment, for programs (`{}`) and for people.
pub(super) struct Time(String);

impl Time {
    pub(super) fn of(moment: Moment) -> Self {
        Self(moment.timestamp().map(|when| when.to_string()).unwrap_or_default())
    }

    pub(super) fn text(text: String) -> Self {
        Self(text)
    }

    pub(super) fn human(&self) -> String {
        self.0.replacen('T', " ", 1).replacen('Z', " UTC", 1)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
