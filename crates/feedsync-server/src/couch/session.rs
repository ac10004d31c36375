//! `_session`: the client's identity, and sessions for clients that prefer a cookie to a password in each
//! request (section 2).
//!
//! Sessions are optional. For a client that signs in with an access token, the cookie holds that token,
//! because a session must not outlive it or have more rights.

use std::time::{Duration, SystemTime};

use axum::body::Body;
use axum::response::Response;
use feedsync_couch::{Json, Parameters, RefusalKind, quoted, text};
use feedsync_endpoint::{Actor, Period, Person, TokenSecret};
use feedsync_store::UserName;
use http::{HeaderValue, Method, StatusCode, header};

use super::{CouchRequest, Failure, done, json};
use crate::access::Principal;
use crate::access::databases::author;
use crate::access::session::{DatabaseCookie, database_cookies};
use crate::http::media_types;
use crate::http::problem::Problem;

/// Lifetime of a session.
const SESSION_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Label of sessions of programs, by which users recognize them.
const SESSION_LABEL: &str = "a client of databases";

/// Cookie value on a hub that needs no sign-in. It signs in nobody.
const OPEN_COOKIE_VALUE: &str = "open";

pub(super) async fn answer(asked: &CouchRequest, body: Body) -> Result<Response, Failure> {
    match *asked.method_of(&[Method::GET, Method::POST, Method::DELETE])? {
        Method::POST => begin(asked, body).await,
        Method::DELETE => end(asked).await,
        _ if matches!(asked.principal, Principal::Anonymous)
            && asked.parameters.flag("basic")? =>
        {
            Err(RefusalKind::Unauthorized.with_reason("Please login.").into())
        }
        _ => Ok(identity_response(asked)),
    }
}

/// Describes the client's identity.
fn identity_response(asked: &CouchRequest) -> Response {
    let user = asked.principal.user();
    let name = user.map_or("null".to_owned(), |user| quoted(user.as_str()));
    let roles = asked.author(false).roles();
    let authenticated = match user {
        None => String::new(),
        Some(_) => format!(",\"authenticated\":\"{}\"", handler(asked)),
    };
    let text = format!(
        "{{\"ok\":true,\"userCtx\":{{\"name\":{name},\"roles\":{roles}}},\
         \"info\":{{\"authentication_handlers\":[\"cookie\",\"default\"],\
         \"authentication_db\":\"_users\"{authenticated}}}}}\n"
    );
    json(StatusCode::OK, text)
}

/// Authentication handler in CouchDB's terms: a cookie, or Basic and other schemes.
fn handler(asked: &CouchRequest) -> &'static str {
    let headers = &asked.call.headers;
    let is_cookie = !headers.contains_key(header::AUTHORIZATION)
        && headers.contains_key(header::COOKIE)
        && !headers.contains_key("x-auth-token");
    if is_cookie { "cookie" } else { "default" }
}

/// Signs in with a name and a password, in a form or as JSON.
async fn begin(asked: &CouchRequest, body: Body) -> Result<Response, Failure> {
    let said = media_types::media_type(&asked.call.headers).unwrap_or_default();
    let is_json = media_types::essence(said).eq_ignore_ascii_case("application/json");
    let (_permit, bytes) = asked.bytes(body).await?;
    let refuse = |reason: &str| RefusalKind::BadRequest.with_reason(reason);
    let (name, password) = if is_json {
        let sent = Json::read(bytes)?;
        let of = |name: &str| Some(text(sent.root().member(name)?.value)?.into_owned());
        (of("name").or_else(|| of("username")), of("password"))
    } else {
        let form = String::from_utf8(bytes).map_err(|_| refuse("the form is not UTF-8"))?;
        let form = Parameters::read(&form);
        let of = |name: &str| form.text(name).map(str::to_owned);
        (of("name").or_else(|| of("username")), of("password"))
    };
    let name = name.ok_or_else(|| refuse("request body must contain a username"))?;
    let password = password.ok_or_else(|| refuse("request body must contain a password"))?;
    if matches!(asked.principal, Principal::Local) {
        return Ok(begun(&name, &Principal::Local, lasting(asked, OPEN_COOKIE_VALUE)));
    }
    let (person, kept) = sign_in(asked, &name, &password)
        .await?
        .ok_or_else(|| RefusalKind::Unauthorized.with_reason("Name or password is incorrect."))?;
    let (name, cookies) = (person.user().clone(), lasting(asked, &kept.value()));
    Ok(begun(name.as_str(), &Principal::Person(person), cookies))
}

