//! `/pages/account`: a user's password, the sessions of their browsers, and the tokens of their
//! programs.
//!
//! It needs a sign-in with all rights of the user: a restricted token cannot create an unrestricted one.
//! A new token is shown only in the response that creates it.

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use feedsync_endpoint::{NewToken, Password, PeopleError, Period, Person, label};
use feedsync_store::{Digest, Role, Scope, StoreError, Token, TokenKind};
use http::{HeaderValue, StatusCode, header};

use crate::access::call::Call;
use crate::access::{Principal, collection_name};
use crate::http::problem::Problem;
use crate::hub::Hub;
use crate::pages::answer::{Frame, Time, page, see_other, sentence};
use crate::pages::form::Form;

/// Maximum number of tokens of a user.
const MAX_TOKENS: usize = 500;

/// Roles that a new token may be restricted to, with their labels.
const ROLES: [(&str, &str); 5] = [
    ("", "all my permissions"),
    ("reader", "read only (reader)"),
    ("editor", "read and edit (editor)"),
    ("owner", "manage collections (owner)"),
    (FEVER, "newsreader with the Fever interface"),
];

/// Value of the form for a password of a Fever client instead of a token.
const FEVER: &str = "fever";

/// Lifetimes of a new token, with their labels.
const PERIODS: [(&str, &str); 5] = [
    ("7d", "7 days"),
    ("30d", "30 days"),
    ("90d", "90 days"),
    ("365d", "a year"),
    ("", "unlimited, until it is revoked"),
];

#[derive(Template)]
#[template(path = "account.html")]
struct AccountPage {
    frame: Frame,
    page: String,
    said: &'static str,
    sessions: Vec<Row>,
    tokens: Vec<Row>,
    collections: Vec<String>,
    roles: [(&'static str, &'static str); ROLES.len()],
    periods: [(&'static str, &'static str); 5],
    /// A new token, with its label.
    made: Option<(String, String)>,
    faults: Faults,
}

/// A session or a token.
struct Row {
    /// Its digest, which names it in a request to revoke it.
    digest: String,
    label: String,
    allows: String,
    created: Time,
    expires: Option<Time>,
    expired: bool,
    /// Whether this request was made with it.
    current: bool,
}

/// Error messages beside the fields.
#[derive(Default)]
struct Faults {
    current: String,
    new: String,
    again: String,
    label: String,
    token: String,
}

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    shown(&hub, &call, None, None).await
}

/// `POST`: changes the password, or creates or revokes a token.
pub(crate) async fn change(
    State(hub): State<Hub>,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let form = Form::read(&hub, &call, body).await?;
    let Principal::Person(person) = &call.principal else {
        return Err(Problem::bad_request(
            "this hub has no users, so there is no account to change",
        ));
    };
    let change = Change { hub: &hub, call: &call, person, form };
    match change.form.text("action") {
        "password" => change.password().await,
        "token" => change.token().await,
        "revoke" => change.revoke().await,
        _ => Err(Problem::bad_request("the form has no such action")),
    }
}

struct Change<'c> {
    hub: &'c Hub,
    call: &'c Call,
    person: &'c Person,
    form: Form,
}

