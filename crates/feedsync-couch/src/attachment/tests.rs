//! Tests of reading and writing attachments.

use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Result<Vec<SentAttachment>, String> {
    SentAttachment::read_all(Node::root(text)).map_err(|refusal| refusal.reason)
}

fn attachment() -> impl Strategy<Value = Attachment> {
    let parts = ("[a-z\"\\\\/é]{1,8}", "[a-z]{1,5}/[a-z]{1,5}", 1..9_u64, 0..1_000_u64);
    (parts, any::<Vec<u8>>()).prop_map(|((name, content_type, generation, length), bytes)| {
        let digest = AttachmentDigest::of(&bytes);
        Attachment { name, content_type, generation, digest, length }
    })
}

proptest! {
    #[test]
    fn stored_attachments_round_trip(
        by_name in prop::collection::btree_map("[a-f]{1,3}", attachment(), 0..4),
    ) {
        let named = by_name.into_iter().map(|(name, it)| Attachment { name, ..it });
        let attachments: Vec<_> = named.collect();
        let text = Attachment::to_text(&attachments);
        prop_assert_eq!(Attachment::of_text(&text), Ok(attachments.clone()));
        let stubs = attachments.iter().map(SentAttachment::stub_of).collect();
        prop_assert_eq!(read(&text), Ok(stubs));
    }

    #[test]
    fn data_is_read_with_padding_or_without_and_with_blanks(bytes: Vec<u8>, at in 0..64_usize) {
        let padded = STANDARD.encode(&bytes);
        let at = at.min(padded.len());
        let spaced = format!("{}\\n \\t{}", &padded[..at], &padded[at..]);
        for data in [padded.as_str(), padded.trim_end_matches('='), &spaced] {
            let sent = read(&format!("{{\"a\":{{\"data\":\"{data}\"}}}}"));
            let sent = sent.map(|mut all| all.remove(0).form);
            prop_assert_eq!(sent, Ok(SentForm::Data(bytes.clone())), "{}", data);
        }
    }
}

#[test]
fn stored_attachments_that_are_damaged_are_refused() {
    let whole =
        r#"{"a":{"content_type":"a/b","revpos":1,"digest":"md5-x","length":2,"stub":true}}"#;
    assert_eq!(Attachment::of_text(whole).map(|all| all.len()), Ok(1));
    for part in ["content_type", "revpos", "digest", "length"] {
        let damaged = Attachment::of_text(&whole.replace(part, "other")).unwrap_err();
        assert_eq!(damaged.kind, RefusalKind::Internal, "{part}");
    }
}

#[test]
fn digest_is_the_md5_of_its_bytes() {
    // Digest of "abc" from RFC 1321, A.5.
    let abc = AttachmentDigest::of(b"abc");
    assert_eq!(abc.to_string(), "md5-kAFQmDzST7DWlj99KOF/cg==");
    assert!(abc.is_of(b"abc") && !abc.is_of(b"abd"));
    let other: AttachmentDigest = "sha1-x".parse().unwrap();
    assert!(other.is_of(b"abc"));
    assert_eq!(abc.check_md5(" kAFQmDzST7DWlj99KOF/cg== "), Ok(()));
    for said in ["kAFQmDzST7DWlj99KOF/ch==", "", "md5-kAFQmDzST7DWlj99KOF/cg=="] {
        assert_eq!(abc.check_md5(said).unwrap_err().kind, RefusalKind::DigestMismatch, "{said}");
    }
    let longest = "x".repeat(100);
    for (text, is_digest) in [
        ("x", true),
        (longest.as_str(), true),
        ("", false),
        (&*"x".repeat(101), false),
        ("a b", false),
        ("é", false),
    ] {
        assert_eq!(text.parse::<AttachmentDigest>().is_ok(), is_digest, "{text}");
    }
}