/// Returns the user, and the credentials for the cookie.
async fn sign_in(
    asked: &CouchRequest,
    name: &str,
    password: &str,
) -> Result<Option<(std::sync::Arc<Person>, DatabaseCookie)>, Problem> {
    let (access, from) = (&asked.hub.access, asked.call.from);
    let Ok(user) = UserName::new(name) else {
        access.failed(from, "unknown user").await;
        return Ok(None);
    };
    if let Some(secret) = TokenSecret::parse(password) {
        let person = access.by_access_token_for_databases(&secret, Some(&user), from).await?;
        return Ok(person.map(|person| (person, DatabaseCookie::Token(secret))));
    }
    let Some(person) = access.by_password_for_databases(&user, password, from).await? else {
        return Ok(None);
    };
    let actor = Actor { user: Some(user.clone()), address: from.map(|from| from.to_string()) };
    let endpoint = asked.hub.endpoint.on_behalf_of(actor);
    let lasts = Period::from(SESSION_LIFETIME);
    let begun = endpoint.begin_session_of(&person, SESSION_LABEL.to_owned(), lasts).await?;
    Ok(begun.map(|secret| (person, DatabaseCookie::Session(secret))))
}

fn begun(name: &str, principal: &Principal, cookies: Vec<HeaderValue>) -> Response {
    let (name, roles) = (quoted(name), author(principal, false).roles());
    let text = format!("{{\"ok\":true,\"name\":{name},\"roles\":{roles}}}\n");
    with_cookies(json(StatusCode::OK, text), cookies)
}

/// Cookies that store a value in the client, with an expiry time: some drivers drop cookies that only have
/// `Max-Age`.
fn lasting(asked: &CouchRequest, value: &str) -> Vec<HeaderValue> {
    let now = Duration::from_micros(asked.hub.endpoint.environment().now().micros());
    cookies(asked, value, SESSION_LIFETIME, SystemTime::UNIX_EPOCH + now + SESSION_LIFETIME)
}

fn cookies(
    asked: &CouchRequest,
    value: &str,
    lasts: Duration,
    ends: SystemTime,
) -> Vec<HeaderValue> {
    let (secure, headers) = (asked.call.base.is_secure(), &asked.call.headers);
    let cookies = database_cookies(value, lasts.as_secs(), secure, headers);
    cookies.into_iter().map(|cookie| with_time(cookie, ends)).collect()
}

fn with_time(cookie: HeaderValue, ends: SystemTime) -> HeaderValue {
    let text = cookie.to_str().unwrap_or_default();
    let text = format!("{text}; Expires={}", httpdate::fmt_http_date(ends));
    let Ok(mut cookie) = HeaderValue::from_str(&text) else { return cookie };
    cookie.set_sensitive(true);
    cookie
}

fn with_cookies(mut response: Response, cookies: Vec<HeaderValue>) -> Response {
    let none = HeaderValue::from_static("no-store");
    response.headers_mut().insert(header::CACHE_CONTROL, none);
    for cookie in cookies {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

/// Ends the session of the request. A token remains valid.
async fn end(asked: &CouchRequest) -> Result<Response, Failure> {
    if let (Principal::Person(person), Some(DatabaseCookie::Session(secret))) =
        (&asked.principal, DatabaseCookie::read(&asked.call.headers, asked.call.base.is_secure()))
    {
        asked.call.end_session(&asked.hub, person.user(), &secret).await?;
    }
    // A removed cookie expires in the past, as in CouchDB.
    let gone = cookies(asked, "", Duration::ZERO, SystemTime::UNIX_EPOCH);
    Ok(with_cookies(done(StatusCode::OK), gone))
}
