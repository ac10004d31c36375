//! Merging two channels (3.1, 4.2, 4.4, 5.2).

use super::*;
use crate::sse::MergeError;
use feedsync_core::Format;

#[test]
fn a_winner_takes_the_place_of_the_loser_and_all_else_keeps_its_bytes() {
    let local = rss(&format!(
        "<!-- mine --><sx:sharing version='0.91'/>\n  {}\n  <item><title>plain</title></item>\n  {}\n<x:y xmlns:x=\"urn:x\"/>",
        item("a", "A1", &["X"]),
        item("b", "B2", &["Y", "X"]),
    ));
    let incoming = rss(&format!(
        "{}{}<item>not mine</item>",
        item("a", "A2", &["Z", "X"]),
        item("b", "B1", &["X"])
    ));
    let (text, outcomes) = merged(&local, &incoming);
    assert_eq!(outcomes, [Outcome::Updated, Outcome::Unchanged]);
    let mark = " xmlns:fs=\"urn:feedsync:1\" fs:self-contained=\"true\"";
    let taken = item("a", "A2", &["Z", "X"]).replace(
        "<sx:sync id=\"a\" version=\"2\"",
        &format!("\n<sx:sync id=\"a\" version=\"2\"{mark}"),
    );
    assert_eq!(text, local.replace(&item("a", "A1", &["X"]), &taken));
    let a = read(&text).items().next().unwrap().clone();
    assert_eq!(a.payload.text(), "<item><title>A2</title></item>");
    assert_eq!((a.version.get(), a.history.updates.len()), (2, 1));
}

#[test]
fn a_merge_without_changes_keeps_every_byte_and_the_encoding() {
    let text = rss(&item("a", "caf\u{e9}", &["Y", "X"]));
    let text = format!("<?xml version='1.0' encoding='iso-8859-1'?>\r\n{text}");
    let latin: Vec<u8> = text.chars().map(|character| character as u8).collect();
    let local = Document::read(&latin, &ReadOptions::strict()).unwrap();
    let older = read(&rss(&item("a", "older", &["X"])));
    assert_eq!(local.merge(&older).unwrap().bytes, latin);
    let newer = read(&rss(&item("a", "\u{e9}\u{20ac}", &["Z", "Y", "X"])));
    let bytes = local.merge(&newer).unwrap().bytes;
    assert!(bytes.windows(8).any(|window| window == b"\xe9&#8364;"));
}

#[test]
fn a_new_item_follows_the_others_with_their_indentation() {
    let local = rss(&format!("  {}\n  <item/>", item("a", "A", &["X"])));
    let incoming = rss(&format!("{}\n{}", item("c", "C", &["X"]), item("b", "B", &["X"])));
    let (text, outcomes) = merged(&local, &incoming);
    assert_eq!(outcomes, [Outcome::Added, Outcome::Added]);
    let ids: Vec<_> = read(&text).items().map(|item| item.id.to_string()).collect();
    assert_eq!(ids, ["a", "c", "b"], "{text}");
    assert!(text.contains("</item>\n  <item><title>C</title>"), "{text}");
}

#[test]
fn a_channel_without_items_takes_some() {
    for channel in ["<channel></channel>", "<channel/>", "<channel><title>T</title>\n</channel>"] {
        let local = format!("<rss version=\"2.0\" xmlns:s=\"{HTTPS}\">{channel}</rss>");
        let (text, _) = merged(&local, &rss(&item("a", "A", &["X"])));
        assert_eq!(read(&text).items().count(), 1, "{text}");
        assert!(
            text.contains(&format!("<sx:sync xmlns:sx=\"{HTTPS}\"")),
            "the local spelling: {text}"
        );
    }
}

#[test]
fn a_conflict_is_flagged_and_the_loser_kept_whoever_wins() {
    let (x, y) = (rss(&item("a", "from X", &["X", "O"])), rss(&item("a", "from Y", &["Y", "O"])));
    let (at_x, outcomes) = merged(&x, &y);
    assert_eq!(outcomes, [Outcome::Conflict]);
    let (at_y, outcomes) = merged(&y, &x);
    assert_eq!(outcomes, [Outcome::Conflict]);
    for text in [at_x, at_y] {
        let document = read(&text);
        let item = document.items().next().unwrap();
        assert_eq!(item.payload.text(), "<item><title>from Y</title></item>");
        assert!(item.conflict);
        let [record] = &item.conflicts[..] else { panic!("{text}") };
        assert_eq!(record.payload.as_ref().unwrap().text(), "<item><title>from X</title></item>");
        assert_eq!((record.version.get(), record.stamp.by().unwrap().as_str()), (2, "X"));
    }
}

