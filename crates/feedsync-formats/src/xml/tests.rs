use std::path::{Path, PathBuf};

use super::*;
use crate::diagnostic::{Position, ReadError};
use crate::options::{Limits, Mode, ReadOptions};

mod document_types;
mod lengths;

fn read_through(text: &str, mode: Mode) -> Result<usize, XmlError> {
    let mut reader = Reader::new(text, mode, &Limits::default())?;
    let mut attributes = Vec::new();
    let mut tokens = 0;
    loop {
        attributes.clear();
        if let Token::EndOfDocument = reader.token(&mut attributes)? {
            return Ok(tokens);
        }
        tokens += 1;
    }
}

#[track_caller]
fn refused(text: &str, line: u32, column: u32, words: &str) {
    let error = read_through(text, Mode::Strict).expect_err(text);
    assert!(error.message.contains(words), "{text:?}: {}", error.message);
    assert_eq!(Position::of(text, error.offset), Position { line, column }, "{text:?}");
}

#[test]
fn text_that_is_not_well_formed_is_refused_with_its_position() {
    refused("", 1, 1, "no root");
    refused("<a/><b/>", 1, 5, "one root");
    refused("<a/>\n x", 2, 2, "outside the root");
    refused("x<a/>", 1, 1, "outside the root");
    refused("<a/><![CDATA[]]>", 1, 5, "outside the root");
    refused("<a><b></a>", 1, 7, "</b> is expected");
    refused("<a>", 1, 4, "ends inside the element \"a\"");
    refused("</a>", 1, 1, "without a start");
    refused("<1a/>", 1, 1, "legal name");
    refused("<a:b:c xmlns:a='u'/>", 1, 1, "legal name");
    refused("<a b=c/>", 1, 6, "in quotes");
    refused("<a b/>", 1, 5, "'='");
    refused("<a b='1'c='2'/>", 1, 9, "white space");
    refused("<a b='<'/>", 1, 7, "'<' in the value");
    refused("<a b='1' b='2'/>", 1, 10, "occurs twice");
    refused("<a xmlns:p='u' xmlns:q='u' p:b='' q:b=''/>", 1, 35, "occurs twice");
    refused("<a b='1/>", 1, 6, "no closing quote");
    refused("<a>é]]></a>", 1, 5, "']]>'");
    refused("<a>&b;</a>", 1, 4, "&b; is not defined");
    refused("<a>\n&amp</a>", 2, 1, "'&'");
    refused("<a b='&x;'/>", 1, 7, "&x; is not defined");
    refused("<a>&#0;</a>", 1, 4, "not allowed");
    refused("<a>&#xd800;</a>", 1, 4, "not allowed");
    refused("<a>&#X41;</a>", 1, 4, "character reference");
    for faulty in ["&#;", "&#x;", "&#xg;", "&#x-1;", "&#+1;", "&#a;"] {
        refused(&format!("<a>{faulty}</a>"), 1, 4, "character reference");
    }
    refused("<a>\u{1}</a>", 1, 4, "U+0001");
    refused("<a>\u{ffff}</a>", 1, 4, "U+FFFF");
    refused("<p:a/>", 1, 2, "\"p\" is not declared");
    refused("<a p:b=''/>", 1, 4, "\"p\" is not declared");
    refused("<a xmlns:p=''/>", 1, 4, "no namespace");
    refused("<a xmlns:xml='u'/>", 1, 4, "'xml'");
    refused("<a xmlns:xmlns='u'/>", 1, 4, "'xmlns'");
    refused("<a xmlns:p='http://www.w3.org/XML/1998/namespace'/>", 1, 4, "only the prefix 'xml'");
    refused("<a xmlns='http://www.w3.org/XML/1998/namespace'/>", 1, 4, "only the prefix 'xml'");
    refused("<a xmlns:p='http://www.w3.org/2000/xmlns/'/>", 1, 4, "cannot be declared");
    refused("<a xmlns='http://www.w3.org/2000/xmlns/'/>", 1, 4, "cannot be declared");
    refused("<!DOCTYPE a><a/>", 1, 1, "DTD");
    refused("<a><!-- -- --></a>", 1, 9, "'--'");
    refused("<a><!-- </a>", 1, 4, "without an end");
    refused("<a><?x </a>", 1, 4, "without an end");
    refused(" <?xml version='1.0'?><a/>", 1, 2, "very start");
    refused("<?xml encoding='utf-8'?><a/>", 1, 6, "begins with the version");
    for version in ["1.", "1.x", "1.0x", "2.0", "1", ""] {
        refused(&format!("<?xml version='{version}'?><a/>"), 1, 7, "a faulty version");
    }
    refused("<?xml version='1.0'encoding='utf-8'?><a/>", 1, 20, "a faulty encoding");
    refused("<?xml version='1.0' encoding='8'?><a/>", 1, 21, "a faulty encoding");
    refused("<?xml version='1.0' encoding='u/8'?><a/>", 1, 21, "a faulty encoding");
    refused("<?xml version='1.0' standalone='maybe'?><a/>", 1, 21, "a faulty standalone");
    refused("<?xml version='1.0' standalone='yes' x?><a/>", 1, 37, "unknown content");
    refused("<rss version=\u{201d}2.0\u{201d}/>", 1, 14, "straight quotes");
}

