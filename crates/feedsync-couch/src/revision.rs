//! Revisions: `N-signature`, the identifier of one state of a document.

use std::cmp::Ordering;
use std::fmt::{self, Write as _};
use std::str::FromStr;

use feedsync_formats::json::push_string;

/// Maximum size of a signature, in bytes.
pub const MAX_SIGNATURE_BYTES: usize = 512;

/// Maximum generation. CouchDB has none; this is what a stored tree can hold, with room for one generation more.
pub const MAX_GENERATION: u64 = u64::MAX - 1;

/// One state of a document: the number of edits that led to it, and an identifier among the states with that
/// number.
///
/// Revisions are ordered by generation, then by the bytes of the signature's text. The greater one wins, the
/// same on every replica.
///
/// ```
/// # use feedsync_couch::Revision;
/// let revision: Revision = "2-967A00DFF5E02ADD41819138ABB3284D".parse()?;
/// assert_eq!(revision.generation(), 2);
/// assert_eq!(revision.to_string(), "2-967a00dff5e02add41819138abb3284d");
/// assert!("10-a".parse::<Revision>()? > revision);
/// # Ok::<(), feedsync_couch::RevisionError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision {
    generation: u64,
    signature: Signature,
}

/// Identifier of a revision among those of its generation.
///
/// 32 hexadecimal digits are written in lower case. Any other text, including an empty one, is stored
/// unchanged, unless it has that length.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Signature(SignatureForm);

#[derive(Clone, PartialEq, Eq, Hash)]
enum SignatureForm {
    Digest([u8; 16]),
    /// Never 32 bytes long.
    Text(Box<str>),
}

/// A text that is not a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Invalid rev format")]
pub struct RevisionError;

impl Revision {
    /// A revision; `None` if the generation is out of range.
    pub fn new(generation: u64, signature: Signature) -> Option<Self> {
        (1..=MAX_GENERATION).contains(&generation).then_some(Self { generation, signature })
    }

    /// A revision whose generation is known to be valid.
    pub(crate) fn known(generation: u64, signature: Signature) -> Self {
        debug_assert!((1..=MAX_GENERATION).contains(&generation));
        Self { generation, signature }
    }

    /// Number of edits that led to it, as far as it states; from 1.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Identifier among the revisions of its generation.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Appends it as a JSON string.
    pub fn push_quoted(&self, out: &mut String) {
        match &self.signature.0 {
            // Digits need no escaping.
            SignatureForm::Digest(digest) => {
                let digits = digits(digest);
                // Writing to a string cannot fail.
                let _ = write!(out, "\"{}-", self.generation);
                out.push_str(std::str::from_utf8(&digits).unwrap_or_default());
                out.push('"');
            }
            SignatureForm::Text(_) => push_string(out, &self.to_string()),
        }
    }
}

impl Signature {
    /// The signature for a digest.
    pub const fn of(digest: [u8; 16]) -> Self {
        Self(SignatureForm::Digest(digest))
    }

    /// Its digest, if it is one.
    pub(crate) fn digest(&self) -> Option<&[u8; 16]> {
        match &self.0 {
            SignatureForm::Digest(digest) => Some(digest),
            SignatureForm::Text(_) => None,
        }
    }

    fn with_text<T>(&self, use_text: impl FnOnce(&str) -> T) -> T {
        match &self.0 {
            SignatureForm::Text(text) => use_text(text),
            SignatureForm::Digest(digest) => {
                let digits = digits(digest);
                use_text(std::str::from_utf8(&digits).unwrap_or_default())
            }
        }
    }
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Value of each byte as a hexadecimal digit in either case; 255 for other bytes.
const VALUES: [u8; 256] = {
    let mut values = [255; 256];
    let mut value = 0;
    while value < 16 {
        let digit = DIGITS[value as usize];
        values[digit as usize] = value;
        values[digit.to_ascii_uppercase() as usize] = value;
        value += 1;
    }
    values
};

fn digits(digest: &[u8; 16]) -> [u8; 32] {
    let mut digits = [0; 32];
    for (pair, byte) in digits.chunks_exact_mut(2).zip(digest) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    digits
}

impl FromStr for Signature {
    type Err = RevisionError;

