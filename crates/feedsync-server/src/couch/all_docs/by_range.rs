//! Listings of a range of ids.

use std::ops::Bound;

use feedsync_couch::{Parameters, Refusal, text};
use feedsync_formats::json::Kind;
use feedsync_store::{Database, DocumentRange};

use super::{ListingKind, PAGE, PAGE_BYTES, Rows, attachment_contents};
use crate::couch::{CouchRequest, Failure, no_database};

/// A range of ids, and the number of its rows that are requested.
pub(super) struct Range {
    pub(super) range: DocumentRange,
    pub(super) left: Option<u64>,
}

impl Range {
    pub(super) fn skip(&self) -> u64 {
        self.range.skip
    }

    /// Bounds of the listed ids before the range, in the order of the rows; `None` if the range begins with the first.
    pub(super) fn before(&self, listed: ListingKind) -> Option<(Bound<String>, Bound<String>)> {
        let (first, last) = listed.bounds();
        let DocumentRange { from, to, is_descending, .. } = &self.range;
        let is_whole = if *is_descending { *to == last } else { *from == first };
        match (is_whole, is_descending) {
            (true, _) => None,
            (false, true) => Some((outside(to), last)),
            (false, false) => Some((first, outside(from))),
        }
    }
}

/// The same bound, seen from its other side.
fn outside(bound: &Bound<String>) -> Bound<String> {
    match bound {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(key) => Bound::Excluded(key.clone()),
        Bound::Excluded(key) => Bound::Included(key.clone()),
    }
}

/// Reads the range of ids that a query asks for.
pub(super) fn read(parameters: &Parameters, listed: ListingKind) -> Result<Range, Refusal> {
    // A key that is not a text is no id, but sorts before or after all ids.
    let key = |names: [&str; 2]| -> Result<Option<Result<String, Kind>>, Refusal> {
        for name in names {
            if let Some(json) = parameters.json(name)? {
                let root = json.root();
                return Ok(Some(text(root).map(|key| key.into_owned()).ok_or(root.kind())));
            }
        }
        Ok(None)
    };
    let is_descending = parameters.flag("descending")?;
    let is_inclusive = match parameters.text("inclusive_end") {
        None => true,
        Some(_) => parameters.flag("inclusive_end")?,
    };
    let only = key(["key", "key"])?;
    let start = key(["startkey", "start_key"])?.or_else(|| only.clone());
    let end = key(["endkey", "end_key"])?.or_else(|| only.clone());
    let is_before_all =
        |key: &Result<String, Kind>| matches!(key, Err(Kind::Null | Kind::Boolean | Kind::Number));
    let is_behind_all = |key: &Result<String, Kind>| matches!(key, Err(Kind::Array | Kind::Object));
    let (first, last) = if is_descending { (&end, &start) } else { (&start, &end) };
    let is_nothing = matches!(only, Some(Err(_)))
        || first.as_ref().is_some_and(is_behind_all)
        || last.as_ref().is_some_and(is_before_all);
    let bound = |key: Option<Result<String, Kind>>, is_inclusive: bool| match key {
        Some(Ok(key)) if is_inclusive => Bound::Included(key),
        Some(Ok(key)) => Bound::Excluded(key),
        _ => Bound::Unbounded,
    };
    let (start, end) = (bound(start, true), bound(end, is_inclusive));
    let (from, to) = if is_descending { (end, start) } else { (start, end) };
    let (first, last) = listed.bounds();
    let (from, to) = (later(from, first), earlier(to, last));
    let skip = parameters.count("skip")?.unwrap_or(0);
    let range = DocumentRange { from, to, is_descending, live_only: true, skip, most: PAGE };
    let left = if is_nothing { Some(0) } else { parameters.count("limit")? };
    Ok(Range { range, left })
}

/// Bound that excludes more at the beginning.
fn later(one: Bound<String>, other: Bound<String>) -> Bound<String> {
    let key = |bound: &Bound<String>| match bound {
        Bound::Unbounded => None,
        Bound::Included(key) => Some((key.clone(), false)),
        Bound::Excluded(key) => Some((key.clone(), true)),
    };
    if key(&one) >= key(&other) { one } else { other }
}

/// Bound that excludes more at the end.
fn earlier(one: Bound<String>, other: Bound<String>) -> Bound<String> {
    let key = |bound: &Bound<String>| match bound {
        Bound::Unbounded => (true, String::new(), false),
        Bound::Included(key) => (false, key.clone(), true),
        Bound::Excluded(key) => (false, key.clone(), false),
    };
    if key(&one) <= key(&other) { one } else { other }
}

/// Rows of a range that were not sent yet.
pub(super) struct RangeRows {
    asked: CouchRequest,
    database: Database,
    rows: Rows,
    range: DocumentRange,
    left: Option<u64>,
    is_first: bool,
    is_over: bool,
}

impl RangeRows {
    pub(super) fn new(asked: CouchRequest, database: Database, rows: Rows, range: Range) -> Self {
        let Range { range, left } = range;
        let is_over = left == Some(0);
        Self { asked, database, rows, range, left, is_first: true, is_over }
    }

    pub(super) fn database(&self) -> &Database {
        &self.database
    }

    pub(super) fn rows(&self) -> Rows {
        self.rows
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    pub(super) async fn push_some(&mut self, text: &mut String) -> Result<(), Failure> {
        let left = self.left.map_or(PAGE, |left| usize::try_from(left).unwrap_or(PAGE));
        self.range.most = left.min(PAGE);
        let (name, range) = (&self.database.name, self.range.clone());
        let choose = self.rows.choose();
        let page = self.asked.databases.documents_by_id(name, range, choose, PAGE_BYTES).await?;
        if page.database.epoch != self.database.epoch {
            return Err(no_database().into());
        }
        self.is_over = page.documents.is_empty();
        self.range.skip = 0;
        let begun = text.len();
        for read in page.documents.iter().flatten() {
            text.push_str(if self.is_first { "\n" } else { ",\n" });
            self.is_first = false;
            let held = attachment_contents(&self.asked, &page.database, &self.rows, read).await?;
            let pushed = self.rows.push(text, read, &held, &page.database);
            pushed.ok_or_else(Refusal::missing)?;
            let reached = Bound::Excluded(read.document.id.as_str().to_owned());
            match self.range.is_descending {
                true => self.range.to = reached,
                false => self.range.from = reached,
            }
            self.left = self.left.map(|left| left - 1);
            self.is_over = self.left == Some(0);
            if (text.len() - begun) as u64 > PAGE_BYTES {
                return Ok(());
            }
        }
        Ok(())
    }
}
