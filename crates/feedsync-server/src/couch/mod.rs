//! `/couch/`: CouchDB's replication protocol, for replicators and applications that speak it.
//!
//! `feedsync_couch` parses addresses and requests; each file here handles one kind of resource. Errors are
//! sent in CouchDB's form, with `error` and `reason`, since clients depend on these members.

mod all_dbs;
mod all_docs;
mod attachments;
mod bulk;
mod bulk_get;
mod changes;
mod compacting;
pub(crate) mod compactions;
mod copy;
mod database;
pub(crate) mod database_updates;
mod design;
mod document;
pub(crate) mod failure;
mod find;
mod index;
pub(crate) mod index_builds;
mod index_edit;
pub(crate) mod known;
mod local;
mod node;
mod parts;
mod pieces;
mod queries;
mod replicate;
pub(crate) mod replications;
pub(crate) mod replicator;
mod request;
mod response;
mod rights;
pub(crate) mod root;
mod scheduler;
mod server;
mod session;
mod shared_runs;
mod shown_replications;
mod user_databases;
mod users;
mod view;
pub(crate) mod view_updates;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use feedsync_couch::{DatabaseName, Parameters, Resource};
use http::Method;

use failure::{Failure, no_database};
pub(crate) use request::COPY;
use request::{CouchRequest, MAX_INLINE_JSON_BYTES, run_blocking, run_inline};
use response::{done, json};
use users::UserAccess;

use crate::access::Principal;
use crate::access::call::Call;
use crate::http::paths::DATABASES;
use crate::http::problem::Problem;
use crate::hub::Hub;

pub(crate) async fn answer(
    State(hub): State<Hub>,
    method: Method,
    call: Call,
    body: Body,
) -> Response {
    carry_out(hub, method, call, body).await.unwrap_or_else(failure::respond)
}

async fn carry_out(hub: Hub, method: Method, call: Call, body: Body) -> Result<Response, Failure> {
    let path = call.uri.path().strip_prefix(DATABASES).unwrap_or_default();
    let resource = Resource::read(path)?;
    let is_for_all =
        matches!(&resource, Resource::Special(name, _) if name == "_up" || name == "_session");
    let user_access = UserAccess::of(&hub, &resource, &method, &call.principal);
    let is_anonymous = matches!(call.principal, Principal::Anonymous);
    if is_anonymous && !is_for_all && user_access == UserAccess::No {
        return Err(Problem::sign_in().into());
    }
    if let Some(name) = resource.database().filter(|name| name.is_system()) {
        users::check_supported(&hub, name)?;
    }
    let databases = hub.endpoint.databases();
    let parameters = Parameters::read(call.uri.query().unwrap_or_default());
    // The response to HEAD is that to GET without its body.
    let method = if method == Method::HEAD { Method::GET } else { method };
    let principal = call.principal.clone();
    let call = Arc::new(call);
    let asked = CouchRequest { hub, call, principal, method, parameters, databases, user_access };
    match resource {
        Resource::Server => server::welcome(&asked).await,
        Resource::Special(name, rest) => server::special(&asked, &name, &rest, body).await,
        Resource::Database(name) => database::answer(&asked, name, body).await,
        Resource::Of(name, part, rest) => of(asked, name, &part, &rest, body).await,
        Resource::Local(name, id) => local::answer(&asked, &name, &id, body).await,
        Resource::Document(name, id) => document::answer(&asked, &name, id, body).await,
        Resource::Attachment(name, id, attachment) => {
            attachments::answer(&asked, &name, id, &attachment, body).await
        }
    }
}

/// Handles a request to a resource of a database.
async fn of(
    asked: CouchRequest,
    name: DatabaseName,
    part: &str,
    rest: &[String],
    body: Body,
) -> Result<Response, Failure> {
    let is_there = rest.is_empty();
    match part {
        "_changes" if is_there => changes::answer(asked, name, body).await,
        "_all_docs" | "_design_docs" | "_local_docs" if is_there || rest == ["queries"] => {
            let listed = match part {
                "_all_docs" => all_docs::ListingKind::All,
                "_design_docs" => all_docs::ListingKind::Design,
                _ => all_docs::ListingKind::Local,
            };
            match is_there {
                true => all_docs::answer(&asked, &name, listed, body).await,
                false => all_docs::answer_queries(&asked, &name, listed, body).await,
            }
        }
        "_bulk_docs" if is_there => bulk::write(&asked, &name, body).await,
        "_bulk_get" if is_there => bulk_get::read(&asked, &name, body).await,
        "_revs_diff" if is_there => bulk::differences(&asked, &name, body).await,
        "_missing_revs" if is_there => bulk::missing(&asked, &name, body).await,
        "_find" if is_there => find::answer(&asked, &name, body).await,
        "_explain" if is_there => index::answer_explain(&asked, &name, body).await,
        "_view_cleanup" if is_there => view::clean_up(&asked, &name).await,
        "_index" => index::answer(&asked, &name, rest, body).await,
        _ => database::part(&asked, &name, part, rest, body).await,
    }
}
