//! Changes feed of a source (section 7).

use feedsync_formats::json::{Kind, Node};

use super::{InvalidResponse, UpdateSequence};
use crate::json::{Json, integer, text};

/// A changed document, with the listed revisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedDocument {
    /// Id of the document.
    pub id: String,
    /// Its leaves, as they are spelled.
    pub revisions: Vec<String>,
}

/// A page of changes, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangesPage {
    /// The documents.
    pub documents: Vec<ChangedDocument>,
    /// Position up to which all changes were examined.
    pub last: UpdateSequence,
    /// Number of remaining changes, if it is stated.
    pub pending: Option<u64>,
}

impl ChangesPage {
    /// Parses a response of the feeds `normal` and `longpoll`.
    pub fn read(answer: &Json) -> Result<Self, InvalidResponse> {
        let root = answer.root();
        let results = root.member("results").filter(|it| it.value.kind() == Kind::Array);
        let results = results.ok_or(InvalidResponse("the response has no list of changes"))?;
        let documents = results.value.elements().map(row).collect::<Option<Vec<_>>>();
        let last = root.member("last_seq").and_then(|it| UpdateSequence::read(it.value));
        Ok(Self {
            documents: documents
                .ok_or(InvalidResponse("each change must have an id and revisions"))?,
            last: last.ok_or(InvalidResponse("the response has no last_seq"))?,
            pending: root.member("pending").and_then(|it| integer(it.value)),
        })
    }
}

fn row(row: Node<'_>) -> Option<ChangedDocument> {
    let id = text(row.member("id")?.value)?.into_owned();
    let changes = row.member("changes")?.value;
    let revision = |it: Node<'_>| Some(text(it.member("rev")?.value)?.into_owned());
    Some(ChangedDocument {
        id,
        revisions: changes.elements().map(revision).collect::<Option<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ChangesPage, InvalidResponse> {
        ChangesPage::read(&Json::read(text.as_bytes().to_vec()).unwrap())
    }

    #[test]
    fn pages_of_all_servers_are_read() {
        let ours = "{\"results\":[\n\
                    {\"seq\":\"1-x\",\"id\":\"a\",\"changes\":[{\"rev\":\"2-b\"},{\"rev\":\"1-c\"}],\"deleted\":true}\
                    \n],\n\"last_seq\":\"1-x\",\"pending\":7}\n";
        let page = read(ours).unwrap();
        let revisions = vec!["2-b".to_owned(), "1-c".to_owned()];
        assert_eq!(page.documents, [ChangedDocument { id: "a".to_owned(), revisions }]);
        assert_eq!((page.last.as_json(), page.pending), ("\"1-x\"", Some(7)));
        assert_eq!(page.last.in_query(), "1-x");
        // With numbers as positions (pouchdb-server), with pairs (BigCouch), and after some heartbeats.
        let number = read("{\"results\":[\n\n\n\n],\"last_seq\":12}").unwrap();
        assert_eq!((&*number.last.in_query(), number.pending), ("12", None));
        let pair = read("{\"results\":[],\"last_seq\":[12,\"g1AA\"]}").unwrap();
        assert_eq!(pair.last.in_query(), "[12,\"g1AA\"]");
    }

    #[test]
    fn malformed_changes_page_is_an_error() {
        for text in [
            "[]",
            "{}",
            "{\"results\":{},\"last_seq\":1}",
            "{\"results\":[]}",
            "{\"results\":[],\"last_seq\":null}",
            "{\"results\":[1],\"last_seq\":1}",
            "{\"results\":[{\"id\":\"a\"}],\"last_seq\":1}",
            "{\"results\":[{\"id\":1,\"changes\":[]}],\"last_seq\":1}",
            "{\"results\":[{\"id\":\"a\",\"changes\":[{}]}],\"last_seq\":1}",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
