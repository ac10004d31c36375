//! `feedsync database replicate`

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Args;
use feedsync_client::replicate::{
    RemoteDatabase, Replica, Replicated, Replication, ReplicationError, ReplicationFilter,
    ReplicationProgress, RetryPolicy, StoredDatabase,
};
use feedsync_couch::replication::RejectedDocument;
use feedsync_couch::{DatabaseName, Json};
use feedsync_fetch::with_scheme;
use feedsync_store::{Environment, SystemEnvironment};
use serde_json::json;

use crate::context::Context;
use crate::failure::{Failure, warn};
use crate::output::progress::Progress;
use crate::output::{self, text};
use crate::signals::stop_requested;

const EXAMPLES: &str = "\
Examples:
  feedsync database replicate http://127.0.0.1:5984/notes notes --create
  feedsync database replicate notes https://hub.example/couch/notes --continuous  # after: feedsync remote login https://hub.example
  feedsync database replicate notes http://127.0.0.1:5984/notes --selector '{\"type\":\"note\"}'
";

/// Replicate a database of documents with the protocol of CouchDB
///
/// Writes the revisions that TARGET lacks, conflicts and deletions among them; nothing else at TARGET changes. SOURCE
/// and TARGET are databases of a hub (https://HUB/couch/NAME), of CouchDB or of pouchdb-server, or names of databases
/// of this endpoint. Both sides store a checkpoint, at which an interrupted replication continues. Both directions
/// need two calls.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Replicate {
    /// Address of a database, or the name of one of this endpoint
    source: String,
    /// Address of a database, or the name of one of this endpoint
    target: String,
    /// Create TARGET if it does not exist
    #[arg(long)]
    create: bool,
    /// Continue until Ctrl-C, and replicate after each change at SOURCE
    #[arg(long)]
    continuous: bool,
    /// Replicate only documents that match this selector, as JSON
    #[arg(long, value_name = "JSON", conflicts_with = "document")]
    selector: Option<String>,
    /// Replicate only this document (can be repeated)
    #[arg(long = "document", value_name = "ID")]
    document: Vec<String>,
    /// Ignore the checkpoint, and compare everything again
    #[arg(long)]
    from_start: bool,
}

impl Replicate {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let replication = Replication {
            filter: self.filter()?,
            is_continuous: self.continuous,
            creates_target: self.create,
            from_beginning: self.from_start,
            ..Replication::default()
        };
        let source = self.replica(context, &self.source).await?;
        let target = self.replica(context, &self.target).await?;
        let environment: Arc<dyn Environment> = Arc::new(SystemEnvironment);
        let done = {
            let shown = ProgressDisplay::new(&source.shown());
            replication.run(source, target, environment, &shown, stop_requested()).await
        };
        let done = done.map_err(|error| self.failure(error))?;
        if context.json {
            output::json(&value(&done))?;
        } else {
            print(&done)?;
        }
        if done.stats.refused > 0 { Err(Failure::Faults) } else { Ok(()) }
    }

    fn filter(&self) -> Result<ReplicationFilter, Failure> {
        let Some(text) = &self.selector else {
            return Ok(match self.document.is_empty() {
                true => ReplicationFilter::All,
                false => ReplicationFilter::Ids(self.document.clone()),
            });
        };
        let wrong = |error: &dyn std::fmt::Display| Failure::usage(format!("--selector: {error}"));
        let json = Json::read(text.clone().into_bytes()).map_err(|error| wrong(&error.reason))?;
        ReplicationFilter::selector(json.root()).map_err(|error| wrong(&error))
    }

    /// Opens the replica at an address, or the local database of that name.
    async fn replica(&self, context: &Context, named: &str) -> Result<Arc<dyn Replica>, Failure> {
        if !named.contains("://") {
            let name: DatabaseName = named.parse().map_err(|_| {
                let hint = match with_scheme(named) {
                    Some(meant) => format!("an address begins with https:// or http://: {meant}"),
                    None => "a name has a-z, 0-9 and _$()+-/, and begins with a letter".to_owned(),
                };
                Failure::usage(format!("{named} is neither an address nor a name of a database"))
                    .hint(hint)
            })?;
            let home = context.open().await?;
            return Ok(Arc::new(StoredDatabase::new(home.endpoint, name)));
        }
        let patience = if self.continuous { RetryPolicy::UNBOUNDED } else { RetryPolicy::BOUNDED };
        let database = RemoteDatabase::new(context.way().fetcher()?, named, patience)?;
        let waits = |error: &feedsync_fetch::FetchError, pause: std::time::Duration| {
            warn(&format!("{error}; asking again in {:.1} s", pause.as_secs_f64()));
        };
        Ok(Arc::new(database.with_wait_callback(Arc::new(waits))))
    }

    fn failure(&self, error: ReplicationError) -> Failure {
        match error {
            ReplicationError::Fetch(error) => error.into(),
            ReplicationError::Store(error) => error.into(),
            ReplicationError::NoDatabase { .. } if !self.create => {
                let hint = "--create makes TARGET; SOURCE must be there";
                Failure::not_found(error).hint(hint)
            }
            ReplicationError::NoDatabase { .. } => Failure::not_found(error),
            ReplicationError::Refused { .. } => Failure::refused(error),
            other => Failure::network(other),
        }
    }
}

/// Shows the progress on the terminal.
struct ProgressDisplay {
    bar: Progress,
    examined: AtomicU64,
    replicated: AtomicU64,
    pending: AtomicU64,
}

impl ProgressDisplay {
    fn new(source: &str) -> Self {
        let bar = Progress::spinner(&format!("{}: connecting", text::line(source)));
        let zero = AtomicU64::default;
        Self { bar, examined: zero(), replicated: zero(), pending: zero() }
    }

    fn say(&self) {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let all = of(&self.examined) + of(&self.pending);
        self.bar.say(&format!("{} of {}", of(&self.replicated), text::count(all, "document")));
    }
}

impl ReplicationProgress for ProgressDisplay {
    fn begins(&self, is_resumed: bool) {
        self.bar.say(if is_resumed { "going on" } else { "beginning" });
    }

    fn examined(&self, documents: u64, pending: Option<u64>) {
        self.examined.fetch_add(documents, Ordering::Relaxed);
        self.pending.store(pending.unwrap_or_default(), Ordering::Relaxed);
        self.say();
    }

    fn refused(&self, refused: &RejectedDocument) {
        let line = format!("{}: not replicated: {}: {}", refused.id, refused.error, refused.reason);
        warn(&text::line(&line));
    }

    fn replicated(&self, documents: u64) {
        self.replicated.fetch_add(documents, Ordering::Relaxed);
        self.say();
    }
}

fn print(done: &Replicated) -> Result<(), Failure> {
    let stats = done.stats;
    output::line(format!(
        "{} written, of {} that changed",
        text::count(stats.written, "document"),
        text::count(stats.checked, "revision"),
    ))?;
    if !done.has_checkpoints {
        warn("one side is read-only and has no checkpoint: the next run compares everything again");
    }
    Ok(())
}

fn value(done: &Replicated) -> serde_json::Value {
    let stats = done.stats;
    let refused = done.refused.iter().map(
        |refused| json!({ "id": refused.id, "error": refused.error, "reason": refused.reason }),
    );
    json!({
        "checked": stats.checked,
        "missing": stats.missing,
        "read": stats.read,
        "written": stats.written,
        "refused": stats.refused,
        "refusals": refused.collect::<Vec<_>>(),
        "checkpoints": done.has_checkpoints,
    })
}
