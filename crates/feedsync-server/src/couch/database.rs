//! A database as a whole: creation, deletion and information (section 4).

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use feedsync_couch::{
    DEFAULT_SECURITY, DatabaseName, DocumentId, RefusalKind, Resource, Revision, Security,
    Submission, integer, quoted, requested_revisions,
};
use feedsync_endpoint::bridge::names_collection;
use feedsync_endpoint::documents::{Edits, purge_documents, sequence};
use feedsync_endpoint::{is_name_allowed, is_reserved};
use feedsync_store::{
    CollectionName, Database, DatabaseChange, Dropped, HISTORY_SECONDS, History, NewDatabase,
    REVISIONS_KEPT, Role,
};
use http::{Method, StatusCode};

use super::rights::initial_security;
use super::server::new_id;
use super::{
    CouchRequest, Failure, compacting, document, done, json, local, node, user_databases, users,
};
use crate::access::databases::Need;
use crate::access::{Principal, quotas};
use crate::hub::Hub;

pub(super) async fn answer(
    asked: &CouchRequest,
    name: DatabaseName,
    body: Body,
) -> Result<Response, Failure> {
    let known = [Method::GET, Method::PUT, Method::DELETE, Method::POST];
    match *asked.method_of(&known)? {
        Method::PUT => create(asked, &name).await,
        Method::DELETE => drop_it(asked, &name).await,
        Method::POST => {
            let database = asked.database(&name, Need::Use).await?;
            let (_permit, sent) = asked.json(body).await?;
            asked.recheck(&database, Need::Use).await?;
            if let Some(id) = local::LocalSubmission::names(sent.root())? {
                let sent = local::LocalSubmission::read(id.clone(), sent.root(), None)?;
                let revision = sent.write_within_quota(asked, &database).await?;
                let text = format!("{{{}}}\n", local::done(&id, revision));
                return Ok(json(StatusCode::CREATED, text));
            }
            let sent = Submission::read(sent.root())?;
            let id = sent.id.clone();
            let id = id.map_or_else(|| new_id(asked).parse::<DocumentId>(), Ok)?;
            let done =
                document::written(asked, &database, id, sent, BTreeMap::new(), Edits::New).await?;
            Ok(document::created(asked, &name, &done))
        }
        _ => {
            let database = asked.database(&name, Need::Use).await?;
            Ok(json(StatusCode::OK, info(asked, &database)))
        }
    }
}

/// Creates a database for the principal.
async fn create(asked: &CouchRequest, name: &DatabaseName) -> Result<Response, Failure> {
    asked.check_may_create(name)?;
    if name.as_str() == DatabaseName::REPLICATOR {
        asked.check_administers_server()?;
    }
    let is_partitioned = asked.parameters.flag("partitioned")?;
    if is_partitioned && asked.databases.database(name).await?.is_none() {
        let reason = "Partitioned databases are not supported here.";
        return Err(RefusalKind::NotImplemented.with_reason(reason).into());
    }
    let history = match asked.is_own_vault(name) {
        true => History::Kept { seconds: HISTORY_SECONDS },
        false => History::Off,
    };
    create_for(&asked.hub, &asked.principal, name, history).await?;
    Ok(asked.located(done(StatusCode::CREATED), &Resource::path_of_database(name)))
}

/// Creates a database for a principal that may create databases. Refuses a name that is taken.
pub(super) async fn create_for(
    hub: &Hub,
    principal: &Principal,
    name: &DatabaseName,
    history: History,
) -> Result<(), Failure> {
    let databases = hub.endpoint.databases();
    // Serializes counting and creating on this node.
    let _permit = hub.collections.lock().await;
    // The response is the same as for a private database of that name.
    let is_free = is_free(hub, principal, name).await?;
    if is_free && databases.database(name).await?.is_none() {
        quotas::databases(hub, principal).await?;
    }
    let security = initial_security(name, principal);
    let reader = quotas::bounded(principal).and(principal.reader());
    let owner = reader.map(|reader| reader.id.clone());
    let new = NewDatabase { security, history, owner };
    if !is_free || databases.create_database(name, new).await?.is_none() {
        let reason = "The database could not be created, the file already exists.";
        return Err(RefusalKind::FileExists.with_reason(reason).into());
    }
    Ok(())
}

/// Whether the principal may create a database of this name. A name that the hub reserves, or that a
/// collection has, is for its owner: other users cannot prevent a collection from being opened as a database.
async fn is_free(hub: &Hub, principal: &Principal, name: &DatabaseName) -> Result<bool, Failure> {
    // The database of users is there, even before its first use.
    let is_of_another = user_databases::is_of_another(hub, principal, name);
    if name.as_str() == DatabaseName::USERS || is_of_another || Dropped::is_kept_name(name) {
        return Ok(false);
    }
    let Ok(name) = CollectionName::new(name.as_str()) else {
        return Ok(!is_reserved(name.as_str()));
    };
    let owns = principal.role(&name) == Some(Role::Owner);
    Ok(is_name_allowed(&name, principal.user())
        && (owns || hub.endpoint.find_collection(&name).await?.is_none()))
}

