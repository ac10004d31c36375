//! Requests to `_find`: pages of documents that match a selector, in the order of ids or of an index.

use std::ops::Bound;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use feedsync_formats::json::{Kind, Node};

use crate::json::{boolean, integer, text};
use crate::plan::{UseIndex, plan};
use crate::refusal::{Refusal, RefusalKind};
use crate::selector::{Fields, IdRange, Selector};
use crate::sort::Sort;

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
    /// Order of the documents; without fields it is that of the index that is used.
    pub sort: Sort,
    /// The index that the client names.
    pub use_index: Option<UseIndex>,
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
    /// Parses a request to a database without indexes, where the only order is that of ids.
    pub fn read(sent: Node<'_>) -> Result<Self, Refusal> {
        let request = Self::parse(sent)?;
        plan(&request, &[])?;
        Ok(request)
    }

    /// Parses a request to a database with indexes. [`plan`] chooses one of them.
    pub fn parse(sent: Node<'_>) -> Result<Self, Refusal> {
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
        let sort = member("sort").map_or(Ok(Sort::default()), Sort::read)?;
        let mut ids = selector.ids();
        if let Some(id) = bookmark_id(&bookmark)? {
            ids = range_after(ids, id, sort.is_descending);
        }
        Ok(Self {
            ids,
            sort,
            use_index: member("use_index").map_or(Ok(None), UseIndex::read)?,
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
            assert_eq!(found.sort.is_descending, is_descending, "{sort}");
        }
        for sort in [r#"["a"]"#, r#"[{"a":"asc"}]"#, r#"["_id","a"]"#] {
            let refused = read(&format!(",\"sort\":{sort}")).unwrap_err();
            assert_eq!(refused.kind, RefusalKind::NoUsableIndex, "{sort}");
        }
        for (sort, kind) in [
            ("1", RefusalKind::InvalidSort),
            (r#"{"_id":"asc"}"#, RefusalKind::InvalidSort),
            ("[1]", RefusalKind::InvalidSortField),
            ("[{}]", RefusalKind::InvalidSortField),
            (r#"[{"_id":"x"}]"#, RefusalKind::InvalidSortField),
            (r#"[{"_id":1}]"#, RefusalKind::InvalidSortField),
        ] {
            let refused = read(&format!(",\"sort\":{sort}")).unwrap_err();
            assert_eq!(refused.kind, kind, "{sort}");
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
