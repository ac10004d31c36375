//! Documents that are read and written again are unchanged.

use super::super::{Document, read};
use super::{CREATED, collection, strict, tolerant, with_member, written};
use crate::options::ReadOptions;
use crate::random::Random;

#[test]
fn items_and_their_foreign_members_read_back_as_they_were_written() {
    let text = collection(
        r#"{ "sync" : {"a":[1], "id":"i","updates":3,"history":[{"sequence":3,"x":{"y":"\u0041"},"by":"b","z":1}],
        "conflicts":[{"c":1,"sync":{"id":"i","updates":1,"history":[{"sequence":1,"by":"a"}],"w":0}}],"b":"é"} , "t" : 1.50 }"#,
    );
    let item = &strict(&text).feed.items[0];
    assert_eq!(item.winner.payload.text(), "{ \"t\" : 1.50 }");
    assert_eq!(item.winner.payload.sync_foreign(), Some("\"a\":[1],\"b\":\"é\""));
    assert_eq!(item.winner.dot().foreign(), Some("\"x\":{\"y\":\"\\u0041\"},\"z\":1"));
    assert_eq!(item.conflicts[0].payload.sync_foreign(), Some("\"w\":0"));
    let again = tolerant(&written(item));
    assert_eq!(again.feed.items, [item.clone(), item.clone()]);
    assert_eq!(again.title.as_deref(), Some("A \"feed\""));
}

#[test]
fn a_document_replaces_items_in_place_and_keeps_every_other_byte() {
    let text = format!(
        "\u{feff}{{ \"x\": [1, 2],\n \"items\" : [\n  {{\"plain\":1}},\n  {CREATED} ,\n  {{\"sync\":7}}\n ], \"y\":null }}\n"
    );
    let document = Document::read(text.as_bytes(), &ReadOptions::strict()).unwrap();
    let item = document.feed().items[0].clone();
    assert_eq!(document.refused().len(), 1);
    assert_eq!(document.to_bytes_with(&[]), text.as_bytes());
    assert_eq!(document.to_bytes_with(std::slice::from_ref(&item)), text.as_bytes());

    let mut deleted = item.clone();
    deleted.winner.deleted = true;
    let mut other = item.clone();
    other.id = "new".parse().unwrap();
    let changed = document.to_bytes_with(&[deleted.clone(), other.clone()]);
    let changed = std::str::from_utf8(&changed).unwrap();
    let (before, rest) = changed.split_once("\"sync\": {").unwrap();
    assert!(text.starts_with(before));
    let tail = ",\n  {\"sync\":7},\n  {\n\"title\" : \"Buy groceries\"";
    assert!(rest.contains(tail), "{rest}");
    assert!(changed.ends_with("\n ], \"y\":null }\n"));
    let again = Document::read(changed.as_bytes(), &ReadOptions::strict()).unwrap();
    assert_eq!(again.feed().items, [deleted, other]);
}

#[test]
fn a_document_gives_up_the_surplus_of_an_id_and_grows_from_empty() {
    let text = collection(&format!("{CREATED}, {CREATED}"));
    let document = Document::read(text.as_bytes(), &ReadOptions::tolerant()).unwrap();
    let item = document.feed().items[0].clone();
    let merged = document.to_bytes_with(std::slice::from_ref(&item));
    assert_eq!(String::from_utf8(merged).unwrap(), collection(CREATED));

    let empty = Document::read(b"{\"items\":[ ]}", &ReadOptions::strict()).unwrap();
    let grown = empty.to_bytes_with(std::slice::from_ref(&item));
    assert_eq!(read(&grown, &ReadOptions::strict()).unwrap().feed.items, [item]);
}

#[test]
fn a_single_object_for_the_array_of_items_grows_into_an_array() {
    let text = format!("{{\"items\": {CREATED} }}");
    let document = Document::read(text.as_bytes(), &ReadOptions::tolerant()).unwrap();
    assert_eq!(document.to_bytes_with(&document.feed().items), text.as_bytes());
    let mut other = document.feed().items[0].clone();
    other.id = "new".parse().unwrap();
    let grown = document.to_bytes_with(std::slice::from_ref(&other));
    assert_eq!(read(&grown, &ReadOptions::strict()).unwrap().feed.items.len(), 2);
}

#[test]
fn mutated_documents_never_panic_and_read_back_as_they_are_written() {
    let conflict = with_member(
        "conflicts",
        &format!("[{}]", CREATED.replace("item_1_myapp_2005-05-21T11:43:33Z", "i")),
    );
    let seeds = [
        collection(CREATED),
        conflict,
        "{\"sharing\":{\"since\":\"1\",\"until\":\"2\"},\"items\":[{\"a\":{}},{ \"sync\":{\"id\":\"i\",\"updates\":1,\"history\":[{\"sequence\":1,\"by\":\"é\"}]} ,\"x\" : [1,\"\\ud83d\\ude00\"]}]}".to_owned(),
    ];
    let pieces: [&[u8]; 16] = [
        b"\"",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\\",
        b"\\u0041",
        b"null",
        b"1",
        b"\"sync\":",
        b" \n",
        b"\xff",
        "\u{201c}".as_bytes(),
        b"{\"sync\":{}}",
    ];
    let (mut read_items, mut refused) = (0, 0);
    for round in 0..20_000u64 {
        let mut random = Random(round);
        let mut bytes = seeds[random.below(seeds.len())].clone().into_bytes();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len());
            let end = (at + random.below(6)).min(bytes.len());
            match random.below(3) {
                0 => drop(bytes.drain(at..end)),
                1 => drop(bytes.splice(at..at, pieces[random.below(pieces.len())].iter().copied())),
                _ => {
                    let copy = bytes[at..end].to_vec();
                    let to = random.below(bytes.len());
                    drop(bytes.splice(to..to, copy));
                }
            }
        }
        for options in [ReadOptions::strict(), ReadOptions::tolerant()] {
            let Ok(document) = Document::read(&bytes, &options) else { continue };
            refused += document.refused().len();
            assert_eq!(document.to_bytes_with(&document.feed().items), bytes, "round {round}");
            for item in &document.feed().items {
                read_items += 1;
                let again = read(written(item).as_bytes(), &ReadOptions::tolerant());
                let again = again.unwrap_or_else(|error| panic!("round {round}: {error}"));
                assert_eq!(again.feed.items, [item.clone(), item.clone()], "round {round}");
            }
        }
    }
    assert!(read_items > 1_000 && refused > 1_000, "{read_items} read, {refused} refused");
}
