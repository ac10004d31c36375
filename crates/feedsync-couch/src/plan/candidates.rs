//! The indexes that were not chosen, with the reasons, for `_explain`.
//!
//! Source: CouchDB's documentation of `/{db}/_find`, "Index selection", and its `mango_cursor.erl`.

use std::cmp::Reverse;

use super::range::FieldBounds;
use super::{Plan, Unusable, compared_prefix, preference, usability};
use crate::find::FindRequest;
use crate::index::{IndexDefinition, Listing};

/// An index that was not chosen.
struct Candidate<'a> {
    /// The index; `None` for that of all documents by their ids.
    index: Option<&'a IndexDefinition>,
    is_usable: bool,
    reason: &'static str,
    ranking: usize,
}

/// Rankings of indexes that were not chosen. Greater ones are worse.
struct Rankings {
    /// Usable indexes of a type that was not chosen.
    unfavored: usize,
    /// Usable indexes other than the named one.
    excluded: usize,
    unusable: usize,
    partial: usize,
}

/// The candidates of a request, sorted in descending order of their names.
struct Candidates<'a> {
    /// Usable indexes, the best one first. If the named index is among them, only that one.
    usable: Vec<(&'a IndexDefinition, Vec<FieldBounds>)>,
    excluded: Vec<&'a IndexDefinition>,
    unusable: Vec<(&'a IndexDefinition, Unusable)>,
    partial: Vec<&'a IndexDefinition>,
    /// Why all documents cannot be read by id.
    all_documents: Result<(), Unusable>,
}

/// Writes the indexes that were not chosen, as an array.
pub(super) fn written(
    request: &FindRequest,
    definitions: &[IndexDefinition],
    plan: Option<&Plan<'_>>,
) -> String {
    let mut candidates = Candidates::of(request, definitions).ranked(request, plan);
    let names = |candidate: &Candidate<'_>| candidate.index.map(IndexDefinition::full_name);
    candidates.sort_by_cached_key(|candidate| Reverse(names(candidate)));
    let candidates: Vec<_> = candidates.iter().map(Candidate::written).collect();
    format!("[{}]", candidates.join(","))
}

impl<'a> Candidates<'a> {
    fn of(request: &FindRequest, definitions: &'a [IndexDefinition]) -> Self {
        let all_documents =
            match request.sort.fields.iter().map(|it| &*it.path).all(|path| path == ["_id"]) {
                true => Ok(()),
                false if request.selector.fields().indexable.contains("_id") => {
                    Err(Unusable::SortOrder)
                }
                false => Err(Unusable::Fields),
            };
        let mut out = Self {
            usable: Vec::new(),
            excluded: Vec::new(),
            unusable: Vec::new(),
            partial: Vec::new(),
            all_documents,
        };
        for index in definitions {
            if index.filter.is_some() && !request.names(index) {
                out.partial.push(index);
                continue;
            }
            match usability(request, index) {
                Ok(bounds) => out.usable.push((index, bounds)),
                Err(reason) => out.unusable.push((index, reason)),
            }
        }
        out.usable.sort_by_cached_key(|(index, bounds)| preference(index, bounds));
        if out.usable.iter().any(|(index, _)| request.names(index)) {
            let excluded = out.usable.extract_if(.., |(index, _)| !request.names(index));
            out.excluded = excluded.map(|(index, _)| index).collect();
        }
        out
    }

    fn ranked(&self, request: &FindRequest, plan: Option<&Plan<'_>>) -> Vec<Candidate<'a>> {
        let is_named = self.usable.iter().any(|(index, _)| request.names(index));
        let is_index_chosen = plan.is_some_and(|plan| plan.index.is_some());
        let is_unfavored = self.all_documents.is_ok() && is_index_chosen && !is_named;
        let is_excluded = self.all_documents.is_ok() && is_named;
        let ranks = {
            let after = |rank: usize, is_occupied: bool| rank + usize::from(is_occupied);
            let unfavored = self.usable.len().max(1);
            let excluded = after(unfavored, is_unfavored);
            let unusable = after(excluded, is_excluded || !self.excluded.is_empty());
            let partial = after(unusable, self.all_documents.is_err() || !self.unusable.is_empty());
            Rankings { unfavored, excluded, unusable, partial }
        };
        let candidate =
            |index, is_usable, reason, ranking| Candidate { index, is_usable, reason, ranking };
        let mut out: Vec<_> = self.not_best().collect();
        let all_documents = match self.all_documents {
            Err(reason) => Some((false, reason.code(), ranks.unusable)),
            Ok(()) if is_excluded => Some((true, "excluded_by_user", ranks.excluded)),
            Ok(()) if is_unfavored => Some((true, "unfavored_type", ranks.unfavored)),
            Ok(()) => None,
        };
        out.extend(
            all_documents.map(|(is_usable, reason, rank)| candidate(None, is_usable, reason, rank)),
        );
        let excluded = self.excluded.iter();
        out.extend(
            excluded.map(|index| candidate(Some(*index), true, "excluded_by_user", ranks.excluded)),
        );
        let unusable = self.unusable.iter();
        out.extend(
            unusable.map(|(index, why)| candidate(Some(*index), false, why.code(), ranks.unusable)),
        );
        let partial = self.partial.iter();
        out.extend(
            partial.map(|index| candidate(Some(*index), false, "is_partial", ranks.partial)),
        );
        out
    }

    /// The usable indexes after the chosen one.
    fn not_best(&self) -> impl Iterator<Item = Candidate<'a>> {
        let best = self.usable.first().map(|(_, bounds)| (compared_prefix(bounds), bounds.len()));
        self.usable.iter().enumerate().skip(1).map(move |(ranking, (index, bounds))| {
            let (prefix, length) = best.unwrap_or_default();
            let reason = if compared_prefix(bounds) < prefix {
                "less_overlap"
            } else if bounds.len() > length {
                "too_many_fields"
            } else {
                "alphabetically_comes_after"
            };
            Candidate { index: Some(*index), is_usable: true, reason, ranking }
        })
    }
}

impl Candidate<'_> {
    fn written(&self) -> String {
        let Self { index, is_usable, reason, ranking } = self;
        // Documents are always read, so that no index covers a request.
        let (listed, covering) = match index {
            Some(index) => (index.listed(), "false"),
            None => (Listing::ALL_DOCUMENTS.to_owned(), "null"),
        };
        format!(
            "{{\"index\":{listed},\"analysis\":{{\"usable\":{is_usable},\"reasons\":[{{\"name\":\"{reason}\"}}],\
             \"ranking\":{ranking},\"covering\":{covering}}}}}"
        )
    }
}

impl Unusable {
    /// CouchDB's code of the reason.
    fn code(self) -> &'static str {
        match self {
            Self::Fields => "field_mismatch",
            Self::SortOrder => "sort_order_mismatch",
        }
    }
}
