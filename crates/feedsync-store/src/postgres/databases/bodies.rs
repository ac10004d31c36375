//! Writing and removing bodies and the references to their attachments.

use feedsync_couch::Attachment;

use super::past_rows;
use crate::database::StoredBody;
use crate::postgres::pipeline::{Parameter, Pipeline};

const INSERT_BODIES: &str = "
    INSERT INTO bodies (database, number, text, attachments)
    SELECT $1, * FROM unnest($2::bigint[], $3::bytea[], $4::bytea[])";

const INSERT_USES: &str = "
    INSERT INTO attachment_uses (database, number, digest)
    SELECT $1, * FROM unnest($2::bigint[], $3::text[]) ON CONFLICT DO NOTHING";

const REMOVE: [&str; 2] = [
    "DELETE FROM bodies WHERE database = $1 AND number = ANY($2)",
    "DELETE FROM attachment_uses WHERE database = $1 AND number = ANY($2)",
];

/// Approximate number of bytes of bodies that one statement writes.
const STATEMENT_BYTES: usize = 8 << 20;

/// The columns of bodies, and of their references to attachments.
#[derive(Default)]
pub(super) struct Bodies<'a> {
    chunks: Vec<BodyChunk<'a>>,
    users: Vec<i64>,
    used: Vec<&'a str>,
}

#[derive(Default)]
struct BodyChunk<'a> {
    numbers: Vec<i64>,
    texts: Vec<&'a [u8]>,
    attachments: Vec<Option<Vec<u8>>>,
    bytes: usize,
}

impl<'a> Bodies<'a> {
    pub(super) fn of(bodies: impl IntoIterator<Item = (&'a u64, &'a StoredBody)>) -> Self {
        let mut columns = Self::default();
        let mut piece = BodyChunk::default();
        for (number, body) in bodies {
            let number = *number as i64;
            let attachments = (!body.attachments.is_empty())
                .then(|| Attachment::to_text(&body.attachments).into_bytes());
            for attachment in &*body.attachments {
                columns.users.push(number);
                columns.used.push(attachment.digest.as_str());
            }
            piece.bytes += body.text.len() + attachments.as_ref().map_or(0, Vec::len);
            piece.numbers.push(number);
            piece.texts.push(body.text.as_bytes());
            piece.attachments.push(attachments);
            if piece.bytes >= STATEMENT_BYTES {
                columns.chunks.push(std::mem::take(&mut piece));
            }
        }
        columns.chunks.push(piece);
        columns
    }

    pub(super) fn add_to<'b>(&'b self, pipeline: &mut Pipeline<'b>, database: &'b i64) {
        for BodyChunk { numbers, texts, attachments, .. } in &self.chunks {
            let all: Vec<Parameter<'b>> = vec![database, numbers, texts, attachments];
            pipeline.add_for(numbers.len(), INSERT_BODIES, all);
        }
        let all: Vec<Parameter<'b>> = vec![database, &self.users, &self.used];
        pipeline.add_for(self.users.len(), INSERT_USES, all);
    }
}

/// Removes bodies, their references to attachments, and the writes that made them.
pub(super) fn remove<'b>(pipeline: &mut Pipeline<'b>, database: &'b i64, gone: &'b &'b [i64]) {
    for sql in REMOVE {
        pipeline.add_for(gone.len(), sql, vec![database, gone]);
    }
    past_rows::remove_origins(pipeline, database, gone);
}
