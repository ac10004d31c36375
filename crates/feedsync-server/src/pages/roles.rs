//! `/pages/collections/{c}/people`: the roles of users in a collection, for its owners.

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use feedsync_endpoint::PeopleError;
use feedsync_store::{Collection, Grant, GrantFilter, Role, StoreError, UserName};
use http::StatusCode;

use crate::access::call::Call;
use crate::access::settings;
use crate::http::paths::collection_page;
use crate::http::problem::Problem;
use crate::hub::Hub;
use crate::pages::answer::{Frame, page, see_other, sentence};
use crate::pages::form::Form;

#[derive(Template)]
#[template(path = "roles.html")]
struct RolesPage {
    frame: Frame,
    title: String,
    collection_page: String,
    page: String,
    said: &'static str,
    public: bool,
    drafts: bool,
    rows: Vec<Row>,
    roles: [Role; 3],
    new: New,
}

struct Row {
    user: String,
    role: Role,
    /// Whether it is the current user.
    own: bool,
}

/// Input for a new role.
#[derive(Default)]
struct New {
    user: String,
    role: Option<Role>,
    error: String,
}

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let collection = call.collection(&hub).await?;
    shown(&hub, &call, &collection, New::default()).await
}

/// `POST`: grants or revokes a role.
pub(crate) async fn change(
    State(hub): State<Hub>,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let form = Form::read(&hub, &call, body).await?;
    let collection = call.collection(&hub).await?;
    let endpoint = call.endpoint(&hub);
    let given = form.text("user").trim();
    let refused = async |error: String| {
        let new = New { user: given.to_owned(), role: form.text("role").parse().ok(), error };
        shown(&hub, &call, &collection, new).await
    };
    let user = match UserName::new(given) {
        Ok(user) => user,
        Err(error) => return refused(sentence(error)).await,
    };
    let own = call.principal.user() == Some(&user) && !call.principal.administers();
    let (said, owns) = match form.text("action") {
        "grant" => {
            let role: Role =
                form.text("role").parse().map_err(|error: feedsync_store::RoleError| {
                    Problem::bad_request(error.to_string())
                })?;
            let grant = Grant { user, collection: collection.name.clone(), role };
            match endpoint.grant(grant).await {
                Ok(()) => ("granted", role == Role::Owner),
                Err(PeopleError::Store(error @ StoreError::NoUser(_))) => {
                    return refused(sentence(error)).await;
                }
                Err(error @ PeopleError::Private(_)) => return refused(sentence(error)).await,
                Err(error) => return Err(error.into()),
            }
        }
        "revoke" => {
            endpoint.revoke(&user, &collection.name).await?;
            ("revoked", false)
        }
        _ => return Err(Problem::bad_request("the form has no such action")),
    };
    let root = call.base.path();
    // A user who gave up ownership may see no more than other users.
    see_other(&match own && !owns {
        true => format!("{root}/"),
        false => format!("{}?said={said}", address(root, &collection)),
    })
}

fn address(root: &str, collection: &Collection) -> String {
    format!("{}/people", collection_page(root, &collection.name))
}

async fn shown(
    hub: &Hub,
    call: &Call,
    collection: &Collection,
    new: New,
) -> Result<Response, Problem> {
    let permit = hub.response_budget.permit().await?;
    let grants = hub.endpoint.grants(GrantFilter::Collection(&collection.name)).await?;
    let row = |grant: Grant| Row {
        own: call.principal.user() == Some(&grant.user),
        user: grant.user.to_string(),
        role: grant.role,
    };
    let settings = settings(collection)?;
    let frame = Frame::of(hub, call).await?;
    let status = match new.error.is_empty() {
        true => StatusCode::OK,
        false => StatusCode::UNPROCESSABLE_ENTITY,
    };
    let shown = RolesPage {
        title: collection.title.clone(),
        collection_page: collection_page(&frame.root, &collection.name),
        page: address(&frame.root, collection),
        said: match call.query.text("said").unwrap_or_default() {
            "granted" => "The role was saved.",
            "revoked" => "The role was removed.",
            _ => "",
        },
        public: settings.public,
        drafts: settings.drafts,
        rows: grants.into_iter().map(row).collect(),
        roles: Role::ALL,
        new,
        frame,
    };
    page(permit, call, status, move || shown).await
}
