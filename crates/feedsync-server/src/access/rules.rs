//! What each right of the route table demands, and how a refusal is told (AH29).
//!
//! Who has not signed in is asked to (401), also where nothing is, so that the answer tells nothing.
//! Who signed in and may not read a collection learns no more than of one that does not exist (404);
//! who may read it learns that the rest is not allowed (403).

use feedsync_endpoint::{Settings, may_be_named};
use feedsync_store::{Collection, CollectionName, Role, StoreError};
use http::{HeaderValue, StatusCode, header};

use super::Principal;
use crate::hub::Hub;
use crate::preconditions::settings;
use crate::problem::Problem;
use crate::routes::Right;

/// Refuses what a right does not allow in a collection, if the path names one. Gives the collection,
/// where it was read for that.
pub(crate) async fn require(
    hub: &Hub,
    principal: &Principal,
    right: Right,
    collection: Option<&CollectionName>,
) -> Result<Option<Collection>, Problem> {
    let signed_in = !matches!(principal, Principal::Anonymous);
    let allowed = match (right, collection) {
        (Right::Public | Right::Resource, _) => true,
        (Right::SignedIn, _) => signed_in,
        (Right::Account, _) => principal.is_unbounded(),
        (Right::Administer, _) => principal.administers(),
        (Right::Read, Some(name)) => {
            return in_collection(hub, principal, name, Role::Reader).await;
        }
        (Right::Edit, Some(name)) => {
            return in_collection(hub, principal, name, Role::Editor).await;
        }
        (Right::Own, Some(name)) => return in_collection(hub, principal, name, Role::Owner).await,
        (Right::Follow, Some(name)) => return follow(hub, principal, name).await,
        (Right::Create, Some(name)) => {
            principal.role(name) == Some(Role::Owner) || may_make(hub, principal, name).await?
        }
        (Right::Append, Some(name)) => {
            let edits = principal.role(name) >= Some(Role::Editor);
            if edits || !may_make(hub, principal, name).await? {
                return in_collection(hub, principal, name, Role::Editor).await;
            }
            true
        }
        (Right::Create, None) => principal.may_create(),
        // A path without a name that a collection may have: there is nothing to own or read.
        (Right::Read | Right::Follow | Right::Edit | Right::Append | Right::Own, None) => {
            return if signed_in { Ok(None) } else { Err(sign_in()) };
        }
    };
    match (allowed, signed_in) {
        (true, _) => Ok(None),
        (false, false) => Err(sign_in()),
        (false, true) => Err(forbidden()),
    }
}

/// Whether somebody may make a collection of this name. The refusal is the same for a name that is reserved and one
/// that a private collection has.
async fn may_make(
    hub: &Hub,
    principal: &Principal,
    name: &CollectionName,
) -> Result<bool, Problem> {
    Ok(principal.may_create()
        && may_be_named(name, principal.user())
        && hub.endpoint.store().collection(name).await?.is_none())
}

/// Whether somebody may read a collection.
pub(crate) fn may_read(principal: &Principal, collection: &Collection) -> Result<bool, Problem> {
    Ok(principal.role(&collection.name).is_some() || settings(collection)?.public)
}

/// Not signed in, or by nothing that counts.
pub(crate) fn sign_in() -> Problem {
    let detail = "sign in with the name and password of a user, or with a token";
    Problem::new(StatusCode::UNAUTHORIZED, "sign-in", "Not signed in", detail)
        .header(
            header::WWW_AUTHENTICATE,
            HeaderValue::from_static("Basic realm=\"feedsync\", charset=\"UTF-8\""),
        )
        .header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"feedsync\""))
}

/// Signed in, and still not allowed.
pub(crate) fn forbidden() -> Problem {
    let detail = "who signed in may not do this here";
    Problem::new(StatusCode::FORBIDDEN, "forbidden", "Not allowed", detail)
}

async fn in_collection(
    hub: &Hub,
    principal: &Principal,
    name: &CollectionName,
    least: Role,
) -> Result<Option<Collection>, Problem> {
    let role = principal.role(name);
    if role >= Some(least) {
        return Ok(None);
    }
    let public = match role {
        None => found(hub, name).await?.filter(|(_, settings)| settings.public),
        Some(_) => None,
    };
    let readable = role.is_some() || public.is_some();
    match (principal, readable) {
        (_, true) if least == Role::Reader => Ok(public.map(|(collection, _)| collection)),
        (Principal::Anonymous, _) => Err(sign_in()),
        (_, true) => Err(forbidden()),
        (_, false) => Err(hidden(name)),
    }
}

/// Whether somebody may follow a collection of these settings: its FeedSync feed holds drafts too, which
/// are for editors (RFC 5023 13.1.1).
pub(crate) fn may_follow(
    principal: &Principal,
    name: &CollectionName,
    settings: &Settings,
) -> bool {
    let role = principal.role(name);
    role >= Some(Role::Editor) || !settings.drafts && (role.is_some() || settings.public)
}

async fn follow(
    hub: &Hub,
    principal: &Principal,
    name: &CollectionName,
) -> Result<Option<Collection>, Problem> {
    let role = principal.role(name);
    if role >= Some(Role::Editor) {
        return Ok(None);
    }
    let found = found(hub, name).await?;
    match (principal, found) {
        (_, Some((collection, settings))) if may_follow(principal, name, &settings) => {
            Ok(Some(collection))
        }
        (Principal::Anonymous, _) => Err(sign_in()),
        (_, Some((_, settings))) if role.is_some() || settings.public => Err(forbidden()),
        _ => Err(hidden(name)),
    }
}

/// A collection, and what it is set to.
async fn found(
    hub: &Hub,
    name: &CollectionName,
) -> Result<Option<(Collection, Settings)>, Problem> {
    let Some(collection) = hub.endpoint.store().collection(name).await? else { return Ok(None) };
    let settings = settings(&collection)?;
    Ok(Some((collection, settings)))
}

fn hidden(name: &CollectionName) -> Problem {
    StoreError::NoCollection(name.clone()).into()
}
