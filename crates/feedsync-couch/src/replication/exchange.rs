//! Missing revisions, their documents, and the results of writing them (section 6).

use feedsync_formats::json::{Kind, Member, Node, push_string};

use super::{ChangedDocument, InvalidResponse};
use crate::json::{Json, boolean, integer, text};

/// Maximum number of characters of a reason that is reported.
const MAX_REASON_CHARS: usize = 500;

/// Revisions of a document that a target lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingDocument {
    /// Id of the document.
    pub id: String,
    /// The missing revisions.
    pub revisions: Vec<String>,
    /// Revisions of the target that may be ancestors of the missing ones; it already has their attachments.
    pub ancestors: Vec<String>,
}

/// A revision of a document as a source sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedDocument {
    /// Id of the document.
    pub id: String,
    /// Its revision.
    pub revision: String,
    /// The complete document, as JSON.
    pub text: String,
}

impl FetchedDocument {
    /// Whether the document is the given revision or a descendant of it.
    pub fn descends_from(&self, revision: &str) -> bool {
        if self.revision.eq_ignore_ascii_case(revision) {
            return true;
        }
        let Some((generation, signature)) = revision.split_once('-') else { return false };
        let Some(path) = Node::root(&self.text).member("_revisions") else { return false };
        let start = path.value.member("start").and_then(|it| integer(it.value));
        let back = start.zip(generation.parse().ok()).and_then(|(start, at)| start.checked_sub(at));
        let ids = path.value.member("ids");
        let ancestor = back.zip(ids).and_then(|(back, ids)| {
            ids.value.elements().nth(usize::try_from(back).ok()?).and_then(text)
        });
        ancestor.is_some_and(|ancestor| ancestor.eq_ignore_ascii_case(signature))
    }
}

/// A revision that a source did not send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnavailableRevision {
    /// Id of the document.
    pub id: String,
    /// The revision.
    pub revision: String,
    /// Error in one word.
    pub error: String,
    /// Description of the error.
    pub reason: String,
}

/// A document that a target did not accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedDocument {
    /// Id of the document.
    pub id: String,
    /// Error in one word.
    pub error: String,
    /// Description of the error.
    pub reason: String,
}

/// The body of `_revs_diff`.
pub fn differences_request(documents: &[ChangedDocument]) -> String {
    let mut out = String::from("{");
    for (at, document) in documents.iter().enumerate() {
        out.push_str(if at > 0 { ",\n" } else { "" });
        push_string(&mut out, &document.id);
        out.push(':');
        push_texts(&mut out, &document.revisions);
    }
    out.push('}');
    out
}

/// Parses the response to `_revs_diff`.
pub fn read_differences(answer: &Json) -> Result<Vec<MissingDocument>, InvalidResponse> {
    if answer.root().kind() != Kind::Object {
        return Err(InvalidResponse(
            "the response to _revs_diff must be an object with a member for each document",
        ));
    }
    let read = |member: Member<'_>| {
        let list = |name: &str| {
            let list = member.value.member(name)?.value;
            let texts = list.elements().map(|it| Some(text(it)?.into_owned()));
            texts.collect::<Option<Vec<_>>>().filter(|_| list.kind() == Kind::Array)
        };
        let revisions = list("missing").filter(|it| !it.is_empty())?;
        let ancestors = list("possible_ancestors").unwrap_or_default();
        Some(MissingDocument { id: member.name.into_owned(), revisions, ancestors })
    };
    let all = answer.root().members().map(read).collect::<Option<Vec<_>>>();
    all.ok_or(InvalidResponse(
        "in the response to _revs_diff, the missing revisions must be a list",
    ))
}

/// The body of `_bulk_get`.
pub fn documents_request(missing: &[MissingDocument]) -> String {
    let mut out = String::from("{\"docs\":[");
    let mut is_first = true;
    for document in missing {
        for revision in &document.revisions {
            out.push_str(if std::mem::take(&mut is_first) { "{\"id\":" } else { ",\n{\"id\":" });
            push_string(&mut out, &document.id);
            out.push_str(",\"rev\":");
            push_string(&mut out, revision);
            if !document.ancestors.is_empty() {
                out.push_str(",\"atts_since\":");
                push_texts(&mut out, &document.ancestors);
            }
            out.push('}');
        }
    }
    out.push_str("]}");
    out
}

