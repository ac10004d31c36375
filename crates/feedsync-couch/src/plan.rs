//! The choice of an index for a request to `_find`, as CouchDB makes it.
//!
//! 1. Indexes with a partial filter are candidates only if the request names them in `use_index`.
//! 2. An index is usable if all its fields are in the sort order, or the selector shows that all matching documents
//!    have them. Every condition on a field shows this, except `{"$exists": false}`; of the alternatives of `$or` each
//!    must show it. The sort order must be the first fields of the index, after fields that the selector compares
//!    with `$eq`.
//! 3. If the index in `use_index` is usable, it is used. Otherwise the response has a warning.
//! 4. Of several usable indexes the one is used of which the selector compares the most first fields, then the one
//!    with the fewest fields, then the first one by name.
//! 5. If there is none, all documents are read by id, which is the order of `_id`. Another order is an error.
//!
//! Documents that lack a field of the sort order are not found, as in CouchDB. Otherwise an index contains all
//! matching documents.
//!
//! Source: CouchDB's documentation of `/{db}/_find`, "Index selection", and `has_required_fields` of its
//! `mango_selector.erl`.

use std::cmp::Reverse;
use std::fmt;

use feedsync_formats::json::{Kind, Node};

use crate::find::FindRequest;
use crate::index::IndexDefinition;
use crate::json::text;
use crate::name::DocumentId;
use crate::query::texts;
use crate::refusal::{Refusal, RefusalKind};
use crate::sort::SortField;
use range::FieldBounds;

mod candidates;
mod explain;
mod pages;
mod range;

#[cfg(test)]
mod tests;

pub use explain::explain;
pub use pages::Pages;
pub use range::KeyRange;

/// The way in which a request is executed.
#[derive(Debug)]
pub struct Plan<'a> {
    /// The index that is read; `None` if all documents are read by id.
    pub index: Option<&'a IndexDefinition>,
    /// Range of the keys that are read. Without an index, the selector determines the [pages](Plan::pages).
    pub range: KeyRange,
    /// Whether the keys are read from the end of the range.
    pub is_descending: bool,
    fields: Vec<FieldBounds>,
    is_ignored: bool,
}

/// The index that a client wants to be used: a design document, and possibly the name of the index in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UseIndex {
    /// Name of the design document, without `_design/`.
    pub design: String,
    /// Name of the index; if absent, any index of the design document is meant.
    pub name: Option<String>,
}

/// Chooses an index for a request.
pub fn plan<'a>(
    request: &FindRequest,
    definitions: impl IntoIterator<Item = &'a IndexDefinition>,
) -> Result<Plan<'a>, Refusal> {
    let is_named = |index: &IndexDefinition| request.names(index);
    let usable = definitions
        .into_iter()
        .filter(|index| index.filter.is_none() || is_named(index))
        .filter_map(|index| Some((index, usability(request, index).ok()?)));
    let best = usable.min_by_key(|(index, fields)| (!is_named(index), preference(index, fields)));
    let chosen = best.as_ref().map(|(index, _)| *index);
    if !request.allow_fallback {
        check_fallback(request, chosen)?;
    }
    let is_descending = request.sort.is_descending;
    let is_ignored = request.use_index.is_some() && !chosen.is_some_and(is_named);
    let Some((index, fields)) = best else {
        if !request.sort.fields.iter().map(|field| &*field.path).all(|path| path == ["_id"]) {
            let reason = "No index exists for this sort, try indexing by the sort fields.";
            return Err(RefusalKind::NoUsableIndex.with_reason(reason));
        }
        let range = KeyRange::of(&[]);
        return Ok(Plan { index: None, range, is_descending, fields: Vec::new(), is_ignored });
    };
    let range = if request.finds_nothing { KeyRange::none() } else { KeyRange::of(&fields) };
    Ok(Plan { index: Some(index), range, is_descending, fields, is_ignored })
}

/// Reason why an index is not usable for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unusable {
    /// Matching documents can lack a field of the index.
    Fields,
    /// The index is not in the sort order.
    SortOrder,
}

/// The bounds of the fields of an index, if it is usable for the request.
fn usability(request: &FindRequest, index: &IndexDefinition) -> Result<Vec<FieldBounds>, Unusable> {
    let (fields, sort) = (&index.fields.fields, &request.sort.fields);
    let is_in_all = |field: &SortField| {
        sort.iter().any(|sorted| sorted.path == field.path)
            || field.path == ["_id"]
            || field.path == ["_rev"]
            || request.selector.requires(field)
    };
    if !fields.iter().all(is_in_all) {
        return Err(Unusable::Fields);
    }
    let bounds: Vec<_> =
        fields.iter().map(|field| FieldBounds::of(&request.selector, field)).collect();
    if serves(fields, &bounds, sort) { Ok(bounds) } else { Err(Unusable::SortOrder) }
}

