//! Reading lists of blobs, and preserving them across formats.

use feedsync_core::{
    By, Format, History, Item, ItemId, Payload, Sequence, Update, Updates, Version,
};

use super::{Blob, blobs, extension};
use crate::head::FeedHead;
use crate::mapping::{project, restore};
use crate::options::ReadOptions;
use crate::random::Random;
use crate::read::read;
use crate::revise::{Revision, revise};
use crate::write::FeedWriter;

const DIGEST: &str = "00f0815d73bd7f33ac8bc9d9a7b8b8ec8a8c2d6ae0a0c9e6a2e5a1e4d3c2b1ff";

fn version(payload: Payload, sequence: u32) -> Version<Payload> {
    let by = By::new("a").unwrap();
    let when = "2026-01-02T03:04:05Z".parse().unwrap();
    let update = Update::signed(Sequence::new(sequence).unwrap(), when, by);
    let history = History::new(update);
    Version { updates: Updates::FIRST, deleted: false, noconflicts: None, history, payload }
}

fn id() -> ItemId {
    ItemId::new("i").unwrap()
}

/// Returns an item of the given format that contains an extension.
fn holding(format: Format, extension: &str) -> Payload {
    let text = match format {
        Format::Atom => format!(
            "<entry xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:x</id>{extension}</entry>"
        ),
        Format::Rss => format!("<item><title>t</title>{extension}</item>"),
        Format::Opml => format!("<outline text=\"t\">{extension}</outline>"),
        Format::Pox => format!("<note><subject>t</subject>{extension}</note>"),
        Format::Json => format!("{{\"title\":\"t\",{extension}}}"),
    };
    Payload::from_parsed(format, text)
}

fn random_blob(random: &mut Random) -> Blob {
    let characters =
        ['a', ' ', '\n', '\t', '\r', '"', '\'', '<', '&', ']', '>', '\\', '\u{7f}', '😀'];
    let mut text = |length: usize| -> String {
        (0..=random.below(length)).map(|_| *random.of(&characters)).collect()
    };
    let (name, media_type) = (text(12), text(5));
    let length = *random.of(&[0, 1, 4_096, u64::from(u32::MAX) + 1, u64::MAX]);
    Blob { name, media_type, length, sha256: std::array::from_fn(|_| random.below(256) as u8) }
}

#[test]
fn a_payload_names_its_blobs_in_any_spelling() {
    let expected = Blob {
        name: "a & b.png".into(),
        media_type: "image/png".into(),
        length: 5,
        sha256: super::digest(DIGEST).unwrap(),
    };
    let parts = format!("name='a &amp; b.png' type=\"image/png\"\n length='5' sha-256='{DIGEST}'");
    for format in Format::ALL.into_iter().filter(|format| *format != Format::Json) {
        for element in [
            format!("<fs:blob xmlns:fs='urn:feedsync:1' {parts}/>"),
            format!("<blob xmlns=\"urn:feedsync:1\" x='1' {parts}>kept<b/></blob>"),
        ] {
            assert_eq!(
                blobs(&holding(format, &element)),
                std::slice::from_ref(&expected),
                "{format}"
            );
        }
    }
    for length in ["5", "\"5\""] {
        let member = format!(
            "\"fs:blobs\" : [ {{\"length\":{length},\"type\":\"image\\/png\",\"x\":[],\
             \"name\":\"a \\u0026 b.png\",\"sha-256\":\"{DIGEST}\"}} ]"
        );
        assert_eq!(blobs(&holding(Format::Json, &member)), std::slice::from_ref(&expected));
    }
}

