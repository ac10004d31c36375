//! Steps 1 and 2: reading appended bytes (LR20 to LR32).

use super::{
    CONFIRMING_READS, END, Event, Lines, LogResponse, MAX_READ_BYTES, Phase, Position, Range, Read,
    Session, Start, Stop, Torn, overlap,
};
use crate::exchange::ContentRange;
use crate::record::Line;
use crate::stamp::Millis;

/// Time that the cache of a web server may need to detect that a file has grown (LR30).
const CACHE_DELAY: Millis = Millis::new(1_500);

impl Session {
    pub(super) fn read(&self) -> Read {
        let position = &self.position;
        let range = match self.start {
            Start::Last(bytes) if position.offset == 0 => Range::Last(bytes),
            Start::End if position.offset == 0 && self.unproved.is_none() => Range::Last(END),
            _ => Range::From { offset: self.asked(), most: MAX_READ_BYTES },
        };
        Read { range, unless: position.etag.clone() }
    }

    /// Offset of the first requested byte.
    fn asked(&self) -> u64 {
        self.position.offset.saturating_sub(self.position.compared())
    }

    pub(super) fn read_answered(&mut self, read: &Read, answer: LogResponse, random: u64) -> Event {
        match answer.status {
            304 if read.unless.is_some() => {
                self.in_step();
                Event::Nothing
            }
            200 | 206 if answer.is_no_log() => self.stop(answer.foreign()),
            // A server that supports generations names the generation whenever it sends the whole log.
            200 if self.position.generation.is_some() && answer.generation.is_none() => {
                self.stop(answer.foreign())
            }
            200 | 206 => self.bytes(read, answer, random),
            // File servers respond with pages if there is no log; a server that supports generations does
            // not.
            404 | 410 if self.position.generation.is_some() && answer.refused(true).is_err() => {
                self.stop(answer.foreign())
            }
            416 if self.position.generation.is_some() && answer.is_page() => {
                self.stop(answer.foreign())
            }
            416 => self.range_beyond_end(&answer),
            404 | 410
                if self.position == Position::default()
                    && (answer.status == 404 || self.may_begin) =>
            {
                self.absent = true;
                self.in_step();
                Event::Nothing
            }
            404 if self.is_doubted_again() => Event::Wait(CACHE_DELAY),
            404 => self.stop(Stop::Vanished),
            _ => self.handle_other_response(&answer, random),
        }
    }

    /// Searches for an append that was confirmed without proof. If it is found, it counts as appended. If the
    /// whole log lacks it, although caches had time to update (LR30), it is appended again, a limited number
    /// of times.
    pub(super) fn find_unproved_append(&mut self, event: Event) -> Event {
        let Some(append) = &self.unproved else { return event };
        match event {
            Event::Restarted => {
                self.unproved = None;
                event
            }
            Event::Lines(ref lines) if contains(lines, &append.body) => {
                let records = append.records;
                (self.unproved, self.proof_reads, self.unproved_appends) = (None, 0, 0);
                // A session that reads the log recognizes its own records in what it reads (LR14).
                if self.start == Start::End { Event::Appended(records) } else { event }
            }
            Event::Nothing | Event::Lines(_) if self.phase == Phase::InStep => {
                self.proof_reads += 1;
                if self.proof_reads < CONFIRMING_READS {
                    self.phase = Phase::Read;
                    return if event == Event::Nothing { Event::Wait(CACHE_DELAY) } else { event };
                }
                (self.unproved, self.proof_reads) = (None, 0);
                self.unproved_appends += 1;
                if self.unproved_appends < CONFIRMING_READS {
                    event
                } else {
                    self.stop(Stop::NotStored)
                }
            }
            _ => event,
        }
    }

    fn in_step(&mut self) {
        self.phase = Phase::InStep;
        self.doubts = 0;
    }

    /// Handles received bytes of the log.
    fn bytes(&mut self, read: &Read, answer: LogResponse, random: u64) -> Event {
        self.absent = false;
        if answer.coding.is_some() {
            return self.stop(Stop::Fault(
                "it has a Content-Encoding, so that offsets do not match the log",
            ));
        }
        let multipart = "multipart/byteranges";
        if answer.media_type.as_ref().is_some_and(|found| found.starts_with(multipart)) {
            return self.stop(Stop::Fault("it has several ranges, but one was requested"));
        }
        if self.is_another(&answer) {
            return self.restart();
        }
        let (start, ends_log) = match sent(read, &answer) {
            Ok(sent) => sent,
            Err(fault) => return self.stop(Stop::Fault(fault)),
        };
        match read.range {
            Range::Last(_) if start > 0 => self.middle(start, ends_log, &answer, random),
            Range::Last(_) => self.on(0, ends_log, &answer, random),
            Range::From { offset, .. } => match offset.checked_sub(start) {
                Some(before) => self.on(before, ends_log, &answer, random),
                None => self.stop(Stop::Fault("it begins after the requested offset")),
            },
        }
    }

