//! `feedsync store doctor`

mod checks;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use feedsync_server::configuration::StoreAddress;
use feedsync_store::{SqliteStore, SystemEnvironment};
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, progress::Progress, text};
use crate::store;

const EXAMPLES: &str = "\
Examples:
  feedsync store doctor
  feedsync --data /var/lib/feedsync store doctor --json
  feedsync --store postgres://feedsync@db.example.org/feedsync store doctor
  feedsync store doctor --backup hub-2026-11-20.backup
";

/// Check a store: its files, database, collections, users and remotes
///
/// The check changes nothing, except that a copied store gets a new signature when it is opened, as with every
/// command. `--backup` checks a backup instead: it is restored into a temporary directory, which is checked and removed.
/// Each finding is a fault, which needs repair, or a warning. The exit code is 1 if there is a fault, and 5
/// if the store cannot be opened.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Doctor {
    /// Check this backup
    #[arg(long, value_name = "FILE")]
    backup: Option<PathBuf>,
    /// Increment of the backup
    #[arg(long, value_name = "FILE", requires = "backup")]
    with: Option<PathBuf>,
}

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Severity {
    /// A person should know about it.
    Warning,
    /// A person has to repair it.
    Fault,
}

/// A problem that a check found.
#[derive(Debug)]
pub(super) struct Finding {
    severity: Severity,
    /// Name of the check: `files`, `database`, `server`, `counts`, `items`, `settings`, `tokens`, `people`,
    /// `remotes`, `blobs`, `logins`, `gateway`; `logs` in a backup.
    check: &'static str,
    /// The affected file, collection or user, if there is one.
    about: Option<String>,
    message: String,
    advice: Option<String>,
}

impl Finding {
    pub(super) fn fault(check: &'static str, message: impl ToString) -> Self {
        let message = message.to_string();
        Self { severity: Severity::Fault, check, about: None, message, advice: None }
    }

    fn warning(check: &'static str, message: impl ToString) -> Self {
        Self { severity: Severity::Warning, ..Self::fault(check, message) }
    }

    pub(super) fn about(self, about: impl ToString) -> Self {
        Self { about: Some(about.to_string()), ..self }
    }

    pub(super) fn advice(self, advice: impl ToString) -> Self {
        Self { advice: Some(advice.to_string()), ..self }
    }

    fn word(&self) -> &'static str {
        match self.severity {
            Severity::Warning => "warning",
            Severity::Fault => "fault",
        }
    }

    pub(super) fn value(&self) -> Value {
        json!({
            "severity": self.word(),
            "check": self.check,
            "about": self.about,
            "message": self.message,
            "advice": self.advice,
        })
    }

    pub(super) fn text(&self) -> String {
        let about = self.about.as_ref().map_or(String::new(), |about| format!("{about}: "));
        let mut out =
            format!("{}: {}: {}{}\n", self.word(), self.check, about, text::line(&self.message));
        if let Some(advice) = &self.advice {
            out.push_str(&format!("  {}\n", text::line(advice)));
        }
        out
    }
}

impl Doctor {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self.backup {
            None => examine(context, None).await,
            Some(backup) => examine_backup(context, &backup, self.with.as_deref()).await,
        }
    }
}

/// Restores a backup into a temporary directory, and examines that.
async fn examine_backup(
    context: &Context,
    backup: &Path,
    increment: Option<&Path>,
) -> Result<(), Failure> {
    for file in std::iter::once(backup).chain(increment) {
        if !file.exists() {
            return Err(Failure::not_found(format!("{}: there is no such file", file.display())));
        }
    }
    let failed = |error: std::io::Error| Failure::file("the temporary directory", &error);
    let directory = tempfile::tempdir().map_err(failed)?;
    let data = directory.path().join("restored");
    let progress = Progress::spinner("restoring");
    let environment = Arc::new(SystemEnvironment);
    // Dropping the store closes it.
    drop(SqliteStore::restore_with(backup, increment, &data, environment)?);
    drop(progress);
    // The restored configuration and the environment may name another store.
    let named = Some(StoreAddress::Sqlite(data.clone()));
    let restored = Context { data, named, ..context.clone() };
    let place = increment.unwrap_or(backup).display().to_string();
    examine(&restored, Some(place)).await
}

/// Examines a store, and prints the findings. `place` is its name if it is not that of the store.
async fn examine(context: &Context, place: Option<String>) -> Result<(), Failure> {
    let progress = Progress::spinner("checking");
    // File permissions are checked before the store is opened. The database gives its companion files the
    // permissions of the main file.
    let mut findings = checks::files(&context.data);
    let address = context.address()?;
    let other = store::directory(&address).filter(|directory| *directory != context.data);
    findings.extend(other.map(checks::files).into_iter().flatten());
    findings.extend(checks::gateway(&context.data)?);
    let home = context.open().await?;
    findings.extend(checks::all(context, &home).await?);
    drop(progress);
    let place = place.unwrap_or_else(|| home.place.clone());
    let faults = findings.iter().filter(|found| found.severity == Severity::Fault).count();
    if context.json {
        let identity = home.endpoint.identity().await?;
        output::json(&json!({
            "data": place,
            "name": identity.name.as_str(),
            "by": identity.by.as_str(),
            "retired": identity.retired.len(),
            "sound": faults == 0,
            "findings": findings.iter().map(Finding::value).collect::<Value>(),
        }))?;
    } else {
        output::print(&findings.iter().map(Finding::text).collect::<String>())?;
        output::line(match (faults, findings.len()) {
            (0, 0) => format!("{place}: all is well"),
            (faults, all) => {
                let warnings = text::count((all - faults) as u64, "warning");
                let faults = text::count(faults as u64, "fault");
                format!("{place}: {faults}, {warnings}")
            }
        })?;
    }
    if faults > 0 { Err(Failure::Faults) } else { Ok(()) }
}
