//! Comparison of stored bytes with their digests at each read, because a disk may change bits without
//! reporting an error.

use feedsync_couch::AttachmentDigest;

use crate::blob::Digest;
use crate::error::StoreError;
use crate::log::LogSnapshot;

/// Maximum number of damaged objects of each kind that a check names.
pub(crate) const MAX_REPORTED: usize = 20;

/// The bytes of a blob if they have its digest; otherwise [`StoreError::DigestMismatch`].
pub(crate) fn blob(digest: Digest, bytes: Vec<u8>) -> Result<Vec<u8>, StoreError> {
    match Digest::of(&bytes) == digest {
        true => Ok(bytes),
        false => Err(StoreError::DigestMismatch(named_blob(digest))),
    }
}

/// The bytes of an attachment if they have its digest; otherwise [`StoreError::DigestMismatch`].
pub(crate) fn attachment(digest: &AttachmentDigest, bytes: Vec<u8>) -> Result<Vec<u8>, StoreError> {
    match digest.is_of(&bytes) {
        true => Ok(bytes),
        false => Err(StoreError::DigestMismatch(format!("the attachment {digest}"))),
    }
}

/// The bytes of a snapshot of a log if they have its digest; otherwise [`StoreError::DigestMismatch`].
pub(crate) fn snapshot(snapshot: &LogSnapshot, bytes: Vec<u8>) -> Result<Vec<u8>, StoreError> {
    match Digest::of(&bytes) == snapshot.digest {
        true => Ok(bytes),
        false => Err(StoreError::DigestMismatch("the snapshot of the log".to_owned())),
    }
}

/// The name of a blob in errors and findings.
pub(crate) fn named_blob(digest: Digest) -> String {
    format!("the file {digest}")
}

/// The line of a check report for damaged objects of one kind: their number, and the names of some.
pub(crate) fn finding(what: &str, names: &[String]) -> Option<String> {
    if names.is_empty() {
        return None;
    }
    let some: Vec<&str> = names.iter().take(MAX_REPORTED).map(String::as_str).collect();
    let more = if names.len() > MAX_REPORTED { ", …" } else { "" };
    Some(format!(
        "{what} whose bytes do not match their digest: {} ({}{more})",
        names.len(),
        some.join(", ")
    ))
}
