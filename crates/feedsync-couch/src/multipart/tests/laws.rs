use proptest::prelude::*;

use super::*;

const SMALL: Limits = Limits { headers: 3, head: 48 };

#[derive(Debug, Clone)]
struct Attachment {
    name: String,
    media_type: String,
    content: Vec<u8>,
    is_gzip: bool,
}

impl Attachment {
    fn head(&self) -> PartHead<'_> {
        PartHead::Attachment {
            name: &self.name,
            media_type: &self.media_type,
            length: self.content.len() as u64,
            is_gzip: self.is_gzip,
        }
    }
}

/// Arbitrary texts, many of which resemble headers.
fn hostile() -> impl Strategy<Value = String> {
    let fragment = prop_oneof![
        prop::sample::select(vec![
            "\r\n",
            "\r",
            "\n",
            "\"",
            "\\",
            "; ",
            "'",
            "%",
            "\0",
            "\t",
            "\u{85}",
            "\u{2028}",
            "/",
            "ü",
            "X-Other: 1",
            "filename=\"b\"",
            "filename*=UTF-8''b",
            "--b",
            "\r\n\r\n",
            " ",
        ])
        .prop_map(str::to_owned),
        any::<String>(),
    ];
    prop::collection::vec(fragment, 0..5).prop_map(|fragments| fragments.concat())
}

fn boundaries() -> impl Strategy<Value = Boundary> {
    prop_oneof!["[a-b'()+_,./:=? -]{0,4}[a-b'()+_,./:=?-]", "[0-9a-f]{32}", "[a-b]{70}"]
        .prop_map(|text| text.parse().unwrap())
}

/// Fragments of delimiters, line ends and arbitrary bytes, without a line that begins with the boundary.
fn content(boundary: &Boundary) -> impl Strategy<Value = Vec<u8>> + use<> {
    let delimiter = format!("\r\n--{boundary}").into_bytes();
    let (whole, bare) = (delimiter.clone(), delimiter[1..].to_vec());
    let fragment = prop_oneof![
        prop::sample::select(vec!["\r", "\n", "\r\n", "\n\r", "-", "--", "\r\n--", " "])
            .prop_map(|text| text.as_bytes().to_vec()),
        (0..=delimiter.len()).prop_map(move |length| whole[..length].to_vec()),
        Just(bare),
        prop::collection::vec(any::<u8>(), 0..9),
    ];
    prop::collection::vec(fragment, 0..12)
        .prop_map(move |fragments| without(&delimiter, &fragments.concat()))
}

fn without(delimiter: &[u8], content: &[u8]) -> Vec<u8> {
    let mut lines = [b"\r\n", content].concat();
    while let Some(at) = lines.windows(delimiter.len()).position(|window| window == delimiter) {
        lines[at + delimiter.len() - 1] = b'!';
    }
    lines.split_off(2)
}

fn attachments(boundary: &Boundary) -> impl Strategy<Value = Vec<Attachment>> + use<> {
    let attachment = (hostile(), hostile(), content(boundary), any::<bool>()).prop_map(
        |(name, media_type, content, is_gzip)| Attachment { name, media_type, content, is_gzip },
    );
    prop::collection::vec(attachment, 0..4)
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![
        Just(vec![1]),
        prop::collection::vec(1..5_usize, 1..9),
        prop::collection::vec(1..90_usize, 1..9),
    ]
}

/// Bytes that resemble a body.
fn almost() -> impl Strategy<Value = (Boundary, Vec<u8>)> {
    prop_oneof![Just("b"), Just("-"), Just("a:b")].prop_flat_map(|text| {
        let boundary: Boundary = text.parse().unwrap();
        let line = prop_oneof![Just(format!("--{text}")), Just(format!("--{text}--"))];
        let fragment = prop_oneof![
            4 => line.prop_map(String::into_bytes),
            4 => prop_oneof![Just("\r\n"), Just("\n"), Just("\r"), Just("\r\n\r\n"), Just("\n\n")]
                .prop_map(|end| end.as_bytes().to_vec()),
            2 => prop_oneof![Just("-"), Just(" "), Just("\t"), Just("A: b\r\n"), Just("A:\n x\n")]
                .prop_map(|text| text.as_bytes().to_vec()),
            1 => prop::collection::vec(any::<u8>(), 0..30),
        ];
        let body = prop::collection::vec(fragment, 0..16);
        (Just(boundary), body.prop_map(|fragments| fragments.concat()))
    })
}

fn written(boundary: &Boundary, attachments: &[Attachment]) -> Vec<u8> {
    let mut body = Vec::new();
    let mut writer = Writer::new(boundary.clone());
    for attachment in attachments {
        writer.part(&mut body, attachment.head());
        body.extend_from_slice(&attachment.content);
    }
    writer.close(&mut body);
    body
}

