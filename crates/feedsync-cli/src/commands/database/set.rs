//! `feedsync database set`

use std::str::FromStr;

use clap::Args;
use feedsync_couch::DatabaseName;
use feedsync_endpoint::Period;
use feedsync_store::History;

use super::find::find;
use super::list;
use crate::confirm::confirm;
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  feedsync database set notes --history 30d
  feedsync database set notes --history off
";

/// Change the settings of a database
///
/// With a history, the database keeps superseded and deleted revisions for a time, so that `database at` shows it as it was
/// and `database restore` brings that back. Replication does not see them. They count as space that the database uses.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Set {
    /// Name of the database
    name: DatabaseName,
    /// Time for which superseded and deleted revisions are kept, such as 30d; off keeps none
    #[arg(long, value_name = "PERIOD")]
    history: HistoryPeriod,
    /// Do not ask for confirmation before kept revisions are dropped
    #[arg(long, short)]
    yes: bool,
}

/// A period, or `off`.
#[derive(Debug, Clone, Copy)]
struct HistoryPeriod(History);

impl FromStr for HistoryPeriod {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "off" {
            return Ok(Self(History::Off));
        }
        let period: Period = text.parse().map_err(|error| format!("{error}, or off"))?;
        match period.duration().as_secs() {
            0 => Err("a history of no time keeps nothing: off".to_owned()),
            seconds => Ok(Self(History::Kept { seconds })),
        }
    }
}

impl Set {
    pub(super) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let database = find(&home, &self.name).await?;
        let HistoryPeriod(history) = self.history;
        let name = &self.name;
        let text = match history {
            History::Off => format!("{name} keeps no history"),
            kept => format!("{name} keeps its history for {}", list::history(kept)),
        };
        // No history is less than any.
        if history.seconds() < database.history.seconds() {
            confirm(&format!("{text}: older states are gone"), self.yes)?;
        }
        let changed = home.endpoint.set_history(&database, history).await?;
        output::result(context.json, &list::value(&changed), text)
    }
}
