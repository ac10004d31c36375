//! Hostile heads: markup that imitates other parts of a feed, or that is too large.

use super::*;

fn refused(format: Format, piece: &str) -> HeadMarkupError {
    HeadMarkup::new(format, [piece]).map_or_else(|error| error, |found| panic!("{found:?}"))
}

#[test]
fn markup_that_does_not_stand_alone_is_refused() {
    let deep = format!("{}{}", "<x xmlns='urn:x'>".repeat(65), "</x>".repeat(65));
    let wide: String = (0..200).map(|n| format!(" a{n}='1'")).collect();
    for piece in [
        "",
        "text",
        "<x:y/>",
        "<x xmlns='urn:x'>",
        "<x xmlns='urn:x'/><y xmlns='urn:x'/>",
        "<x xmlns='urn:x'/>&amp;",
        "</feed><x xmlns='urn:x'/>",
        "<x xmlns='urn:x'>&unknown;</x>",
        "<x xmlns='urn:x'>\u{1}</x>",
        "<x xmlns='urn:x'>\u{ffff}</x>",
        "<x xmlns='urn:x'><!-- -- --></x>",
        "<!DOCTYPE x [<!ENTITY e 'e'>]><x xmlns='urn:x'>&e;</x>",
        "<?xml version='1.0'?><x xmlns='urn:x'/>",
        " <x xmlns='urn:x'/>",
        &deep,
        &format!("<x xmlns='urn:x'{wide}/>"),
    ] {
        for format in XML {
            let error = refused(format, piece);
            assert_eq!(error, HeadMarkupError::NotAlone { piece: 1, json: false }, "{piece}");
        }
    }
    let deep = format!("\"a\":{}{}", "[".repeat(70), "]".repeat(70));
    for piece in [
        "",
        "1",
        "\"a\"",
        "\"a\":",
        "\"a\":1,\"b\":2",
        "\"a\":1,",
        " \"a\":1",
        "\"a\":1 ",
        "\"a\":1}",
        "}{",
        "\"a\":\"\\ud800\"",
        "\"a\":{\"b\":1,\"b\":2}",
        &deep,
    ] {
        let error = refused(Format::Json, piece);
        assert_eq!(error, HeadMarkupError::NotAlone { piece: 1, json: true }, "{piece}");
    }
}

#[test]
fn markup_that_means_something_else_at_the_head_is_refused() {
    const SYNC: &str = "xmlns:sx='http://feedsync.org/2007/feedsync'";
    for piece in [
        "<x:item xmlns:x='urn:x'/>",
        "<x:entry xmlns:x='urn:x'/>",
        "<outline xmlns='urn:x'/>",
        "<title/>",
        "<item/>",
        "<x/>",
        "<entry xmlns='http://www.w3.org/2005/Atom'/>",
        "<id xmlns='http://www.w3.org/2005/Atom'/>",
        "<subtitle xmlns='http://www.w3.org/2005/Atom'/>",
        "<a:link xmlns:a='http://www.w3.org/2005/Atom' rel='self'/>",
        "<complete xmlns='http://purl.org/syndication/history/1.0'/>",
        "<collection xmlns='http://www.w3.org/2007/app'/>",
        "<item xmlns='http://purl.org/rss/1.0/'/>",
        "<creator xmlns='http://purl.org/dc/elements/1.1/'/>",
        "<sharing xmlns='http://feedsync.org/2007/feedsync'/>",
        "<sharing xmlns='http://www.microsoft.com/schemas/rss/sse'/>",
        "<x xmlns='urn:feedsync:1'/>",
        &format!("<x:y xmlns:x='urn:x' {SYNC}><sx:sync id='a' updates='1'/></x:y>"),
        &format!("<x:y xmlns:x='urn:x' {SYNC}><x:z><sx:sharing/></x:z></x:y>"),
        "<x:y xmlns:x='urn:x'><native xmlns='urn:feedsync:1'/></x:y>",
    ] {
        for format in XML {
            let error = refused(format, piece);
            assert!(
                matches!(error, HeadMarkupError::Misplaced { piece: 1, .. }),
                "{piece}: {error}"
            );
        }
    }
    for piece in
        ["\"items\":[]", "\"\\u0069d\":1", "\"sharing\":{}", "\"fs:x\":1", "\"_feedsync\":{}"]
    {
        let error = refused(Format::Json, piece);
        assert!(matches!(error, HeadMarkupError::Misplaced { piece: 1, .. }), "{piece}: {error}");
    }
    let twice = HeadMarkup::new(Format::Json, ["\"a\":1", "\"\\u0061\":2"]).unwrap_err();
    assert_eq!(twice, HeadMarkupError::Repeated { piece: 2, name: "a".to_owned() });
}

