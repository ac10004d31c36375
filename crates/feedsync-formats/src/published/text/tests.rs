use super::*;

const TEXT: &str = "<a>\u{e9}\u{1f600}</a>";

fn read(bytes: &[u8], charset: Option<&str>) -> (String, Option<usize>) {
    let (text, fault) = decoded(bytes, charset, &ReadOptions::tolerant()).unwrap();
    let offset = fault.map(|fault| match fault {
        ReadError::Encoding { offset, .. } => offset,
        other => panic!("{other}"),
    });
    (text.into_owned(), offset)
}

#[track_caller]
fn assert_read(bytes: &[u8], charset: Option<&str>, text: &str, offset: Option<usize>) {
    assert_eq!(read(bytes, charset), (text.to_owned(), offset), "{bytes:?} {charset:?}");
}

#[test]
fn utf_32_is_detected_by_its_byte_order_mark_or_its_first_character() {
    for mark in ["", "\u{feff}"] {
        let marked = || mark.chars().chain(TEXT.chars()).map(u32::from);
        for bytes in [
            marked().flat_map(u32::to_le_bytes).collect::<Vec<_>>(),
            marked().flat_map(u32::to_be_bytes).collect(),
        ] {
            assert_read(&bytes, None, TEXT, None);
            let cut = &bytes[..bytes.len() - 1];
            let text = TEXT.strip_suffix('>').unwrap().to_owned() + "\u{fffd}";
            assert_read(cut, None, &text, Some(bytes.len() - 4));
        }
    }
    // An invalid character, and the first of two faults.
    let broken = b"<\0\0\0\0\0\x11\0>\0\0\0\0\xd8\0\0";
    assert_read(broken, None, "<\u{fffd}>\u{fffd}", Some(4));
    for other in [&b"\xe9\0\0\0"[..], b"\0\0\0\xe9", b"\0\0\0\0"] {
        assert!(utf_32(other, &ReadOptions::tolerant()).unwrap().is_none(), "{other:?}");
    }
}

#[test]
fn text_is_as_long_as_the_limit_at_most() {
    let within = |bytes: &[u8], charset, limit| {
        let mut options = ReadOptions::tolerant();
        options.limits.bytes = limit;
        match decoded(bytes, charset, &options) {
            Ok(_) => true,
            Err(ReadError::TooLarge { limit: told }) if told == limit => false,
            Err(error) => panic!("{error}"),
        }
    };
    // Latin-1 bytes become two bytes each, and UTF-32 characters become fewer bytes.
    let latin = b"<a>\xe9\xe9\xe9</a>";
    for charset in [Some("iso-8859-1"), None] {
        assert!(within(latin, charset, latin.len() + 3), "{charset:?}");
        assert!(!within(latin, charset, latin.len() + 2), "{charset:?}");
        assert!(!within(latin, charset, latin.len() + 1), "{charset:?}");
    }
    let declared = b"<?xml version='1.0' encoding='iso-8859-1'?><a>\xe9\xe9\xe9</a>";
    assert!(within(declared, None, declared.len() + 3));
    assert!(!within(declared, None, declared.len() + 2));
    assert!(!within(declared, None, declared.len()));
    assert!(!within(declared, None, declared.len() - 1));
    let wide: Vec<u8> = TEXT.chars().flat_map(|it| u32::from(it).to_le_bytes()).collect();
    assert!(within(&wide, None, TEXT.len()));
    assert!(!within(&wide, None, TEXT.len() - 1));
    assert!(!within(&wide, None, 1));
}

