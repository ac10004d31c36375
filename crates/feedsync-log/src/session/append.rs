//! Steps 4 and 5: appending waiting records (LR12, LR13, LR18, LR29, LR32, LR36).

use super::{
    Append, Condition, Event, LogResponse, MAX_APPEND_BYTES, MAX_LOST_RACES, MIN_APPEND_BYTES,
    PendingRecord, Phase, Session, Start, Stop, Torn, pause,
};
use crate::device::RecordId;
use crate::lines::Lines;

impl Session {
    /// The append of waiting records after everything was read; `None` if there are none, or if nothing may
    /// be appended.
    pub(super) fn append(&self, waiting: &[PendingRecord<'_>]) -> Option<Append> {
        let condition = match (&self.torn, self.absent, &self.position.etag) {
            (Some(Torn { etag: Some(tag), .. }), ..) => Condition::Match(tag.clone()),
            (Some(Torn { bytes, .. }), ..) => Condition::Length(self.position.offset + bytes),
            (None, true, _) => Condition::Absent,
            (None, false, Some(tag)) if tag.starts_with('"') => Condition::Match(tag.clone()),
            // A proxy made the tag weak; a hub's tag is derived from the position instead.
            (None, false, _) => match self.position.place() {
                Some(place) => Condition::Match(format!("\"{place}\"")),
                None => Condition::Length(self.position.offset),
            },
        };
        self.blob(waiting, condition)
    }

    /// An append before everything is read. Our own records may be anywhere in the log, so that a client that
    /// was refused repeatedly need not be faster than all others.
    pub(super) fn append_unread(&self, waiting: &[PendingRecord<'_>]) -> Option<Append> {
        self.blob(waiting, self.current.clone()?)
    }

    fn blob(&self, waiting: &[PendingRecord<'_>], condition: Condition) -> Option<Append> {
        if self.position.newer.is_some() {
            return None;
        }
        let first = waiting.first()?;
        let mut body = Vec::new();
        if self.torn.is_some() {
            body.push(b'\n');
        }
        let mut records = 0;
        for record in waiting {
            if records > 0 && body.len() + record.line.len() > self.most_append {
                break;
            }
            body.extend_from_slice(record.line.as_bytes());
            records += 1;
        }
        let last = &waiting[records - 1].id;
        let key = format!("{}-{}-{:016x}", first.id, last.sequence, digest(&body));
        Some(Append { condition, body, key, records })
    }

    pub(super) fn append_answered(
        &mut self,
        append: &Append,
        answer: &LogResponse,
        random: u64,
    ) -> Event {
        let unread = self.current.take().is_some();
        match answer.status {
            200 | 201 | 204 if answer.is_page() => {
                self.phase = Phase::Read;
                self.stop(answer.foreign())
            }
            200 | 201 | 204 => {
                self.attempts = 0;
                self.lost_race = 0;
                if !self.is_proof(answer) {
                    self.unproved = Some(append.clone());
                    self.torn = None;
                    self.position.etag = None;
                    self.phase = Phase::Read;
                    return Event::Nothing;
                }
                self.unproved_appends = 0;
                if self.torn.is_some() && self.start != Start::End {
                    // The line that the append completed may be a record now. Everything is read again, and
                    // the appended records wait until they are found in it.
                    self.torn = None;
                    self.position.etag = None;
                    self.phase = Phase::Read;
                    return Event::Nothing;
                }
                self.appended(append, answer, unread);
                Event::Appended(append.records)
            }
            // The length or the tag has changed (LR36), or the log does not exist, or it exists already.
            404 | 409 | 412 => match answer.refused(self.position.generation.is_some()) {
                Ok(()) if answer.status == 404 && append.condition == Condition::Absent => {
                    self.stop(Stop::Rejected(404))
                }
                Ok(()) => self.lost_race(answer, random),
                Err(stop) => self.stop(stop),
            },
            413 if append.records == 1 => {
                self.phase = Phase::Read;
                let id = append.key.rsplitn(3, '-').last().and_then(|id| id.parse().ok());
                self.stop(id.map_or(Stop::Rejected(413), Stop::TooLarge))
            }
            413 => {
                self.most_append = append.body.len() / 2;
                Event::Nothing
            }
            507 => self.stop(Stop::Full),
            status => {
                if status == 0 {
                    // The body may be too large for the connection.
                    self.most_append = (append.body.len() / 2).max(MIN_APPEND_BYTES);
                }
                // The content of the log is unknown now, so it is read first.
                self.phase = Phase::Read;
                self.handle_other_response(answer, random)
            }
        }
    }

    /// Whether only the log server can have sent a response. A server that supports generations names the
    /// generation that was read. Any other server gives the longer log another strong entity tag (LR13,
    /// LR35).
    fn is_proof(&self, answer: &LogResponse) -> bool {
        let tag = answer.etag.as_deref().unwrap_or_default();
        match &self.position.generation {
            Some(known) => {
                let place = tag.trim_start_matches("W/").strip_prefix('"');
                let names = place.and_then(|place| place.strip_prefix(known.as_str()));
                answer.generation.as_ref() == Some(known)
                    || names.is_some_and(|offset| offset.starts_with('-'))
            }
            None => {
                let is_new = answer.strong().is_some() && answer.etag != self.position.etag;
                let is_bare = answer.media_type.is_none() || answer.generation.is_some();
                is_new && is_bare
            }
        }
    }

    fn appended(&mut self, append: &Append, answer: &LogResponse, unread: bool) {
        self.absent = false;
        if unread {
            // The append follows bytes of others, and is read together with them.
            self.position.etag = None;
            self.phase = Phase::Read;
            return;
        }
        if let Some(torn) = self.torn.take() {
            self.position.offset += torn.bytes;
        }
        self.position.advance(Lines::of(&append.body));
        self.position.etag = answer.strong();
        self.position.generation =
            answer.generation.clone().or_else(|| self.position.generation.take());
        if self.position.etag.is_none() {
            self.phase = Phase::Read;
        }
    }

    /// Handles an append that another client preceded: back to step 1 (LR13). If the server supports
    /// generations, the next attempt uses the position in the refusal, which is valid for a short time only.
    /// Later attempts append at any length, so that no client loses forever, however many there are. On other
    /// servers all clients wait, each for another time (LR18).
    fn lost_race(&mut self, answer: &LogResponse, random: u64) -> Event {
        self.lost_race += 1;
        if self.lost_race > MAX_LOST_RACES {
            return self.stop(Stop::Contended);
        }
        self.phase = Phase::Read;
        self.absent = false;
        let is_ours = self.position.generation.is_some()
            && answer.generation == self.position.generation
            && self.torn.is_none();
        self.torn = None;
        self.current = match self.lost_race {
            2 if is_ours => answer.strong().map(Condition::Match),
            3.. if is_ours => Some(Condition::Present),
            _ => None,
        };
        match self.lost_race {
            1 => Event::Nothing,
            2 | 3 if self.current.is_some() => Event::Nothing,
            attempts => Event::Wait(pause(4, 1_000, attempts, random)),
        }
    }
}

/// Takes as many of the waiting lines, in order, as are useful for one append ([`MAX_APPEND_BYTES`]).
pub fn append_batch(
    waiting: impl Iterator<Item = (RecordId, String)>,
) -> impl Iterator<Item = (RecordId, String)> {
    let mut bytes = 0;
    waiting.take_while(move |(_, line)| {
        let begins_within = bytes < MAX_APPEND_BYTES;
        bytes += line.len();
        begins_within
    })
}

/// Distinguishes bodies with the same first and last records (FNV-1a).
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
