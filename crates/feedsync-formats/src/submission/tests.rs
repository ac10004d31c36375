use super::*;
use crate::blobs::{Blob, blobs, with_blob};
use crate::control::is_draft;
use crate::write::entry_document;

const ATOM: &str = "xmlns=\"http://www.w3.org/2005/Atom\"";
const APP: &str = "xmlns:app=\"http://www.w3.org/2007/app\"";

fn read(text: &str) -> Result<Submission, SubmissionError> {
    read_submission(text.as_bytes(), &ReadOptions::strict())
}

fn entry(inside: &str) -> Payload {
    match read(&format!("<entry {ATOM}>{inside}</entry>")) {
        Ok(Submission::Entry { payload, .. }) => payload,
        other => panic!("{other:?}"),
    }
}

const COMPLETION: Completion<'_> = Completion {
    id: Fill::Missing("urn:uuid:1"),
    updated: Fill::Missing("2026-11-21T12:00:00.5Z"),
    title: "",
    published: Some(Fill::Missing("2026-11-21T12:00:00.5Z")),
    author: "Ann & Bob",
    slug: None,
    summary: None,
};

#[test]
fn missing_elements_are_completed_and_every_other_byte_stays() {
    let full = "<id>urn:x:1</id>\n <title type='text'>a</title><!-- c --><updated>2026-01-01T00:00:00Z\
                </updated><published>2025-01-01T00:00:00Z</published><author><name>C</name></author>";
    let whole = entry(full);
    assert_eq!(complete(&whole, &COMPLETION), whole);
    let filled = complete(&entry("<title>t</title> <x:y xmlns:x='urn:x'/>\n"), &COMPLETION);
    let added = "<id>urn:uuid:1</id><updated>2026-11-21T12:00:00.5Z</updated>\
                 <published>2026-11-21T12:00:00.5Z</published>\
                 <author><name>Ann &amp; Bob</name></author>";
    let text = format!("<entry {ATOM}><title>t</title> <x:y xmlns:x='urn:x'/>{added}\n</entry>");
    assert_eq!(filled.text(), text);
    assert_eq!(complete(&filled, &COMPLETION), filled, "once is enough");
    let always = Completion { id: Fill::Always("urn:x:2"), ..COMPLETION };
    let other = complete(&whole, &always);
    assert_eq!(*other.text(), whole.text().replace("urn:x:1", "urn:x:2"));
    let slugged =
        complete(&whole, &Completion { slug: Some("a b"), summary: Some("s"), ..COMPLETION });
    assert_eq!(crate::served::slug(&slugged).as_deref(), Some("a b"));
    assert!(slugged.text().contains("<summary>s</summary>"));
    let prefixed =
        Payload::from_parsed(Format::Atom, "<a:entry xmlns:a=\"http://www.w3.org/2005/Atom\"/>");
    let filled = complete(&prefixed, &COMPLETION);
    assert_eq!(terms(&filled).id.as_deref(), Some("urn:uuid:1"));
    assert!(terms(&filled).has_author && !terms(&prefixed).has_author);
}

#[test]
fn documents_that_are_not_entries_are_refused_with_the_position() {
    for (text, says) in [
        (format!("<entry {ATOM}><id>a</id><id>b</id></entry>"), "one atom:id"),
        (format!("<entry {ATOM}><title/>\n<title/></entry>"), "one atom:title"),
        ("<entry/>".to_owned(), "not an atom:entry"),
        (format!("<entry {ATOM} {APP}><app:control/><app:control/></entry>"), "one app:control"),
        (
            format!(
                "<entry {ATOM} {APP}><app:control><app:draft>Yes</app:draft></app:control></entry>"
            ),
            "\"Yes\"",
        ),
        (format!("<entry {ATOM}><title>"), ""),
        (format!("<!DOCTYPE entry><entry {ATOM}/>"), ""),
        ("nothing".to_owned(), ""),
    ] {
        let error = read(&text).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
    let deep = "<x>".repeat(300);
    assert!(read(&format!("<entry {ATOM}>{deep}")).is_err());
    assert_eq!(read(&format!("<feed {ATOM}/>")), Ok(Submission::Feed));
}

#[test]
fn only_the_value_yes_marks_a_draft() {
    let draft = |said: &str| {
        is_draft(&entry(&format!(
            "<app:control {APP}><app:draft>{said}</app:draft><x/></app:control>"
        )))
    };
    assert!(draft("yes") && draft(" yes "));
    assert!(!draft("no"));
    assert!(!is_draft(&entry("<draft>yes</draft>")) && !is_draft(&entry("")));
}

#[test]
fn the_history_of_a_submitted_entry_is_a_claim_and_not_part_of_its_payload() {
    let stamp = feedsync_core::Stamp::new(
        Timestamp::parse("2026-01-01T00:00:00Z").unwrap(),
        By::new("ann.1").unwrap(),
    );
    let id = feedsync_core::ItemId::new("a").unwrap();
    let payload = entry("<title>t</title>");
    let item =
        feedsync_core::Item::create(id, Default::default(), &stamp, payload.clone()).unwrap();
    let Ok(Submission::Entry { payload: read, claim }) = read(&entry_document(&item)) else {
        panic!("an entry document is an entry");
    };
    assert_eq!(read, payload);
    assert_eq!(claim, Some(Claim { id: "a".to_owned(), dot: Some(item.winner.dot().clone()) }));
}

#[test]
fn a_blob_takes_the_place_of_those_before() {
    let blob = |name: &str| Blob {
        name: name.to_owned(),
        media_type: "image/png".to_owned(),
        length: 3,
        sha256: [7; 32],
    };
    let one = with_blob(&entry("<title>t</title>\n"), &blob("a"));
    let other = with_blob(&one, &blob("b"));
    assert_eq!(blobs(&other), [blob("b")]);
    assert_eq!(with_blob(&other, &blob("a")), one);
}
