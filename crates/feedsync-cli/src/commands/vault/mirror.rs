//! `feedsync vault mirror`

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::context::Context;
use crate::failure::{Failure, warn};
use crate::output::{self, text};
use crate::signals::stop_requested;
use crate::vault;
use crate::vault::mirror::{Mirror, PassOptions, Places, Report};

const EXAMPLES: &str = "\
Examples:
  feedsync vault mirror notes ~/notes                # once, in both directions
  feedsync vault mirror notes ~/notes --watch        # until Ctrl-C
  feedsync vault mirror notes ~/notes --json
";

/// Time between two looks at the files while watching.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Time in which further changes of the vault are awaited after one: devices send several documents for each note.
const COLLECTION_TIME: Duration = Duration::from_millis(200);

/// Mirror a vault that is not encrypted as plain files, in both directions
///
/// Notes that changed in the vault become files in DIR, and files that changed in DIR become edits of the vault. If both
/// changed, the file gets the version of the vault, and the version of the file becomes another file, `NAME (conflict DATE).md`.
/// Hidden files are left out. The command works on the store itself, whether a hub serves it or not.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MirrorVault {
    /// Name of the vault
    name: String,
    /// Directory of the files; it is created if it does not exist
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Continue until Ctrl-C, and mirror each change
    #[arg(long)]
    watch: bool,
    /// Delete many notes or files without a refusal, and accept that the vault or DIR is not what it was at the last time
    #[arg(long)]
    yes: bool,
    /// Write notes to a vault that no device has written to: its devices do not encrypt
    #[arg(long)]
    unencrypted: bool,
}

impl MirrorVault {
    pub(super) async fn run(self, context: &Context) -> Result<(), Failure> {
        let vault = vault::database(&self.name)?;
        let home = context.open().await?;
        let places = Places { data: &context.data, directory: &self.directory };
        let mut mirror = Mirror::open(&home.endpoint, &vault, places, self.yes).await?;
        let options = PassOptions {
            is_confirmed: self.yes,
            is_repeated: self.watch,
            is_unencrypted: self.unencrypted,
        };
        if self.watch {
            return watch(context, &mut mirror, options).await;
        }
        let mut report = mirror.pass(options).await?;
        if !report.conflicts.is_empty() {
            // The new files are in the vault, too.
            report = report.then(mirror.pass(options).await?);
        }
        report.warnings().iter().for_each(|warning| warn(warning));
        match context.json {
            true => output::json(&report.json())?,
            false => output::print(&format!("{}{}", report.changes(), summary(&report)))?,
        }
        if report.left_out.is_empty() { Ok(()) } else { Err(Failure::Faults) }
    }
}

/// Mirrors each change until the user stops the command.
async fn watch(
    context: &Context,
    mirror: &mut Mirror,
    mut options: PassOptions,
) -> Result<(), Failure> {
    let mut notices = mirror.notices();
    let mut stopped = std::pin::pin!(stop_requested());
    let (mut is_first, mut warned) = (true, BTreeSet::new());
    loop {
        let report = mirror.pass(options).await?;
        // A confirmation is about what was there when the command began.
        options.is_confirmed = false;
        let warnings: BTreeSet<_> = report.warnings().into_iter().collect();
        warnings.difference(&warned).for_each(|warning| warn(warning));
        warned = warnings;
        if is_first || !report.is_idle() {
            match context.json {
                true => output::print_bytes(format!("{}\n", report.json()).as_bytes())?,
                false if is_first => {
                    output::print(&format!("{}{}", report.changes(), summary(&report)))?;
                }
                false => output::print(&report.changes())?,
            }
        }
        is_first = false;
        tokio::select! {
            () = &mut stopped => return Ok(()),
            () = tokio::time::sleep(POLL_INTERVAL) => {}
            is_open = notices.next() => match is_open {
                true => tokio::time::sleep(COLLECTION_TIME).await,
                false => return Ok(()),
            },
        }
    }
}

fn summary(report: &Report) -> String {
    let count = |number: usize, what| text::count(number as u64, what);
    format!(
        "{} mirrored; {} and {} written, {} and {} deleted\n",
        count(report.mirrored, "note"),
        count(report.files_written.len(), "file"),
        count(report.notes_written.len(), "note"),
        count(report.files_deleted.len(), "file"),
        count(report.notes_deleted.len(), "note"),
    )
}
