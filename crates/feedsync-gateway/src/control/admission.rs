//! Admission checks, which precede all other processing of a request.
//!
//! 1. The Host must be ours: a loopback name, or the address that was connected to. A page may let a name of its
//!    own resolve to this machine (DNS rebinding); such requests get 421.
//! 2. An Origin must be ours or an allowed one. Browsers that omit it declare the site of the request in
//!    `Sec-Fetch-Site`; other sites may only link to the gateway.
//! 3. A page of an allowed origin is admitted only as an application. That holds even if it sends the token or a
//!    cookie, since a page cannot hold the token.
//! 4. A program sends the token (RFC 6750), a person's browser a session. A session changes state only through
//!    forms, which contain a proof. The browser must also declare that the request comes from a page of ours.
//!
//! The parts of `bitsy.js` are served to every request whose Host is ours.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use feedsync_bitsy::location::Location;
use feedsync_http::{Problem, is_from_other_site, named_host, partial_content};
use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};

use super::Control;
use super::caller::{Caller, Page};
use super::serve::LocalAddress;
use super::{answer, binding, pages};
use crate::programs;

/// Relation between the requesting page and this origin, set by browsers.
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Field by which browsers ask in a preflight whether a page of the public web may access the private network, and
/// the field of the response (Private Network Access). Newer browsers ask the person instead.
const PRIVATE_NETWORK: [HeaderName; 2] = [
    HeaderName::from_static("access-control-request-private-network"),
    HeaderName::from_static("access-control-allow-private-network"),
];

/// Maximum number of digits in the instance name that a page chooses.
const MAX_INSTANCE_DIGITS: usize = 64;

/// Host of a request, verified to be ours.
#[derive(Debug, Clone)]
pub(crate) struct Host(pub(crate) Authority);

/// Admits a request and adds its [`Caller`] and its [`Host`] to its extensions.
pub(crate) async fn admit(
    State(control): State<Control>,
    mut request: Request,
    next: Next,
) -> Response {
    let is_page = pages::are_at(request.uri().path());
    let host = match host(&request) {
        Ok(host) => host,
        Err(problem) => return problem.into_response(),
    };
    request.extensions_mut().insert(Host(host.clone()));
    if let Err(problem) = partial_content::refuse(request.method(), request.headers()) {
        return problem.into_response();
    }
    if binding::is_at(request.uri().path()) || pages::is_open(request.uri().path()) {
        return next.run(request).await;
    }
    let origin = match origin(&control, request.method(), request.headers(), &host) {
        Ok(origin) => origin,
        Err(problem) => return problem.into_response(),
    };
    if let RequestSource::Allowed(origin) = origin {
        let mut answer = if is_preflight(&request) {
            preflight(request.headers())
        } else {
            let caller = page(&origin, &request);
            request.extensions_mut().insert(caller);
            next.run(request).await
        };
        share(answer.headers_mut(), &origin);
        return answer;
    }
    match known(&control, &request, is_page) {
        Ok(caller) => {
            let is_person = matches!(caller, Caller::Person(_));
            request.extensions_mut().insert(caller);
            let answer = next.run(request).await;
            if is_page && is_person { pages::problem_page(answer).await } else { answer }
        }
        Err(problem) if is_page => pages::refused(problem),
        Err(problem) => problem.into_response(),
    }
}

/// Source of a request, as far as the browser declares it.
enum RequestSource {
    /// Not a page of another origin.
    Here,
    /// A page of an allowed origin.
    Allowed(Location),
}

fn host(request: &Request) -> Result<Authority, Problem> {
    let host = named_host(request)?;
    let bare = host.host().trim_start_matches('[').trim_end_matches(']');
    let local_address =
        request.extensions().get::<LocalAddress>().map(|LocalAddress(address)| *address);
    let reached = local_address.map(|address| address.ip().to_canonical());
    if feedsync_http::is_loopback(&host)
        || reached.is_some_and(|reached| bare.parse() == Ok(reached))
    {
        return Ok(host);
    }
    Err(Problem::new(
        StatusCode::MISDIRECTED_REQUEST,
        "foreign-host",
        "Unknown host",
        format!("the control port does not accept requests for the host {host}: use its address"),
    ))
}

