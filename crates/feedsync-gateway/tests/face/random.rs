//! Property tests: arbitrary messages pass through unchanged in both directions.

use proptest::prelude::*;

use crate::support::{Gateway, Origin};

type Fields = Vec<(String, String)>;

/// Status, fields, body in parts, and whether it is chunked.
fn answers() -> impl Strategy<Value = (u16, Fields, Vec<Vec<u8>>, bool)> {
    let status = prop_oneof![200u16..204, 205u16..304, 305u16..1000];
    let name = "x-[a-z0-9!#$%&'*+.^_`|~-]{1,12}";
    // Leading and trailing spaces are not part of a value.
    let value = "[!-~]([ -~\t]{0,30}[!-~])?";
    let fields = prop::collection::vec((name, value), 0..12);
    let chunks = prop::collection::vec(prop::collection::vec(any::<u8>(), 1..5_000), 0..6);
    (status, fields, chunks, any::<bool>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn answers_come_out_as_they_were_sent((status, fields, chunks, chunked) in answers()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let mut said = format!("HTTP/1.1 {status} Said\r\n");
            for (name, value) in &fields {
                said.push_str(&format!("{name}: {value}\r\n"));
            }
            let body = chunks.concat();
            let origin = Origin::saying(framed(said, &chunks, chunked)).await;
            let gateway = Gateway::before(&origin).await;
            let answer = gateway.get("/o/", &[]).await;
            assert_eq!(answer.status(), status);
            let mut names: Vec<_> = fields.iter().map(|(name, _)| name.as_str()).collect();
            names.dedup();
            for name in names {
                let sent: Vec<_> =
                    fields.iter().filter(|(n, _)| n == name).map(|(_, value)| value.as_str()).collect();
                assert_eq!(answer.values(name), sent, "{name}");
            }
            if chunked {
                assert_eq!(unchunked(&answer.body), body);
            } else {
                assert_eq!(answer.values("content-length"), [body.len().to_string()]);
                assert_eq!(answer.body, body);
            }
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn requests_arrive_as_they_were_sent((_, fields, chunks, chunked) in answers()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let origin = Origin::saying("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
            let gateway = Gateway::before(&origin).await;
            let mut head = format!("PUT /o/x HTTP/1.1\r\nHost: {}\r\n", gateway.address);
            head.push_str("Connection: close\r\n");
            for (name, value) in &fields {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
            let answer = gateway.raw(framed(head, &chunks, chunked)).await;
            assert_eq!(answer.status(), 200);
            let got = origin.last();
            let end = crate::support::find(&got, b"\r\n\r\n").unwrap();
            let (head, body) = (String::from_utf8_lossy(&got[..end]), &got[end + 4..]);
            for (name, value) in &fields {
                assert!(head.contains(&format!("\r\n{name}: {value}")), "{head}");
            }
            let sent = chunks.concat();
            assert_eq!(if chunked { unchunked(body) } else { body.to_vec() }, sent);
        });
    }
}

/// Encodes a message with its body.
fn framed(head: String, chunks: &[Vec<u8>], chunked: bool) -> Vec<u8> {
    let mut bytes = head.into_bytes();
    if !chunked {
        let body = chunks.concat();
        bytes.extend(format!("Content-Length: {}\r\n\r\n", body.len()).bytes());
        bytes.extend(&body);
        return bytes;
    }
    bytes.extend(b"Transfer-Encoding: chunked\r\n\r\n");
    for chunk in chunks {
        bytes.extend(format!("{:x}\r\n", chunk.len()).bytes());
        bytes.extend(chunk);
        bytes.extend(b"\r\n");
    }
    bytes.extend(b"0\r\n\r\n");
    bytes
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = crate::support::find(bytes, b"\r\n").unwrap();
        let length = std::str::from_utf8(&bytes[..end]).unwrap();
        let length = usize::from_str_radix(length, 16).unwrap();
        let chunk = &bytes[end + 2..];
        body.extend(&chunk[..length]);
        assert_eq!(&chunk[length..length + 2], b"\r\n");
        bytes = &chunk[length + 2..];
        if length == 0 {
            assert!(bytes.is_empty());
            return body;
        }
    }
}