#[test]
fn the_charset_of_the_header_counts_where_the_document_declares_none() {
    let japanese = b"<a>\x1b$B$\"\x1b(B</a>";
    assert_read(japanese, Some("iso-2022-jp"), "<a>\u{3042}</a>", None);
    assert_read(japanese, Some("utf-8"), "<a>$B$\"(B</a>", None);
    assert_read(japanese, None, "<a>$B$\"(B</a>", None);
    for bytes in [b"<\0a\0/\0>\0", b"\0<\0a\0/\0>"] {
        assert_read(bytes, Some("iso-2022-jp"), "<a/>", None);
    }
    // The header is ignored if it names UTF-16 for a document that is not UTF-16.
    assert_read(b"<a>x</a>", Some("utf-16le"), "<a>x</a>", None);
    assert_read(b"<a>\xe9</a>", Some(" ISO-8859-1 "), "<a>\u{e9}</a>", None);
    assert_read(b"<a>\xe9</a>", Some("nothing"), "<a>\u{e9}</a>", Some(3));
    let declared = b"<?xml version='1.0' encoding='utf-8'?><a>\xc1</a>";
    let text =
        |character: &str| format!("<?xml version='1.0' encoding='utf-8'?><a>{character}</a>");
    assert_read(declared, Some("koi8-r"), &text("\u{430}"), Some(41));
    assert_read(declared, None, &text("\u{c1}"), Some(41));
}

#[test]
fn utf_8_that_is_called_western_is_read_as_utf_8_where_it_has_more_than_ascii() {
    for (name, is_western) in [("windows-1252", true), ("iso-8859-1", true), ("koi8-r", false)] {
        let text = |inside: &str| format!("<?xml version='1.0' encoding='{name}'?><a>{inside}</a>");
        let accented = text("\u{e9}");
        let (read, offset) = read(accented.as_bytes(), None);
        assert_eq!((read == accented, offset.is_some()), (is_western, is_western), "{name}");
        assert_eq!(offset, accented.find('\u{e9}').filter(|_| is_western), "{name}");
        assert_read(text("e").as_bytes(), None, &text("e"), None);
    }
}

#[test]
fn documents_that_end_inside_a_character_end_before_it() {
    for (bytes, text, offset) in [
        (&b"<a>x\xc3"[..], "<a>x", 4),
        (b"<a>x\xf0\x9f\x98", "<a>x", 4),
        // Bytes that are not an incomplete character at the end are decoded as Windows-1252.
        (b"<a>\xe9bcd", "<a>\u{e9}bcd", 3),
        (b"<a>\xe9>", "<a>\u{e9}>", 3),
        (b"\xe9", "\u{e9}", 0),
    ] {
        assert_read(bytes, None, text, Some(offset));
    }
}

#[test]
fn bytes_that_an_encoding_lacks_are_read_as_windows_1252() {
    assert_read(
        b"\xef\xbb\xbf<a>\xe9 \xc3\xa9 \x80\xff</a>",
        None,
        "<a>\u{e9} \u{e9} \u{20ac}\u{ff}</a>",
        Some(6),
    );
    let japanese = b"<?xml version='1.0' encoding='shift_jis'?><a>\x82\xa0\xfd</a>";
    let text = "<?xml version='1.0' encoding='shift_jis'?><a>\u{3042}\u{fd}</a>";
    assert_read(japanese, None, text, Some(47));
    let odd: Vec<u8> =
        [0xfeff, 0x3c, 0xdc00, 0x3e].into_iter().flat_map(u16::to_le_bytes).collect();
    assert_read(&odd, None, "<\u{fffd}>", Some(4));
    let long = [&b"<a>"[..], &b"\xe9 ".repeat(1_000)[..]].concat();
    assert_read(&long, None, &("<a>".to_owned() + &"\u{e9} ".repeat(1_000)), Some(3));
}

#[test]
fn space_before_a_document_and_characters_that_xml_lacks_are_removed() {
    for (bytes, text) in [
        (&b" \r\n<a> </a> "[..], "<a> </a> "),
        (b"\xef\xbb\xbf\n<a/>", "<a/>"),
        (b"\xef\xbb\xbf\xef\xbb\xbf<a/>", "<a/>"),
        (b"<a>\x08\x00b</a>", "<a>b</a>"),
        (b"\n<a>\x08b</a>", "<a>b</a>"),
        (b"", ""),
    ] {
        assert_read(bytes, None, text, None);
    }
}
