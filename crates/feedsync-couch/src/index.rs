//! Indexes of documents by their fields, which CouchDB stores as views in design documents.
//!
//! An index contains each document that has all its fields and matches its partial filter, except deleted and
//! design documents. It is in the [order of values](crate::collation) of these fields.
//!
//! Source: CouchDB's documentation of `/{db}/_index`, and the design documents that it writes.

use feedsync_formats::json::{Kind, Node};
use sha2::{Digest, Sha256};

use crate::collation::KEY_VERSION;
use crate::json::boolean;
use crate::name::DocumentId;
use crate::options::{check_selector, refuse_unknown, required, string};
use crate::refusal::{Refusal, RefusalKind};
use crate::selector::{Selector, Subject};
use crate::sort::Sort;

mod deletion;
mod design;

/// Version of the contents of indexes: of the [keys](KEY_VERSION), and in the last byte of the meaning of partial
/// filters. Stored indexes of another version must be built again.
pub const INDEX_VERSION: u32 = (KEY_VERSION << 8) | 1;

#[cfg(test)]
mod tests;

pub use deletion::{bulk_deletion, design_id, without_index, without_indexes};
pub use design::Listing;

/// The definition of an index.
#[derive(Debug, Clone)]
pub struct IndexDefinition {
    /// Id of the design document that contains it.
    pub design: DocumentId,
    /// Name of its view in the design document.
    pub name: String,
    /// The fields that every document in the index has.
    pub fields: Sort,
    /// Selector that documents in the index match.
    pub filter: Option<Selector>,
    /// The object `index` of the request that created it.
    sent: String,
}

impl IndexDefinition {
    /// Parses a request to `_index`:
    /// `{"index": {"fields": ["a", {"b": "asc"}], "partial_filter_selector": {}}, "ddoc": "d", "name": "n"}`.
    /// Both names are optional, and derived from the definition if absent.
    pub fn read(sent: Node<'_>) -> Result<Self, Refusal> {
        let known = ["index", "type", "name", "ddoc", "w", "partitioned"];
        refuse_unknown(sent, &known)?;
        let index = required(sent, "index")?;
        match string(sent, "type")?.as_deref() {
            None | Some("json") => {}
            Some("text") => return Err(RefusalKind::IndexService.with_reason("text")),
            Some(other) => {
                let reason = format!("Invalid type for index: {other}");
                return Err(RefusalKind::InvalidIndex.with_reason(reason));
            }
        }
        let partitioned = sent.member("partitioned").map(|member| member.value);
        if partitioned.is_some_and(|it| boolean(it) != Some(false)) {
            let reason = "partitioned option cannot be true in a non-partitioned database.";
            return Err(RefusalKind::BadRequest.with_reason(reason));
        }
        if index.kind() != Kind::Object {
            let reason = format!("JSON indexes must be an object, not: {}", index.raw());
            return Err(RefusalKind::InvalidIndex.with_reason(reason));
        }
        refuse_unknown(index, &["fields", "partial_filter_selector"])?;
        let fields = Sort::read(required(index, "fields")?)?;
        let filter = index.member("partial_filter_selector");
        let filter = filter.map_or(Ok(None), |filter| read_filter(filter.value))?;
        let definition = definition(&fields, filter.as_ref());
        let (named, design) = (string(sent, "name")?, string(sent, "ddoc")?);
        if named.as_ref().is_some_and(String::is_empty) {
            return Err(RefusalKind::InvalidIndexName.with_reason("Invalid index name: \"\""));
        }
        // Indexes with the same fields and different names are in design documents of their own.
        let generated = |of: &str| -> String {
            Sha256::digest(of)[..20].iter().map(|byte| format!("{byte:02x}")).collect()
        };
        let design = design.unwrap_or_else(|| match &named {
            None => generated(&definition),
            Some(name) => generated(&format!("{definition} {name}")),
        });
        let name = named.unwrap_or_else(|| generated(&definition));
        let design = design_id(&design)?;
        Ok(Self { design, name, fields, filter, sent: index.raw().into() })
    }

    /// Key of a document in the index: the joined [keys](crate::collation::key) of its fields. `None` if the
    /// document is not in the index.
    pub fn key(&self, document: &Subject<'_>) -> Option<Vec<u8>> {
        let is_outside = document.is_deleted || document.id.starts_with("_design/");
        if is_outside || self.filter.as_ref().is_some_and(|filter| !filter.matches(document)) {
            return None;
        }
        let mut out = Vec::new();
        let fields = &self.fields.fields;
        fields.iter().all(|field| document.push_key(&mut out, &field.path)).then_some(out)
    }

    /// The names by which indexes are in order.
    pub fn full_name(&self) -> (DocumentId, String) {
        (self.design.clone(), self.name.clone())
    }

    /// The definition as `_index` and `_explain` show it.
    pub fn definition(&self) -> String {
        definition(&self.fields, self.filter.as_ref())
    }
}

/// Parses a partial filter; an empty one is no filter.
fn read_filter(sent: Node<'_>) -> Result<Option<Selector>, Refusal> {
    check_selector(sent)?;
    if sent.members().next().is_none() {
        return Ok(None);
    }
    let selector = Selector::parse(sent);
    selector.map(Some).map_err(|error| RefusalKind::BadRequest.with_reason(error))
}

fn definition(fields: &Sort, filter: Option<&Selector>) -> String {
    let mut out = String::from("{\"fields\":[");
    if !fields.fields.is_empty() {
        out.push('{');
        fields.push_members(&mut out, "},{");
        out.push('}');
    }
    out.push(']');
    if let Some(filter) = filter {
        out.push_str(",\"partial_filter_selector\":");
        out.push_str(&filter.normalized());
    }
    out.push('}');
    out
}
