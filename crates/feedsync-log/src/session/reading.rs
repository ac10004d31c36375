//! Steps 1 and 2: reading what was appended (LR20 to LR32).

use super::{
    Answer, DOUBTS, END, Event, Lines, MOST_READ, Phase, Position, Range, Read, Session, Start,
    Stop, Torn, overlap,
};
use crate::exchange::ContentRange;
use crate::record::Line;
use crate::stamp::Millis;

/// What a web server's cache may need to notice that a file has grown (LR30).
const STALE: Millis = Millis::new(1_500);

impl Session {
    pub(super) fn read(&self) -> Read {
        let position = &self.position;
        let range = match self.start {
            Start::Last(bytes) if position.offset == 0 => Range::Last(bytes),
            Start::End if position.offset == 0 && self.unproved.is_none() => Range::Last(END),
            _ => Range::From { offset: self.asked(), most: MOST_READ },
        };
        Read { range, unless: position.etag.clone() }
    }

    /// The first byte that is asked for.
    fn asked(&self) -> u64 {
        self.position.offset.saturating_sub(self.position.compared())
    }

    pub(super) fn read_answered(&mut self, read: &Read, answer: Answer, random: u64) -> Event {
        match answer.status {
            304 if read.unless.is_some() => {
                self.in_step();
                Event::Nothing
            }
            200 | 206 if answer.is_no_log() => self.stop(answer.foreign()),
            // A server that tells generations apart tells them whenever it sends the whole log.
            200 if self.position.generation.is_some() && answer.generation.is_none() => {
                self.stop(answer.foreign())
            }
            200 | 206 => self.bytes(read, answer, random),
            // Servers of files answer with pages where there is no log; a server that tells generations apart does not.
            404 | 410 if self.position.generation.is_some() && answer.refused(true).is_err() => {
                self.stop(answer.foreign())
            }
            416 if self.position.generation.is_some() && answer.is_page() => {
                self.stop(answer.foreign())
            }
            416 => self.nothing_there(&answer),
            404 | 410
                if self.position == Position::default()
                    && (answer.status == 404 || self.may_begin) =>
            {
                self.absent = true;
                self.in_step();
                Event::Nothing
            }
            404 if self.is_doubted_again() => Event::Wait(STALE),
            404 => self.stop(Stop::Vanished),
            _ => self.otherwise(&answer, random),
        }
    }

    /// Looks for an append that was confirmed without proof. What is found counts as appended. What is not found in
    /// the whole log, though caches had time to notice (LR30), is appended again, a bounded number of times.
    pub(super) fn look_for_appended(&mut self, event: Event) -> Event {
        let Some(append) = &self.unproved else { return event };
        match event {
            Event::Restarted => {
                self.unproved = None;
                event
            }
            Event::Lines(ref lines) if contains(lines, &append.body) => {
                let records = append.records;
                (self.unproved, self.looks, self.claims) = (None, 0, 0);
                // Who reads the log knows its own records in what is read (LR14).
                if self.start == Start::End { Event::Appended(records) } else { event }
            }
            Event::Nothing | Event::Lines(_) if self.phase == Phase::InStep => {
                self.looks += 1;
                if self.looks < DOUBTS {
                    self.phase = Phase::Read;
                    return if event == Event::Nothing { Event::Wait(STALE) } else { event };
                }
                (self.unproved, self.looks) = (None, 0);
                self.claims += 1;
                if self.claims < DOUBTS { event } else { self.stop(Stop::NotKept) }
            }
            _ => event,
        }
    }

    fn in_step(&mut self) {
        self.phase = Phase::InStep;
        self.doubts = 0;
    }