#[test]
fn markup_stays_within_its_bounds() {
    let piece = |size: usize| format!("<x xmlns=\"urn:x\">{}</x>", "a".repeat(size - 21));
    let most = piece(MAX_HEAD_MARKUP);
    assert_eq!(most.len(), MAX_HEAD_MARKUP);
    assert!(HeadMarkup::new(Format::Atom, [&*most]).is_ok());
    assert_eq!(refused(Format::Atom, &piece(MAX_HEAD_MARKUP + 1)), HeadMarkupError::TooLarge);
    let many = vec!["<x xmlns='urn:x'/>"; 1_001];
    assert!(HeadMarkup::new(Format::Atom, many[1..].iter().copied()).is_ok());
    assert_eq!(HeadMarkup::new(Format::Atom, many), Err(HeadMarkupError::TooLarge));
    assert_eq!(HeadMarkup::new(Format::Atom, []), Err(HeadMarkupError::Empty));
}

fn read_head(head: &str) -> FeedDetails {
    let text = format!("<rss version='2.0'><channel><title>T</title>{head}</channel></rss>");
    read(text.as_bytes(), None, &ReadOptions::tolerant()).unwrap().details
}

#[test]
fn a_head_over_the_bounds_is_read_up_to_them_and_the_rest_is_counted() {
    let small = "<x xmlns=\"urn:x\"/>";
    let large = format!("<x xmlns=\"urn:x\">{}</x>", "a".repeat(MAX_HEAD_MARKUP));
    let details = read_head(&format!("{small}{large}{small}"));
    assert_eq!((details.markup.unwrap().pieces(), details.left_out), (&[small.to_owned()][..], 2));
    let details = read_head(&small.repeat(100_000));
    let markup = details.markup.unwrap();
    assert_eq!((markup.pieces().len(), details.left_out), (1_000, 99_000));
    let long = "a".repeat(MAX_HEAD_TEXT + 1);
    let details = read_head(&format!(
        "<copyright>{long}</copyright><description>{}</description>",
        &long[1..]
    ));
    assert_eq!((details.rights, details.left_out), (None, 1));
    assert_eq!(details.subtitle.map(|text| text.len()), Some(MAX_HEAD_TEXT));
    let creators: String = (0..100_000)
        .map(|n| format!("<creator xmlns='http://purl.org/dc/elements/1.1/'>{n}</creator>"))
        .collect();
    let details = read_head(&creators);
    assert_eq!((details.author, details.left_out), (None, 1));
    let members: Vec<String> = (0..2_000).map(|n| format!("\"m{n}\":0")).collect();
    let text = format!("{{{},\"items\":[]}}", members.join(","));
    let details = read(text.as_bytes(), None, &ReadOptions::strict()).unwrap().details;
    assert_eq!((details.markup.unwrap().pieces().len(), details.left_out), (1_000, 1_000));
}

#[test]
fn items_and_sharing_inside_markup_reach_no_document() {
    const SYNC: &str = "<sx:sync xmlns:sx='http://feedsync.org/2007/feedsync' id='a' updates='1'>\
                        <sx:history sequence='1' by='b'/></sx:sync>";
    let head = format!("<m:x xmlns:m='urn:m'><m:y>{SYNC}</m:y></m:x><m:z xmlns:m='urn:m'/>");
    let details = read_head(&head);
    let pieces = details.markup.as_ref().unwrap().pieces();
    assert_eq!(pieces, ["<m:z xmlns:m='urn:m'/>"]);
    for format in XML {
        reread(format, &written(format, Some(&details)));
    }
}

#[test]
fn namespaces_of_a_document_do_not_make_markup_grow_without_bound() {
    let declared: String =
        (0..120).map(|n| format!(" xmlns:p{n}='urn:{}'", "x".repeat(1_500))).collect();
    let used: String = (0..120).map(|n| format!("p{n}: ")).collect();
    let head = format!("<m xmlns='urn:m'>{used}</m>").repeat(1_000);
    let text = format!("<rss version='2.0'{declared}><channel>{head}</channel></rss>");
    let details = read(text.as_bytes(), None, &ReadOptions::tolerant()).unwrap().details;
    assert_eq!((details.markup, details.left_out), (None, 1_000));
}
