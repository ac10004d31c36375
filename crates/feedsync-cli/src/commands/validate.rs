//! `feedsync validate`

use clap::Args;
use feedsync_formats::{Diagnostic, ReadError, ReadOptions, Severity, read, sse};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::{self, text};
use crate::source::{Source, Way};

const EXAMPLES: &str = "\
Examples:
  feedsync validate notes.atom
  feedsync validate https://example.org/feed.rss https://example.org/list.opml
  feedsync validate notes.json --json
";

/// Check feeds against FeedSync and SSE, and name every fault with its line
///
/// Prints FILE:LINE:COLUMN, what is wrong, and the clause that says so. Exits with 1 if there is any fault;
/// warnings are no faults.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Validate {
    /// Files, '-' for standard input, or addresses
    #[arg(value_name = "FILE|URL", required = true)]
    sources: Vec<String>,
}

impl Validate {
    pub(crate) async fn run(self, json: bool, way: &Way) -> Result<(), Failure> {
        let mut any_fault = false;
        let mut values = Vec::new();
        for name in &self.sources {
            let source = Source::load(name, way).await?;
            let findings = check(&source.bytes);
            let faults = findings.faults();
            any_fault |= faults > 0;
            if json {
                values.push(findings.value(&source.name));
            } else {
                output::print(&findings.text(&source.name, faults))?;
            }
        }
        if json {
            output::json(&Value::Array(values))?;
        }
        if any_fault { Err(Failure::Faults) } else { Ok(()) }
    }
}

struct Findings {
    /// The format and how many items take part and how many do not; or why nothing could be read.
    read: Result<(String, usize, usize), ReadError>,
    remarks: Vec<Diagnostic>,
}

fn check(bytes: &[u8]) -> Findings {
    let options = ReadOptions::strict();
    let mut remarks = Vec::new();
    let read = if sse::uses_sse(bytes, &ReadOptions::tolerant()) {
        sse::Document::read(bytes, &options).map(|document| {
            remarks.extend(document.diagnostics().iter().cloned());
            remarks.extend(document.refused().iter().map(|refused| refused.reason.clone()));
            let format = format!("{} with SSE", document.format());
            (format, document.items().count(), document.plain_items())
        })
    } else {
        read(bytes, None, &options).map(|reading| {
            remarks.extend(reading.diagnostics);
            remarks.extend(reading.refused.into_iter().map(|refused| refused.reason));
            let format = reading.format.to_string();
            (format, reading.feed.items.len(), reading.feed.plain_items)
        })
    };
    remarks.sort_by_key(|remark| remark.position);
    Findings { read, remarks }
}

impl Findings {
    fn faults(&self) -> usize {
        let faults = self.remarks.iter().filter(|remark| remark.severity == Severity::Fault);
        faults.count() + usize::from(self.read.is_err())
    }

    fn text(&self, name: &str, faults: usize) -> String {
        let mut out = String::new();
        for remark in &self.remarks {
            out.push_str(&format!("{name}:{}\n", text::line(&remark.to_string())));
        }
        match &self.read {
            Err(ReadError::Document { position, message }) => {
                out.push_str(&format!("{name}:{position}: fault: {}\n", text::line(message)));
            }
            Err(error) => {
                out.push_str(&format!("{name}: fault: {}\n", text::line(&error.to_string())));
            }
            Ok((format, items, plain)) => {
                let verdict = match faults {
                    0 => "no faults".to_owned(),
                    count => text::count(count as u64, "fault"),
                };
                let items = text::count(*items as u64, "item");
                out.push_str(&format!("{name}: {verdict}: {format}, {items}"));
                if *plain > 0 {
                    out.push_str(&format!(", {plain} without sync information"));
                }
                out.push('\n');
            }
        }
        out
    }

    fn value(&self, name: &str) -> Value {
        let mut found: Vec<_> = self
            .remarks
            .iter()
            .map(|remark| {
                json!({
                    "severity": match remark.severity {
                        Severity::Warning => "warning",
                        Severity::Fault => "fault",
                    },
                    "line": remark.position.line,
                    "column": remark.position.column,
                    "clause": remark.clause,
                    "message": remark.message,
                    "item": remark.item,
                })
            })
            .collect();
        let mut value = json!({ "source": name, "valid": self.faults() == 0 });
        match &self.read {
            Ok((format, items, plain)) => {
                value["format"] = format.as_str().into();
                value["items"] = (*items).into();
                value["plain"] = (*plain).into();
            }
            Err(ReadError::Document { position, message }) => found.push(json!({
                "severity": "fault",
                "line": position.line,
                "column": position.column,
                "message": message,
            })),
            Err(error) => found.push(json!({ "severity": "fault", "message": error.to_string() })),
        }
        value["findings"] = found.into();
        value
    }
}