    /// Something of the log came.
    fn bytes(&mut self, read: &Read, answer: Answer, random: u64) -> Event {
        self.absent = false;
        if answer.coding.is_some() {
            return self.stop(Stop::Fault("the log is sent packed, where no offset counts"));
        }
        let multipart = "multipart/byteranges";
        if answer.media_type.as_ref().is_some_and(|found| found.starts_with(multipart)) {
            return self.stop(Stop::Fault("several parts, where one was asked for"));
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
                None => self.stop(Stop::Fault("bytes behind those that were asked for")),
            },
        }
    }

    /// Goes on in a log, behind so many bytes of the answer that were not asked for.
    fn on(&mut self, before: u64, ends_log: bool, answer: &Answer, random: u64) -> Event {
        let known = self.position.compared() as usize;
        let asked = usize::try_from(before).ok().and_then(|before| answer.body.get(before..));
        let (found, new) = match asked.and_then(|asked| asked.split_at_checked(known)) {
            Some(parts) => parts,
            // The log ends before what was read of it; or only the answer does.
            None if ends_log => return self.doubt(),
            None => return self.again(answer, random),
        };
        if known > 0 && found != self.position.overlap.as_bytes() {
            return self.restart();
        }
        self.take(Lines::of(new), new.len(), ends_log, answer, random)
    }

    /// Begins in the middle of a log.
    fn middle(&mut self, start: u64, ends_log: bool, answer: &Answer, random: u64) -> Event {
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
        answer: &Answer,
        random: u64,
    ) -> Event {
        let whole = lines.bytes().len();
        if whole > 0
            && self.position.offset == 0
            && let Some(event) = self.begun_otherwise(lines)
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
                // An empty log goes on from nowhere.
                return self.begin_anew(Phase::Read);
            }
            self.in_step();
        } else if ends_log {
            return self.tear(torn, lines, answer);
        } else if whole == 0 && torn >= MOST_READ {
            return self.stop(Stop::Fault("a line that does not end"));
        } else if whole == 0 {
            return self.again(answer, random);
        }
        self.attempts = 0;
        self.doubts = 0;
        if whole == 0 { Event::Nothing } else { Event::Lines(lines.bytes().to_vec()) }
    }

    /// The log ends in the middle of a line. Whoever writes it may be writing; if it is still so when it is
    /// read again, they crashed, and what is appended next begins with a line feed.
    fn tear(&mut self, bytes: u64, lines: Lines<'_>, answer: &Answer) -> Event {
        let etag = answer.strong();
        let before = self.torn.take();
        let is_steady = before.is_some_and(|torn| torn.etag == etag && torn.bytes == bytes);
        self.torn = Some(Torn { etag, bytes, is_steady });
        if is_steady {
            self.in_step();
        }
        match lines.bytes() {
            [] if is_steady => Event::Nothing,
            [] => Event::Wait(STALE),
            whole => Event::Lines(whole.to_vec()),
        }
    }

    fn note_newer(&mut self, lines: Lines<'_>) {
        if self.start == Start::End {
            // What lines mean is no concern of who only writes.
            return;
        }
        let newer = lines.iter().filter_map(|line| match Line::read(line) {
            Line::Newer { version } => Some(version),
            _ => None,
        });
        self.position.newer = newer.max().max(self.position.newer);
    }

    /// The range begins where the log ends, or behind that (LR24).
    fn nothing_there(&mut self, answer: &Answer) -> Event {
        if self.is_another(answer) {
            return self.restart();
        }
        let range = answer.content_range.as_deref().and_then(ContentRange::parse);
        let length = range.and_then(|range| range.complete);
        let is_end = match length {
            Some(length) => length == self.position.offset,
            // Not every server says how long it is.
            None => self.position.compared() == 0,
        };
        if is_end && self.before.take().is_some() {
            // An empty log goes on from nowhere.
            return self.begin_anew(Phase::Read);
        }
        if is_end {
            self.position.etag = answer.etag.clone().or(self.position.etag.take());
            self.in_step();
            return Event::Nothing;
        }
        self.doubt()
    }

    /// Whether the server itself says that this is another generation.
    fn is_another(&self, answer: &Answer) -> bool {
        let known = self.position.generation.as_ref();
        known.is_some_and(|known| answer.generation.as_ref().is_some_and(|now| now != known))
    }

    /// The log looks shorter than it was: a cache may lag behind, else it is another one.
    fn doubt(&mut self) -> Event {
        if self.is_doubted_again() { Event::Wait(STALE) } else { self.restart() }
    }

    fn is_doubted_again(&mut self) -> bool {
        self.doubts += 1;
        self.doubts < DOUBTS
    }

    /// The log is another one than the one that was read, or that a snapshot stood for.
    fn restart(&mut self) -> Event {
        let position = std::mem::take(&mut self.position);
        self.torn = None;
        self.current = None;
        self.doubts = 0;
        if std::mem::take(&mut self.is_behind_snapshot) {
            // It was compacted since: all of it is read, on top of the snapshot.
            self.phase = Phase::Read;
            return Event::Nothing;
        }
        if self.start == Start::Copy {
            return self.begin_anew(Phase::Read);
        }
        if position.generation.is_none() || position.partial || self.before.is_some() {
            return self.begin_anew(Phase::Snapshot);
        }
        // If it goes on from where this replica stands, nothing is missing.
        self.before = Some(position);
        self.phase = Phase::Read;
        Event::Nothing
    }

    /// What a log leaves out, which is read from its beginning, must be known here: it goes on from the place up
    /// to which this replica read, or from what the snapshot that it applied covers. And one that leaves nothing
    /// out is another one than what was read before.
    fn begun_otherwise(&mut self, first: Lines<'_>) -> Option<Event> {
        let before = self.before.take();
        let place = before.as_ref().and_then(Position::place);
        let base = match first.iter().next().map(Line::read) {
            Some(Line::Header(header)) => header.snapshot.map(|base| base.covers),
            _ => None,
        };
        if self.start != Start::Whole {
            // Whoever wants no more than the end does not ask what was before.
            self.position.partial |= base.is_some();
            return None;
        }
        match base {
            None if before.is_none() && self.base.is_none() => None,
            None => Some(self.begin_anew(Phase::Read)),
            Some(base) if place.as_ref() == Some(&base) => None,
            // Nothing but the snapshot was taken in before.
            Some(base) if before.is_none() && self.base.as_ref() == Some(&base) => None,
            // It was asked for after this had been seen, and is not there; or an older one is, as where somebody
            // publishes the log and no snapshot with it any more.
            Some(base) if self.wanted.as_ref() == Some(&base) => {
                self.position.partial = true;
                None
            }
            Some(base) => {
                self.wanted = Some(base);
                Some(self.begin_anew(Phase::Snapshot))
            }
        }
    }
}

