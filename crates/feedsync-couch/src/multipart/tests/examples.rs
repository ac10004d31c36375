use super::*;

fn b() -> Boundary {
    "b".parse().unwrap()
}

fn outcome(body: &str) -> Result<(), MultipartError> {
    let limits = Limits { headers: 2, head: 40 };
    let whole = read(body.as_bytes(), &b(), limits, &[usize::MAX]);
    assert_eq!(read(body.as_bytes(), &b(), limits, &[1]), whole);
    whole.outcome
}

fn headers(text: &str) -> Headers {
    let body = format!("--b\r\n{text}\r\n\r\n\r\n--b--");
    parts(body.as_bytes(), &b()).remove(0).headers
}

fn contents(body: &str) -> Vec<String> {
    let contents = parts(body.as_bytes(), &b()).into_iter().map(|part| part.content);
    contents.map(|content| String::from_utf8(content).unwrap()).collect()
}

#[test]
fn boundaries_of_media_types() {
    let read = |text: &str| boundary(text).map(|(kind, boundary)| (kind, boundary.to_string()));
    for (text, kind, expected) in [
        ("multipart/mixed; boundary=abc", Kind::Mixed, "abc"),
        ("Multipart/Related;BOUNDARY=\"a b\"", Kind::Related, "a b"),
        ("multipart/related; type=\"a;b=\\\"\"; boundary=a/b=c ; start=x;", Kind::Related, "a/b=c"),
        ("multipart/mixed; Boundary=\"\\a:\"", Kind::Mixed, "a:"),
    ] {
        assert_eq!(read(text), Ok((kind, expected.to_owned())), "{text}");
    }
    let longest = "x".repeat(70);
    assert!(boundary(&format!("multipart/mixed; boundary={longest}")).is_ok());
    for text in ["", "a ", "a\r\nb", "ü", "a\"b", "a;b", &format!("{longest}x")] {
        assert_eq!(text.parse::<Boundary>(), Err(MultipartError::Boundary(text.to_owned())));
    }
    for text in ["multipart/mixed", "multipart/mixed; boundary=a; boundary=a"] {
        assert_eq!(boundary(text), Err(MultipartError::NoBoundary), "{text}");
    }
    for text in [
        "",
        "application/json; boundary=a",
        "multipart/form-data; boundary=a",
        "multipart/mixed; boundary=\"a",
        "multipart/mixed; boundary=\"a\"b",
        "multipart/mixed; boundary=",
        "multipart/mixed; boundary",
        "multipart/mixed; boundary=a b",
    ] {
        assert_eq!(boundary(text), Err(MultipartError::ContentType(text.to_owned())), "{text}");
    }
    assert_eq!(boundary_of(0xab).as_str(), "000000000000000000000000000000ab");
}

#[test]
fn preamble_and_epilogue_are_skipped() {
    for body in [
        "--b\r\n\r\nx\r\n--b--",
        "--b \t \r\n\r\nx\r\n--b-- \t",
        "\r\n--b\r\n\r\nx\r\n--b--\r\n",
        "text --b\r\n -\r\n\n--b\r\n\r\nx\r\n--b--\r\n--b\r\n\r\ntext",
        "--b\r\n\nx\r\n--b\t--\r\n".replace("\t--", "--").as_str(),
    ] {
        assert_eq!(contents(body), ["x"], "{body:?}");
    }
    assert_eq!(contents("--b--"), [""; 0]);
}

#[test]
fn parts_may_be_empty_to_the_last_line_end() {
    assert_eq!(contents("--b\r\n\r\n\r\n--b\r\n\r\n--b\r\nA: b\r\n\r\n--b--"), ["", "", ""]);
    assert_eq!(contents("--b\r\n\r\n\r\n\r\n--b--"), ["\r\n"]);
}

#[test]
fn line_ends_before_a_boundary_are_those_of_the_first() {
    let bare = "\n--b\nA: b\n\nx\r\n--b\n\n\n\n--b--\n";
    assert_eq!(contents(bare), ["x\r", "\n"]);
    let mixed = "\n--b\r\nA: b\n\nx\n--b\n\n\r\n--b\n\ny\n\r\n--b--\n";
    assert_eq!(contents(mixed), ["x\n--b\n\n", "y\n"]);
}

#[test]
fn partial_delimiters_are_content() {
    let content = "\r\n--\r\n--\r\r\n-".repeat(9_999);
    let body = format!("--b\r\n\r\n{content}\r\n--b--");
    let mut parser = Parser::new(&b(), Limits::default());
    let mut bytes = body.as_bytes();
    let mut pieces = Vec::new();
    while let Some(event) = parser.next(&mut bytes).unwrap() {
        if let Event::Content(piece) = event {
            pieces.push(piece.as_ptr_range());
        }
    }
    let content = &body.as_bytes()[7..7 + content.len()];
    assert_eq!(pieces, [content.as_ptr_range()], "it is the bytes that came, not a copy");
}

