//! `feedsync file validate`

use clap::Args;
use feedsync_formats::{Contents, ReadError, Severity, Validation, validate};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::{self, text};
use crate::source::{NetworkAccess, Source};

const EXAMPLES: &str = "\
Examples:
  feedsync file validate notes.atom
  feedsync file validate https://example.org/feed.rss https://example.org/list.opml
  feedsync file validate notes.json --json
  feedsync file validate https://hub.example.org/service
";

/// Check feeds and documents of AtomPub, and list the faults with their lines
///
/// Prints FILE:LINE:COLUMN, the fault, and the clause that it violates. Feeds are checked against FeedSync and SSE:
/// values, misplaced elements and misspelled namespaces. Service documents, categories documents and Atom entries are
/// checked against RFC 5023 and RFC 4287. The exit code is 1 if there is a fault; warnings do not count.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Validate {
    /// Documents: files, '-' for standard input, or addresses
    #[arg(value_name = "FILE|URL", required = true)]
    sources: Vec<String>,
}

impl Validate {
    pub(crate) async fn run(self, json: bool, way: &NetworkAccess) -> Result<(), Failure> {
        let mut any_fault = false;
        let mut values = Vec::new();
        for name in &self.sources {
            let source = Source::load(name, way).await?;
            let findings = Findings(validate(&source.bytes));
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

struct Findings(Validation);

impl Findings {
    fn faults(&self) -> usize {
        let is_fault = |severity| severity == Severity::Fault;
        let faults = self.0.findings.iter().filter(|finding| is_fault(finding.severity));
        faults.count() + usize::from(self.0.contents.is_err())
    }

    fn text(&self, name: &str, faults: usize) -> String {
        let mut out = String::new();
        for finding in &self.0.findings {
            out.push_str(&format!("{name}:{}\n", text::line(&finding.to_string())));
        }
        match &self.0.contents {
            Err(ReadError::Document { position, message }) => {
                out.push_str(&format!("{name}:{position}: fault: {}\n", text::line(message)));
            }
            Err(error) => {
                out.push_str(&format!("{name}: fault: {}\n", text::line(&error.to_string())));
            }
            Ok(contents) => {
                let verdict = match faults {
                    0 => "no faults".to_owned(),
                    count => text::count(count as u64, "fault"),
                };
                let format = format_name(contents);
                out.push_str(&format!("{name}: {verdict}: {format}{}\n", amount(contents)));
            }
        }
        out
    }

    fn value(&self, name: &str) -> Value {
        let mut found: Vec<_> = self
            .0
            .findings
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
        match &self.0.contents {
            Ok(contents) => {
                value["format"] = format_name(contents).into();
                for (name, count) in counts(contents) {
                    value[name] = count.into();
                }
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

/// Name of the kind of a document.
fn format_name(contents: &Contents) -> String {
    match contents {
        Contents::Feed { format, uses_sse: false, .. } => format.to_string(),
        Contents::Feed { format, uses_sse: true, .. } => format!("{format} with SSE"),
        Contents::Service { .. } => "AtomPub service document".to_owned(),
        Contents::Categories { .. } => "AtomPub categories document".to_owned(),
        Contents::Entry { .. } => "Atom entry document".to_owned(),
    }
}

/// Counts of the contents, as members of JSON.
fn counts(contents: &Contents) -> Vec<(&'static str, usize)> {
    match *contents {
        Contents::Feed { items, plain, .. } => vec![("items", items), ("plain", plain)],
        Contents::Service { workspaces, collections } => {
            vec![("workspaces", workspaces), ("collections", collections)]
        }
        Contents::Categories { categories } => vec![("categories", categories)],
        Contents::Entry { takes_part } => {
            vec![("items", usize::from(takes_part)), ("plain", usize::from(!takes_part))]
        }
    }
}

/// Counts of the contents in words, which follow the name of the kind.
fn amount(contents: &Contents) -> String {
    let count = |number: usize, noun: &str| text::count(number as u64, noun);
    let of_items = |items, plain| match plain {
        0 => format!(", {}", count(items, "item")),
        plain => format!(", {}, {plain} without sync information", count(items, "item")),
    };
    match *contents {
        Contents::Feed { items, plain, .. } => of_items(items, plain),
        Contents::Service { workspaces, collections } => {
            let collections = count(collections, "collection");
            format!(", {}, {collections}", count(workspaces, "workspace"))
        }
        Contents::Categories { categories: 1 } => ", 1 category".to_owned(),
        Contents::Categories { categories } => format!(", {categories} categories"),
        Contents::Entry { takes_part: true } => String::new(),
        Contents::Entry { takes_part: false } => " without sync information".to_owned(),
    }
}
