//! Indexes in design documents, and their list.

use feedsync_formats::json::{Kind, Node};

use super::{IndexDefinition, read_filter};
use crate::json::{quoted, text};
use crate::name::DocumentId;
use crate::refusal::{Refusal, RefusalKind};
use crate::sort::Sort;

/// Language of design documents that contain indexes.
const LANGUAGE: &str = "query";

/// The response to `GET /{db}/_index`: all indexes, and that of all documents by their ids.
#[derive(Debug)]
pub struct Listing<'a>(pub &'a [IndexDefinition]);

impl IndexDefinition {
    /// The indexes of a design document. Views that are not indexes are left out.
    pub fn of_design_document(id: &DocumentId, body: Node<'_>) -> Vec<Self> {
        if !is_query(body) {
            return Vec::new();
        }
        let views = body.member("views").into_iter().flat_map(|views| views.value.members());
        views
            .filter_map(|view| Self::of_view(id.clone(), view.name.into_owned(), view.value))
            .collect()
    }

    /// The index of a [view](Self::view); `None` if the view is not an index.
    pub fn of_view(design: DocumentId, name: String, view: Node<'_>) -> Option<Self> {
        let map = view.member("map")?.value;
        let fields = map.member("fields").filter(|it| it.value.kind() == Kind::Object)?;
        let fields = Sort::read_stored(fields.value).ok()?;
        // Older versions of CouchDB stored the filter as `selector`.
        let filter = map.member("partial_filter_selector").or_else(|| map.member("selector"));
        let filter = filter.map_or(Ok(None), |filter| read_filter(filter.value)).ok()?;
        let sent = view.member("options")?.value.member("def");
        let sent = sent.map_or_else(|| "{}".into(), |sent| sent.value.raw().into());
        Some(Self { design, name, fields, filter, sent })
    }

    /// The view of the index, as CouchDB stores it.
    pub fn view(&self) -> String {
        let mut out = String::from("{\"map\":{\"fields\":{");
        self.fields.push_members(&mut out, ",");
        out.push_str("},\"partial_filter_selector\":");
        out.push_str(&self.filter.as_ref().map_or_else(|| "{}".into(), |it| it.normalized()));
        out.push_str("},\"reduce\":\"_count\",\"options\":{\"def\":");
        out.push_str(&self.sent);
        out.push_str("}}");
        out
    }

    /// The body of the design document with this index. `None` if the document contains the index already.
    pub fn added_to(&self, body: Option<Node<'_>>) -> Result<Option<String>, Refusal> {
        let Some(body) = body else {
            let view = format!("{}:{}", quoted(&self.name), self.view());
            return Ok(Some(format!("{{\"language\":\"{LANGUAGE}\",\"views\":{{{view}}}}}")));
        };
        if !is_query(body) {
            let language = body.member("language").map_or("null", |it| it.value.raw());
            let reason = format!("Existing design doc has an invalid language: {language}");
            return Err(RefusalKind::InvalidDesignLanguage.with_reason(reason));
        }
        let is_same =
            |other: &Self| other.name == self.name && other.definition() == self.definition();
        if Self::of_design_document(&self.design, body).iter().any(is_same) {
            return Ok(None);
        }
        Ok(Some(with_view(body, &self.name, Some(&self.view()))))
    }

    /// The index as `_index` and `_explain` show it.
    pub fn listed(&self) -> String {
        format!(
            "{{\"ddoc\":{},\"name\":{},\"type\":\"json\",\"partitioned\":false,\"def\":{}}}",
            quoted(self.design.as_str()),
            quoted(&self.name),
            self.definition()
        )
    }
}

impl Listing<'_> {
    /// The index of all documents by their ids, which always exists.
    pub const ALL_DOCUMENTS: &'static str = "{\"ddoc\":null,\"name\":\"_all_docs\",\"type\":\"special\",\
         \"def\":{\"fields\":[{\"_id\":\"asc\"}]}}";

    /// Writes the response. `skip` and `limit` select a part of the list, which is in the order of names.
    pub fn written(&self, skip: u64, limit: u64) -> String {
        let usize_of = |number| usize::try_from(number).unwrap_or(usize::MAX);
        let (skip, limit) = (usize_of(skip), usize_of(limit));
        let mut indexes: Vec<_> = self.0.iter().collect();
        indexes.sort_by_key(|index| index.full_name());
        let listed = indexes.iter().map(|index| index.listed());
        let listed = std::iter::once(Self::ALL_DOCUMENTS.to_owned()).chain(listed);
        let listed: Vec<_> = listed.skip(skip).take(limit).collect();
        let total = self.0.len() + 1;
        format!("{{\"total_rows\":{total},\"indexes\":[{}]}}", listed.join(","))
    }
}

pub(super) fn is_query(body: Node<'_>) -> bool {
    body.member("language").and_then(|it| text(it.value)).as_deref() == Some(LANGUAGE)
}

/// The body of a design document with a view in the place of the one of this name, or without it.
pub(super) fn with_view(body: Node<'_>, name: &str, view: Option<&str>) -> String {
    let old = body.member("views").map(|views| views.value);
    let others = old.into_iter().flat_map(Node::members).filter(|other| other.name != name);
    let mut views: Vec<String> = others.map(|other| other.raw().into()).collect();
    views.extend(view.map(|view| format!("{}:{view}", quoted(name))));
    let others = body.members().filter(|member| member.name != "views");
    let mut members: Vec<String> = others.map(|member| member.raw().into()).collect();
    if !views.is_empty() {
        members.push(format!("\"views\":{{{}}}", views.join(",")));
    }
    format!("{{{}}}", members.join(","))
}