/// Number of first fields of an index that the selector compares.
fn compared_prefix(fields: &[FieldBounds]) -> usize {
    fields.iter().take_while(|field| field.is_compared).count()
}

/// Order of usable indexes, the best one first.
fn preference(
    index: &IndexDefinition,
    fields: &[FieldBounds],
) -> (Reverse<usize>, usize, (DocumentId, String)) {
    (Reverse(compared_prefix(fields)), fields.len(), index.full_name())
}

/// Refuses to use another index than the named one, or none. Source: CouchDB's documentation of `allow_fallback`.
fn check_fallback(request: &FindRequest, chosen: Option<&IndexDefinition>) -> Result<(), Refusal> {
    match (&request.use_index, chosen) {
        (None, Some(_)) => Ok(()),
        (None, None) => {
            let reason = "There is no index available for this selector.";
            Err(RefusalKind::NoUsableIndex.with_reason(reason))
        }
        (Some(_), Some(index)) if request.names(index) => Ok(()),
        (Some(named), _) => {
            let reason = format!(
                "{named} specified by `use_index` could not be found or it is not suitable."
            );
            Err(RefusalKind::InvalidIndex.with_reason(reason))
        }
    }
}

/// Whether the keys of an index are in a sort order.
fn serves(fields: &[SortField], bounds: &[FieldBounds], sort: &[SortField]) -> bool {
    let Some(first) = sort.first() else { return true };
    let is_before = |(field, bounds): &(&SortField, &FieldBounds)| {
        field.path != first.path && bounds.is_constant
    };
    let constant = fields.iter().zip(bounds).take_while(is_before).count();
    let rest = &fields[constant..];
    rest.len() >= sort.len() && rest.iter().zip(sort).all(|(one, other)| one.path == other.path)
}

impl FindRequest {
    /// Whether the request names the index.
    fn names(&self, index: &IndexDefinition) -> bool {
        self.use_index.as_ref().is_some_and(|it| it.means(index))
    }
}

impl Plan<'_> {
    /// The warning in the response.
    pub fn warning(&self, request: &FindRequest) -> Option<String> {
        let ignored = request.use_index.as_ref().filter(|_| self.is_ignored).map(|named| {
            let reason = match &named.name {
                None => "it does not contain a valid index for this query",
                Some(_) => "it is not a valid index for this query",
            };
            format!("{named} was not used because {reason}.")
        });
        let unindexed = "No matching index found, create an index to optimize query time.";
        let unindexed = self.index.is_none().then(|| unindexed.to_owned());
        let warnings: Vec<_> = ignored.into_iter().chain(unindexed).collect();
        (!warnings.is_empty()).then(|| warnings.join("\n"))
    }
}

impl fmt::Display for UseIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "_design/{}", self.design)?;
        self.name.iter().try_for_each(|name| write!(f, ", {name}"))
    }
}

impl UseIndex {
    /// Parses the member `use_index`: `"design"`, `"design/name"`, `["design"]` or `["design", "name"]`. The name of
    /// the design document may begin with `_design/`.
    pub(crate) fn read(sent: Node<'_>) -> Result<Option<Self>, Refusal> {
        let refuse = || {
            let reason = format!("Invalid index name: {}", sent.raw());
            RefusalKind::InvalidIndexName.with_reason(reason)
        };
        let (design, name) = match sent.kind() {
            Kind::Null => return Ok(None),
            Kind::String => {
                let named = text(sent).ok_or_else(refuse)?;
                match named.split_once('/') {
                    Some((design, name)) if design != "_design" => {
                        (design.into(), Some(name.into()))
                    }
                    _ => (named.into_owned(), None),
                }
            }
            _ => {
                let mut parts = texts(sent).map_err(|_| refuse())?.into_iter();
                match (parts.next(), parts.next(), parts.next()) {
                    (None, ..) => return Ok(None),
                    (Some(design), name, None) => (design, name),
                    _ => return Err(refuse()),
                }
            }
        };
        let design = design.strip_prefix("_design/").unwrap_or(&design).to_owned();
        Ok(Some(Self { design, name }))
    }

    fn means(&self, index: &IndexDefinition) -> bool {
        index.design.as_str().strip_prefix("_design/") == Some(&*self.design)
            && self.name.as_ref().is_none_or(|name| *name == index.name)
    }
}