#[test]
fn well_formed_text_is_read() {
    for text in [
        "<a/>",
        "\u{20}<a></a >\n<!-- x --> <?y z?>",
        "<?xml version=\"1.0\" encoding='utf-8' standalone = \"no\" ?>\r\n<a/>",
        "<a b='>' c=\"'\" d = 'x&#x41;&lt;'/>",
        "<a>]] ]> &#65; <![CDATA[ <&]] ]]></a>",
        "<p:a xmlns:p='u' xml:lang='' p:b='1' b='1'><p:c xmlns:p='v' p:b=''/></p:a>",
        "<a b='1' xmlns:xml='http://www.w3.org/XML/1998/namespace'/>",
        "<é.·/>",
    ] {
        assert!(read_through(text, Mode::Strict).is_ok(), "{text}");
    }
}

#[test]
fn tolerant_reading_skips_a_document_type_and_expands_nothing() {
    let bomb = "<!DOCTYPE a [<!ENTITY b '&#60;x>'><!-- ' > --><!ENTITY c \"&b;&b;\">]>\
                <a d='&c;'>&c;&nbsp;</a>";
    assert!(read_through(bomb, Mode::Strict).is_err());
    let (tree, _) = Tree::parse(bomb, Mode::Tolerant, &Limits::default()).unwrap();
    assert_eq!(tree.root().text(), "&c;\u{a0}");
    assert_eq!(tree.root().value("d").unwrap(), "&c;");
    assert!(read_through("<a/><!DOCTYPE a>", Mode::Tolerant).is_err());
    assert!(read_through("<!DOCTYPE a [<a/>", Mode::Tolerant).is_err());
}

#[test]
fn limits_are_enforced() {
    let limits = Limits { bytes: 1 << 20, depth: 8, attributes: 4, ..Limits::default() };
    let message = |text: &str| match Tree::parse(text, Mode::Strict, &limits) {
        Ok(_) => String::new(),
        Err(error) => error.message.into_owned(),
    };
    let nested = |depth: usize| "<a>".repeat(depth) + &"</a>".repeat(depth);
    assert_eq!(message(&nested(8)), "");
    assert_eq!(message(&nested(9)), "elements nest at most 8 deep");
    assert_eq!(message(&nested(10_000)), "elements nest at most 8 deep");
    assert_eq!(message("<a b='' c='' d='' e=''/>"), "");
    assert_eq!(message("<a b='' c='' d='' e='' f=''/>"), "an element has at most 4 attributes");
    let declared = "<a xmlns:a='1' xmlns:b='1' xmlns:c='1'><b xmlns:d='1' xmlns:e='1'/></a>";
    assert_eq!(message(declared), "at most 4 namespace declarations are in scope");
    let many: String = (0..100_000).map(|n| format!(" a{n}=''")).collect();
    assert!(read_through(&format!("<a{many}/>"), Mode::Tolerant).is_err());
    assert_eq!(message(&format!("<a>{}</a>", " ".repeat(1 << 20))), "more than 1048576 bytes");
}