#[test]
fn malformed_blobs_are_skipped_and_valid_ones_are_still_read() {
    let short = &DIGEST[1..];
    let upper = DIGEST.to_uppercase();
    let good = ("n", "t/t", "7", DIGEST);
    let faults = [
        ("", "t/t", "7", DIGEST),
        ("n", "", "7", DIGEST),
        ("n", "t/t", "", DIGEST),
        ("n", "t/t", "+7", DIGEST),
        ("n", "t/t", "-7", DIGEST),
        ("n", "t/t", "7.0", DIGEST),
        ("n", "t/t", "18446744073709551616", DIGEST),
        ("n", "t/t", "7", ""),
        ("n", "t/t", "7", short),
        ("n", "t/t", "7", upper.as_str()),
    ];
    let xml = |(name, kind, length, digest): (&str, &str, &str, &str)| {
        format!(
            "<fs:blob xmlns:fs='urn:feedsync:1' name='{name}' type='{kind}' length='{length}' \
             sha-256='{digest}'/>"
        )
    };
    let json = |(name, kind, length, digest): (&str, &str, &str, &str)| {
        format!(
            "{{\"name\":\"{name}\",\"type\":\"{kind}\",\"length\":\"{length}\",\
             \"sha-256\":\"{digest}\"}}"
        )
    };
    for fault in faults {
        let both = xml(fault) + &xml(good);
        assert_eq!(blobs(&holding(Format::Atom, &both)).len(), 1, "{fault:?}");
        let both = format!("\"fs:blobs\":[{},{}]", json(fault), json(good));
        assert_eq!(blobs(&holding(Format::Json, &both)).len(), 1, "{fault:?}");
    }
    for element in [
        xml(good).replace("urn:feedsync:1", "urn:feedsync:10"),
        xml(good).replace("blob", "blobs"),
        format!("<x>{}</x>", xml(good)),
        format!("<!--{}-->", xml(good)),
        xml(good).replace(" name=", " fs:name="),
    ] {
        assert_eq!(blobs(&holding(Format::Pox, &element)), [], "{element}");
    }
    let one = json(good);
    for member in [
        format!("\"fs:blobs\":{one}"),
        format!("\"fs:blob\":[{one}]"),
        format!("\"x\":{{\"fs:blobs\":[{one}]}}"),
        "\"fs:blobs\":[null,1,\"x\",[],{}]".to_owned(),
        format!("\"fs:blobs\":[{}]", one.replace("\"n\"", "\"\\u0000\"")),
        format!("\"fs:blobs\":[{}]", one.replace("\"n\"", "\"\\ufffe\"")),
        format!("\"fs:blobs\":[{}]", one.replace("\"7\"", "7.5")),
    ] {
        assert_eq!(blobs(&holding(Format::Json, &member)), [], "{member}");
    }
    assert_eq!(blobs(&Payload::from_parsed(Format::Pox, "<urn:feedsync:1 blob")), []);
}

/// Property over random lists: a version is converted through any chain of formats. After each
/// conversion the payload names the same blobs, also after a peer has edited it.
#[test]
fn a_list_of_blobs_survives_every_format_and_edits_there() {
    for seed in 0..500 {
        let mut random = Random(seed);
        let list: Vec<Blob> = (0..=random.below(3)).map(|_| random_blob(&mut random)).collect();
        let format = *random.of(&Format::ALL);
        let native = holding(format, &extension(&list, format));
        assert_eq!(blobs(&native), list, "seed {seed}: {}", native.text());
        let mut version = version(native, 1);
        for sequence in 2..5 {
            let to = *random.of(&Format::ALL);
            let projected = project(&id(), &version, to);
            assert_eq!(blobs(&projected), list, "seed {seed}: {}", projected.text());
            let read = Version { payload: projected.clone(), ..version.clone() };
            assert_eq!(restore(read), version, "seed {seed}");
            let change = Revision { title: Some("edited".into()), ..Revision::default() };
            let payload = revise(&projected, &change).unwrap();
            version = restore(self::version(payload, sequence));
            assert_eq!(version.payload.format(), to);
            assert_eq!(blobs(&version.payload), list, "seed {seed}: {}", version.payload.text());
        }
    }
}

#[test]
fn a_feed_of_another_format_names_the_blobs_of_its_items() {
    let mut random = Random(1);
    let list = vec![random_blob(&mut random), random_blob(&mut random)];
    for from in Format::ALL {
        for to in Format::ALL {
            let winner = version(holding(from, &extension(&list, from)), 1);
            let item = Item { id: id(), winner, conflicts: Vec::new() };
            let head = FeedHead {
                id: "urn:x:feed",
                title: "t",
                updated: "2026-01-02T03:04:05Z".parse().unwrap(),
                author: "a",
                details: None,
                self_link: None,
                next: None,
                links: &[],
                complete: false,
                sharing: None,
            };
            let (mut writer, mut out) = (FeedWriter::new(to), String::new());
            writer.begin(&mut out, &head);
            writer.item(&mut out, &item);
            writer.end(&mut out);
            // A peer that does not know the extension with the native text sees the projection.
            let foreign = out.replace("native", "native-");
            for (text, exact) in [(out, true), (foreign, from == to)] {
                let reading = read(text.as_bytes(), Some(to), &ReadOptions::strict()).unwrap();
                let read = &reading.feed.items[0].winner.payload;
                assert_eq!(blobs(read), list, "{from} to {to}: {text}");
                assert_eq!(*read == item.winner.payload, exact, "{from} to {to}: {text}");
            }
        }
    }
}