fn assert_same(parts: &[Came], attachments: &[Attachment]) {
    assert_eq!(parts.len(), attachments.len());
    for (part, attachment) in parts.iter().zip(attachments) {
        assert_eq!(part.content, attachment.content);
        assert_eq!(part.headers.filename().as_deref(), Some(&*attachment.name));
        assert!(part.headers.is_named(&attachment.name));
        assert_eq!(part.headers.content_length(), Some(attachment.content.len() as u64));
        assert_eq!(part.headers.content_encoding(), attachment.is_gzip.then_some("gzip"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn written_body_round_trips_in_any_pieces(
        (boundary, attachments) in boundaries().prop_flat_map(|boundary| {
            let attachments = attachments(&boundary);
            (Just(boundary), attachments)
        }),
        preamble in prop_oneof![Just(""), Just("\r\n"), Just("ab\n-"), Just("-\r\n\r\n")],
        epilogue in prop_oneof![Just(""), Just("\r"), Just("\r\n"), Just(" \t\r\n--b\r\n"), Just("\n\0")],
        sizes in sizes(),
    ) {
        let mut body = preamble.as_bytes().to_vec();
        if !preamble.is_empty() && !preamble.ends_with('\n') {
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(&written(&boundary, &attachments));
        body.extend_from_slice(epilogue.as_bytes());

        let whole = read(&body, &boundary, Limits::default(), &sizes);

        prop_assert_eq!((whole.outcome, whole.is_closed), (Ok(()), true));
        assert_same(&whole.parts, &attachments);
    }

    #[test]
    fn truncated_body_is_never_complete(
        (boundary, attachments) in boundaries().prop_flat_map(|boundary| {
            let attachments = attachments(&boundary);
            (Just(boundary), attachments)
        }),
        share in 0.0..1.0_f64,
        sizes in sizes(),
    ) {
        let body = written(&boundary, &attachments);
        let cut = &body[..(body.len() as f64 * share) as usize];

        let whole = read(cut, &boundary, Limits::default(), &sizes);

        prop_assert!(!whole.is_closed);
        let began = whole.parts.len();
        match whole.outcome {
            // The delimiter line was read, but not the headers after it.
            Err(MultipartError::Unfinished { part, at }) => {
                prop_assert!(part == began || part == began + 1);
                prop_assert_eq!(at, cut.len() as u64);
            }
            Err(MultipartError::NoDelimiter { at }) => prop_assert_eq!(at, cut.len() as u64),
            other => prop_assert!(false, "{other:?}"),
        }
    }

    #[test]
    fn splitting_of_bytes_does_not_change_events((boundary, body) in almost(), sizes in sizes()) {
        let at_once = read(&body, &boundary, SMALL, &[usize::MAX]);
        prop_assert_eq!(&read(&body, &boundary, SMALL, &sizes), &at_once);
        prop_assert_eq!(&read(&body, &boundary, SMALL, &[1]), &at_once);
    }

    #[test]
    fn any_bytes_are_parsed_or_rejected(
        body in prop::collection::vec(any::<u8>(), 0..200),
        boundary in boundaries(),
        sizes in sizes(),
    ) {
        let at_once = read(&body, &boundary, SMALL, &[usize::MAX]);
        prop_assert_eq!(read(&body, &boundary, SMALL, &sizes), at_once);
    }

    #[test]
    fn no_text_breaks_out_of_its_header(name in hostile(), media_type in hostile(), is_gzip: bool) {
        let attachment = Attachment { name, media_type, content: Vec::new(), is_gzip };
        let boundary: Boundary = "b".parse().unwrap();
        let body = String::from_utf8(written(&boundary, std::slice::from_ref(&attachment))).unwrap();

        // Only this program writes line ends, and there is no other control character.
        let count = 3 + usize::from(is_gzip);
        prop_assert_eq!(body.matches("\r\n").count(), count + 3);
        prop_assert!(!body.replace("\r\n", "").contains(char::is_control));
        let parts = parts(body.as_bytes(), &boundary);
        prop_assert_eq!(parts.len(), 1);
        let names: Vec<&str> = parts[0].headers.iter().map(|(name, _)| name).collect();
        let all = ["content-disposition", "content-type", "content-length", "content-encoding"];
        prop_assert_eq!(&names[..], &all[..count]);
        let given = parts[0].headers.content_type().unwrap();
        prop_assert!(given == attachment.media_type || given == "application/octet-stream");
    }

    #[test]
    fn valid_media_type_is_written_unchanged(media_type in "[!-~]([ -~]{0,20}[!-~])?") {
        let attachment =
            Attachment { name: String::new(), media_type, content: Vec::new(), is_gzip: false };
        let boundary: Boundary = "b".parse().unwrap();
        let body = written(&boundary, std::slice::from_ref(&attachment));
        let headers = &parts(&body, &boundary)[0].headers;
        prop_assert_eq!(headers.content_type(), Some(&*attachment.media_type));
    }

    #[test]
    fn nested_multipart_round_trips(
        documents in prop::collection::vec(attachments(&boundary_of(2)), 0..4),
        sizes in sizes(),
    ) {
        let (outer, inner) = (boundary_of(u128::MAX), boundary_of(2));
        let mut body = Vec::new();
        let mut writer = Writer::new(outer.clone());
        for attachments in &documents {
            writer.part(&mut body, PartHead::Multipart(Kind::Related, &inner));
            body.extend_from_slice(&written(&inner, attachments));
        }
        writer.close(&mut body);

        let whole = read(&body, &outer, Limits::default(), &sizes);

        prop_assert_eq!(whole.outcome, Ok(()));
        prop_assert_eq!(whole.parts.len(), documents.len());
        for (part, attachments) in whole.parts.iter().zip(&documents) {
            let (kind, named) = boundary(part.headers.content_type().unwrap()).unwrap();
            prop_assert_eq!((kind, &named), (Kind::Related, &inner));
            assert_same(&parts(&part.content, &named), attachments);
        }
    }

    #[test]
    fn boundary_round_trips(boundary in boundaries(), seed: u128) {
        for given in [boundary, boundary_of(seed)] {
            for kind in [Kind::Mixed, Kind::Related] {
                let read = super::boundary(&kind.content_type(&given));
                prop_assert_eq!(read, Ok((kind, given.clone())));
            }
        }
    }

    #[test]
    fn any_header_is_parsed_or_rejected(value in hostile(), name in hostile()) {
        let _ = parameter(&value, &name);
        let _ = boundary(&format!("multipart/mixed;{value}"));
    }
}