impl Change<'_> {
    async fn password(&self) -> Result<Response, Problem> {
        let Self { hub, call, person, form } = self;
        let new = match Password::new(form.text("new")) {
            Ok(_) if form.text("new") != form.text("again") => {
                let again = "The passwords do not match.".to_owned();
                return self.refused(Faults { again, ..Faults::default() }).await;
            }
            Ok(new) => new,
            Err(error) => {
                return self.refused(Faults { new: sentence(error), ..Faults::default() }).await;
            }
        };
        let current = form.text("current");
        if hub.access.by_password(person.user(), current, call.from).await?.is_none() {
            let current = "Wrong password.".to_owned();
            return self.refused(Faults { current, ..Faults::default() }).await;
        }
        call.endpoint(hub).change_password(person, new).await?;
        self.done("password")
    }

    async fn token(&self) -> Result<Response, Problem> {
        let Self { hub, call, person, form } = self;
        let label = match label(form.text("label")) {
            Ok(label) => label,
            Err(error) => {
                let faults = Faults { label: sentence(error), ..Faults::default() };
                return self.refused(faults).await;
            }
        };
        if hub.endpoint.tokens(person.user()).await?.len() >= MAX_TOKENS {
            let token = format!("You have {MAX_TOKENS} tokens and sessions: revoke one first.");
            return self.refused(Faults { token, ..Faults::default() }).await;
        }
        let some = |name| Some(form.text(name)).filter(|text| !text.is_empty());
        let bad = |error: &dyn std::fmt::Display| Problem::bad_request(error.to_string());
        let is_fever = form.text("role") == FEVER;
        if is_fever && some("collection").is_some() {
            let token = "Fever newsreaders have no collections: choose all collections.".to_owned();
            return self.refused(Faults { token, ..Faults::default() }).await;
        }
        let role = some("role")
            .filter(|_| !is_fever)
            .map(str::parse::<Role>)
            .transpose()
            .map_err(|e| bad(&e))?;
        let period = some("expires").map(str::parse::<Period>).transpose().map_err(|e| bad(&e))?;
        let collection = match some("collection") {
            Some(name) => {
                let name = collection_name(name, &call.uri)?;
                let known = call.readable_collections(hub).await?;
                let known = known.into_iter().find(|collection| collection.name == name);
                Some(known.ok_or_else(|| StoreError::NoCollection(name))?.name)
            }
            None => None,
        };
        let expires = period.map(|period| period.after(hub.endpoint.environment().now()));
        let new = NewToken {
            user: person.user().clone(),
            kind: TokenKind::Access,
            label: label.clone(),
            scope: Scope { role, collection },
            expires,
        };
        let endpoint = call.endpoint(hub);
        let secret = if is_fever {
            endpoint.issue_fever_password(new).await?.0
        } else {
            endpoint.issue_token(new).await?.0.as_str().to_owned()
        };
        let made = Some((secret, label));
        let mut answer = shown(hub, call, made, None).await?;
        let headers = answer.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Ok(answer)
    }

    async fn revoke(&self) -> Result<Response, Problem> {
        let Self { hub, call, person, form } = self;
        let digest: Digest = form.text("token").parse().map_err(|_| StoreError::NoToken)?;
        match call.endpoint(hub).revoke_token(person.user(), digest).await {
            // A missing token has ended already.
            Ok(()) | Err(PeopleError::Store(StoreError::NoToken)) => {
                hub.access.forget();
                self.done("revoked")
            }
            Err(error) => Err(error.into()),
        }
    }

    fn done(&self, said: &str) -> Result<Response, Problem> {
        see_other(&format!("{}?said={said}", address(self.call)))
    }

    async fn refused(&self, faults: Faults) -> Result<Response, Problem> {
        shown(self.hub, self.call, None, Some(faults)).await
    }
}

fn address(call: &Call) -> String {
    format!("{}/pages/account", call.base.path())
}

async fn shown(
    hub: &Hub,
    call: &Call,
    made: Option<(String, String)>,
    faults: Option<Faults>,
) -> Result<Response, Problem> {
    let permit = hub.response_budget.permit().await?;
    let (tokens, current) = match &call.principal {
        Principal::Person(person) => (hub.endpoint.tokens(person.user()).await?, person.token()),
        _ => (Vec::new(), None),
    };
    let now = hub.endpoint.environment().now();
    let row = |token: &Token| Row {
        digest: token.digest.to_string(),
        label: token.label.clone(),
        allows: allows(&token.scope),
        created: Time::of(token.created),
        expires: token.expires.map(Time::of),
        expired: token.is_expired(now),
        current: current == Some(token.digest),
    };
    let of = |kind| tokens.iter().rev().filter(move |token| token.kind == kind).map(row);
    let status = match (&made, &faults) {
        (Some(_), _) => StatusCode::CREATED,
        (None, Some(_)) => StatusCode::UNPROCESSABLE_ENTITY,
        (None, None) => StatusCode::OK,
    };
    let shown = AccountPage {
        frame: Frame::of(hub, call).await?,
        page: address(call),
        said: match call.query.text("said").unwrap_or_default() {
            "password" => "Your password was changed. Your other browsers are signed out.",
            "revoked" => "The token or session was revoked.",
            _ => "",
        },
        // Expired sessions are of no use.
        sessions: of(TokenKind::Session).filter(|session| !session.expired).collect(),
        tokens: of(TokenKind::Access).collect(),
        collections: call
            .readable_collections(hub)
            .await?
            .iter()
            .map(|one| one.name.to_string())
            .collect(),
        roles: ROLES,
        periods: PERIODS,
        made,
        faults: faults.unwrap_or_default(),
    };
    page(permit, call, status, move || shown).await
}

fn allows(scope: &Scope) -> String {
    let role = scope.role.map_or("all your permissions", Role::name);
    match &scope.collection {
        Some(collection) => format!("{role}, in {collection}"),
        None => role.to_owned(),
    }
}
