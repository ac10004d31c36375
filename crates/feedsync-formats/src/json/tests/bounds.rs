//! Encodings and limits of documents.

use super::*;
use crate::options::Limits;

#[test]
fn only_utf_8_is_read_and_a_byte_order_mark_is_skipped() {
    let mut bytes = b"\xef\xbb\xbf".to_vec();
    bytes.extend_from_slice(collection(CREATED).as_bytes());
    assert_eq!(read(&bytes, &ReadOptions::strict()).unwrap().feed.items.len(), 1);
    let error = read(b"{\"items\":[\"\xe9\"]}", &ReadOptions::strict()).unwrap_err();
    assert!(matches!(error, ReadError::Encoding { offset: 11, .. }), "{error:?}");
}

#[test]
fn every_bound_is_kept() {
    let bounded = |limits: Limits| ReadOptions { limits, ..ReadOptions::strict() };
    let text = collection(&format!("{CREATED},{{}}"));
    let read = |limits| read(text.as_bytes(), &bounded(limits));
    let usual = Limits::default();
    assert!(read(Limits { bytes: text.len(), ..usual }).is_ok());
    for limit in [text.len() - 1, 10] {
        let error = Err(ReadError::TooLarge { limit });
        assert_eq!(read(Limits { bytes: limit, ..usual }), error);
    }
    assert!(read(Limits { depth: 6, ..usual }).is_ok());
    assert!(read(Limits { depth: 5, ..usual }).is_err());
    assert!(read(Limits { items: 2, ..usual }).is_ok());
    assert!(read(Limits { items: 1, ..usual }).is_err());
    assert_eq!(read(Limits { history: 1, ..usual }).unwrap().refused.len(), 0);
    assert_eq!(read(Limits { history: 0, ..usual }).unwrap().refused.len(), 1);
}
