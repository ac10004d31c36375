//! `_replicate`: replications that administrators of the hub start and cancel.
//!
//! The hub sends requests to addresses that the client names, so no other user may do this. A replication is stopped
//! once the user who started it no longer administers the hub.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::body::Body;
use axum::response::Response;
use feedsync_couch::replicate::{ReplicateCommand, ReplicateRequest, ReplicationSide};
use feedsync_couch::replication::{UpdateSequence, replication_id};
use feedsync_couch::{Refusal, RefusalKind};
use feedsync_endpoint::documents::replication::{ReplicationJob, ReplicationOutcome, Replicator};
use feedsync_store::{History, Moment};
use http::{Method, StatusCode};
use serde_json::{Value, json as value};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::replications::{Description, RunningReplication};
use super::server::new_id;
use super::shown_replications::{sequence, shown};
use super::{CouchRequest, Failure, database, json};
use crate::access::Principal;
use crate::access::databases::author;
use crate::hub::Hub;

/// Interval between checks whether the user still administers the hub.
const RIGHTS_INTERVAL: Duration = Duration::from_secs(2);

/// Maximum wait for the checkpoint of a replication that is stopped.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) async fn answer(asked: &CouchRequest, body: Body) -> Result<Response, Failure> {
    asked.method_of(&[Method::POST])?;
    asked.check_administers_server()?;
    let Some(replicator) = asked.hub.replicator.clone() else {
        let reason = "_replicate is not supported here";
        return Err(RefusalKind::NotImplemented.with_reason(reason).into());
    };
    let command = {
        let (_permit, sent) = asked.json(body).await?;
        ReplicateCommand::parse(sent.root())?
    };
    asked.recheck_administers_server().await?;
    match command {
        ReplicateCommand::CancelId(id) => cancel(asked, &id).await,
        ReplicateCommand::Cancel(request) => {
            let running = describe(&asked.hub, &asked.principal, &*replicator, &request)?;
            cancel(asked, &running.id).await
        }
        ReplicateCommand::Begin(request) => begin(asked, replicator, request).await,
    }
}

async fn cancel(asked: &CouchRequest, id: &str) -> Result<Response, Failure> {
    let missing = || RefusalKind::NotFound.with_reason("there is no such replication");
    let running = asked.hub.replications.find(id).ok_or_else(missing)?;
    if let Some(document) = &running.description.document {
        let reason = format!("this replication ends with its document in _replicator: {document}");
        return Err(RefusalKind::Forbidden.with_reason(reason).into());
    }
    running.cancel().await;
    Ok(json(StatusCode::OK, format!("{}\n", value!({ "ok": true, "_local_id": id }))))
}

async fn begin(
    asked: &CouchRequest,
    replicator: Arc<dyn Replicator>,
    mut request: ReplicateRequest,
) -> Result<Response, Failure> {
    let (hub, principal) = (&asked.hub, &asked.principal);
    let description = describe(hub, principal, &*replicator, &request)?;
    open_sides(hub, principal, &mut request).await?;
    let (_, running) = start(hub, principal, replicator, request, description)?;
    if running.description.is_continuous {
        let text = value!({ "ok": true, "_local_id": running.description.id });
        return Ok(json(StatusCode::ACCEPTED, format!("{text}\n")));
    }
    let (started, progress) = (running.description.started, Arc::clone(&running.progress));
    let outcome = running.ended().await?;
    let has_changes = progress.now().examined > 0;
    let times = (started, hub.endpoint.environment().now());
    let text = report(&outcome, has_changes, &new_id(asked), times);
    Ok(json(StatusCode::OK, format!("{text}\n")))
}

/// Starts a replication whose databases are open, or joins the running one with the same id. Returns whether it was
/// started.
pub(super) fn start(
    hub: &Hub,
    principal: &Principal,
    replicator: Arc<dyn Replicator>,
    request: ReplicateRequest,
    description: Description,
) -> Result<(bool, RunningReplication), Refusal> {
    // Administrators of the hub administer all databases.
    let author = author(principal, true);
    let mut is_new = false;
    let running = hub.replications.begin(description, |running| {
        is_new = true;
        let (progress, stop) = (Arc::clone(&running.progress), running.stop.subscribe());
        let job = ReplicationJob { request, author, progress, stop };
        carry_out(hub.clone(), principal.clone(), replicator, job, running.clone())
    })?;
    Ok((is_new, running))
}

/// Describes a replication. Its id depends on the two databases and on the options that change the result, and not on
/// credentials.
pub(super) fn describe(
    hub: &Hub,
    principal: &Principal,
    replicator: &dyn Replicator,
    request: &ReplicateRequest,
) -> Result<Description, Refusal> {
    let (source, target) =
        (shown(replicator, &request.source)?, shown(replicator, &request.target)?);
    let since = request.since.as_ref().map(UpdateSequence::as_json);
    let options = value!([request.filter.identity(), since, request.uses_checkpoints]);
    let mut id = replication_id(&source, &target, &options.to_string());
    for (is_set, name) in
        [(request.is_continuous, "+continuous"), (request.creates_target, "+create_target")]
    {
        id.push_str(if is_set { name } else { "" });
    }
    Ok(Description {
        id,
        source,
        target,
        user: principal.user().map(|user| user.as_str().to_owned()),
        document: None,
        is_continuous: request.is_continuous,
        started: hub.endpoint.environment().now(),
    })
}

