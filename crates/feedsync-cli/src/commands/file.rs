//! `feedsync file`

mod add;
mod conflicts;
mod convert;
mod edit;
mod edited;
mod history;
mod ls;
mod merge;
mod resolve;
mod rm;
mod show;
mod undelete;
mod validate;

use clap::Subcommand;

use crate::failure::Failure;
use crate::source::NetworkAccess;

const GROUP_EXAMPLES: &str = "\
Examples:
  feedsync file add notes.atom --title Milk --content 'two litres'
  feedsync file merge notes.atom theirs.atom -o notes.atom
  feedsync file validate notes.atom
  feedsync file convert notes.atom --to json
";

/// Edit, merge, check and convert feeds in files, without an endpoint
///
/// People can share a feed with nothing but files: each edits a copy, and `file merge` merges the copies. Every edit
/// is kept, even if copies are edited under the same name. The file keeps its format and everything that an edit does
/// not change. It is replaced as a whole or not at all, and not if another program wrote to it meanwhile.
#[derive(Debug, Subcommand)]
#[command(after_help = GROUP_EXAMPLES)]
pub(crate) enum FileCommand {
    Add(add::Add),
    Edit(edit::Edit),
    Rm(rm::Rm),
    Undelete(undelete::Undelete),
    Resolve(resolve::Resolve),
    Ls(ls::Ls),
    Show(show::Show),
    Conflicts(conflicts::Conflicts),
    History(history::History),
    Merge(merge::Merge),
    Validate(validate::Validate),
    Convert(convert::Convert),
}

impl FileCommand {
    pub(crate) async fn run(self, json: bool, way: &NetworkAccess) -> Result<(), Failure> {
        match self {
            Self::Add(command) => command.run(json, way).await,
            Self::Edit(command) => command.run(json, way).await,
            Self::Rm(command) => command.run(json),
            Self::Undelete(command) => command.run(json, way).await,
            Self::Resolve(command) => command.run(json, way).await,
            Self::Ls(command) => command.run(json, way).await,
            Self::Show(command) => command.run(json, way).await,
            Self::Conflicts(command) => command.run(json, way).await,
            Self::History(command) => command.run(json, way).await,
            Self::Merge(command) => command.run(json, way).await,
            Self::Validate(command) => command.run(json, way).await,
            Self::Convert(command) => command.run(json, way).await,
        }
    }
}