fn origin(
    control: &Control,
    method: &Method,
    headers: &HeaderMap,
    host: &Authority,
) -> Result<RequestSource, Problem> {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let named = match (origins.next(), origins.next()) {
        (None, _) => None,
        (Some(origin), None) => Some(origin.to_str().unwrap_or_default()),
        (Some(_), Some(_)) => {
            return Err(Problem::bad_request("the request has more than one Origin header"));
        }
    };
    if let Some(named) = named {
        if named.eq_ignore_ascii_case(&format!("http://{host}")) {
            return Ok(RequestSource::Here);
        }
        let allowed = control.0.origins.iter().find(|allowed| allowed.origin() == named);
        return allowed
            .cloned()
            .map(RequestSource::Allowed)
            .ok_or_else(|| foreign(&format!("{named:?}")));
    }
    if is_from_other_site(method, headers) {
        return Err(foreign("other sites"));
    }
    Ok(RequestSource::Here)
}

fn foreign(who: &str) -> Problem {
    Problem::new(
        StatusCode::FORBIDDEN,
        "foreign-origin",
        "Request from another origin",
        format!(
            "pages of {who} may not control this gateway: allow an origin with --allow-origin, as in \
             --allow-origin https://app.example.org"
        ),
    )
}

/// Identifies a program by its token or a person by a session.
fn known(control: &Control, request: &Request, is_page: bool) -> Result<Caller, Problem> {
    let headers = request.headers();
    if let Some(given) = headers.get(header::AUTHORIZATION) {
        let token = given.to_str().ok().and_then(|text| {
            let (scheme, token) = text.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
        });
        return match token {
            Some(token) if control.0.token.is(token) => Ok(Caller::Program),
            _ => Err(unknown("the token does not belong to this gateway")),
        };
    }
    let Some(session) = control.0.sessions.of(headers) else {
        return Err(unknown(
            "a program must send the token from the file control.token in the data directory of \
             the gateway; a browser gets access with the link that `feedsync gateway open` prints",
        ));
    };
    let is_ours = headers.contains_key(header::ORIGIN)
        || headers.get(&SITE).is_some_and(|site| site == "same-origin");
    if request.method().is_safe() || (is_page && is_ours) {
        return Ok(Caller::Person(session));
    }
    Err(Problem::new(
        StatusCode::FORBIDDEN,
        "foreign-form",
        "Not a form of this gateway",
        "a browser can make changes only with the forms of the gateway's own pages; programs must \
         use the token",
    ))
}

fn unknown(detail: &str) -> Problem {
    let challenge = HeaderValue::from_static("Bearer realm=\"feedsync gateway\"");
    Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", "Sign-in required", detail)
        .header(header::WWW_AUTHENTICATE, challenge)
}

fn page(origin: &Location, request: &Request) -> Caller {
    let pairs = request.uri().query().unwrap_or_default().split('&');
    let instance = pairs.filter_map(|pair| pair.strip_prefix("page=")).next().unwrap_or_default();
    let is_name = instance.len() <= MAX_INSTANCE_DIGITS
        && instance.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let instance = if is_name { instance.to_owned() } else { String::new() };
    let mut headers = request.headers().clone();
    programs::strip(&mut headers);
    Caller::Page(Page { origin: origin.clone(), instance, headers })
}

fn is_preflight(request: &Request) -> bool {
    request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

fn preflight(requested: &HeaderMap) -> Response {
    let mut answer = answer::nothing();
    let [asks, allows] = PRIVATE_NETWORK;
    if requested.get(asks).is_some_and(|value| value == "true") {
        answer.headers_mut().insert(allows, HeaderValue::from_static("true"));
    }
    let fixed = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PUT, PATCH, DELETE"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "authorization, content-type"),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    for (name, value) in fixed {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

/// Lets pages of one origin read a response (CORS).
fn share(headers: &mut HeaderMap, origin: &Location) {
    if let Ok(origin) = HeaderValue::from_str(origin.origin()) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    }
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    let exposed = HeaderValue::from_static("Location");
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
}
