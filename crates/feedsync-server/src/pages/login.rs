//! `/pages/login` and `/pages/logout`: beginning and end of a browser session with a name and a
//! password.
//!
//! A session is a stored token of its own kind, so that it can be listed, expires, and is known to
//! every process of the hub. The browser stores it in a cookie. Guessing is limited as it is for
//! programs. The response to a wrong password does not reveal whether the user exists.

use std::time::Duration;

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use feedsync_endpoint::{Actor, Period};
use feedsync_store::UserName;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::access::call::Call;
use crate::access::{Principal, session};
use crate::http::problem::Problem;
use crate::hub::Hub;
use crate::pages::answer::{Frame, page, see_other};
use crate::pages::form::{Form, Posted};
use crate::pages::form_token::{self, STALE};
use crate::pages::return_target::ReturnTarget;

/// Lifetime of a session.
const SESSION_LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

const WRONG_CREDENTIALS: &str = "Wrong user name or password.";

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage {
    frame: Frame,
    token: String,
    /// Page to return to.
    to: String,
    user: String,
    error: &'static str,
}

/// `GET /pages/login?to=PAGE`.
pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let to = ReturnTarget::parse(call.query.text("to").unwrap_or("/"));
    let mut answer = shown(&hub, &call, &to, String::new(), "").await?;
    // Browsers do not send the session with a link from another site. After a redirect from this page
    // they do, so only clients without a session return here.
    let from = call.headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    let elsewhere = matches!(from, Some(b"cross-site" | b"same-site"));
    if elsewhere && matches!(call.principal, Principal::Anonymous) {
        let next = format!("0; url={}", to.address(call.base.path()));
        if let Ok(next) = HeaderValue::from_str(&next) {
            answer.headers_mut().insert(header::REFRESH, next);
        }
    }
    Ok(answer)
}

/// `POST /pages/login`.
pub(crate) async fn begin(
    State(hub): State<Hub>,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let form = match Posted::read(&hub, &call, body).await? {
        Posted::Genuine(form) => form,
        Posted::Foreign(form) => return again(&hub, &call, &form, STALE).await,
    };
    let Ok(name) = UserName::new(form.text("user").trim()) else {
        hub.access.failed(call.from, "unknown user").await;
        return again(&hub, &call, &form, WRONG_CREDENTIALS).await;
    };
    let signed_in = hub.access.by_password(&name, form.text("password"), call.from).await?;
    let Some(person) = signed_in else {
        return again(&hub, &call, &form, WRONG_CREDENTIALS).await;
    };
    let actor = Actor { user: Some(name), address: call.from.map(|from| from.to_string()) };
    let endpoint = hub.endpoint.on_behalf_of(actor);
    let label = browser(&call.headers);
    let begun = endpoint.begin_session_of(&person, label, Period::from(SESSION_LIFETIME)).await?;
    let Some(secret) = begun else {
        return again(&hub, &call, &form, WRONG_CREDENTIALS).await;
    };
    end_session(&hub, &call).await?;
    let mut answer = see_other(&ReturnTarget::parse(form.text("to")).address(call.base.path()))?;
    let cookie = session::begin(&secret, SESSION_LIFETIME.as_secs(), call.base.is_secure());
    answer.headers_mut().append(header::SET_COOKIE, cookie);
    Ok(answer)
}

/// `POST /pages/logout`.
pub(crate) async fn end(
    State(hub): State<Hub>,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    if matches!(call.principal, Principal::Person(_)) {
        Form::read(&hub, &call, body).await?;
        end_session(&hub, &call).await?;
    }
    let mut answer = see_other(&format!("{}/", call.base.path()))?;
    answer.headers_mut().append(header::SET_COOKIE, session::end(call.base.is_secure()));
    Ok(answer)
}

/// Ends the session of the request, if it has one.
async fn end_session(hub: &Hub, call: &Call) -> Result<(), Problem> {
    let (Principal::Person(person), Some(secret)) = (&call.principal, call.session()) else {
        return Ok(());
    };
    call.end_session(hub, person.user(), &secret).await
}

async fn again(
    hub: &Hub,
    call: &Call,
    form: &Form,
    error: &'static str,
) -> Result<Response, Problem> {
    let to = ReturnTarget::parse(form.text("to"));
    shown(hub, call, &to, form.text("user").to_owned(), error).await
}

async fn shown(
    hub: &Hub,
    call: &Call,
    to: &ReturnTarget,
    user: String,
    error: &'static str,
) -> Result<Response, Problem> {
    let permit = hub.response_budget.permit().await?;
    let mut frame = Frame::of(hub, call).await?;
    frame.login = to.login(&frame.root);
    let token = form_token::token(hub, call);
    let (to, refused) = (to.as_str().to_owned(), !error.is_empty());
    let shown = LoginPage { frame, token, to, user, error };
    let status = if refused { StatusCode::FORBIDDEN } else { StatusCode::OK };
    page(permit, call, status, move || shown).await
}

/// Label of a browser's sessions, by which users recognize them.
fn browser(headers: &HeaderMap) -> String {
    let said = headers.get(header::USER_AGENT).map(HeaderValue::to_str);
    let said = said.and_then(Result::ok).unwrap_or_default();
    // The first match counts: most browsers also name those that they descend from.
    let first = |names: &[(&str, &'static str)]| {
        names.iter().find(|(mark, _)| said.contains(mark)).map(|(_, name)| *name)
    };
    let program = first(&[
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("Firefox/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    ]);
    let system = first(&[
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Windows", "Windows"),
        ("Mac OS X", "macOS"),
        ("CrOS", "ChromeOS"),
        ("Linux", "Linux"),
    ]);
    match (program, system) {
        (Some(program), Some(system)) => format!("{program} on {system}"),
        (Some(name), None) | (None, Some(name)) => name.to_owned(),
        (None, None) => "a browser".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_named_as_people_know_it_and_never_repeated() {
        let named = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::USER_AGENT, text.parse().unwrap());
            browser(&headers)
        };
        let chrome =
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36";
        assert_eq!(named(chrome), "Chrome on Linux");
        assert_eq!(named(&format!("{chrome} Edg/140")), "Edge on Linux");
        let phone =
            "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19 Safari/604.1";
        assert_eq!(named(phone), "Safari on iPhone");
        assert_eq!(named("<script>alert(1)</script>"), "a browser");
        assert_eq!(browser(&HeaderMap::new()), "a browser");
    }
}
