//! `feedsync log verify`

use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use feedsync_client::LogAccess;
use feedsync_log::{Check, Finding, LogRequest, MAX_READ_BYTES, Millis, Range, Read, Summary};
use serde_json::json;

use super::access::access;
use super::response::refused;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, progress::Progress, text};

const EXAMPLES: &str = "\
Examples:
  feedsync log verify https://hub.example/logs/reading
  feedsync log verify ./reading.jsonl --json
";

/// Maximum number of findings that are shown.
const MAX_SHOWN: usize = 1_000;

/// Check a log for lines that are incomplete, foreign, repeated or out of order
///
/// A log with such lines can still be read. The exit code is 1 if there are any.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Verify {
    /// Log: an address, a collection of this endpoint, or a file
    log: String,
}

impl Verify {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let log = access(context, &self.log).await?;
        let (findings, count, summary) = check(&*log).await?;
        if context.json {
            let findings: Vec<_> = findings.iter().map(shown).collect();
            let Summary { bytes, lines, records, devices } = summary;
            output::json(&json!({
                "bytes": bytes, "lines": lines, "records": records, "devices": devices,
                "faults": count, "findings": findings,
            }))?;
        } else {
            for Finding { line, offset, fault } in &findings {
                output::line(text::line(&format!("line {line}, byte {offset}: {fault}")))?;
            }
            let (lines, records) =
                (text::count(summary.lines, "line"), text::count(summary.records, "record"));
            let devices = text::count(summary.devices, "device");
            output::line(format!(
                "{lines}, {records} of {devices}, {}",
                text::count(count, "fault")
            ))?;
        }
        if count > 0 { Err(Failure::Faults) } else { Ok(()) }
    }
}

fn shown(finding: &Finding) -> serde_json::Value {
    json!({
        "line": finding.line,
        "offset": finding.offset,
        "fault": finding.fault.to_string(),
    })
}

/// Checks a whole log; returns the first findings, their total number, and a summary.
async fn check(log: &dyn LogAccess) -> Result<(Vec<Finding>, u64, Summary), Failure> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut check = Check::new(Millis::new(u64::try_from(now.as_millis()).unwrap_or(u64::MAX)));
    let (mut findings, mut count, mut offset) = (Vec::new(), 0, 0);
    let mut note = |found: Vec<Finding>| {
        count += found.len() as u64;
        let room = MAX_SHOWN - findings.len();
        findings.extend(found.into_iter().take(room));
    };
    let mut generation = None;
    let _progress = Progress::spinner("reading the log");
    loop {
        let range = Range::From { offset, most: MAX_READ_BYTES };
        let answer = log.ask(&LogRequest::Read(Read { range, unless: None })).await?;
        match answer.status {
            416 => break,
            200 | 206 if answer.body.is_empty() && answer.ended => break,
            200 | 206 if answer.body.is_empty() => {
                return Err(Failure::network(format!(
                    "{}: the response is incomplete",
                    log.name()
                )));
            }
            200 | 206 if answer.is_no_log() => return Err(refused(&log.name(), &answer)),
            200 | 206 if answer.begins_at() != Some(offset) => {
                let message = "the server sent it compressed, or sent another range than requested";
                return Err(Failure::network(format!("{}: {message}", log.name())));
            }
            200 | 206 => {
                if generation.get_or_insert(answer.generation.clone()) != &answer.generation {
                    let message = "it was compacted meanwhile; try again";
                    return Err(Failure::refused(format!("{}: {message}", log.name())));
                }
                offset += answer.body.len() as u64;
                note(check.feed(&answer.body));
                if answer.status == 200 && answer.ended {
                    break;
                }
            }
            _ => return Err(refused(&log.name(), &answer)),
        }
    }
    let (summary, torn) = check.end();
    note(torn.into_iter().collect());
    Ok((findings, count, summary))
}
