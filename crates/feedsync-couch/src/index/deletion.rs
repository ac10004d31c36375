//! Deletion of indexes from design documents.

use feedsync_formats::json::{Kind, Node};

use super::IndexDefinition;
use super::design::{is_query, with_view};
use crate::name::DocumentId;
use crate::options::{positive, refuse_unknown, required};
use crate::query::texts;
use crate::refusal::{Refusal, RefusalKind};

/// Parses a request to `_index/_bulk_delete`: `{"docids": ["d", "_design/e"]}`. Returns the ids of design documents.
pub fn bulk_deletion(sent: Node<'_>) -> Result<Vec<DocumentId>, Refusal> {
    let named = required(sent, "docids")?;
    positive(sent, "w", 2)?;
    refuse_unknown(sent, &["docids", "w"])?;
    let refuse = |_| {
        let reason = format_args!(
            "Bulk Delete requires an array of non-null docids. Docids: {}",
            named.raw()
        );
        RefusalKind::InvalidBulkDocuments.with_reason(reason)
    };
    if named.kind() != Kind::Array {
        return Err(refuse(Refusal::missing()));
    }
    texts(named).map_err(refuse)?.iter().map(|name| design_id(name)).collect()
}

/// Id of a design document, which requests name with or without `_design/`.
pub fn design_id(named: &str) -> Result<DocumentId, Refusal> {
    match named.starts_with("_design/") {
        true => named.parse(),
        false => format!("_design/{named}").parse(),
    }
}

/// The body of a design document without an index. `None` if the document contains nothing else and must be
/// deleted. If there is no such index, the error is 404.
pub fn without_index(body: Node<'_>, name: &str) -> Result<Option<String>, Refusal> {
    let views = body.member("views").map(|views| views.value).filter(|_| is_query(body));
    if views.and_then(|views| views.member(name)).is_none() {
        return Err(Refusal::missing());
    }
    let left = with_view(body, name, None);
    let is_empty = Node::root(&left).members().all(|member| member.name == "language");
    Ok(Some(left).filter(|_| !is_empty))
}

/// The same without all indexes of the document. If there is none, the error is 404.
pub fn without_indexes(id: &DocumentId, body: Node<'_>) -> Result<Option<String>, Refusal> {
    let indexes = IndexDefinition::of_design_document(id, body);
    let Some((first, others)) = indexes.split_first() else { return Err(Refusal::missing()) };
    let first = without_index(body, &first.name)?;
    others.iter().try_fold(first, |left, index| match left {
        Some(left) => without_index(Node::root(&left), &index.name),
        None => Ok(None),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn design_documents_are_named_with_or_without_their_prefix() {
        let read = |sent: &str| bulk_deletion(Node::root(sent));
        let ids = read(r#"{"docids":["a","_design/b/c"],"w":3}"#).unwrap();
        let ids: Vec<_> = ids.iter().map(DocumentId::as_str).collect();
        assert_eq!(ids, ["_design/a", "_design/b/c"]);
        for (sent, error) in [
            ("{}", "missing_required_key"),
            (r#"{"docids":"a"}"#, "invalid_bulk_docs"),
            (r#"{"docids":[null]}"#, "invalid_bulk_docs"),
            (r#"{"docids":[],"w":0}"#, "invalid_pos_integer"),
            (r#"{"docids":[],"x":1}"#, "invalid_key"),
            (r#"{"docids":[""]}"#, "illegal_docid"),
        ] {
            assert_eq!(read(sent).unwrap_err().kind.error(), error, "{sent}");
        }
    }

    #[test]
    fn all_indexes_of_a_design_document_are_deleted() {
        let id: DocumentId = "_design/x".parse().unwrap();
        let view = r#"{"map":{"fields":{"f":"asc"}},"options":{}}"#;
        let without = |body: &str| without_indexes(&id, Node::root(body));
        let both = format!(r#"{{"language":"query","views":{{"a":{view},"b":{view}}}}}"#);
        assert_eq!(without(&both), Ok(None));
        let more = format!(r#"{{"language":"query","views":{{"a":{view},"m":1,"b":{view}}}}}"#);
        assert_eq!(without(&more), Ok(Some(r#"{"language":"query","views":{"m":1}}"#.to_owned())));
        for none in [r#"{"language":"query","views":{"m":1}}"#, r#"{"language":"query"}"#, "{}"] {
            assert_eq!(without(none), Err(Refusal::missing()), "{none}");
        }
    }
}
