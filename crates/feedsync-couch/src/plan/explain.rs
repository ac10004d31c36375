//! The response to `_explain`.

use std::ops::Bound;

use super::{FindRequest, Plan, candidates, plan};
use crate::find::ReplicaOptions;
use crate::index::{IndexDefinition, Listing};
use crate::json::quoted;
use crate::refusal::{Refusal, RefusalKind};

/// Stands for the value after all values.
const MAX: &str = "\"<MAX>\"";

/// Writes the response to `_explain`: the chosen index, the request with its default values, the other indexes with the
/// reasons against them, and the range that is read (`mrargs`). If no index supports the sort order, the index is
/// `null`.
///
/// Source: CouchDB's documentation of `/{db}/_explain`.
pub fn explain(
    database: &str,
    request: &FindRequest,
    definitions: &[IndexDefinition],
) -> Result<String, Refusal> {
    let plan = match plan(request, definitions) {
        Ok(plan) => Some(plan),
        Err(refusal) if refusal.kind == RefusalKind::NoUsableIndex && request.allow_fallback => {
            None
        }
        Err(refusal) => return Err(refusal),
    };
    let index = plan.as_ref().map(|plan| match plan.index {
        Some(index) => index.listed(),
        None => Listing::ALL_DOCUMENTS.into(),
    });
    let read = plan.as_ref().map(|plan| {
        // Documents are always read, so that no index covers a request.
        format!(",\"mrargs\":{},\"covering\":false", plan.arguments(request))
    });
    let fields: Vec<_> = request.fields.names().map(|name| quoted(&name)).collect();
    let fields = format!("[{}]", fields.join(","));
    Ok(format!(
        "{{\"dbname\":{},\"index\":{},\"partitioned\":false,\"selector\":{},\"opts\":{},\"limit\":{},\"skip\":{},\
         \"fields\":{fields},\"index_candidates\":{},\"selector_hints\":[{}]{}}}\n",
        quoted(database),
        index.as_deref().unwrap_or("null"),
        request.selector.normalized(),
        options(request, &fields),
        request.limit,
        request.skip,
        candidates::written(request, definitions, plan.as_ref()),
        hints(request),
        read.unwrap_or_default(),
    ))
}

/// The fields of the selector that indexes can and cannot support.
fn hints(request: &FindRequest) -> String {
    let fields = request.selector.fields();
    let listed = |fields: Vec<&String>| {
        fields.iter().map(|field| quoted(field)).collect::<Vec<_>>().join(",")
    };
    format!(
        "{{\"type\":\"json\",\"indexable_fields\":[{}],\"unindexable_fields\":[{}]}}",
        listed(fields.indexable.iter().collect()),
        listed(fields.all.difference(&fields.indexable).collect()),
    )
}

impl Plan<'_> {
    fn arguments(&self, request: &FindRequest) -> String {
        let lower = self.fields.iter().map_while(|field| Some(&*field.lower.as_ref()?.value));
        let upper = self.fields.iter().map_while(|field| Some(&*field.upper.as_ref()?.value));
        let (lower, upper) = match self.index {
            None if request.finds_nothing => ("null".into(), "null".into()),
            None => {
                let ids = request.selector.ids();
                let (lower, upper) = (id(&ids.lower), id(&ids.upper));
                (lower.unwrap_or_else(|| "\"\"".into()), upper.unwrap_or_else(|| MAX.into()))
            }
            Some(_) if self.range.is_empty() => ("null".into(), "null".into()),
            Some(_) => {
                let upper: Vec<_> = upper.chain([MAX]).collect();
                let lower: Vec<_> = lower.collect();
                (format!("[{}]", lower.join(",")), format!("[{}]", upper.join(",")))
            }
        };
        let (start, end, direction) = match self.is_descending {
            true => (upper, lower, "rev"),
            false => (lower, upper, "fwd"),
        };
        let conflicts = if request.conflicts { "true" } else { "\"undefined\"" };
        let (stable, update) = (request.replicas.stable, request.replicas.update);
        format!(
            "{{\"include_docs\":true,\"view_type\":\"map\",\"reduce\":false,\"partition\":null,\"start_key\":{start},\
             \"end_key\":{end},\"direction\":\"{direction}\",\"stable\":{stable},\"update\":{update},\"conflicts\":{conflicts}}}"
        )
    }
}

fn id(bound: &Bound<String>) -> Option<String> {
    match bound {
        Bound::Included(id) | Bound::Excluded(id) => Some(quoted(id)),
        Bound::Unbounded => None,
    }
}

fn options(request: &FindRequest, fields: &str) -> String {
    let named = request.use_index.iter().flat_map(|it| [Some(&it.design), it.name.as_ref()]);
    let named: Vec<_> = named.flatten().map(|name| quoted(name)).collect();
    let mut sort = String::new();
    request.sort.push_members(&mut sort, ",");
    let ReplicaOptions { r, update, stable, stale } = request.replicas;
    let stale = if stale { "\"ok\"" } else { "false" };
    format!(
        "{{\"use_index\":[{}],\"bookmark\":{},\"limit\":{},\"skip\":{},\"sort\":{{{sort}}},\"fields\":{fields},\
         \"partition\":\"\",\"r\":{r},\"conflicts\":{},\"stale\":{stale},\"update\":{update},\"stable\":{stable},\
         \"execution_stats\":{},\"allow_fallback\":{}}}",
        named.join(","),
        quoted(&request.position.bookmark()),
        request.limit,
        request.skip,
        request.conflicts,
        request.execution_stats,
        request.allow_fallback,
    )
}