#[test]
fn many_attributes_are_compared_too() {
    let many: String = (0..40).map(|n| format!(" a{n}=''")).collect();
    assert!(read_through(&format!("<a{many}/>"), Mode::Strict).is_ok());
    let error = read_through(&format!("<a{many} a7=''/>"), Mode::Strict).unwrap_err();
    assert!(error.message.contains("\"a7\" occurs twice"));
}

#[test]
fn a_tree_gives_names_values_and_spans() {
    let text = "<f xmlns='http://www.w3.org/2005/Atom' xmlns:s='http://feedsync.org/2007/feedsync'>\
                <e a='1&amp;\r\n2'>x<![CDATA[&y]]><b>z\r\n</b><!-- c --></e><s:sync/></f>";
    let (tree, namespaces) = Tree::parse(text, Mode::Strict, &Limits::default()).unwrap();
    let root = tree.root();
    assert!(root.is(Namespace::ATOM, "f"));
    assert_eq!(namespaces.iri(root.namespace()), "http://www.w3.org/2005/Atom");
    let names: Vec<&str> = root.children().map(Element::name).collect();
    assert_eq!(names, ["e", "s:sync"]);
    let entry = root.child(Namespace::ATOM, "e").unwrap();
    assert_eq!(entry.value("a").unwrap(), "1& 2");
    assert_eq!(entry.text(), "x&yz\n");
    assert_eq!(entry.nodes().count(), 4);
    assert_eq!(&text[entry.start_tag_span()], "<e a='1&amp;\r\n2'>");
    assert_eq!(&text[entry.attributes()[0].span()], "a='1&amp;\r\n2'");
    assert_eq!(&text[entry.child(Namespace::ATOM, "b").unwrap().span()], "<b>z\r\n</b>");
    let sync = root.child(Namespace::FEEDSYNC, "sync").unwrap();
    assert_eq!((sync.prefix(), sync.local(), &text[sync.span()]), ("s", "sync", "<s:sync/>"));
    assert!(sync.content_span().is_empty());
    assert_eq!(root.descendants().count(), 3);
}

#[test]
fn escaped_text_reads_back() {
    let awkward = "a<b>&\"'\r\n\tz\u{e9}\u{1f600}]]>";
    let mut text = String::from("<a b=\"");
    escape_attribute(&mut text, awkward);
    text.push_str("\">");
    escape_text(&mut text, awkward);
    text.push_str("</a>");
    let (tree, _) = Tree::parse(&text, Mode::Strict, &Limits::default()).unwrap();
    assert_eq!(tree.root().value("b").unwrap(), awkward);
    assert_eq!(tree.root().text(), awkward);
    let mut control = String::new();
    escape_text(&mut control, "\u{0}\u{ffff}");
    assert_eq!(control, "\u{fffd}\u{fffd}");
}

