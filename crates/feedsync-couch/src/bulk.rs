//! Requests about many documents (section 6).

use feedsync_formats::json::{Kind, Node};

use crate::json::{boolean, text};
use crate::many::{check_named, named};
use crate::name::DocumentId;
use crate::query::revisions;
use crate::refusal::{Refusal, RefusalKind};
use crate::revision::Revision;

/// The documents of `_bulk_docs`, and the value of `new_edits`.
pub fn bulk_documents(body: Node<'_>) -> Result<(Vec<Node<'_>>, bool), Refusal> {
    let refuse = |reason: &str| RefusalKind::BadRequest.with_reason(reason);
    let documents = body
        .member("docs")
        .ok_or_else(|| refuse("POST body must include `docs` parameter."))?
        .value;
    if documents.kind() != Kind::Array {
        return Err(refuse("`docs` parameter must be an array."));
    }
    let new_edits = body.member("new_edits").map(|member| boolean(member.value));
    let new_edits = new_edits.map_or(Some(true), |it| it);
    let new_edits = new_edits.ok_or_else(|| refuse("`new_edits` must be true or false"))?;
    Ok((named(documents)?, new_edits))
}

/// The documents and revisions in a request to `_revs_diff` or `_missing_revs`.
pub fn requested_revisions(body: Node<'_>) -> Result<Vec<(String, Vec<Revision>)>, Refusal> {
    if body.kind() != Kind::Object {
        return Err(RefusalKind::BadRequest.with_reason("Request body must be a JSON object"));
    }
    let mut asked: Vec<(String, Vec<Revision>)> = Vec::new();
    let mut count = 0;
    for member in body.members() {
        let revisions = revisions(member.value)?;
        count += 1 + revisions.len();
        check_named(count)?;
        asked.push((member.name.into_owned(), revisions));
    }
    Ok(asked)
}

/// One document in a request to `_bulk_get`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedDocument {
    /// Its id as it was sent; `None` if it is absent.
    pub id: Option<String>,
    /// Its revision as it was sent.
    pub revision: Option<String>,
    /// Revisions whose attachments the client has (`atts_since`); malformed ones are ignored.
    pub had: Vec<Revision>,
}

impl RequestedDocument {
    /// The requested document and revision; without a revision, all leaves are requested.
    pub fn asked(&self) -> Result<(DocumentId, Option<Revision>), Refusal> {
        let id = self.id.as_deref();
        let id = id.ok_or_else(|| RefusalKind::BadRequest.with_reason("document id missed"))?;
        let revision = self.revision.as_deref().map(str::parse).transpose()?;
        Ok((id.parse()?, revision))
    }
}

/// The documents in a request to `_bulk_get`; the response has as many results.
pub fn requested_documents(body: Node<'_>) -> Result<Vec<RequestedDocument>, Refusal> {
    let documents = body.member("docs").filter(|docs| docs.value.kind() == Kind::Array);
    let documents = documents
        .ok_or_else(|| RefusalKind::BadRequest.with_reason("Missing JSON list of 'docs'."))?;
    let asked = |node: Node<'_>| {
        let of = |name: &str| Some(text(node.member(name)?.value)?.into_owned());
        let had = node.member("atts_since").and_then(|it| revisions(it.value).ok());
        RequestedDocument { id: of("id"), revision: of("rev"), had: had.unwrap_or_default() }
    };
    Ok(named(documents.value)?.into_iter().map(asked).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MAX_NAMED;

    #[test]
    fn number_of_names_in_a_request_is_limited() {
        let list =
            |one: &str, count: usize| format!("[{}{one}]", format!("{one},").repeat(count - 1));
        let revisions = |count| format!("{{\"a\":{},\"b\":[\"1-a\"]}}", list("\"1-a\"", count));
        let documents = |count| format!("{{\"docs\":{}}}", list("{}", count));
        for (count, is_too_much) in [(MAX_NAMED - 3, false), (MAX_NAMED + 1, true)] {
            let (documents, revisions) = (documents(count), revisions(count));
            let (documents, revisions) = (Node::root(&documents), Node::root(&revisions));
            for refusal in [
                bulk_documents(documents).err(),
                requested_documents(documents).err(),
                requested_revisions(revisions).err(),
            ] {
                assert_eq!(refusal.map(|it| it.kind), is_too_much.then_some(RefusalKind::TooLarge));
            }
        }
        let all = |count| revisions(count);
        assert!(requested_revisions(Node::root(&all(MAX_NAMED - 3))).is_ok());
        assert!(
            requested_revisions(Node::root(&all(MAX_NAMED - 2))).is_err(),
            "with what they are of"
        );
    }
}
