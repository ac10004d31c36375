//! Requests for the rows of a view.

use std::cmp::Ordering;

use feedsync_formats::json::{Kind, Node};

use super::group::GroupLevel;
use super::position::{KEPT_KEY_BYTES, is_cut_off};
use super::range::{Bound, PositionRange};
use super::reduction::Reduction;
use crate::collation::compare;
use crate::json::Json;
use crate::many::named;
use crate::query::Parameters;
use crate::refusal::{Refusal, RefusalKind};
use parameters::{count, last_json, update, word};

mod parameters;

/// A request for the rows of a view.
#[derive(Debug, Clone)]
pub struct ViewQuery {
    /// Keys of the requested rows, each as JSON, in the order of the response; `None` for a range of keys. A single key is
    /// such a range.
    pub keys: Option<Vec<String>>,
    /// Whether the order of rows is descending. Keys stay in their order.
    pub is_descending: bool,
    /// Maximum number of rows.
    pub limit: Option<u64>,
    /// Number of rows to skip.
    pub skip: u64,
    /// Whether rows are reduced; if absent, they are if the view has a reduce function.
    pub reduce: Option<bool>,
    /// The groups of rows that are reduced; `None` for all rows together.
    pub group: Option<GroupLevel>,
    /// Whether rows include their documents.
    pub include_docs: bool,
    /// Whether the documents list their conflicts.
    pub conflicts: bool,
    /// Whether the documents include the contents of attachments.
    pub attachments: bool,
    /// Whether the attachments describe their encoding.
    pub att_encoding_info: bool,
    /// Whether the response has the position of the last change that the rows follow.
    pub update_seq: bool,
    /// Whether rows are in order. The number of all rows and the offset are left out otherwise.
    pub is_sorted: bool,
    /// Whether the same copy of the rows is read each time, which is always the case here.
    pub is_stable: bool,
    /// When the rows are brought up to date.
    pub update: ViewUpdate,
    bounds: Bounds,
}

/// When the rows of a view are brought up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewUpdate {
    /// Before they are read.
    Before,
    /// After they are read (`lazy`).
    After,
    /// Not by this request.
    Never,
}

/// Bounds of a range, in the order of the response.
#[derive(Debug, Clone)]
struct Bounds {
    start: Option<Json>,
    end: Option<Json>,
    start_document: Option<String>,
    end_document: Option<String>,
    includes_end: bool,
}

impl ViewQuery {
    /// Parses the parameters of a query, and the body of a `POST`, whose members have precedence.
    pub fn read(parameters: &Parameters, body: Option<Node<'_>>) -> Result<Self, Refusal> {
        let mut all = parameters.clone();
        if let Some(body) = body {
            if body.kind() != Kind::Object {
                let reason = "Request body must be a JSON object";
                return Err(RefusalKind::BadRequest.with_reason(reason));
            }
            all = all.with(body, "keys");
        }
        let flag = |name: &str| all.text(name).map(|_| all.flag(name)).transpose();
        let mut keys = read_keys(&all, body)?;
        // CouchDB treats `keys` with one element as `key`.
        let single = match keys.as_deref() {
            Some([key]) => Some(Json::read(key.clone().into_bytes())?),
            _ => None,
        };
        if single.is_some() {
            keys = None;
        }
        let bound = |names| match &single {
            Some(key) => Ok(Some(key.clone())),
            None => last_json(&all, names),
        };
        Ok(Self {
            keys,
            is_descending: all.flag("descending")?,
            limit: count(&all, "limit")?,
            skip: count(&all, "skip")?.unwrap_or(0),
            reduce: flag("reduce")?,
            group: read_group(flag("group")?, count(&all, "group_level")?)?,
            include_docs: all.flag("include_docs")?,
            conflicts: all.flag("conflicts")?,
            attachments: all.flag("attachments")?,
            att_encoding_info: all.flag("att_encoding_info")?,
            update_seq: all.flag("update_seq")?,
            is_sorted: flag("sorted")?.unwrap_or(true),
            is_stable: all.flag("stable")? || all.text("stale").is_some(),
            update: update(&all, body)?,
            bounds: Bounds {
                start: bound(["startkey", "start_key", "key"])?,
                end: bound(["endkey", "end_key", "key"])?,
                start_document: word(&all, body, ["startkey_docid", "start_key_doc_id"])?,
                end_document: word(&all, body, ["endkey_docid", "end_key_doc_id"])?,
                includes_end: flag("inclusive_end")?.unwrap_or(true),
            },
        })
    }

    /// Whether the response has reductions instead of rows.
    pub fn is_reduced(&self, reduction: Option<&Reduction>) -> bool {
        reduction.is_some() && self.reduce != Some(false)
    }