#[test]
fn encodings_are_read_and_written_again() {
    let options = ReadOptions::strict();
    let text = "<a>\u{e9}</a>";
    let utf16 = |swap: bool, mark: bool| -> Vec<u8> {
        let units = mark.then_some(0xfeff).into_iter().chain(text.encode_utf16());
        units.flat_map(|unit| if swap { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
    };
    let declared = |name: &str, e: &[u8]| {
        let mut bytes = format!("<?xml version='1.0' encoding='{name}'?><a>").into_bytes();
        bytes.extend_from_slice(e);
        bytes.extend_from_slice(b"</a>");
        bytes
    };
    for bytes in [
        text.as_bytes().to_vec(),
        [b"\xef\xbb\xbf", text.as_bytes()].concat(),
        utf16(false, true),
        utf16(true, true),
        utf16(false, false),
        utf16(true, false),
        declared("UTF-8", "\u{e9}".as_bytes()),
        declared("ISO-8859-1", b"\xe9"),
        declared("windows-1252", b"\xe9"),
        declared("us-ascii", b"&#233;"),
        declared("koi8-r", b"&#233;"),
        declared("shift_jis", b"&#233;"),
    ] {
        let (decoded, encoding) = decode(&bytes, &options).unwrap();
        let (tree, _) = Tree::parse(&decoded, Mode::Strict, &options.limits).unwrap();
        assert_eq!(tree.root().text(), "\u{e9}");
        assert_eq!(encoding.encode(&decoded), bytes);
    }
    let quote = declared("ISO-8859-1", b"\x93");
    let (_, latin) = decode(&quote, &options).unwrap();
    assert_eq!(latin.encode("<a>\u{20ac}\u{93}</a>"), b"<a>&#8364;\x93</a>");
    let euro = declared("windows-1252", b"\x80");
    let (text, windows) = decode(&euro, &options).unwrap();
    assert!(text.contains('\u{20ac}'));
    assert_eq!(windows.encode("<a>\u{20ac}\u{93}</a>"), b"<a>\x80&#147;</a>");
}

#[test]
fn bytes_that_are_invalid_in_their_encoding_are_refused_with_their_offset() {
    let offset = |bytes: &[u8]| match decode(bytes, &ReadOptions::strict()) {
        Err(ReadError::Encoding { offset, .. }) => Some(offset),
        _ => None,
    };
    assert_eq!(offset(b"<a>\xff</a>"), Some(3));
    assert_eq!(offset(b"\xef\xbb\xbf<a>\xff</a>"), Some(6));
    assert_eq!(offset(b"\xff\xfe<\0a\0/"), Some(6));
    assert_eq!(offset(b"\xff\xfe<\0\x00\xd8a\0"), Some(4));
    assert_eq!(offset(b"<?xml version='1.0' encoding='ascii'?>\xe9"), Some(38));
    assert_eq!(offset(b"<?xml version='1.0' encoding='euc-jp'?>\xff"), Some(39));
    assert_eq!(offset(b"<?xml version='1.0' encoding='none'?><a/>"), Some(0));
    assert_eq!(offset(b"\xff\xfe\0\0<\0\0\0"), Some(0));
    assert_eq!(offset(b"\xef\xbb\xbf<?xml version='1.0' encoding='koi8-r'?><a/>"), Some(0));
    let tiny =
        ReadOptions { limits: Limits { bytes: 3, ..Limits::default() }, ..ReadOptions::strict() };
    assert_eq!(decode(b"<a/>", &tiny), Err(ReadError::TooLarge { limit: 3 }));
}

/// Whether the independent parser does not check this fault. It ignores the XML declaration, the
/// targets of processing instructions, names that start with a colon, and prefixes bound to
/// nothing.
fn oracle_is_lenient(text: &str, error: &XmlError) -> bool {
    let unchecked = ["XML declaration", "processing instruction", "bound to no namespace"];
    unchecked.iter().any(|words| error.message.contains(words))
        || ["<:", "</:", ":"].iter().any(|start| text[error.offset..].starts_with(start))
}

fn agrees_with_the_oracle(text: &str) {
    let ours = read_through(text, Mode::Strict);
    let theirs = roxmltree::Document::parse(text);
    if let (Err(error), Ok(_)) = (&ours, &theirs)
        && oracle_is_lenient(text, error)
    {
        return;
    }
    if ours.is_ok() != theirs.is_ok() {
        panic!("ours {ours:?}, oracle {:?}: {text:?}", theirs.err());
    }
    let Ok(document) = theirs else { return };
    let (tree, namespaces) = Tree::parse(text, Mode::Strict, &Limits::default()).unwrap();
    let elements = std::iter::once(tree.root()).chain(tree.root().descendants());
    for (ours, theirs) in elements.zip(document.descendants().filter(|node| node.is_element())) {
        assert_eq!(ours.local(), theirs.tag_name().name());
        assert_eq!(namespaces.iri(ours.namespace()), theirs.tag_name().namespace().unwrap_or(""));
        assert_eq!(ours.span(), theirs.range());
        let attributes: Vec<_> = ours
            .attributes()
            .iter()
            .filter(|attribute| attribute.namespace() != Namespace::XMLNS)
            .map(|attribute| (attribute.local(text), attribute.value(text)))
            .collect();
        let others: Vec<_> = theirs.attributes().map(|a| (a.name(), a.value().into())).collect();
        assert_eq!(attributes, others);
    }
    let theirs: String = document
        .descendants()
        .filter(|node| node.is_text())
        .filter_map(|node| node.text())
        .collect();
    assert_eq!(tree.root().text(), theirs);
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "xml") {
            found.push(path);
        }
    }
}

