//! `feedsync sync`

mod watch;

use std::collections::BTreeMap;

use clap::Args;
use feedsync_client::{Direction, Progress as Steps, Session, Side, Step, SyncError, SyncReport};
use feedsync_core::Format;
use feedsync_fetch::{shown_text, with_scheme};
use feedsync_store::{CollectionName, NewCollection, NewRemote, Remote};
use serde_json::{Value, json};

use crate::commands::import::{counts_value, summary};
use crate::commands::remote::find::{find, no_remote};
use crate::context::{Context, OpenEndpoint};
use crate::failure::{Failure, warn};
use crate::invocation::command;
use crate::output::progress::Progress;
use crate::output::{self, BOLD, text};

const EXAMPLES: &str = "\
Examples:
  feedsync sync                        # all collections with all their remotes
  feedsync sync notes http://127.0.0.1:4287/collections/notes
  feedsync sync notes --dry-run
  feedsync sync --watch                # until Ctrl-C
";

/// Synchronise collections with their remotes
///
/// A remote is a collection of a hub, or a FeedSync feed on any web server, which is only read. The endpoint stores
/// the remote and its position in it, so each run transfers only changes, in both directions. An interrupted run
/// continues where it stopped. Concurrent edits are kept as conflicts; see `conflicts`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Sync {
    /// Collection to synchronise; it is created if it does not exist and REMOTE is new [default: all]
    collection: Option<CollectionName>,
    /// Remote to synchronise with: an address, which is stored, or its number [default: all]
    remote: Option<String>,
    /// Only receive changes
    #[arg(long)]
    pull: bool,
    /// Only send changes
    #[arg(long)]
    push: bool,
    /// Continue until Ctrl-C, and synchronise after each change on either side
    #[arg(long, conflicts_with = "dry_run")]
    watch: bool,
    /// Show what would be transferred, and change nothing on either side
    #[arg(long)]
    dry_run: bool,
}

impl Sync {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let session = Session::new(home.endpoint.clone(), context.way().fetcher()?);
        let (remotes, new) = self.remotes(context, &home).await?;
        let direction = match (self.pull, self.push) {
            (false, false) => Direction::BOTH,
            (pull, push) => Direction { pull, push },
        };
        let mut worst = Ok(());
        let mut values = Vec::new();
        for remote in &remotes {
            let outcome = {
                let shown = ProgressDisplay::new(remote);
                session.sync(remote, direction, &shown, self.dry_run).await
            };
            if context.json && !self.watch {
                values.push(value(remote, &outcome));
            } else {
                print(context, remote, &outcome, self.dry_run)?;
            }
            worst = worst_outcome(worst, remote, outcome, context.json);
        }
        let is_remembered = match new {
            Some(new) => new.settle(&home, self.dry_run).await?,
            None => true,
        };
        if context.json && !self.watch {
            output::json(&Value::Array(values))?;
        }
        if self.watch && is_remembered {
            // The first failure is reported at once; `--watch` tries again.
            if let Err(failure) = worst {
                failure.report();
            }
            return watch::watch(context, &session, remotes, direction).await;
        }
        worst
    }

    /// Returns the selected remotes, and the one among them that was added for this call.
    async fn remotes(
        &self,
        context: &Context,
        home: &OpenEndpoint,
    ) -> Result<(Vec<Remote>, Option<AddedRemote>), Failure> {
        if let (Some(collection), Some(named)) = (&self.collection, &self.remote) {
            let known = home.endpoint.find_collection(collection).await?.is_some();
            if known && let Some(remote) = find(home, collection, named).await? {
                return Ok((vec![remote], None));
            }
            if !named.starts_with("http://") && !named.starts_with("https://") {
                let meant = with_scheme(named);
                return Err(no_remote(collection, named).hint(match meant {
                    Some(meant) => format!("an address begins with https:// or http://: {meant}"),
                    None => "a new remote is an address: http://HOST/collections/NAME".to_owned(),
                }));
            }
            feedsync_fetch::address(named)?;
            if !known {
                let new = NewCollection {
                    name: collection.clone(),
                    title: collection.to_string(),
                    format: Format::Atom,
                    settings: BTreeMap::new(),
                };
                home.endpoint.create_collection(new).await?;
            }
            let new = NewRemote {
                collection: collection.clone(),
                name: None,
                url: named.clone(),
                subscription: None,
            };
            let remote = home.endpoint.add_remote(new).await?;
            return Ok((vec![remote.clone()], Some(AddedRemote { remote, collection: !known })));
        }
        if let Some(collection) = &self.collection {
            home.endpoint.collection(collection).await?;
        }
        let mut remotes = home.endpoint.remotes(self.collection.as_ref()).await?;
        if self.push && !self.pull {
            remotes.retain(|remote| remote.subscription.is_none());
        }
        if remotes.is_empty() {
            let add = context.command("sync COLLECTION http://HOST/collections/NAME");
            return Err(Failure::not_found("there is no remote to synchronise with yet")
                .hint(format!("name a remote: {add}")));
        }
        Ok((remotes, None))
    }
}

/// Remote that was added for this call.
struct AddedRemote {
    remote: Remote,
    /// Whether the collection was created for the remote.
    collection: bool,
}

