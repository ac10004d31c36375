//! The permission check of each right in the route table, and the response to a refusal (AH29).
//!
//! A client that has not signed in gets 401, even where no resource exists, so that the response reveals
//! nothing. A signed-in client that may not read a collection gets 404, as for one that does not exist. One
//! that may read it gets 403 for other rights. A user of databases alone gets 403 everywhere else.

use feedsync_endpoint::{Endpoint, Settings, is_name_allowed};
use feedsync_store::{Collection, CollectionName, Role, StoreError};

use super::settings::settings;
use super::{Principal, Right};
use crate::http::problem::Problem;

/// Refuses a request without the right in the collection that the path names, if it names one. Returns the
/// collection if it was read for the check.
pub(crate) async fn require(
    endpoint: &Endpoint,
    principal: &Principal,
    right: Right,
    collection: Option<&CollectionName>,
) -> Result<Option<Collection>, Problem> {
    let signed_in = !matches!(principal, Principal::Anonymous);
    if principal.uses_databases_only() && !matches!(right, Right::Public | Right::Databases) {
        return Err(Problem::forbidden());
    }
    let allowed = match (right, collection) {
        (Right::Public | Right::Resource | Right::Databases, _) => true,
        (Right::SignedIn, _) => signed_in,
        (Right::Account, _) => principal.is_unbounded(),
        (Right::Administer, _) => principal.administers(),
        (Right::Read, Some(name)) => {
            return in_collection(endpoint, principal, name, Role::Reader).await;
        }
        (Right::Edit, Some(name)) => {
            return in_collection(endpoint, principal, name, Role::Editor).await;
        }
        (Right::Own, Some(name)) => {
            return in_collection(endpoint, principal, name, Role::Owner).await;
        }
        (Right::Follow, Some(name)) => return follow(endpoint, principal, name).await,
        (Right::Create, Some(name)) => {
            principal.role(name) == Some(Role::Owner) || may_make(endpoint, principal, name).await?
        }
        (Right::Append, Some(name)) => {
            let edits = principal.role(name) >= Some(Role::Editor);
            if edits || !may_make(endpoint, principal, name).await? {
                return in_collection(endpoint, principal, name, Role::Editor).await;
            }
            true
        }
        (Right::Create, None) => principal.may_create(),
        // The path has no valid collection name, so nothing can be owned or read.
        (Right::Read | Right::Follow | Right::Edit | Right::Append | Right::Own, None) => {
            return if signed_in { Ok(None) } else { Err(Problem::sign_in()) };
        }
    };
    match (allowed, signed_in) {
        (true, _) => Ok(None),
        (false, false) => Err(Problem::sign_in()),
        (false, true) => Err(Problem::forbidden()),
    }
}

/// Whether the principal may create a collection of this name. The refusal is the same for a reserved name
/// and for the name of a private collection.
async fn may_make(
    endpoint: &Endpoint,
    principal: &Principal,
    name: &CollectionName,
) -> Result<bool, Problem> {
    Ok(principal.may_create()
        && is_name_allowed(name, principal.user())
        && endpoint.find_collection(name).await?.is_none())
}

/// Whether the principal may read a collection.
pub(crate) fn may_read(principal: &Principal, collection: &Collection) -> Result<bool, Problem> {
    Ok(principal.role(&collection.name).is_some() || settings(collection)?.public)
}

async fn in_collection(
    endpoint: &Endpoint,
    principal: &Principal,
    name: &CollectionName,
    least: Role,
) -> Result<Option<Collection>, Problem> {
    let role = principal.role(name);
    if role >= Some(least) {
        return Ok(None);
    }
    let public = match role {
        None => found(endpoint, name).await?.filter(|(_, settings)| settings.public),
        Some(_) => None,
    };
    let readable = role.is_some() || public.is_some();
    match (principal, readable) {
        (_, true) if least == Role::Reader => Ok(public.map(|(collection, _)| collection)),
        (Principal::Anonymous, _) => Err(Problem::sign_in()),
        (_, true) => Err(Problem::forbidden()),
        (_, false) => Err(hidden(name)),
    }
}

/// Whether the principal may follow a collection with these settings. Its FeedSync feed contains drafts,
/// which only editors may read (RFC 5023 13.1.1).
pub(crate) fn may_follow(
    principal: &Principal,
    name: &CollectionName,
    settings: &Settings,
) -> bool {
    let role = principal.role(name);
    role >= Some(Role::Editor) || !settings.drafts && (role.is_some() || settings.public)
}

async fn follow(
    endpoint: &Endpoint,
    principal: &Principal,
    name: &CollectionName,
) -> Result<Option<Collection>, Problem> {
    let role = principal.role(name);
    if role >= Some(Role::Editor) {
        return Ok(None);
    }
    let found = found(endpoint, name).await?;
    match (principal, found) {
        (_, Some((collection, settings))) if may_follow(principal, name, &settings) => {
            Ok(Some(collection))
        }
        (Principal::Anonymous, _) => Err(Problem::sign_in()),
        (_, Some((_, settings))) if role.is_some() || settings.public => Err(Problem::forbidden()),
        _ => Err(hidden(name)),
    }
}

/// Returns a collection and its settings.
async fn found(
    endpoint: &Endpoint,
    name: &CollectionName,
) -> Result<Option<(Collection, Settings)>, Problem> {
    let Some(collection) = endpoint.find_collection(name).await? else { return Ok(None) };
    let settings = settings(&collection)?;
    Ok(Some((collection, settings)))
}

fn hidden(name: &CollectionName) -> Problem {
    StoreError::NoCollection(name.clone()).into()
}
