//! `GET /pages/databases`: the databases of documents that the user may use, and running replications.

pub(crate) mod database;
pub(crate) mod document;
pub(crate) mod dropped;
pub(crate) mod history;
mod json_text;
mod leaves;
mod request;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use feedsync_couch::DatabaseName;
use feedsync_store::Database;
use http::StatusCode;

use crate::access::call::Call;
use crate::http::problem::Problem;
use crate::http::query::encoded;
use crate::hub::Hub;
use crate::pages::answer::{Frame, page};
use request::DatabasesRequest;

/// Number of databases on one page, and number that is read at once.
const PAGE: usize = 200;

/// Maximum number of reads for one page: other users may have most of the databases.
const MAX_READS: usize = 20;

#[derive(Template)]
#[template(path = "databases.html")]
struct DatabasesPage {
    frame: Frame,
    rows: Vec<Row>,
    /// Address of the next page.
    next: Option<String>,
    replications: Vec<Replication>,
    /// Number of dropped databases that the user may bring back.
    dropped: usize,
    /// Address at which programs find the databases.
    address: String,
}

/// A running replication.
struct Replication {
    source: String,
    target: String,
    user: Option<String>,
    is_continuous: bool,
    /// Number of documents that were written, and that the target refused.
    written: u64,
    failed: u64,
}

struct Row {
    name: String,
    page: String,
    documents: u64,
    deleted: u64,
    size: String,
}

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let permit = hub.response_budget.permit().await?;
    let frame = Frame::of(&hub, &call).await?;
    let asked = DatabasesRequest::new(hub, call);
    let mut after: Option<DatabaseName> =
        asked.call.query.text("after").and_then(|name| name.parse().ok());
    let (mut rows, mut is_end) = (Vec::new(), false);
    for _ in 0..MAX_READS {
        let read = asked.databases.databases(after.as_ref(), PAGE).await?;
        is_end = read.len() < PAGE;
        for database in read {
            if rows.len() == PAGE {
                is_end = false;
                break;
            }
            if asked.may_use(&database).await? {
                rows.push(Row::of(&frame.root, &database));
            }
            after = Some(database.name);
        }
        if is_end || rows.len() == PAGE {
            break;
        }
    }
    let next = after
        .filter(|_| !is_end)
        .map(|after| format!("{}/pages/databases?after={}", frame.root, encoded(after.as_str())));
    let replications = match asked.call.principal.administers() {
        true => replications(&asked.hub),
        false => Vec::new(),
    };
    let dropped = asked.dropped(&asked.call.principal).await?.len();
    let address = asked.call.base.url(crate::http::paths::DATABASES);
    let shown = DatabasesPage { rows, next, replications, dropped, address, frame };
    page(permit, &asked.call, StatusCode::OK, move || shown).await
}

fn replications(hub: &Hub) -> Vec<Replication> {
    let mut all = Vec::new();
    for running in hub.replications.all() {
        let (it, stats) = (running.description, running.progress.now().stats);
        all.push(Replication {
            source: it.source,
            target: it.target,
            user: it.user,
            is_continuous: it.is_continuous,
            written: stats.written,
            failed: stats.refused,
        });
    }
    all
}

impl Row {
    fn of(root: &str, database: &Database) -> Self {
        Self {
            name: database.name.to_string(),
            page: database_page(root, &database.name),
            documents: database.documents,
            deleted: database.deleted,
            size: size(database.bytes),
        }
    }
}

/// Address of the page of a database.
fn database_page(root: &str, name: &DatabaseName) -> String {
    format!("{root}/pages/database?name={}", encoded(name.as_str()))
}

/// A number of bytes, for people.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1_024 {
        return format!("{bytes} bytes");
    }
    let mut value = bytes as f64 / 1_024.0;
    let mut units = UNITS.iter();
    let mut unit = units.next().copied().unwrap_or_default();
    for larger in units {
        if value < 1_024.0 {
            break;
        }
        value /= 1_024.0;
        unit = larger;
    }
    format!("{value:.1} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_for_people() {
        for (bytes, shown) in [
            (0, "0 bytes"),
            (1_023, "1023 bytes"),
            (1_024, "1.0 KiB"),
            (1_536, "1.5 KiB"),
            (5 << 20, "5.0 MiB"),
            (3 << 30, "3.0 GiB"),
            (u64::MAX, "16777216.0 TiB"),
        ] {
            assert_eq!(size(bytes), shown);
        }
    }
}