/// Returns small documents for mutation: those of the corpora, if available, and our own.
fn samples() -> Vec<String> {
    let mut samples = vec![
        "<?xml version='1.0'?><!-- c --><a xmlns='u' xmlns:p='v' p:b=\"1\" b='&amp;'>\
         t&#65;<p:c/><![CDATA[<x>]]><?pi d?></a>"
            .to_owned(),
    ];
    match std::env::var_os("FEEDSYNC_CORPORA") {
        Some(folder) => {
            let mut paths = Vec::new();
            files(Path::new(&folder), &mut paths);
            paths.sort();
            let texts = paths.iter().filter_map(|path| {
                let bytes = std::fs::read(path).ok()?;
                let (text, _) = decode(&bytes, &ReadOptions::tolerant()).ok()?;
                Some(text.into_owned())
            });
            samples.extend(texts.filter(|text| text.len() < 4_000));
        }
        None => eprintln!("FEEDSYNC_CORPORA is not set: only our own samples are used"),
    }
    samples
}

#[test]
fn well_formedness_agrees_with_an_independent_parser() {
    let samples = samples();
    for sample in &samples {
        agrees_with_the_oracle(sample);
    }
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % bound as u64) as usize
    };
    let pieces = [
        "<",
        ">",
        "&",
        ";",
        "\"",
        "'",
        "/",
        "=",
        "]]>",
        "<a>",
        "</a>",
        "<!--",
        "-->",
        "<?x",
        "?>",
        "xmlns:p=''",
        " p:q='1'",
        ":",
        "\u{1}",
        "\u{fffe}",
        "&#x0;",
        "&lt;",
        "<![CDATA[",
        "-",
        "é",
        " ",
        "\t",
        "xmlns='x'",
        "1",
        "&nope;",
        "\u{b7}",
        "<p:a/>",
        "\u{200c}",
    ];
    for _ in 0..20_000 {
        let mut text = samples[random(samples.len())].clone();
        for _ in 0..=random(2) {
            let boundary =
                |at: usize, text: &str| (0..=at).rev().find(|&i| text.is_char_boundary(i));
            let at = boundary(random(text.len() + 1), &text).unwrap();
            match random(3) {
                0 => text.insert_str(at, pieces[random(pieces.len())]),
                1 => {
                    let end = boundary((at + random(8)).min(text.len()), &text).unwrap().max(at);
                    text.replace_range(at..end, "");
                }
                _ => {
                    let end = boundary((at + 1).min(text.len()), &text).unwrap().max(at);
                    text.replace_range(at..end, pieces[random(pieces.len())]);
                }
            }
        }
        agrees_with_the_oracle(&text);
    }
}
