//! Quotas of users: the collections, databases, documents and bytes that each may own.

use feedsync_couch::DatabaseName;
use feedsync_endpoint::bridge::BridgeStatus;
use feedsync_store::{CollectionName, GrantFilter, Role, Usage, UserId, UserName};

use crate::access::Principal;
use crate::http::problem::Problem;
use crate::hub::Hub;

/// Refuses to create a collection for a user who owns the maximum number. Concurrent requests through several
/// nodes may create one more for each node.
pub(crate) async fn collections(hub: &Hub, principal: &Principal) -> Result<(), Problem> {
    let most = hub.config.limits.owned_collections;
    let Some(user) = bounded(principal).filter(|_| most > 0) else { return Ok(()) };
    let grants = hub.endpoint.grants(GrantFilter::User(user)).await?;
    let owned = grants.iter().filter(|grant| grant.role == Role::Owner).count();
    if owned < most {
        return Ok(());
    }
    let detail =
        format!("{user} owns {owned} collections, and the limit is {most}; nothing was created");
    Err(Problem::quota("owned_collections", detail))
}

/// Refuses to create a database for a user who created the maximum number. Concurrent requests through
/// several nodes may create one more for each node.
pub(crate) async fn databases(hub: &Hub, principal: &Principal) -> Result<(), Problem> {
    let most = hub.config.limits.owned_databases as u64;
    let Some(reader) = bounded(principal).and(principal.reader()).filter(|_| most > 0) else {
        return Ok(());
    };
    let Usage { databases, .. } = hub.endpoint.usage(&reader.id).await?;
    if databases < most {
        return Ok(());
    }
    let user = reader.name;
    let detail =
        format!("{user} has {databases} databases, and the limit is {most}; nothing was created");
    Err(Problem::quota("owned_databases", detail))
}

/// Refuses to add so many documents and bytes to a database if that exceeds the quota of the user to whom it
/// is charged. A write that adds neither is never refused.
pub(crate) async fn documents(
    hub: &Hub,
    database: &DatabaseName,
    documents: u64,
    bytes: u64,
) -> Result<(), Problem> {
    if documents == 0 && bytes == 0 {
        return Ok(());
    }
    let Some(usage) = usage(hub, charged(hub, database).await?).await? else { return Ok(()) };
    let most = hub.config.limits.owned_documents as u64;
    if most > 0 && documents > 0 && usage.documents + documents > most {
        let detail = format!(
            "the owner of {database} has {} documents, and the limit is {most}; nothing was stored",
            usage.documents
        );
        return Err(Problem::quota("owned_documents", detail));
    }
    room(hub, &usage, bytes, database.as_str())
}

/// Refuses to add so many bytes to a log if that exceeds the quota of the user to whom its collection is
/// charged.
pub(crate) async fn log(hub: &Hub, name: &CollectionName, bytes: u64) -> Result<(), Problem> {
    let charged = hub.endpoint.collection_charged_to(name).await?;
    match usage(hub, charged).await? {
        Some(usage) => room(hub, &usage, bytes, name.as_str()),
        None => Ok(()),
    }
}

/// Refuses a new log of so many bytes, for which the request also creates the collection, if it exceeds the
/// quota of the principal.
pub(crate) async fn new_log(hub: &Hub, principal: &Principal, bytes: u64) -> Result<(), Problem> {
    match usage(hub, principal.reader().map(|reader| reader.id)).await? {
        Some(usage) => room(hub, &usage, bytes, "the new log"),
        None => Ok(()),
    }
}

/// Number of bytes that the items of a collection may grow by. `None` if no quota applies.
pub(crate) async fn growth(hub: &Hub, name: &CollectionName) -> Result<Option<u64>, Problem> {
    let most = hub.config.limits.owned_bytes as u64;
    let charged = hub.endpoint.collection_charged_to(name).await?;
    Ok(usage(hub, charged).await?.map(|usage| most.saturating_sub(usage.bytes())))
}

/// The user to whom a database is charged: its creator, or that of its collection.
async fn charged(hub: &Hub, name: &DatabaseName) -> Result<Option<UserId>, Problem> {
    let databases = hub.endpoint.databases();
    // A database that was dropped meanwhile is not charged: the write itself reports it.
    let Some(database) = databases.database(name).await? else { return Ok(None) };
    match hub.endpoint.bridge_status(&database).await? {
        BridgeStatus::Collection(collection) => {
            Ok(hub.endpoint.collection_charged_to(&collection).await?)
        }
        BridgeStatus::Nothing | BridgeStatus::Closed => Ok(databases.charged(name).await?),
    }
}

/// Bytes and documents that a user holds. `None` if no quota applies: there is no such user, or the user is
/// an administrator.
async fn usage(hub: &Hub, user: Option<UserId>) -> Result<Option<Usage>, Problem> {
    let Some(user) = user else { return Ok(None) };
    let usage = hub.endpoint.usage(&user).await?;
    Ok(Some(usage).filter(|usage| !usage.administers))
}

fn room(hub: &Hub, usage: &Usage, bytes: u64, place: &str) -> Result<(), Problem> {
    let most = hub.config.limits.owned_bytes as u64;
    let held = usage.bytes();
    match bytes == 0 || held.saturating_add(bytes) <= most {
        true => Ok(()),
        false => {
            let detail = format!(
                "the owner of {place} uses {held} bytes, and the limit is {most}; nothing was \
                 stored"
            );
            Err(Problem::quota("owned_bytes", detail))
        }
    }
}

/// The user to whom quotas apply. Administrators have none.
pub(crate) fn bounded(principal: &Principal) -> Option<&UserName> {
    principal.user().filter(|_| !principal.administers())
}
