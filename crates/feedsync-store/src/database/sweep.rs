//! Attachments that nothing names are looked for by reading, some at a time, and removed in pieces: nobody who writes
//! waits for what stays, nor for more than one piece of what goes.

/// So many attachments are looked at in one read.
pub(crate) const LOOKED_AT: i64 = 500;

/// A piece ends behind the attachment with which it has so many bytes.
const PIECE: u64 = 64 << 20;

/// An attachment: the row of its database, and what it is known by. They are in an order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AttachmentKey {
    pub(crate) database: i64,
    pub(crate) digest: String,
}

/// Some attachments, in their order.
#[derive(Debug, Default)]
pub(crate) struct Looked {
    /// The last, unless that is the end.
    pub(crate) last: Option<AttachmentKey>,
    /// Those that nothing named, and how many bytes they have.
    pub(crate) unnamed: Vec<(AttachmentKey, u64)>,
    count: i64,
}

impl Looked {
    /// Takes the next one; its length, if nothing names it.
    pub(crate) fn take(&mut self, key: AttachmentKey, unnamed: Option<u64>) {
        self.count += 1;
        self.last = (self.count == LOOKED_AT).then(|| key.clone());
        self.unnamed.extend(unnamed.map(|bytes| (key, bytes)));
    }

    /// What goes at once.
    pub(crate) fn pieces(self) -> Vec<Vec<AttachmentKey>> {
        let (mut pieces, mut piece, mut left) = (Vec::new(), Vec::new(), PIECE);
        for (key, bytes) in self.unnamed {
            piece.push(key);
            left = left.saturating_sub(bytes);
            if left == 0 {
                pieces.push(std::mem::take(&mut piece));
                left = PIECE;
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
    fn a_piece_ends_where_it_has_enough() {
        let mut looked = Looked::default();
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
        assert_eq!(Looked::default().pieces(), Vec::<Vec<AttachmentKey>>::new());
    }

    #[test]
    fn a_full_look_goes_on_behind_its_last() {
        let mut looked = Looked::default();
        for number in 1..=LOOKED_AT {
            assert_eq!(looked.last, None);
            looked.take(AttachmentKey { database: number, digest: String::new() }, None);
        }
        assert_eq!(looked.last.map(|key| key.database), Some(LOOKED_AT));
    }
}