    fn from_str(text: &str) -> Result<Self, RevisionError> {
        if text.len() != 32 {
            let is_kept = text.len() <= MAX_SIGNATURE_BYTES;
            return is_kept.then(|| Self(SignatureForm::Text(text.into()))).ok_or(RevisionError);
        }
        let (mut digest, mut all) = ([0; 16], 0);
        for (byte, pair) in digest.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let [high, low] = [pair[0], pair[1]].map(|digit| VALUES[usize::from(digit)]);
            *byte = high << 4 | low & 15;
            all |= high | low;
        }
        // No digit has more than four bits.
        if all > 15 { Err(RevisionError) } else { Ok(Self::of(digest)) }
    }
}

impl FromStr for Revision {
    type Err = RevisionError;

    fn from_str(text: &str) -> Result<Self, RevisionError> {
        // The text before the hyphen is short, so that a simple loop is the fastest search.
        let end = text.bytes().position(|byte| byte == b'-').ok_or(RevisionError)?;
        let (generation, signature) = (&text[..end], &text[end + 1..]);
        // As in CouchDB, a sign and leading zeros of the number are ignored.
        let generation = generation.parse().map_err(|_| RevisionError)?;
        Self::new(generation, signature.parse()?).ok_or(RevisionError)
    }
}

impl Ord for Signature {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            // The order of lower-case digits is that of the bytes that they encode.
            (SignatureForm::Digest(one), SignatureForm::Digest(two)) => one.cmp(two),
            _ => self.with_text(|one| other.with_text(|two| one.cmp(two))),
        }
    }
}

impl PartialOrd for Signature {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_text(|text| f.write_str(text))
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.generation, self.signature)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn malformed_revision_is_rejected() {
        let long = format!("1-{}", "x".repeat(MAX_SIGNATURE_BYTES + 1));
        for text in [
            "",
            "-",
            "1",
            "-a",
            "a-1",
            "0-a",
            "+0-a",
            "-1-a",
            "++1-a",
            " 1-a",
            "1.0-a",
            "18446744073709551615-a",
            "99999999999999999999-a",
            "1-zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz",
            &long,
        ] {
            assert_eq!(text.parse::<Revision>(), Err(RevisionError), "{text}");
        }
        for place in 0..32 {
            let mut signature = "0123456789abcdef".repeat(2);
            assert!(signature.parse::<Signature>().is_ok());
            signature.replace_range(place..=place, "g");
            assert!(signature.parse::<Signature>().is_err(), "{signature}");
        }
    }

    #[test]
    fn unusual_revisions_are_stored_as_in_couchdb() {
        for text in ["1-", "1-a", "1--", "18446744073709551614-a-b", "1-0AB", "3-\u{e4}"] {
            assert_eq!(text.parse::<Revision>().unwrap().to_string(), text);
        }
        for (text, written) in [("01-a", "1-a"), ("+2-a", "2-a"), ("007-", "7-")] {
            assert_eq!(text.parse::<Revision>().unwrap().to_string(), written);
        }
        let digest = "7-967a00dff5e02add41819138abb3284d";
        for text in ["1-a", "2-\"\\", "3-\u{e4}\n", digest] {
            let mut out = String::new();
            text.parse::<Revision>().unwrap().push_quoted(&mut out);
            assert_eq!(out, crate::json::quoted(text));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

        /// The winner is decided by generations, then by texts.
        #[test]
        fn the_order_is_that_of_the_texts(
            one in (1..12_u64, "[0-9a-f]{1,3}|[0-9a-f]{32}"),
            two in (1..12_u64, "[0-9a-f]{1,3}|[0-9a-f]{32}"),
        ) {
            let revision = |of: &(u64, String)| format!("{}-{}", of.0, of.1).parse::<Revision>().unwrap();
            prop_assert_eq!(revision(&one).cmp(&revision(&two)), one.cmp(&two));
            prop_assert_eq!(revision(&one).to_string(), format!("{}-{}", one.0, one.1));
        }
    }
}