fn contains(lines: &[u8], body: &[u8]) -> bool {
    !body.is_empty() && memchr::memmem::find(lines, body).is_some()
}

/// Where the body of an answer begins, and whether it goes to the end of the log.
fn sent(read: &Read, answer: &Answer) -> Result<(u64, bool), &'static str> {
    let length = answer.body.len() as u64;
    if answer.status == 200 {
        // All of it (LR26): the server does not know ranges, or something between does not.
        return Ok((answer.start, answer.ended));
    }
    let range = answer.content_range.as_deref().and_then(ContentRange::parse);
    let Some(ContentRange { sent: Some((first, last)), complete }) = range else {
        return Err("a part that does not say which");
    };
    if let Range::From { offset, .. } = read.range
        && offset != first
    {
        return Err("another part than was asked for");
    }
    let promised = (last - first).saturating_add(1);
    if length > promised {
        return Err("more bytes than were promised");
    }
    let ends_there = match (complete, read.range) {
        (Some(complete), _) => last + 1 == complete,
        // Who does not say how much there is has sent all only if it was less than asked for.
        (None, Range::From { most, .. } | Range::Last(most)) => promised < most,
    };
    let ends = length == promised && ends_there;
    Ok((first, ends))
}

/// What a snapshot of a log says of the place that it covers: the end of the lines that were applied.
pub fn overlap_of(lines: &[u8]) -> String {
    overlap(Lines::of(lines))
}
