//! Requests to `_find`: pages of documents that match a selector, in the order of their ids.

use std::ops::Bound;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use feedsync_formats::json::{Kind, Node};

use crate::json::{boolean, integer, text};
use crate::refusal::{Refusal, RefusalKind};
use crate::selector::{Fields, IdRange, Selector};

/// Default number of documents in a page.
const DEFAULT_LIMIT: u64 = 25;

/// Bookmark before the first document.
const START_BOOKMARK: &str = "nil";

/// A request for documents that match a selector.
#[derive(Debug, Clone)]
pub struct FindRequest {
    /// Selector of the documents.
    pub selector: Selector,
    /// Range of ids, from the end of the previous page on.
    pub ids: IdRange,
    /// Whether the order is descending.
    pub is_descending: bool,
    /// Maximum number of documents that are returned.
    pub limit: u64,
    /// Number of matching documents that are skipped first.
    pub skip: u64,
    /// Parts of the documents that are returned.
    pub fields: Fields,
    /// Whether other leaves of the documents are listed.
    pub conflicts: bool,
    /// Bookmark of the previous page, as it was sent.
    pub bookmark: String,
}

/// Bookmark of a page that ends with this document.
pub fn bookmark(id: &str) -> String {
    URL_SAFE_NO_PAD.encode(id)
}

impl FindRequest {
    /// Parses a request. Members that control the choice of an index are ignored, because there is only one
    /// way to search.
    pub fn read(sent: Node<'_>) -> Result<Self, Refusal> {
        let refuse = |reason: &str| RefusalKind::BadRequest.with_reason(reason);
        let member = |name: &str| sent.member(name).map(|member| member.value);
        let selector =
            member("selector").ok_or_else(|| refuse("Missing required key: selector"))?;
        let selector = Selector::parse(selector)
            .map_err(|error| RefusalKind::BadRequest.with_reason(error))?;
        let number = |name: &str, usual| {
            let Some(value) = member(name) else { return Ok(usual) };
            integer(value).ok_or_else(|| refuse(&format!("{name} must be a number")))
        };
        let conflicts = match member("conflicts").map(boolean) {
            None => false,
            Some(said) => said.ok_or_else(|| refuse("conflicts must be true or false"))?,
        };
        let said = match member("bookmark").filter(|it| it.kind() != Kind::Null) {
            None => START_BOOKMARK.into(),
            Some(said) => text(said).ok_or_else(|| refuse("bookmark must be a string"))?,
        };
        let bookmark = if said.is_empty() { START_BOOKMARK.to_owned() } else { said.into_owned() };
        let is_descending = member("sort").map_or(Ok(false), is_descending)?;
        let mut ids = selector.ids();
        if let Some(id) = bookmark_id(&bookmark)? {
            ids = range_after(ids, id, is_descending);
        }
        Ok(Self {
            ids,
            is_descending,
            limit: number("limit", DEFAULT_LIMIT)?,
            skip: number("skip", 0)?,
            fields: member("fields").map_or(Ok(Fields::default()), Fields::read)?,
            conflicts,
            selector,
            bookmark,
        })
    }
}

/// Id of the document that a bookmark refers to.
fn bookmark_id(bookmark: &str) -> Result<Option<String>, Refusal> {
    if bookmark == START_BOOKMARK {
        return Ok(None);
    }
    let id = URL_SAFE_NO_PAD.decode(bookmark).ok().and_then(|id| String::from_utf8(id).ok());
    id.map(Some).ok_or_else(|| RefusalKind::BadRequest.with_reason("Invalid bookmark value"))
}

/// The range after a document that was returned. An id outside the range leaves nothing.
fn range_after(ids: IdRange, id: String, is_descending: bool) -> IdRange {
    if !ids.contains(&id) {
        return IdRange::none();
    }
    let left = match is_descending {
        true => IdRange { upper: Bound::Excluded(id), ..ids },
        false => IdRange { lower: Bound::Excluded(id), ..ids },
    };
    if left.is_empty() { IdRange::none() } else { left }
}

/// Parses a sort order; documents can be sorted by id only, ascending or descending.
fn is_descending(sort: Node<'_>) -> Result<bool, Refusal> {
    let no_index = || {
        let reason = "No index exists for this sort, try indexing by the sort fields.";
        RefusalKind::NoUsableIndex.with_reason(reason)
    };
    if sort.kind() != Kind::Array {
        return Err(RefusalKind::BadRequest.with_reason("sort must be an array"));
    }
    let mut fields = sort.elements();
    let (Some(first), None) = (fields.next(), fields.next()) else {
        return if sort.elements().next().is_none() { Ok(false) } else { Err(no_index()) };
    };
    if text(first).as_deref() == Some("_id") {
        return Ok(false);
    }
    let mut members = first.members();
    let (Some(id), None) = (members.next().filter(|it| it.name == "_id"), members.next()) else {
        return Err(no_index());
    };
    match text(id.value).as_deref() {
        Some("asc") => Ok(false),
        Some("desc") => Ok(true),
        _ => {
            Err(RefusalKind::BadRequest.with_reason("the direction of a sort must be asc or desc"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(more: &str) -> Result<FindRequest, Refusal> {
        FindRequest::read(Node::root(&format!("{{\"selector\":{{}}{more}}}")))
    }

    #[test]
    fn only_sorting_by_id_is_accepted() {
        for (sort, is_descending) in [
            ("[]", false),
            (r#"["_id"]"#, false),
            (r#"[{"_id":"asc"}]"#, false),
            (r#"[{"_id":"desc"}]"#, true),
        ] {
            let found = read(&format!(",\"sort\":{sort}")).unwrap();
            assert_eq!(found.is_descending, is_descending, "{sort}");
        }
        for sort in [r#"["a"]"#, r#"[{"a":"asc"}]"#, r#"["_id","a"]"#, "[1]", "[{}]"] {
            let refused = read(&format!(",\"sort\":{sort}")).unwrap_err();
            assert_eq!(refused.kind, RefusalKind::NoUsableIndex, "{sort}");
        }
        for sort in ["1", r#"{"_id":"asc"}"#, r#"[{"_id":"x"}]"#, r#"[{"_id":1}]"#] {
            let refused = read(&format!(",\"sort\":{sort}")).unwrap_err();
            assert_eq!(refused.kind, RefusalKind::BadRequest, "{sort}");
        }
    }

    #[test]
    fn bookmark_continues_after_its_document() {
        let at = |id: &str, sort: &str| {
            read(&format!(",\"bookmark\":\"{}\",\"sort\":{sort}", bookmark(id))).unwrap().ids
        };
        let up = at("b/\u{e4}", "[]");
        assert!(!up.contains("b/\u{e4}") && !up.contains("a") && up.contains("c"));
        let down = at("b", r#"[{"_id":"desc"}]"#);
        assert!(!down.contains("b") && down.contains("a") && !down.contains("c"));
        for none in ["\"nil\"", "\"\"", "null"] {
            let found = read(&format!(",\"bookmark\":{none}")).unwrap();
            assert_eq!((found.ids, &*found.bookmark), (IdRange::ALL, "nil"));
        }
        for wrong in ["1", "\"?\"", "\"_w\""] {
            assert!(read(&format!(",\"bookmark\":{wrong}")).is_err(), "{wrong}");
        }
        let outside = format!(
            "{{\"selector\":{{\"_id\":{{\"$lt\":\"b\"}}}},\"bookmark\":\"{}\"}}",
            bookmark("c")
        );
        assert!(FindRequest::read(Node::root(&outside)).unwrap().ids.is_empty());
    }
}