    /// Refuses what CouchDB refuses for a view with this reduction.
    pub fn check(&self, reduction: Option<&Reduction>) -> Result<(), Refusal> {
        let is_reduced = self.is_reduced(reduction);
        let has_bounds = self.bounds.start.is_some() || self.bounds.end.is_some();
        let has_keys = self.keys.is_some();
        let is_exact = self.group == Some(GroupLevel::Exact);
        let faults = [
            (!is_reduced && self.reduce == Some(true), "Reduce is invalid for map-only views."),
            (
                is_reduced && has_keys && !is_exact,
                "Multi-key fetches for reduce views must use `group=true`",
            ),
            (
                has_bounds && self.keys.as_ref().is_some_and(|keys| !keys.is_empty()),
                "`keys` is incompatible with `key`, `start_key` and `end_key`",
            ),
            (!is_reduced && self.group.is_some(), "Invalid use of grouping on a map view."),
            (is_reduced && self.include_docs, "`include_docs` is invalid for reduce"),
            (is_reduced && self.conflicts, "`conflicts` is invalid for reduce views."),
        ];
        match faults.into_iter().find(|(is_fault, _)| *is_fault) {
            Some((_, reason)) => Err(RefusalKind::QueryParse.with_reason(reason)),
            None => self.check_order(),
        }
    }

    /// Refuses a range whose end is before its start, or one between keys that are not in order.
    fn check_order(&self) -> Result<(), Refusal> {
        let Bounds { start, end, .. } = &self.bounds;
        let order = match (start, end) {
            (Some(start), Some(end)) => Some(compare(start.root(), end.root())),
            _ => None,
        };
        let mut bounds = [start, end].into_iter().flatten();
        if order.is_none_or(Ordering::is_ne) && bounds.any(|bound| is_cut_off(bound.root())) {
            let reason = format!(
                "start_key and end_key are too long: they can take at most {KEPT_KEY_BYTES} bytes in \
                 the order of keys, which are about 490 letters; `key` and `keys` have no such limit"
            );
            return Err(RefusalKind::QueryParse.with_reason(reason));
        }
        let Some(order) = order else { return Ok(()) };
        let is_reversed = if self.is_descending { order.is_lt() } else { order.is_gt() };
        if !is_reversed {
            return Ok(());
        }
        let reason = format!(
            "No rows can match your key range, reverse your start_key and end_key or set \
             descending={}",
            !self.is_descending
        );
        Err(RefusalKind::QueryParse.with_reason(reason))
    }

    /// Ranges of the requested rows, in the order of the response: one for each of the keys, or one.
    ///
    /// The query was [checked](Self::check): no range begins or ends with a key of which positions have a digest, unless it
    /// is the only key.
    pub fn ranges(&self) -> impl Iterator<Item = PositionRange> {
        let of_keys = self.keys.iter().flatten().map(|key| {
            let key = Some(Node::root(key));
            self.range(key, key)
        });
        let of_bounds = self.keys.is_none().then(|| {
            let bounds = &self.bounds;
            self.range(bounds.start.as_ref().map(Json::root), bounds.end.as_ref().map(Json::root))
        });
        of_keys.chain(of_bounds)
    }

    fn range(&self, start: Option<Node<'_>>, end: Option<Node<'_>>) -> PositionRange {
        let bounds = &self.bounds;
        let document = bounds.start_document.as_deref();
        let start = start.map(|key| Bound { key, document, is_inclusive: true });
        let document = bounds.end_document.as_deref();
        let end = end.map(|key| Bound { key, document, is_inclusive: bounds.includes_end });
        match self.is_descending {
            false => PositionRange::between(start, end),
            true => PositionRange::between(end, start),
        }
    }
}

fn read_keys(
    parameters: &Parameters,
    body: Option<Node<'_>>,
) -> Result<Option<Vec<String>>, Refusal> {
    let of_query = parameters.json("keys")?;
    let of_body = body.and_then(|body| body.member("keys")).map(|member| member.value);
    let Some(keys) = of_body.or_else(|| of_query.as_ref().map(Json::root)) else {
        return Ok(None);
    };
    if keys.kind() != Kind::Array {
        let reason = "`keys` must be an array of strings.";
        return Err(RefusalKind::QueryParse.with_reason(reason));
    }
    Ok(Some(named(keys)?.into_iter().map(|key| key.raw().to_owned()).collect()))
}

fn read_group(group: Option<bool>, level: Option<u64>) -> Result<Option<GroupLevel>, Refusal> {
    match (group, level.filter(|level| *level > 0)) {
        (Some(false), Some(_)) => {
            let reason = "Can't specify group=false and group_level>0 at the same time";
            Err(RefusalKind::QueryParse.with_reason(reason))
        }
        (_, Some(level)) => Ok(Some(GroupLevel::Elements(level))),
        (Some(true), None) if level.is_none() => Ok(Some(GroupLevel::Exact)),
        (_, None) => Ok(None),
    }
}