    /// Continues the log, after `before` bytes of the response that were not requested.
    fn on(&mut self, before: u64, ends_log: bool, answer: &LogResponse, random: u64) -> Event {
        let known = self.position.compared() as usize;
        let asked = usize::try_from(before).ok().and_then(|before| answer.body.get(before..));
        let (found, new) = match asked.and_then(|asked| asked.split_at_checked(known)) {
            Some(parts) => parts,
            // The log ends before the known offset, or only the response does.
            None if ends_log => return self.doubt(),
            None => return self.again(answer, random),
        };
        if known > 0 && found != self.position.overlap.as_bytes() {
            return self.restart();
        }
        self.take(Lines::of(new), new.len(), ends_log, answer, random)
    }

    /// Begins in the middle of a log.
    fn middle(&mut self, start: u64, ends_log: bool, answer: &LogResponse, random: u64) -> Event {
        if !answer.body.contains(&b'\n') {
            self.position.offset = start;
            return self.take(Lines::of(&[]), answer.body.len(), ends_log, answer, random);
        }
        let (dropped, lines) = Lines::within(&answer.body);
        self.position.offset = start + dropped as u64;
        self.position.partial = true;
        self.take(lines, answer.body.len() - dropped, ends_log, answer, random)
    }

    fn take(
        &mut self,
        lines: Lines<'_>,
        bytes: usize,
        ends_log: bool,
        answer: &LogResponse,
        random: u64,
    ) -> Event {
        let whole = lines.bytes().len();
        if whole > 0
            && self.position.offset == 0
            && let Some(event) = self.check_beginning(lines)
        {
            return event;
        }
        self.is_behind_snapshot = false;
        self.position.advance(lines);
        self.position.generation = answer.generation.clone();
        self.note_newer(lines);
        let torn = (bytes - whole) as u64;
        if ends_log && torn == 0 {
            self.torn = None;
            self.position.etag = answer.etag.clone();
            if self.before.take().is_some() {
                // An empty log continues from nothing.
                return self.restart_session(Phase::Read);
            }
            self.in_step();
        } else if ends_log {
            return self.tear(torn, lines, answer);
        } else if whole == 0 && torn >= MAX_READ_BYTES {
            return self.stop(Stop::Fault("a line exceeds the maximum length"));
        } else if whole == 0 {
            return self.again(answer, random);
        }
        self.attempts = 0;
        self.doubts = 0;
        if whole == 0 { Event::Nothing } else { Event::Lines(lines.bytes().to_vec()) }
    }

    /// The log ends with an incomplete line. Another client may be writing it. If it is unchanged when it is
    /// read again, that client crashed, and the next append begins with a line feed.
    fn tear(&mut self, bytes: u64, lines: Lines<'_>, answer: &LogResponse) -> Event {
        let etag = answer.strong();
        let before = self.torn.take();
        let is_steady = before.is_some_and(|torn| torn.etag == etag && torn.bytes == bytes);
        self.torn = Some(Torn { etag, bytes, is_steady });
        if is_steady {
            self.in_step();
        }
        match lines.bytes() {
            [] if is_steady => Event::Nothing,
            [] => Event::Wait(CACHE_DELAY),
            whole => Event::Lines(whole.to_vec()),
        }
    }

    fn note_newer(&mut self, lines: Lines<'_>) {
        if self.start == Start::End {
            // A session that only writes does not interpret lines.
            return;
        }
        let newer = lines.iter().filter_map(|line| match Line::read(line) {
            Line::Newer { version } => Some(version),
            _ => None,
        });
        self.position.newer = newer.max().max(self.position.newer);
    }

    /// Handles a requested range that begins at or after the end of the log (LR24).
    fn range_beyond_end(&mut self, answer: &LogResponse) -> Event {
        if self.is_another(answer) {
            return self.restart();
        }
        let range = answer.content_range.as_deref().and_then(ContentRange::parse);
        let length = range.and_then(|range| range.complete);
        let is_end = match length {
            Some(length) => length == self.position.offset,
            // Not every server states the length.
            None => self.position.compared() == 0,
        };
        if is_end && self.before.take().is_some() {
            // An empty log continues from nothing.
            return self.restart_session(Phase::Read);
        }
        if is_end {
            self.position.etag = answer.etag.clone().or(self.position.etag.take());
            self.in_step();
            return Event::Nothing;
        }
        self.doubt()
    }