#[test]
fn forms_of_attachments_are_distinguished() {
    let follows = |length, is_packed| Ok(SentForm::Follows { length, is_packed });
    let not_known = "Attachment a: unknown encoding \"br\"".to_owned();
    let no_data = || Err("Invalid attachment data for a".to_owned());
    for (members, form) in [
        (r#""stub":true"#, Ok(SentForm::Stub)),
        (r#""stub":false,"data":"""#, Ok(SentForm::Data(Vec::new()))),
        (r#""follows":true,"length":7,"encoded_length":3"#, follows(Some(7), false)),
        (r#""follows":true,"length":7,"encoding":"identity""#, follows(Some(7), false)),
        (
            r#""follows":true,"length":7,"encoded_length":3,"encoding":"gzip""#,
            follows(Some(3), true),
        ),
        (r#""follows":true"#, follows(None, false)),
        (r#""follows":true,"encoding":"br""#, Err(not_known)),
        (r#""data":7"#, no_data()),
        (r#""data":"!""#, no_data()),
        ("", no_data()),
    ] {
        let read = read(&format!("{{\"a\":{{{members}}}}}"));
        assert_eq!(read.map(|mut all| all.remove(0).form), form, "{members}");
    }
}

#[test]
fn attachments_are_bounded_and_their_faults_named() {
    let data = r#"{"data":""}"#;
    let many = |count: usize| {
        let members: Vec<_> = (0..count).map(|at| format!("\"a{at}\":{data}")).collect();
        read(&format!("{{{}}}", members.join(","))).map(|all| all.len())
    };
    assert_eq!(many(MAX_ATTACHMENTS), Ok(MAX_ATTACHMENTS));
    assert_eq!(many(MAX_ATTACHMENTS + 1), Err("There are too many attachments".to_owned()));
    let longest = "x".repeat(MAX_ATTACHMENT_NAME_BYTES);
    for (name, is_name) in [
        ("a", true),
        (&longest, true),
        ("", false),
        ("_a", false),
        (&*format!("{longest}x"), false),
    ] {
        let read = read(&format!("{{\"{name}\":{data}}}"));
        assert_eq!(read.is_ok(), is_name, "{} bytes", name.len());
    }
    let of_type = |content_type: &str| {
        read(&format!(r#"{{"a":{{"data":"","content_type":"{content_type}"}}}}"#)).map(|_| ())
    };
    assert_eq!(of_type(&longest), Ok(()));
    let too_long = Err("The content_type of attachment a is too long".to_owned());
    assert_eq!(of_type(&format!("{longest}x")), too_long);
    assert_eq!(read("[]"), Err("Attachments property must be an object".to_owned()));
    assert_eq!(read(r#"{"a":1}"#), Err("Attachment a must be an object".to_owned()));
    let repeated = read(&format!("{{\"a\":{data},\"b\":{data},\"a\":{{\"stub\":true}}}}")).unwrap();
    let names: Vec<_> = repeated.iter().map(|it| it.name.as_str()).collect();
    assert_eq!((names, &repeated[1].form), (vec!["b", "a"], &SentForm::Stub));
}

#[test]
fn attachments_are_written_in_their_forms() {
    let digest: AttachmentDigest = "md5-x".parse().unwrap();
    let content_type = "a/b".to_owned();
    let attachment = |name: &str| Attachment {
        name: name.to_owned(),
        content_type: content_type.clone(),
        generation: 2,
        digest: digest.clone(),
        length: 3,
    };
    let attachments = ["data", "follows", "stub"].map(attachment);
    let mut written = String::new();
    push_attachments(&mut written, &attachments, |it| match &*it.name {
        "data" => AttachmentForm::Data(b"abc"),
        "follows" => AttachmentForm::Follows,
        _ => AttachmentForm::Stub,
    });
    let head = r#"{"content_type":"a/b","revpos":2,"digest":"md5-x","#;
    assert_eq!(
        written,
        format!(
            "{{\"data\":{head}\"data\":\"YWJj\"}},\"follows\":{head}\"length\":3,\"follows\":true}},\
             \"stub\":{head}\"length\":3,\"stub\":true}}}}"
        )
    );
}