/// Parses the response to `_bulk_get`; each revision is returned once, even if it is repeated.
pub fn read_documents(
    answer: &Json,
) -> Result<(Vec<FetchedDocument>, Vec<UnavailableRevision>), InvalidResponse> {
    const SHAPE: InvalidResponse =
        InvalidResponse("each document in the response must have an id and a revision");
    let results = answer.root().member("results").filter(|it| it.value.kind() == Kind::Array);
    let (mut fetched, mut unread) = (Vec::<FetchedDocument>::new(), Vec::new());
    for result in
        results.ok_or(InvalidResponse("the response has no list of documents"))?.value.elements()
    {
        let documents = result.member("docs").ok_or(SHAPE)?;
        for found in documents.value.elements() {
            if let Some(document) = found.member("ok") {
                let document = fetched_document(document.value).ok_or(SHAPE)?;
                // All revisions of a document are adjacent.
                let others = fetched.iter().rev().take_while(|other| other.id == document.id);
                if !others.into_iter().any(|other| other.revision == document.revision) {
                    fetched.push(document);
                }
            } else {
                unread.push(unavailable_revision(result, found).ok_or(SHAPE)?);
            }
        }
    }
    Ok((fetched, unread))
}

/// The error of a revision that was not sent, in the forms of CouchDB (`{"error": {...}}`) and of
/// pouchdb-server (`{"missing": REV}`, and `{"error": ..., "reason": ...}`).
fn unavailable_revision(result: Node<'_>, found: Node<'_>) -> Option<UnavailableRevision> {
    let of = |node: Node<'_>, name: &str| Some(text(node.member(name)?.value)?.into_owned());
    let id = of(result, "id").unwrap_or_default();
    if let Some(revision) = of(found, "missing") {
        let (error, reason) =
            ("missing".to_owned(), "a document in the response cannot be parsed".to_owned());
        return Some(UnavailableRevision { id, revision, error, reason });
    }
    let told = found.member("error")?.value;
    let told = if told.kind() == Kind::Object { told } else { found };
    Some(UnavailableRevision {
        id: of(told, "id").unwrap_or(id),
        revision: of(told, "rev").unwrap_or_default(),
        error: of(told, "error").unwrap_or_else(|| "unknown".to_owned()),
        reason: truncated(of(told, "reason").unwrap_or_default()),
    })
}

/// Truncates a text that is shown to people.
fn truncated(mut reason: String) -> String {
    let end = reason.char_indices().nth(MAX_REASON_CHARS).map(|(at, _)| at);
    reason.truncate(end.unwrap_or(reason.len()));
    reason
}

fn fetched_document(node: Node<'_>) -> Option<FetchedDocument> {
    let of = |name| Some(text(node.member(name)?.value)?.into_owned());
    Some(FetchedDocument { id: of("_id")?, revision: of("_rev")?, text: node.raw().to_owned() })
}

/// The body of `_bulk_docs` that joins revisions to the existing ones.
pub fn write_request<'a>(documents: impl IntoIterator<Item = &'a FetchedDocument>) -> String {
    let mut out = String::from("{\"new_edits\":false,\"docs\":[");
    for (at, document) in documents.into_iter().enumerate() {
        out.push_str(if at > 0 { ",\n" } else { "\n" });
        out.push_str(&document.text);
    }
    out.push_str("]}");
    out
}

/// Parses the response to that request: the documents that were not accepted.
pub fn read_rejected_documents(answer: &Json) -> Result<Vec<RejectedDocument>, InvalidResponse> {
    if answer.root().kind() != Kind::Array {
        return Err(InvalidResponse("the response to _bulk_docs must be a list"));
    }
    let failed = answer.root().elements().filter_map(|it| {
        let of = |name| Some(text(it.member(name)?.value)?.into_owned());
        let is_done = it.member("ok").is_some_and(|it| boolean(it.value) == Some(true))
            || (it.member("rev").is_some() && it.member("error").is_none());
        // Some servers send `true` as the error, and its name in another member.
        let error = of("error").or_else(|| of("name")).unwrap_or_else(|| "unknown".to_owned());
        let reason = of("reason").or_else(|| of("message")).unwrap_or_default();
        let refused =
            RejectedDocument { id: of("id").unwrap_or_default(), error, reason: truncated(reason) };
        (!is_done).then_some(refused)
    });
    Ok(failed.collect())
}

