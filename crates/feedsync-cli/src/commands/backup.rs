//! `feedsync backup`

use std::path::PathBuf;

use clap::Args;
use feedsync_store::DamagedLog;
use serde_json::{Value, json};

use super::doctor::Finding;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, progress::Progress, text};
use crate::store::OpenStore;

const EXAMPLES: &str = "\
Examples:
  feedsync backup notes-2026-11-20.db
";

/// Copy the whole endpoint into one file, while it is in use
///
/// For a store in a data directory. A PostgreSQL database has programs of its own for it. The whole copy is checked
/// with SQLite's integrity check before it replaces an older backup. If the store is damaged, the older one stays, and
/// the exit code is 5. A log whose file is damaged is a fault: the backup holds the whole lines that are there of it,
/// and all else. Exits with 1 then.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Backup {
    /// The file; an older one of that name is replaced when the copy is whole
    file: PathBuf,
}

impl Backup {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let OpenStore::Sqlite(store) = &home.opened else {
            let message = format!("{}: a database is backed up by its own programs", home.place);
            return Err(Failure::usage(message).hint(format!(
                "pg_dump, or move it into a directory: {}",
                context.command("migrate --to sqlite:DIR")
            )));
        };
        let progress = Progress::spinner("backing up");
        let backed_up = store.backup(&self.file).await?;
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