    /// Whether the server states that this is another generation.
    fn is_another(&self, answer: &LogResponse) -> bool {
        let known = self.position.generation.as_ref();
        known.is_some_and(|known| answer.generation.as_ref().is_some_and(|now| now != known))
    }

    /// Handles a log that seems shorter than before: either a cache lags behind, or it is another log.
    fn doubt(&mut self) -> Event {
        if self.is_doubted_again() { Event::Wait(CACHE_DELAY) } else { self.restart() }
    }

    fn is_doubted_again(&mut self) -> bool {
        self.doubts += 1;
        self.doubts < CONFIRMING_READS
    }

    /// Handles a log that is not the one that was read, or that the snapshot covered.
    fn restart(&mut self) -> Event {
        let position = std::mem::take(&mut self.position);
        self.torn = None;
        self.current = None;
        self.doubts = 0;
        if std::mem::take(&mut self.is_behind_snapshot) {
            // The log was compacted meanwhile: it is read completely, on top of the snapshot.
            self.phase = Phase::Read;
            return Event::Nothing;
        }
        if self.start == Start::Copy {
            return self.restart_session(Phase::Read);
        }
        if position.generation.is_none() || position.partial || self.before.is_some() {
            return self.restart_session(Phase::Snapshot);
        }
        // If the new generation continues from this position, nothing is missing.
        self.before = Some(position);
        self.phase = Phase::Read;
        Event::Nothing
    }

    /// Checks a log that is read from its beginning: everything that it leaves out must be known. It must
    /// continue from the position up to which this replica read, or from what the applied snapshot covers. A
    /// log that leaves nothing out is not the one that was read before.
    fn check_beginning(&mut self, first: Lines<'_>) -> Option<Event> {
        let before = self.before.take();
        let place = before.as_ref().and_then(Position::place);
        let base = match first.iter().next().map(Line::read) {
            Some(Line::Header(header)) => header.snapshot.map(|base| base.covers),
            _ => None,
        };
        if self.start != Start::Whole {
            // Sessions of other kinds do not depend on what the log leaves out.
            self.position.partial |= base.is_some();
            return None;
        }
        match base {
            None if before.is_none() && self.base.is_none() => None,
            None => Some(self.restart_session(Phase::Read)),
            Some(base) if place.as_ref() == Some(&base) => None,
            // Only the snapshot was applied before.
            Some(base) if before.is_none() && self.base.as_ref() == Some(&base) => None,
            // The snapshot was requested after this base was seen, and it does not exist or is older. This
            // happens if the log is published without a current snapshot.
            Some(base) if self.wanted.as_ref() == Some(&base) => {
                self.position.partial = true;
                None
            }
            Some(base) => {
                self.wanted = Some(base);
                Some(self.restart_session(Phase::Snapshot))
            }
        }
    }
}

fn contains(lines: &[u8], body: &[u8]) -> bool {
    !body.is_empty() && memchr::memmem::find(lines, body).is_some()
}

/// Offset in the log at which the body of a response begins, and whether it extends to the end of the log.
fn sent(read: &Read, answer: &LogResponse) -> Result<(u64, bool), &'static str> {
    let length = answer.body.len() as u64;
    if answer.status == 200 {
        // The whole log (LR26): the server or a proxy does not support ranges.
        return Ok((answer.start, answer.ended));
    }
    let range = answer.content_range.as_deref().and_then(ContentRange::parse);
    let Some(ContentRange { sent: Some((first, last)), complete }) = range else {
        return Err("its Content-Range is missing or invalid");
    };
    if let Range::From { offset, .. } = read.range
        && offset != first
    {
        return Err("it has another range than the requested one");
    }
    let promised = (last - first).saturating_add(1);
    if length > promised {
        return Err("its body is longer than its Content-Range");
    }
    let ends_there = match (complete, read.range) {
        (Some(complete), _) => last + 1 == complete,
        // If the server does not state the total length, the response reaches the end only if it is shorter
        // than requested.
        (None, Range::From { most, .. } | Range::Last(most)) => promised < most,
    };
    let ends = length == promised && ends_there;
    Ok((first, ends))
}

/// The `overlap` of a snapshot for the position that it covers: the end of the applied lines.
pub fn overlap_of(lines: &[u8]) -> String {
    overlap(Lines::of(lines))
}
