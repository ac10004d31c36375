//! Lengths of documents.

use super::*;

#[test]
fn decoded_documents_are_as_long_as_the_limit_at_most() {
    let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xe9\xe9\xe9</a>";
    let within = |limit| {
        let mut options = ReadOptions::strict();
        options.limits.bytes = limit;
        match decode(latin, &options) {
            Ok((text, _)) => Some(text.len()),
            Err(ReadError::TooLarge { limit: told }) if told == limit => None,
            Err(error) => panic!("{error}"),
        }
    };
    let length = latin.len() + 3;
    assert_eq!(within(length + 1), Some(length));
    assert_eq!(within(length), Some(length));
    for limit in [length - 1, length - 2, latin.len(), latin.len() - 1] {
        assert_eq!(within(limit), None, "{limit}");
    }
}
