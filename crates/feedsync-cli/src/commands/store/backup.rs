//! `feedsync store backup`

use std::path::PathBuf;

use clap::Args;
use feedsync_store::{BackupPlan, DamagedLog, StoreError};
use serde_json::{Value, json};

use super::data_files::DataFiles;
use super::doctor::Finding;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, progress::Progress, text};
use crate::store::OpenStore;

const EXAMPLES: &str = "\
Examples:
  feedsync store backup hub-2026-11-20.backup
  feedsync store backup hub-2026-11-21.increment --since hub-2026-11-20.backup
  feedsync store doctor --backup hub-2026-11-20.backup --with hub-2026-11-21.increment
";

/// Copy the endpoint into one file, while it is in use
///
/// The backup has everything in the data directory except what a gateway and mirrors store there: collections, logs, databases,
/// media, users, fetched articles, dropped collections, the configuration file, logins, certificates and the certificate authority. It
/// contains secrets, and only you can read it.
///
/// For a store in a data directory; a PostgreSQL database has its own programs for backups. SQLite's integrity check
/// runs on the copy before it replaces an older backup. If the store is damaged, the older backup stays, and the exit
/// code is 5. If the file of a log is damaged, the backup contains its complete lines and everything else, and the
/// exit code is 1.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Backup {
    /// Path of the backup file; a complete copy replaces an existing file
    file: PathBuf,
    /// Write only what changed since this complete backup, which `store restore` then needs, too
    #[arg(long, value_name = "BACKUP")]
    since: Option<PathBuf>,
}

impl Backup {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let OpenStore::Sqlite(store) = &home.opened else {
            let message = format!("{}: a database is backed up by its own programs", home.place);
            return Err(Failure::usage(message).hint(format!(
                "pg_dump, or move it into a directory: {}",
                context.command("store migrate --to sqlite:DIR")
            )));
        };
        if let Some(earlier) = self.since.as_ref().filter(|earlier| !earlier.exists()) {
            let message = format!("{}: there is no such file", earlier.display());
            return Err(Failure::not_found(message));
        }
        let progress = Progress::spinner("backing up");
        let data = DataFiles::collect(&context.data, &self.file)?;
        let plan = BackupPlan {
            file: self.file.clone(),
            files: data.files.clone(),
            since: self.since.clone(),
        };
        let backed_up = store.backup_with(plan).await.map_err(|error| match error {
            StoreError::Place { .. } => Failure::refused(error).hint("name another file"),
            error => error.into(),
        })?;
        drop(progress);
        let findings: Vec<Finding> = backed_up.damaged.iter().map(finding).collect();
        if context.json {
            output::json(&json!({
                "file": self.file,
                "sound": findings.is_empty(),
                "findings": findings.iter().map(Finding::value).collect::<Value>(),
            }))?;
        } else {
            output::print(&findings.iter().map(Finding::text).collect::<String>())?;
            output::line(match findings.len() {
                0 => format!("backed up to {}", self.file.display()),
                faults => {
                    let faults = text::count(faults as u64, "fault");
                    format!("backed up to {}, with {faults}", self.file.display())
                }
            })?;
        }
        if findings.is_empty() { Ok(()) } else { Err(Failure::Faults) }
    }
}

fn finding(damaged: &DamagedLog) -> Finding {
    let advice = "keep the backups of before: they may hold what is lacking";
    Finding::fault("logs", damaged).about(&damaged.collection).advice(advice)
}