async fn drop_it(asked: &CouchRequest, name: &DatabaseName) -> Result<Response, Failure> {
    if asked.parameters.text("rev").is_some() {
        let reason = "You tried to DELETE a database with a ?rev= parameter. Did you mean to DELETE a document instead?";
        return Err(RefusalKind::BadRequest.with_reason(reason).into());
    }
    let database = asked.alone(name, "remove the collection instead").await?;
    users::check_droppable(name)?;
    let user = asked.principal.user().map(|user| user.as_str().into());
    asked.hub.endpoint.drop_database(&database, user).await?;
    sweep(asked);
    Ok(done(StatusCode::OK))
}

/// Deletes the content of dropped databases in the background, in pieces. What remains when the hub stops is
/// deleted later.
pub(super) fn sweep(asked: &CouchRequest) {
    let databases = Arc::clone(&asked.databases);
    tokio::spawn(async move { while let Ok(true) = databases.sweep_databases().await {} });
}

/// Information about a database, as JSON.
pub(super) fn info(asked: &CouchRequest, database: &Database) -> String {
    let Database { name, last, documents, deleted, purges, bytes, superseded, .. } = database;
    let active = bytes - superseded;
    let is_compacted = asked.hub.compacting.is_running(name);
    format!(
        "{{\"db_name\":{},\"doc_count\":{documents},\"doc_del_count\":{deleted},\"update_seq\":\"{}\",\
         \"purge_seq\":\"{purges}-{}\",\"compact_running\":{is_compacted},\"sizes\":{{\"active\":{active},\
         \"external\":{active},\"file\":{bytes}}},\"disk_format_version\":8,\"instance_start_time\":\"{}\",\
         \"props\":{{}},\"cluster\":{{\"q\":1,\"n\":1,\"w\":1,\"r\":1}}}}\n",
        quoted(name.as_str()),
        sequence::text(database, *last),
        database.epoch,
        start_time(database),
    )
}

/// One second in microseconds.
const SECOND: u64 = 1_000_000;

/// Start time of the database. It stays the same for one database (CG1) and changes when the database is
/// restored. It is the creation time, with the incarnation in the digits below a second.
fn start_time(database: &Database) -> u64 {
    let life = database
        .epoch
        .to_string()
        .bytes()
        .fold(0, |life: u64, byte| life.wrapping_mul(31).wrapping_add(byte.into()));
    database.created.micros() / SECOND * SECOND + life % SECOND
}

