//! `feedsync log tail`

use std::time::Duration;

use clap::Args;
use feedsync_client::{Follower, synchronise};
use feedsync_log::{Event, Position, RecordId, Session, Start, last_lines};
use tokio::time::sleep;

use super::access::{access, random};
use super::response::present;
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  feedsync log tail https://hub.example/logs/reading
  feedsync log tail reading --lines 100 --follow
";

/// Interval between two reads of the log with `--follow`.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Maximum number of bytes at the end of the log that are read for the last lines.
const MAX_TAIL_BYTES: u64 = 1 << 20;

/// Print the last lines of a log, and lines that are appended
///
/// Prints lines without changes. At most the last 1 MiB of the log is read.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Tail {
    /// Log: an address, a collection of this endpoint, or a file
    log: String,
    /// Number of lines
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    lines: usize,
    /// Continue until Ctrl-C, and print each line that is appended
    #[arg(short, long)]
    follow: bool,
}

impl Tail {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        output::refuse_json(context.json, "the lines of the log")?;
        let log = access(context, &self.log).await?;
        let mut printer = Printer { first: Some((self.lines, Vec::new())) };
        let mut position = Position::default();
        loop {
            let mut session = Session::new(Some(position), Start::Last(MAX_TAIL_BYTES));
            synchronise(&*log, &mut session, &mut printer, &random).await?;
            present(&log.name(), &session)?;
            printer.begin()?;
            position = session.position().clone();
            if !self.follow {
                return Ok(());
            }
            sleep(POLL_INTERVAL).await;
        }
    }
}

/// Prints lines as they arrive. Of the lines of the first read, only the requested number is printed.
struct Printer {
    first: Option<(usize, Vec<u8>)>,
}

impl Printer {
    fn begin(&mut self) -> Result<(), Failure> {
        match self.first.take() {
            Some((most, lines)) => output::print_bytes(last_lines(&lines, most)),
            None => Ok(()),
        }
    }
}

impl Follower for Printer {
    type Error = Failure;

    fn waiting(&mut self, _: &Session) -> Result<Vec<(RecordId, String)>, Failure> {
        Ok(Vec::new())
    }

    fn apply(&mut self, event: Event, _: &mut Session) -> Result<(), Failure> {
        match (event, &mut self.first) {
            (Event::Lines(lines), None) => output::print_bytes(&lines),
            (Event::Lines(lines), Some((most, known))) => {
                known.extend_from_slice(&lines);
                *known = last_lines(known, *most).to_vec();
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
