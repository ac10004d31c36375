//! The response to `_explain`.

use std::ops::Bound;

use super::{FindRequest, Plan};
use crate::index::Listing;
use crate::json::quoted;

/// Stands for the value after all values.
const MAX: &str = "\"<MAX>\"";

impl Plan<'_> {
    /// Writes the response to `_explain`: the index, the request with its default values, and the range that is read
    /// (`mrargs`).
    ///
    /// Source: CouchDB's documentation of `/{db}/_explain`. `index_candidates` and `selector_hints` are left out.
    pub fn explain(&self, database: &str, request: &FindRequest) -> String {
        let index = self.index.map_or_else(|| Listing::ALL_DOCUMENTS.into(), |it| it.listed());
        let fields: Vec<_> = request.fields.names().map(|name| quoted(&name)).collect();
        let fields = format!("[{}]", fields.join(","));
        let (limit, skip) = (request.limit, request.skip);
        format!(
            "{{\"dbname\":{},\"index\":{index},\"partitioned\":false,\"selector\":{},\"opts\":{},\"limit\":{limit},\
             \"skip\":{skip},\"fields\":{fields},\"mrargs\":{},\"covering\":false}}\n",
            quoted(database),
            request.selector.normalized(),
            options(request, &fields),
            self.arguments(request),
        )
    }

    fn arguments(&self, request: &FindRequest) -> String {
        let lower = self.fields.iter().map_while(|field| Some(&*field.lower.as_ref()?.value));
        let upper = self.fields.iter().map_while(|field| Some(&*field.upper.as_ref()?.value));
        let (lower, upper) = match self.index {
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
        format!(
            "{{\"include_docs\":true,\"view_type\":\"map\",\"reduce\":false,\"partition\":null,\"start_key\":{start},\
             \"end_key\":{end},\"direction\":\"{direction}\",\"stable\":false,\"update\":true,\"conflicts\":{conflicts}}}"
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
    format!(
        "{{\"use_index\":[{}],\"bookmark\":{},\"limit\":{},\"skip\":{},\"sort\":{{{sort}}},\"fields\":{fields},\
         \"partition\":\"\",\"r\":1,\"conflicts\":{},\"stale\":false,\"update\":true,\"stable\":false,\
         \"execution_stats\":false}}",
        named.join(","),
        quoted(&request.bookmark),
        request.limit,
        request.skip,
        request.conflicts,
    )
}