fn push_texts(out: &mut String, texts: &[String]) {
    out.push('[');
    for (at, text) in texts.iter().enumerate() {
        out.push_str(if at > 0 { "," } else { "" });
        push_string(out, text);
    }
    out.push(']');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bulk::{bulk_documents, requested_documents, requested_revisions};

    fn json(text: &str) -> Json {
        Json::read(text.as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn requests_of_a_replicator_are_parsed_by_a_database() {
        let texts = |texts: &[&str]| texts.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let changed = [
            ChangedDocument { id: "a\"\n".to_owned(), revisions: texts(&["2-b", "1-c"]) },
            ChangedDocument { id: "b".to_owned(), revisions: texts(&["1-c"]) },
        ];
        let asked = json(&differences_request(&changed));
        let asked = requested_revisions(asked.root()).unwrap();
        assert_eq!((&*asked[0].0, asked[0].1.len(), &*asked[1].0), ("a\"\n", 2, "b"));
        let missing = read_differences(&json(
            r#"{"a":{"missing":["2-b","1-c"],"possible_ancestors":["1-x"]},"b":{"missing":["1-c"]}}"#,
        ));
        let missing = missing.unwrap();
        assert_eq!(missing[0].ancestors, ["1-x"]);
        let request = documents_request(&missing);
        assert_eq!(request.matches(r#""atts_since":["1-x"]"#).count(), 2, "{request}");
        assert_eq!(request.matches("atts_since").count(), 2, "{request}");
        let request = json(&request);
        let asked = requested_documents(request.root()).unwrap();
        let asked: Vec<_> = asked.iter().map(|it| it.asked().unwrap()).collect();
        assert_eq!(asked.len(), 3);
        assert_eq!(asked[1].1.as_ref().unwrap().to_string(), "1-c");
        let answer = json(
            r#"{"results":[{"id":"a","docs":[{"ok":{"_id":"a","_rev":"3-d","n":1.0}}]},
                {"id":"a","docs":[{"ok":{"_id":"a","_rev":"3-d","n":1.0}}]},
                {"id":"b","docs":[{"error":{"id":"b","rev":"1-c","error":"not_found","reason":"missing"}}]}]}"#,
        );
        let (fetched, unread) = read_documents(&answer).unwrap();
        assert_eq!((fetched.len(), &*fetched[0].text), (1, r#"{"_id":"a","_rev":"3-d","n":1.0}"#));
        assert_eq!((&*unread[0].revision, &*unread[0].error), ("1-c", "not_found"));
        assert_eq!(unread[0].reason, "missing");
        assert_eq!(
            truncated("\u{e4}".repeat(MAX_REASON_CHARS + 1)),
            "\u{e4}".repeat(MAX_REASON_CHARS)
        );
        let request = json(&write_request(&fetched));
        let (documents, new_edits) = bulk_documents(request.root()).unwrap();
        assert_eq!((documents[0].raw(), new_edits), (&*fetched[0].text, false));
        let refused =
            json(r#"[{"id":"a","rev":"3-d","error":"forbidden","reason":"no"},{"ok":true}]"#);
        let refused = read_rejected_documents(&refused).unwrap();
        assert_eq!((refused.len(), &*refused[0].error), (1, "forbidden"));
        let odd = json(r#"[{"id":"a","rev":"1-a"},{"id":"b","error":true,"name":"conflict"},{}]"#);
        let odd: Vec<_> =
            read_rejected_documents(&odd).unwrap().into_iter().map(|it| it.error).collect();
        assert_eq!(odd, ["conflict", "unknown"]);
        let peer = json(
            r#"{"results":[{"id":"a","docs":[{"missing":"3-x"}]},
                {"id":"b","docs":[{"error":"not_found","reason":"missing"}]}]}"#,
        );
        let unread = read_documents(&peer).unwrap().1;
        let told: Vec<_> = unread.iter().map(|it| (&*it.id, &*it.revision, &*it.error)).collect();
        assert_eq!(told, [("a", "3-x", "missing"), ("b", "", "not_found")]);
    }

    #[test]
    fn document_descends_from_the_revisions_of_its_path() {
        let text =
            r#"{"_id":"a","_rev":"3-c","_revisions":{"start":3,"ids":["c","b"]}}"#.to_owned();
        let document = FetchedDocument { id: "a".to_owned(), revision: "3-c".to_owned(), text };
        let descends_from = |revision| document.descends_from(revision);
        assert!(descends_from("3-c") && descends_from("2-b") && descends_from("2-B"));
        for other in ["1-a", "2-c", "3-b", "4-d", "x", "99999999999999999999-b"] {
            assert!(!descends_from(other), "{other}");
        }
    }

    #[test]
    fn malformed_response_is_an_error() {
        for text in [
            "[]",
            "{\"a\":{\"missing\":[1]}}",
            "{\"a\":{\"missing\":[]}}",
            "{\"a\":{\"missing\":\"1-a\"}}",
            "{\"error\":\"x\",\"reason\":\"y\"}",
        ] {
            assert!(read_differences(&json(text)).is_err(), "{text}");
        }
        for text in
            ["{}", "{\"results\":1}", "{\"results\":[{}]}", "{\"results\":[{\"docs\":[{}]}]}"]
        {
            assert!(read_documents(&json(text)).is_err(), "{text}");
        }
        assert!(read_documents(&json(r#"{"results":[{"docs":[{"ok":{"_id":"a"}}]}]}"#)).is_err());
        assert!(read_rejected_documents(&json("{}")).is_err());
    }
}