/// Handles requests about a database as a whole.
pub(super) async fn part(
    asked: &CouchRequest,
    name: &DatabaseName,
    part: &str,
    rest: &[String],
    body: Body,
) -> Result<Response, Failure> {
    let (get, put, post) = (Method::GET, Method::PUT, Method::POST);
    match (part, rest) {
        // Every acknowledged write is durable already.
        ("_ensure_full_commit", []) => {
            asked.method_of(&[post])?;
            let database = asked.database(name, Need::Use).await?;
            let text =
                format!("{{\"ok\":true,\"instance_start_time\":\"{}\"}}\n", start_time(&database));
            Ok(json(StatusCode::CREATED, text))
        }
        ("_compact", [] | [_]) => {
            asked.method_of(&[post])?;
            asked.database(name, Need::Administer).await?;
            compacting::begin(asked, name).await
        }
        ("_view_cleanup", []) => {
            asked.method_of(&[post])?;
            asked.database(name, Need::Administer).await?;
            Ok(done(StatusCode::ACCEPTED))
        }
        // A database is one shard on one node.
        ("_shards", []) => {
            asked.method_of(&[get])?;
            asked.database(name, Need::Use).await?;
            let node = quoted(node::NAME);
            Ok(json(StatusCode::OK, format!("{{\"shards\":{{\"{SHARD}\":[{node}]}}}}\n")))
        }
        ("_shards", [_, ..]) => {
            asked.method_of(&[get])?;
            asked.database(name, Need::Use).await?;
            let node = quoted(node::NAME);
            let text = format!("{{\"range\":\"{SHARD}\",\"nodes\":[{node}]}}\n");
            Ok(json(StatusCode::OK, text))
        }
        ("_sync_shards", []) => {
            asked.method_of(&[post])?;
            asked.database(name, Need::Administer).await?;
            Ok(done(StatusCode::ACCEPTED))
        }
        ("_revs_limit", []) => match *asked.method_of(&[get, put.clone()])? {
            Method::PUT => {
                let database = asked.database(name, Need::Administer).await?;
                let (_permit, sent) = asked.any_json(body).await?;
                asked.recheck(&database, Need::Administer).await?;
                let kept = integer(sent.root()).filter(|kept| (1..=100_000).contains(kept));
                let kept = kept.ok_or_else(|| {
                    RefusalKind::BadRequest.with_reason("`rev_limit` must be a positive integer")
                })?;
                if kept < REVISIONS_KEPT {
                    // The ancestors of a revision distinguish versions of an item from conflicts.
                    asked.alone(name, &format!("set at least {REVISIONS_KEPT} revisions")).await?;
                }
                let change =
                    DatabaseChange { revisions_kept: Some(kept), ..DatabaseChange::default() };
                asked.databases.change_database(name, database.epoch, change).await?;
                Ok(done(StatusCode::OK))
            }
            _ => {
                let database = asked.database(name, Need::Use).await?;
                Ok(json(StatusCode::OK, format!("{}\n", database.revisions_kept)))
            }
        },
        ("_security", []) => match *asked.method_of(&[get, put])? {
            Method::PUT => {
                let what = "change the roles of the collection instead";
                let database = asked.alone(name, what).await?;
                if name.is_system() {
                    let reason = format!("{name} is for administrators of the hub");
                    return Err(RefusalKind::Forbidden.with_reason(reason).into());
                }
                let (_permit, sent) = asked.any_json(body).await?;
                asked.recheck(&database, Need::Administer).await?;
                asked.alone(name, what).await?;
                if names_collection(&sent) {
                    let reason =
                        "only the setting `documents` of a collection can connect it to a database";
                    return Err(RefusalKind::BadRequest.with_reason(reason).into());
                }
                let security = sent.root();
                if security.kind() != feedsync_formats::json::Kind::Object {
                    let reason = "Request body must be a JSON object";
                    return Err(RefusalKind::BadRequest.with_reason(reason).into());
                }
                Security::read(security)?;
                let replaced = database.security.as_ref().map_or(0, String::len);
                let more = security.raw().len().saturating_sub(replaced) as u64;
                quotas::documents(&asked.hub, name, 0, more).await?;
                let security = Some(security.raw().to_owned());
                let change = DatabaseChange { security, ..DatabaseChange::default() };
                asked.databases.change_database(name, database.epoch, change).await?;
                Ok(done(StatusCode::OK))
            }
            _ => {
                let database = asked.database(name, Need::Use).await?;
                let security = database.security.unwrap_or_else(|| DEFAULT_SECURITY.to_owned());
                Ok(json(StatusCode::OK, format!("{security}\n")))
            }
        },
        ("_purge", []) => {
            asked.method_of(&[post])?;
            let database = asked.alone(name, PURGE_THERE).await?;
            purge(asked, &database, body).await
        }
        // Purged revisions are not recorded.
        ("_purged_infos", []) => {
            asked.method_of(&[get])?;
            asked.database(name, Need::Use).await?;
            Ok(json(StatusCode::OK, "{\"purged_infos\":[]}\n"))
        }
        ("_purged_infos_limit", []) => {
            asked.method_of(&[get])?;
            asked.database(name, Need::Use).await?;
            Ok(json(StatusCode::OK, format!("{PURGED_INFOS_LIMIT}\n")))
        }
        ("_temp_view", []) => {
            asked.method_of(&[post])?;
            asked.database(name, Need::Use).await?;
            let reason = "Temporary views are not supported in CouchDB";
            Err(RefusalKind::Gone.with_reason(reason).into())
        }
        ("_search" | "_partition", _) => {
            asked.database(name, Need::Use).await?;
            let rest = rest.iter().map(|rest| format!("/{rest}")).collect::<String>();
            let reason = format!("{part}{rest} is not supported here");
            Err(RefusalKind::NotImplemented.with_reason(reason).into())
        }
        _ => {
            asked.database(name, Need::Use).await?;
            let reason = "Only reserved document ids may start with underscore.";
            Err(RefusalKind::IllegalDocumentId.with_reason(reason).into())
        }
    }
}

/// CouchDB's default number of purges that a database records.
const PURGED_INFOS_LIMIT: u32 = 1_000;

/// Range of the only shard.
const SHARD: &str = "00000000-ffffffff";

/// Advice for a database that mirrors a collection.
const PURGE_THERE: &str = "purge the items of the collection instead";

/// Purges leaves.
async fn purge(asked: &CouchRequest, database: &Database, body: Body) -> Result<Response, Failure> {
    let (_permit, sent) = asked.json(body).await?;
    asked.recheck(database, Need::Administer).await?;
    asked.alone(&database.name, PURGE_THERE).await?;
    // A document may be named several times.
    let mut named: BTreeMap<DocumentId, Vec<Revision>> = BTreeMap::new();
    for (id, revisions) in requested_revisions(sent.root())? {
        named.entry(id.parse()?).or_default().extend(revisions);
    }
    let purged = purge_documents(&*asked.databases, database, named).await?;
    let purged: Vec<String> = purged
        .iter()
        .map(|(id, revisions)| {
            let revisions: Vec<String> =
                revisions.iter().map(|it| quoted(&it.to_string())).collect();
            format!("{}:[{}]", quoted(id.as_str()), revisions.join(","))
        })
        .collect();
    let text = format!("{{\"purge_seq\":null,\"purged\":{{{}}}}}\n", purged.join(","));
    Ok(json(StatusCode::CREATED, text))
}
