//! `_all_dbs` and `_dbs_info`: the databases that the principal may use, by name.

use std::collections::VecDeque;

use axum::body::Body;
use axum::response::Response;
use feedsync_couch::{DatabaseName, Parameters, Refusal, RefusalKind, quoted, text, texts};
use feedsync_store::Database;
use http::Method;

use super::database::info;
use super::pieces::{self, Pieces};
use super::{CouchRequest, Failure};
use crate::access::databases::Need;

/// Number of databases per read.
const PAGE: usize = 1_000;

/// Maximum number of databases that a `POST` of `_dbs_info` names, as in CouchDB.
const MAX_KEYS: usize = 100;

/// `_all_dbs`.
pub(super) async fn answer(asked: &CouchRequest) -> Result<Response, Failure> {
    asked.method_of(&[Method::GET])?;
    listed(asked, false).await
}

/// `_dbs_info`: the databases with information about each.
pub(super) async fn answer_info(asked: &CouchRequest, body: Body) -> Result<Response, Failure> {
    if *asked.method_of(&[Method::GET, Method::POST])? == Method::GET {
        return listed(asked, true).await;
    }
    let (_permit, sent) = asked.json(body).await?;
    let keys = sent.root().member("keys");
    let keys =
        keys.ok_or_else(|| RefusalKind::BadRequest.with_reason("`keys` member must exist."))?;
    let keys = texts(keys.value)
        .map_err(|_| RefusalKind::BadRequest.with_reason("`keys` must be an array of strings"))?;
    if keys.len() > MAX_KEYS {
        return Err(RefusalKind::BadRequest.with_reason("too_many_keys").into());
    }
    let mut rows = Vec::with_capacity(keys.len());
    for key in keys {
        let found = match key.parse::<DatabaseName>() {
            Ok(name) => asked.databases.database(&name).await?,
            Err(_) => None,
        };
        // A database that the principal may not use looks like one that does not exist.
        let found = match found {
            Some(database) if asked.may(&database, Need::Use).await? => Some(database),
            _ => None,
        };
        let key = quoted(&key);
        rows.push(match found {
            Some(database) => row(asked, &database),
            None => format!("{{\"key\":{key},\"error\":\"not_found\"}}"),
        });
    }
    Ok(super::json(http::StatusCode::OK, format!("[{}]\n", rows.join(","))))
}

/// Row of one database.
fn row(asked: &CouchRequest, database: &Database) -> String {
    let key = quoted(database.name.as_str());
    format!("{{\"key\":{key},\"info\":{}}}", info(asked, database).trim_end())
}

async fn listed(asked: &CouchRequest, with_info: bool) -> Result<Response, Failure> {
    let range = Range::read(&asked.parameters)?;
    let (skip, left) = (asked.parameters.count("skip")?, asked.parameters.count("limit")?);
    let mut names = DatabaseListing {
        asked: asked.clone(),
        with_info,
        after: None,
        before_end: None,
        skip: skip.unwrap_or(0),
        left,
        is_first: true,
        is_over: left == Some(0),
        range,
    };
    if asked.parameters.flag("descending")? && !names.is_over {
        names.before_end = Some(names.all().await?);
    }
    pieces::answer(asked, names, String::from("[")).await
}

/// Range of names that are listed.
struct Range {
    first: Option<String>,
    last: Option<(String, bool)>,
}

impl Range {
    fn read(parameters: &Parameters) -> Result<Self, Refusal> {
        let key = |names: [&str; 2]| -> Result<Option<String>, Refusal> {
            for name in names {
                if let Some(json) = parameters.json(name)? {
                    let refuse = || {
                        RefusalKind::QueryParse.with_reason(format!("{name} must be a JSON string"))
                    };
                    return text(json.root()).map(|key| Some(key.into_owned())).ok_or_else(refuse);
                }
            }
            Ok(None)
        };
        let is_inclusive = match parameters.text("inclusive_end") {
            None => true,
            Some(_) => parameters.flag("inclusive_end")?,
        };
        let only = key(["key", "key"])?;
        let start = key(["startkey", "start_key"])?.or_else(|| only.clone());
        let end = key(["endkey", "end_key"])?.or(only);
        Ok(match parameters.flag("descending")? {
            // The first name is never left out.
            true => Self { first: end, last: start.map(|key| (key, true)) },
            false => Self { first: start, last: end.map(|key| (key, is_inclusive)) },
        })
    }

    fn has(&self, name: &str) -> bool {
        let is_behind = self.first.as_deref().is_none_or(|first| name >= first);
        let is_before = self.last.as_ref().is_none_or(|(last, is_inclusive)| {
            name < last.as_str() || *is_inclusive && name == last
        });
        is_behind && is_before
    }

    /// Whether this name and all later ones are past the end of the range.
    fn is_behind(&self, name: &str) -> bool {
        self.last.as_ref().is_some_and(|(last, _)| name > last.as_str())
    }
}

/// Databases that were not sent yet.
struct DatabaseListing {
    asked: CouchRequest,
    with_info: bool,
    /// Last database that was read.
    after: Option<DatabaseName>,
    /// Remaining databases of a descending listing, the greatest name first.
    before_end: Option<VecDeque<DatabaseName>>,
    skip: u64,
    left: Option<u64>,
    is_first: bool,
    is_over: bool,
    range: Range,
}

impl DatabaseListing {
    /// All names of the range, the greatest first.
    async fn all(&mut self) -> Result<VecDeque<DatabaseName>, Failure> {
        let mut all = VecDeque::new();
        loop {
            let page = self.asked.databases.databases(self.after.as_ref(), PAGE).await?;
            let Some(last) = page.last() else { return Ok(all) };
            self.after = Some(last.name.clone());
            let names = page.into_iter().map(|database| database.name);
            names
                .filter(|name| self.range.has(name.as_str()))
                .for_each(|name| all.push_front(name));
        }
    }

    /// The next databases.
    async fn page(&mut self) -> Result<Vec<Database>, Failure> {
        let Some(left) = &mut self.before_end else {
            let page = self.asked.databases.databases(self.after.as_ref(), PAGE).await?;
            let last = page.last().map(|database| &database.name);
            self.is_over = last.is_none_or(|last| self.range.is_behind(last.as_str()));
            self.after = last.cloned().or(self.after.take());
            return Ok(page);
        };
        let mut page = Vec::new();
        for name in left.drain(..left.len().min(PAGE)) {
            page.extend(self.asked.databases.database(&name).await?);
        }
        self.is_over = left.is_empty();
        Ok(page)
    }
}

impl Pieces for DatabaseListing {
    const END: &'static str = "]\n";

    fn database(&self) -> Option<&Database> {
        None
    }

    fn may_be_large(&self) -> bool {
        false
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    async fn push_some(&mut self, text: &mut String) -> Result<(), Failure> {
        for database in self.page().await? {
            if !self.range.has(database.name.as_str())
                || !self.asked.may(&database, Need::Use).await?
            {
                continue;
            }
            if self.skip > 0 {
                self.skip -= 1;
                continue;
            }
            text.push_str(if self.is_first { "" } else { "," });
            self.is_first = false;
            match self.with_info {
                true => text.push_str(&row(&self.asked, &database)),
                false => text.push_str(&quoted(database.name.as_str())),
            }
            self.left = self.left.map(|left| left - 1);
            if self.left == Some(0) {
                self.is_over = true;
                return Ok(());
            }
        }
        Ok(())
    }
}