#[test]
fn refusals_name_part_and_byte() {
    use MultipartError::*;
    for (body, expected) in [
        ("", NoDelimiter { at: 0 }),
        ("text\r\n-b\r\n", NoDelimiter { at: 10 }),
        (" --b--", NoDelimiter { at: 6 }),
        ("--bb\r\n", Delimiter { part: 0, at: 3 }),
        ("--b x\r\n", Delimiter { part: 0, at: 4 }),
        ("--b\r\r\n", Delimiter { part: 0, at: 4 }),
        ("--b\r\n\r\nx\r\n--b-\r\n", Delimiter { part: 1, at: 14 }),
        ("--b\r\n\r\nx\r\n--b--x", Delimiter { part: 1, at: 15 }),
        ("--b\r\n\r\n--bx", Delimiter { part: 1, at: 10 }),
        ("--b\r\nA: b\r\nC\r\n\r\n", Header { part: 1, at: 11 }),
        ("--b\r\nA : b\r\n\r\n", Header { part: 1, at: 5 }),
        ("--b\r\n: b\r\n\r\n", Header { part: 1, at: 5 }),
        ("--b\r\n A: b\r\n\r\n", Header { part: 1, at: 5 }),
        ("--b\r\nA: b\rC: d\r\n\r\n", Header { part: 1, at: 5 }),
        ("--b\r\nA: \0\r\n\r\n", Header { part: 1, at: 5 }),
        ("--b\r\nA: b\r\n--b--\r\n\r\n", Header { part: 1, at: 11 }),
        ("--b\r\nA:b\r\nA:b\r\nA:b\r\n\r\n", TooManyHeaders { part: 1, at: 15, limit: 2 }),
        (
            "--b\r\n\r\n\r\n--b\r\nA: 7890123456789012345678901234567890\r\n\r\n",
            HeadTooLarge { part: 2, at: 54, limit: 40 },
        ),
        ("--b", Unfinished { part: 0, at: 3 }),
        ("--b\r\nA: b", Unfinished { part: 1, at: 9 }),
        ("--b\r\n\r\nx\r\n--b", Unfinished { part: 1, at: 13 }),
        ("--b\r\n\r\nx\r\n--b\r\n\r\ny\r\n--b-", Unfinished { part: 2, at: 24 }),
    ] {
        assert_eq!(outcome(body), Err(expected), "{body:?}");
    }
    assert_eq!(outcome("--b\r\nA: 678901234567890123456789012345\r\n\r\n\r\n--b--"), Ok(()));
    let latin = read(b"--b\r\nA: \xfc\r\n\r\n", &b(), Limits::default(), &[3]);
    assert_eq!(latin.outcome, Err(Header { part: 1, at: 5 }));
    let told = Delimiter { part: 2, at: 31 }.to_string();
    assert_eq!(told, "part 2, byte 31: the line of the boundary has other text after it");
}

#[test]
fn headers_are_read_without_case_and_unfolded() {
    let headers =
        headers("CONTENT-type: \ttext/plain;\r\n\tcharset=x \nContent-Length: 07\r\nX:\r\nx:1");
    assert_eq!(headers.content_type(), Some("text/plain;\tcharset=x"));
    assert_eq!(parameter(headers.content_type().unwrap(), "Charset").as_deref(), Some("x"));
    assert_eq!(headers.content_length(), Some(7));
    assert_eq!(headers.value("X"), Some(""));
    assert_eq!((headers.content_encoding(), headers.filename()), (None, None));
    assert_eq!(headers.iter().count(), 4);
}

#[test]
fn invalid_lengths_are_ignored() {
    for text in ["", "-1", "+1", "1 2", "0x1", "18446744073709551616"] {
        assert_eq!(headers(&format!("Content-Length: {text}")).content_length(), None, "{text}");
    }
}

#[test]
fn names_of_attachments() {
    for (value, expected) in [
        ("attachment; filename=\"a\"", Some("a")),
        ("Attachment;FileName=a.txt", Some("a.txt")),
        ("attachment; filename=\"a/\\\"b\\\\ü\\c;d\"; size=1", Some("a/\"b\\üc;d")),
        ("attachment; filename=\"\"", Some("")),
        ("attachment; filename=\"a\"; filename*=UTF-8''%e2%82%AC%20b/", Some("€ b/")),
        ("attachment; filename*=utf-8'en'a'b; filename=c", Some("a'b")),
        ("attachment; filename*=ISO-8859-1''%fc; filename=c", Some("c")),
        ("attachment; filename*=UTF-8''%fc; filename=c", Some("c")),
        ("attachment; filename*=UTF-8''%; filename=c", Some("c")),
        ("attachment; filename*=UTF-8''%+1; filename=c", Some("c")),
        ("attachment; filename*=UTF-8", None),
        ("attachment", None),
        ("attachment; filename=\"a", None),
        ("attachment; filename=\"a\"b\"", None),
    ] {
        let headers = headers(&format!("Content-Disposition: {value}"));
        assert_eq!(headers.filename().as_deref(), expected, "{value}");
    }
}

#[test]
fn names_are_known_as_couchdb_writes_them() {
    for name in ["a", "a\"b", "a\\b", "a\\\"", "ü; filename=\"b", "\""] {
        let headers = headers(&format!("Content-Disposition: attachment; filename=\"{name}\""));
        assert!(headers.is_named(name), "{name}");
        assert!(!headers.is_named("b"), "{name}");
    }
}

#[test]
fn invalid_media_types_are_replaced_by_the_default() {
    let long = "x".repeat(256);
    for media_type in ["", " text/plain", "text/plain\r\nX: y", "text/ü", "a\tb", "\0", &*long] {
        let mut body = Vec::new();
        let mut writer = Writer::new(b());
        let head = PartHead::Attachment { name: "a", media_type, length: 0, is_gzip: false };
        writer.part(&mut body, head);
        writer.close(&mut body);
        let headers = &parts(&body, &b())[0].headers;
        assert_eq!(headers.content_type(), Some("application/octet-stream"), "{media_type:?}");
    }
}
