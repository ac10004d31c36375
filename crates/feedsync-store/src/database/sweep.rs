//! Sweeping of attachments that no document names. They are found by reading in batches and removed in
//! pieces. Writers never wait for attachments that stay, and wait for one removed piece at most.

/// Number of attachments that one read examines.
pub(crate) const SCAN_LIMIT: i64 = 500;

/// Size at which a piece ends, in bytes; the attachment that reaches it is the last of the piece.
const BATCH_BYTES: u64 = 64 << 20;

/// Key of an attachment: the row of its database and its digest. Keys are ordered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AttachmentKey {
    pub(crate) database: i64,
    pub(crate) digest: String,
}

/// A batch of examined attachments, in key order.
#[derive(Debug, Default)]
pub(crate) struct AttachmentScan {
    /// The last key of a full batch; `None` at the end.
    pub(crate) last: Option<AttachmentKey>,
    /// Attachments that no document names, with their lengths in bytes.
    pub(crate) unreferenced: Vec<(AttachmentKey, u64)>,
    count: i64,
}

impl AttachmentScan {
    /// Adds the next attachment, with its length if no document names it.
    pub(crate) fn take(&mut self, key: AttachmentKey, unreferenced: Option<u64>) {
        self.count += 1;
        self.last = (self.count == SCAN_LIMIT).then(|| key.clone());
        self.unreferenced.extend(unreferenced.map(|bytes| (key, bytes)));
    }

    /// Groups the attachments to remove into pieces; each piece is removed in one transaction.
    pub(crate) fn pieces(self) -> Vec<Vec<AttachmentKey>> {
        let (mut pieces, mut piece, mut left) = (Vec::new(), Vec::new(), BATCH_BYTES);
        for (key, bytes) in self.unreferenced {
            piece.push(key);
            left = left.saturating_sub(bytes);
            if left == 0 {
                pieces.push(std::mem::take(&mut piece));
                left = BATCH_BYTES;
            }
        }
        pieces.extend(Some(piece).filter(|piece| !piece.is_empty()));
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn piece_ends_at_its_byte_limit() {
        let mut looked = AttachmentScan::default();
        let megabytes = [Some(1), None, Some(63), Some(256), Some(40), None, Some(40), Some(1)];
        for (number, megabytes) in megabytes.iter().enumerate() {
            let key = AttachmentKey { database: 1, digest: number.to_string() };
            looked.take(key, megabytes.map(|it: u64| it << 20));
        }
        assert_eq!(looked.last, None);
        let pieces = looked.pieces();
        let digests = |piece: &Vec<AttachmentKey>| {
            piece.iter().map(|key| key.digest.clone()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(pieces.iter().map(digests).collect::<Vec<_>>(), ["0 2", "3", "4 6", "7"]);
        assert_eq!(AttachmentScan::default().pieces(), Vec::<Vec<AttachmentKey>>::new());
    }

    #[test]
    fn full_batch_states_its_last_key() {
        let mut looked = AttachmentScan::default();
        for number in 1..=SCAN_LIMIT {
            assert_eq!(looked.last, None);
            looked.take(AttachmentKey { database: number, digest: String::new() }, None);
        }
        assert_eq!(looked.last.map(|key| key.database), Some(SCAN_LIMIT));
    }
}