#[test]
fn an_edited_sync_keeps_its_foreign_markup_and_its_records() {
    let sync = "<sx:sync x:a='1' id='a' conflict='' version='2' xmlns:x='urn:x'>\n <!-- c -->\
        <sx:history by='Z'><sx:update by='O'/></sx:history>\n <sx:conflicts>\n  \
        <sx:conflict version='1' by='P'><item>old</item></sx:conflict>\n  \
        <sx:conflict version='2' by='Q'/>\n </sx:conflicts>\n <x:more/></sx:sync>";
    let local = rss(&format!("<item>{sync}</item>"));
    let theirs =
        "<sx:sync id='a' version='2'><sx:history by='P'><sx:update by='O'/></sx:history></sx:sync>";
    let (text, _) = merged(&local, &rss(&format!("<item>new{theirs}</item>")));
    let expected = sync
        .replace(" conflict=''", "")
        .replace(" xmlns:x='urn:x'>", " xmlns:x='urn:x' conflict=\"true\">")
        .replace("\n  <sx:conflict version='1' by='P'><item>old</item></sx:conflict>", "")
        .replace(
            "<sx:conflict version='2' by='Q'/>",
            "<sx:conflict version='2' by='Q'/>\n<sx:conflict version=\"2\" by=\"P\"><item>new</item></sx:conflict>",
        );
    assert_eq!(text, local.replace(sync, &expected));
}

#[test]
fn an_update_that_knows_the_conflict_resolves_it_here_too() {
    let flagged = merged(&rss(&item("a", "X", &["X", "O"])), &rss(&item("a", "Y", &["Y", "O"]))).0;
    assert!(flagged.contains("conflict=\"true\""));
    let (text, outcomes) = merged(&flagged, &rss(&item("a", "Z", &["Z", "Y", "O"])));
    assert_eq!(outcomes, [Outcome::Updated]);
    assert!(!text.contains("conflict"), "{text}");
}

#[test]
fn a_tombstone_wins_and_stays() {
    let gone = format!("<item>{}</item>", sync("a", &["Y", "X"], " deleted=\"true\""));
    let (text, outcomes) = merged(&rss(&item("a", "A", &["X"])), &rss(&gone));
    assert_eq!(outcomes, [Outcome::Updated]);
    assert!(read(&text).items().next().unwrap().deleted);
}

#[test]
fn an_incoming_item_keeps_its_inherited_properties() {
    let local = format!(
        "<rss version=\"2.0\" xmlns:sx=\"{HTTP}\" xml:lang=\"de\"><channel xml:base=\"http://local/\">{}</channel></rss>",
        item("a", "A", &["X"])
    );
    let theirs = sync("b", &["Y"], " m:z=\"1\"").replace("sx:", "s:");
    let incoming = format!(
        "<rss version=\"2.0\" xmlns:s=\"{HTTPS}\" xmlns:m=\"urn:m\" xml:base=\"http://there/\">\
         <channel><item><m:k ref=\"m:q\"/>{theirs}</item></channel></rss>"
    );
    let (text, _) = merged(&local, &incoming);
    let there = read(&incoming).items().next().unwrap().payload.clone();
    let document = read(&text);
    let here = document.items().find(|item| item.id.as_str() == "b").unwrap();
    assert_eq!(here.payload, there, "{text}");
    assert!(there.text().contains("xml:base=\"http://there/\"") && there.text().contains("urn:m"));
    assert!(text.contains(&format!("<s:sync xmlns:m=\"urn:m\" xmlns:s=\"{HTTP}\"")), "{text}");
}

#[test]
fn refused_items_keep_their_bytes_and_take_no_part() {
    let bad = item("a b", "bad", &["X"]);
    let local = rss(&format!("{bad}{}", item("c", "C", &["X"])));
    let (text, outcomes) = merged(&local, &rss(&format!("{}{bad}", item("c", "CC", &["Y", "X"]))));
    assert_eq!(outcomes, [Outcome::Updated]);
    assert_eq!(text.matches(&bad).count(), 1);
}

#[test]
fn rss_and_opml_do_not_merge() {
    let error = read(&rss("")).merge(&read(&opml(""))).unwrap_err();
    assert_eq!(error, MergeError::Formats { local: Format::Rss, incoming: Format::Opml });
}
