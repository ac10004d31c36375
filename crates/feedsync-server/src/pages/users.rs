//! `/pages/users`: the users of the hub, for administrators. The first user closes the hub: from then on
//! everyone must sign in.

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use feedsync_endpoint::{Endpoint, NewUser, Password, PeopleError};
use feedsync_store::{StoreError, User, UserName};
use http::StatusCode;

use crate::access::Principal;
use crate::access::call::Call;
use crate::http::problem::Problem;
use crate::hub::Hub;
use crate::pages::answer::{Frame, Time, page, see_other, sentence};
use crate::pages::form::Form;
use crate::pages::return_target::ReturnTarget;

#[derive(Template)]
#[template(path = "users.html")]
struct UsersPage {
    frame: Frame,
    page: String,
    said: &'static str,
    rows: Vec<Row>,
    new: New,
    /// Name of a user, and an error message about them.
    fault: Option<(String, String)>,
}

struct Row {
    name: String,
    administrator: bool,
    databases_only: bool,
    disabled: bool,
    password: bool,
    created: Time,
    /// Whether it is the current user.
    own: bool,
}

/// Input for a new user.
#[derive(Default)]
struct New {
    name: String,
    administrator: bool,
    name_error: String,
    password_error: String,
}

/// Reason why a change was not made.
enum Fault {
    New(New),
    Of(String, String),
}

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    shown(&hub, &call, None).await
}

/// `POST`: adds or changes a user.
pub(crate) async fn change(
    State(hub): State<Hub>,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let form = Form::read(&hub, &call, body).await?;
    let endpoint = call.endpoint(&hub);
    let done = match form.text("action") {
        "add" => add(&endpoint, &form).await?,
        action => changed(&endpoint, action, &form).await?,
    };
    match done {
        Ok(said) => {
            let root = call.base.path();
            // The first user closes the hub, and administrators who remove themselves may no longer see
            // this page.
            let own = call.principal.user().is_some_and(|user| user.as_str() == form.text("name"));
            see_other(&match (&call.principal, said) {
                (Principal::Local, "added") => ReturnTarget::parse("/pages/users").login(root),
                (_, "removed" | "demoted" | "disabled") if own => format!("{root}/"),
                _ => format!("{root}/pages/users?said={said}"),
            })
        }
        Err(fault) => shown(&hub, &call, Some(fault)).await,
    }
}

async fn add(endpoint: &Endpoint, form: &Form) -> Result<Result<&'static str, Fault>, Problem> {
    let new = New {
        name: form.text("name").trim().to_owned(),
        administrator: form.has("administrator"),
        ..New::default()
    };
    let name = match UserName::new(&new.name) {
        Ok(name) => name,
        Err(error) => {
            return Ok(Err(Fault::New(New { name_error: sentence(error), ..new })));
        }
    };
    let password = match form.text("password") {
        "" => None,
        text => match Password::new(text) {
            Ok(password) => Some(password),
            Err(error) => {
                return Ok(Err(Fault::New(New { password_error: sentence(error), ..new })));
            }
        },
    };
    // The client that adds the first user must sign in afterwards.
    if password.is_none() && !endpoint.has_users().await? {
        let error = "The first user needs a password, because everybody has to sign in from then \
        on.";
        return Ok(Err(Fault::New(New { password_error: error.to_owned(), ..new })));
    }
    let administrator = new.administrator;
    match endpoint.add_user(NewUser { name, password, administrator, databases_only: false }).await
    {
        Ok(_) => Ok(Ok("added")),
        Err(
            error @ (PeopleError::NotAdministrator(_)
            | PeopleError::Store(StoreError::UserExists(_))),
        ) => Ok(Err(Fault::New(New { name_error: sentence(error), ..new }))),
        Err(error) => Err(error.into()),
    }
}

async fn changed(
    endpoint: &Endpoint,
    action: &str,
    form: &Form,
) -> Result<Result<&'static str, Fault>, Problem> {
    let name = UserName::new(form.text("name"))
        .map_err(|error| Problem::parameter("name", error.to_string()))?;
    let refused = |text: String| Ok(Err(Fault::Of(name.to_string(), text)));
    let (changed, said) = match action {
        "promote" => (endpoint.set_administrator(&name, true).await, "promoted"),
        "demote" => (endpoint.set_administrator(&name, false).await, "demoted"),
        "disable" => (endpoint.set_disabled(&name, true).await, "disabled"),
        "enable" => (endpoint.set_disabled(&name, false).await, "enabled"),
        "password" => match Password::new(form.text("password")) {
            Ok(password) => (endpoint.set_password(&name, Some(password)).await, "password"),
            Err(error) => return refused(sentence(error)),
        },
        "remove" if !form.has("sure") => {
            return refused("Tick the box beside the button to confirm.".to_owned());
        }
        "remove" => (endpoint.remove_user(&name).await, "removed"),
        _ => return Err(Problem::bad_request("the form has no such action")),
    };
    match changed {
        Ok(()) => Ok(Ok(said)),
        Err(PeopleError::Store(error @ StoreError::LastAdministrator(_))) => {
            refused(sentence(error))
        }
        Err(error) => Err(error.into()),
    }
}

async fn shown(hub: &Hub, call: &Call, fault: Option<Fault>) -> Result<Response, Problem> {
    let permit = hub.response_budget.permit().await?;
    let row = |user: User| Row {
        own: call.principal.user() == Some(&user.name),
        name: user.name.to_string(),
        administrator: user.administrator,
        databases_only: user.databases_only && !user.administrator,
        disabled: user.disabled,
        password: user.password.is_some(),
        created: Time::of(user.created),
    };
    let frame = Frame::of(hub, call).await?;
    let status = match &fault {
        None => StatusCode::OK,
        Some(_) => StatusCode::UNPROCESSABLE_ENTITY,
    };
    let (new, fault) = match fault {
        None => (New::default(), None),
        Some(Fault::New(new)) => (new, None),
        Some(Fault::Of(name, text)) => (New::default(), Some((name, text))),
    };
    let shown = UsersPage {
        page: format!("{}/pages/users", frame.root),
        said: match call.query.text("said").unwrap_or_default() {
            "added" => "The user was added.",
            "removed" => "The user was removed, with all roles and tokens.",
            "promoted" => "The user is now an administrator.",
            "demoted" => "The user is no longer an administrator.",
            "disabled" => "Sign-in is disabled for the user.",
            "enabled" => "Sign-in is enabled for the user.",
            "password" => "The password was changed. The browsers of the user are signed out.",
            _ => "",
        },
        rows: hub.endpoint.users().await?.into_iter().map(row).collect(),
        new,
        fault,
        frame,
    };
    page(permit, call, status, move || shown).await
}

impl Row {
    /// Error message about this user, if there is one.
    fn fault<'f>(&self, fault: &'f Option<(String, String)>) -> Option<&'f str> {
        fault.as_ref().filter(|(name, _)| *name == self.name).map(|(_, text)| &**text)
    }
}