/// Checks that the databases of the hub exist, and creates the target if the request says so.
pub(super) async fn open_sides(
    hub: &Hub,
    principal: &Principal,
    request: &mut ReplicateRequest,
) -> Result<(), Failure> {
    open(hub, principal, &request.source, false).await?;
    open(hub, principal, &request.target, request.creates_target).await?;
    // A database of the hub was created here, with the rights of its creator.
    request.creates_target &= matches!(request.target, ReplicationSide::Remote(_));
    Ok(())
}

/// Checks that a database of the hub exists, or creates it.
async fn open(
    hub: &Hub,
    principal: &Principal,
    side: &ReplicationSide,
    creates: bool,
) -> Result<(), Failure> {
    let ReplicationSide::Local(name) = side else { return Ok(()) };
    let found = hub.endpoint.databases().database(name).await?;
    if found.as_ref().is_some_and(|found| found.dropped.is_none()) {
        return Ok(());
    }
    if creates {
        return database::create_for(hub, principal, name, History::Off).await;
    }
    let reason = format!("could not open {name}");
    Err(RefusalKind::DatabaseNotFound.with_reason(reason).into())
}

/// Replicates until the end, or until something stops the replication.
async fn carry_out(
    hub: Hub,
    principal: Principal,
    replicator: Arc<dyn Replicator>,
    job: ReplicationJob,
    running: RunningReplication,
) -> Result<ReplicationOutcome, Refusal> {
    let Description { id, source, target, is_continuous, .. } = &running.description;
    tracing::info!(id, source, target, is_continuous, "replication starts");
    let stop = job.stop.clone();
    let mut run = replicator.replicate(&hub.endpoint, job);
    let outcome = tokio::select! {
        outcome = &mut run => outcome,
        () = rights_end(&hub, &principal) => {
            Err(RefusalKind::Forbidden.with_reason("You are not a server admin any more."))
        }
        reason = stop_requested(stop, hub.stopping.clone()) => {
            running.stop.send_replace(true);
            // It writes a checkpoint. Without one, the next replication compares more documents.
            let _ = timeout(STOP_TIMEOUT, run).await;
            Err(RefusalKind::Unavailable.with_reason(reason))
        }
    };
    match &outcome {
        Err(refusal) if refusal.kind != RefusalKind::Unavailable => {
            let reason = &*refusal.reason;
            tracing::warn!(id, source, target, reason, "replication ended early");
        }
        _ => tracing::info!(id, "replication ended"),
    }
    outcome
}

/// Completes once the principal no longer administers the hub.
async fn rights_end(hub: &Hub, principal: &Principal) {
    loop {
        sleep(RIGHTS_INTERVAL).await;
        match hub.access.now(principal).await {
            Ok(Some(principal)) if principal.administers() => {}
            Ok(_) => return,
            // The store is away, and so are the databases.
            Err(_) => {}
        }
    }
}

/// Completes once the replication is cancelled or the hub stops; returns the reason.
async fn stop_requested(
    cancelled: watch::Receiver<bool>,
    stopping: watch::Receiver<bool>,
) -> &'static str {
    let becomes_true = async |mut receiver: watch::Receiver<bool>| {
        if receiver.wait_for(|value| *value).await.is_err() {
            // The sender was dropped, so it will never be true.
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = becomes_true(cancelled) => "the replication was cancelled",
        () = becomes_true(stopping) => "the hub stops",
    }
}

/// The response to a replication that has ended.
fn report(
    outcome: &ReplicationOutcome,
    has_changes: bool,
    session: &str,
    times: (Moment, Moment),
) -> Value {
    let date = |moment: Moment| {
        httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_micros(moment.micros()))
    };
    let (began_at, reached) = (sequence(&outcome.began_at), sequence(&outcome.reached));
    let stats = outcome.stats;
    let mut report = value!({
        "ok": true,
        "session_id": session,
        "source_last_seq": reached,
        "replication_id_version": 4,
        "history": [{
            "session_id": session,
            "start_time": date(times.0),
            "end_time": date(times.1),
            "start_last_seq": began_at,
            "end_last_seq": reached,
            "recorded_seq": reached,
            "missing_checked": stats.checked,
            "missing_found": stats.missing,
            "docs_read": stats.read,
            "docs_written": stats.written,
            "doc_write_failures": stats.refused,
        }],
    });
    if !has_changes {
        report["no_changes"] = Value::Bool(true);
    }
    report
}