impl AddedRemote {
    /// Removes the remote after a dry run, and if no exchange with it succeeded (a mistyped address). Returns
    /// whether the remote remains.
    async fn settle(self, home: &OpenEndpoint, dry_run: bool) -> Result<bool, Failure> {
        let name = &self.remote.collection;
        let remotes = home.endpoint.remotes(Some(name)).await?;
        let Some(now) = remotes.into_iter().find(|remote| remote.id == self.remote.id) else {
            return Ok(false);
        };
        let state = &now.state;
        let touched = state.succeeded.is_some() || state.changes.is_some() || state.until.is_some();
        if touched && !dry_run {
            return Ok(true);
        }
        home.endpoint.remove_remote(self.remote.id).await?;
        let empty = home.endpoint.collection(name).await?.last.get() == 0;
        if self.collection && empty {
            home.endpoint.drop_collection(name).await?;
        }
        Ok(false)
    }
}

/// Shows the progress on the terminal.
struct ProgressDisplay(Progress);

impl ProgressDisplay {
    fn new(remote: &Remote) -> Self {
        Self(Progress::spinner(&format!("{}: connecting", remote.collection)))
    }
}

impl Steps for ProgressDisplay {
    fn step(&self, step: Step<'_>) {
        self.0.say(&match step {
            Step::Reading { url } => format!("reading {}", text::line(url)),
            Step::Pulled { items } => format!("received {}", text::count(items, "item")),
            Step::Pushed { changes, of } => format!("sent {changes} of {of} changes"),
            Step::Discarded { items } => format!("discarded {}", text::count(items, "item")),
        });
    }
}

/// Prints the outcome for one remote; with `--json` as an object in one line.
fn print(
    context: &Context,
    remote: &Remote,
    outcome: &Result<SyncReport, SyncError>,
    dry_run: bool,
) -> Result<(), Failure> {
    if context.json {
        return output::line(value(remote, outcome).to_string());
    }
    let Ok(report) = outcome else { return Ok(()) };
    let would = if dry_run { "would be " } else { "" };
    let mut line = format!(
        "{BOLD}{}{BOLD:#}  {would}received: {}; {would}sent: {}",
        remote.collection,
        summary(report.pulled),
        if dry_run { text::count(report.offered, "item") } else { summary(report.pushed) }
    );
    if report.discarded > 0 {
        let see = context.command(&format!("ls {} --discarded", remote.collection));
        line.push_str(&format!("; discarded: {} ({see})", report.discarded));
    }
    output::line(line)?;
    for warning in &report.warnings {
        warn(&warning.to_string());
    }
    for refused in &report.refused {
        let side = match refused.by {
            Side::Here => "refused here",
            Side::There => "refused there",
        };
        let id = refused.id.as_deref().unwrap_or("an item");
        warn(&format!("{id}: {side}: {}", refused.reason));
    }
    if report.pulled.conflict + report.pushed.conflict > 0 {
        let see = context.command(&format!("conflicts {}", remote.collection));
        warn(&format!("there are conflicts; see {see}"));
    }
    Ok(())
}

/// Returns the worst outcome so far; reports the earlier failure, since only the last one is returned.
fn worst_outcome(
    worst: Result<(), Failure>,
    remote: &Remote,
    outcome: Result<SyncReport, SyncError>,
    json: bool,
) -> Result<(), Failure> {
    match outcome {
        Ok(report) if report.refused.is_empty() => worst,
        Ok(_) => worst.and(Err(Failure::Faults)),
        Err(error) => {
            if let Err(earlier @ Failure::Message { .. }) = worst
                && !json
            {
                earlier.report();
            }
            Err(failure(remote, error))
        }
    }
}

/// Converts a failure to synchronise, with advice if the remote is not FeedSync.
pub(crate) fn failure(remote: &Remote, error: SyncError) -> Failure {
    match error {
        SyncError::NotFeedSync { .. } => {
            let url = text::line(&shown_text(&remote.url));
            let import = command(&format!("import {} {url}", remote.collection));
            Failure::network(error).hint(import)
        }
        other => other.into(),
    }
}

impl From<SyncError> for Failure {
    fn from(error: SyncError) -> Self {
        match error {
            SyncError::Endpoint(error) => error.into(),
            SyncError::Fetch(error) => error.into(),
            SyncError::Forgotten { .. } => Self::not_found(error),
            other => Self::network(other),
        }
    }
}

fn value(remote: &Remote, outcome: &Result<SyncReport, SyncError>) -> Value {
    let mut value =
        json!({ "collection": remote.collection.as_str(), "url": shown_text(&remote.url) });
    match outcome {
        Ok(report) => {
            value["pulled"] = counts_value(report.pulled);
            value["pushed"] = counts_value(report.pushed);
            value["offered"] = report.offered.into();
            value["discarded"] = report.discarded.into();
            value["plain"] = report.plain.into();
            let refused = report.refused.iter().map(|refused| {
                json!({
                    "by": match refused.by { Side::Here => "here", Side::There => "there" },
                    "id": refused.id,
                    "reason": refused.reason,
                })
            });
            value["refused"] = refused.collect();
            value["warnings"] = report.warnings.iter().map(ToString::to_string).collect();
            value["requests"] = report.requests.into();
            value["sent"] = report.sent.into();
            value["received"] = report.received.into();
            value["until"] = report.state.until.as_deref().into();
        }
        Err(error) => value["error"] = error.to_string().into(),
    }
    value
}
