//! Fuzz targets for requests of replicators and applications of CouchDB.

use feedsync_couch::multipart::{Event, Limits, Parser};
use feedsync_couch::selector::{Selector, Subject};
use feedsync_couch::{
    AttachmentForm, ChangesRequest, DocumentWriter, Json, Parameters, Resource, SentForm,
    Submission, Tree, bulk_documents, requested_documents, requested_revisions,
};

/// Reads a document, a request about many, and a selector. Nothing panics, each refusal has an error status,
/// and a document that is written reads back as the same.
pub fn couch(bytes: &[u8]) -> usize {
    let _ = Tree::of_bytes(bytes);
    let line =
        String::from_utf8_lossy(bytes.split(|byte| *byte == b'\n').next().unwrap_or_default());
    let (path, query) = line.split_once('?').unwrap_or((&line, &line));
    let mut count = usize::from(Resource::read(path).is_ok());
    let parameters = Parameters::read(query);
    let Ok(json) = Json::read(bytes.to_vec()) else { return count };
    let root = json.root();
    let refusals = [
        bulk_documents(root).map(drop),
        requested_revisions(root).map(drop),
        requested_documents(root).map(drop),
        ChangesRequest::read(&parameters, None, Some(root)).map(drop),
    ];
    for refusal in refusals.into_iter().filter_map(Result::err) {
        assert!((400..500).contains(&refusal.kind.status()), "{refusal}");
    }
    for selector in [Selector::parse(root), Selector::parse_filter(root)] {
        let Ok(selector) = selector else { continue };
        let subject = Subject { id: "a", revision: "1-a", is_deleted: false, body: root };
        assert!(!selector.matches(&subject) || selector.ids().contains("a"));
        count += 1;
    }
    let Ok(sent) = Submission::read(root) else { return count };
    let revision = sent.base().map_or_else(|| "1-a".to_owned(), |base| base.to_string());
    let mut again = String::new();
    DocumentWriter::begin(&mut again, "a", &revision, sent.is_deleted, sent.body.as_str())
        .attachments(&[], |_| AttachmentForm::Stub)
        .end();
    let again = Json::read(again.into_bytes()).unwrap_or_else(|refusal| panic!("{refusal}"));
    let again = Submission::read(again.root()).unwrap_or_else(|refusal| panic!("{refusal}"));
    assert_eq!((&again.body, again.is_deleted), (&sent.body, sent.is_deleted));
    assert_eq!(again.body.fingerprint(), sent.body.fingerprint());
    let held = sent.attachments.iter().filter(|it| matches!(it.form, SentForm::Data(_)));
    count + 1 + held.count()
}

/// Reads parts between `--b`; they are the same in pieces of any size.
pub fn parts(bytes: &[u8]) -> usize {
    let whole = read_parts(bytes, bytes.len().max(1));
    for size in [1, 7] {
        assert_eq!(read_parts(bytes, size), whole, "in pieces of {size}");
    }
    whole.0.len()
}

/// Returns the content of the parts, as far as they can be read, and whether it is complete.
fn read_parts(bytes: &[u8], size: usize) -> (Vec<Vec<u8>>, bool) {
    let Ok(boundary) = "b".parse() else { return (Vec::new(), false) };
    let mut parser = Parser::new(&boundary, Limits::default());
    let mut parts: Vec<Vec<u8>> = Vec::new();
    for mut piece in bytes.chunks(size) {
        loop {
            match parser.next(&mut piece) {
                Ok(Some(Event::Part(_))) => parts.push(Vec::new()),
                Ok(Some(Event::Content(content))) => {
                    parts
                        .iter_mut()
                        .last()
                        .into_iter()
                        .for_each(|it| it.extend_from_slice(content));
                }
                Ok(Some(Event::PartEnd | Event::End)) => {}
                Ok(None) => break,
                Err(_) => return (parts, false),
            }
        }
    }
    (parts, parser.finish().is_ok())
}
