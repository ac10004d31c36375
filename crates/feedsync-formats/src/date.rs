//! Dates in payloads: RFC 3339 as in Atom, RFC 822 as in RSS and OPML, and the many other forms that publishers use.
//!
//! These are the publisher's dates and do not affect merging. One tolerant parser serves all formats. It has a
//! resolution of one second and returns UTC. It returns `None` for a text that is no date. The dates of `sx` elements
//! are stricter and are parsed elsewhere. `docs/formats.md` lists the forms.

mod names;
mod words;

use feedsync_core::Timestamp;

use words::{Word, numbers, split};

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Maximum length of a date, in bytes.
const MAX_DATE_BYTES: usize = 128;

const DAY: i64 = 86_400;

/// Parses a date in any of the forms.
pub(crate) fn parse(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    if text.is_empty() || text.len() > MAX_DATE_BYTES {
        return None;
    }
    let seconds = counted(text).or_else(|| Reader::new(text).read())?;
    Timestamp::from_unix_seconds(seconds)
}

/// Formats a date as in RSS and HTTP, with its weekday: `Sat, 21 May 2005 09:43:33 GMT`.
pub fn to_rfc822(date: Timestamp) -> String {
    let text = date.to_string();
    let (year, month, day, time) = (&text[..4], &text[5..7], &text[8..10], &text[11..19]);
    let weekday = DAYS[date.unix_seconds().div_euclid(DAY).rem_euclid(7) as usize];
    let month = month.parse().ok().and_then(|month: usize| MONTHS.get(month - 1));
    format!("{weekday}, {day} {} {year} {time} GMT", month.unwrap_or(&"Jan"))
}

/// Parses a date of digits only: seconds, milliseconds, microseconds or nanoseconds since 1970, or a date without
/// separators.
fn counted(text: &str) -> Option<i64> {
    let whole = text.split_once('.').map_or(text, |(whole, fraction)| {
        if fraction.bytes().all(|byte| byte.is_ascii_digit()) { whole } else { "" }
    });
    if !whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: i64 = whole.parse().ok()?;
    match whole.len() {
        9 | 10 => Some(number),
        13 => Some(number / 1_000),
        16 => Some(number / 1_000_000),
        19 => Some(number / 1_000_000_000),
        _ => None,
    }
}

/// Seconds from 1970 to the start of a day. `None` for a day that does not exist.
fn day(year: u32, month: u32, day: u32) -> Option<i64> {
    Timestamp::parse(&format!("{year:04}-{month:02}-{day:02}T00:00:00Z"))
        .ok()
        .map(Timestamp::unix_seconds)
}

/// Parses a year. Two digits mean 1950 to 2049 (RFC 2822 4.3).
fn year(digits: &str) -> Option<u32> {
    let year: u32 = digits.parse().ok()?;
    match (digits.len(), year) {
        (2, 0..=49) => Some(2_000 + year),
        (2, _) => Some(1_900 + year),
        (4, _) => Some(year),
        _ => None,
    }
}

/// The words of a date. A word is removed when it is parsed, so that it is used only once.
struct Reader {
    words: Vec<Word>,
}

impl Reader {
    fn new(text: &str) -> Self {
        Self { words: split(text) }
    }

    fn read(mut self) -> Option<i64> {
        let mut time = self.compact();
        let mut is_compact = time.is_some();
        if time.is_none() {
            time = self.time()?;
        }
        let (seconds, after) = time.unwrap_or((0, self.words.len()));
        let offset = if after < self.words.len() { self.offset(after)? } else { 0 };
        let date = self.run_together();
        is_compact |= date.is_some();
        let date = date.or_else(|| if is_compact { None } else { self.numeric() });
        let date = match date {
            Some(date) => date,
            None => self.named()?,
        };
        let late = if time.is_none() { self.late_time().unwrap_or(0) } else { 0 };
        Some(date? + seconds + late - offset)
    }

    fn number(&self, at: usize, most: usize) -> Option<u32> {
        match self.words.get(at)? {
            Word::Number(digits) if digits.len() <= most => digits.parse().ok(),
            _ => None,
        }
    }

    fn is_sign(&self, at: usize, sign: char) -> bool {
        self.words.get(at) == Some(&Word::Sign(sign))
    }

    fn name(&self, at: usize) -> Option<&str> {
        match self.words.get(at)? {
            Word::Name(name) => Some(name),
            _ => None,
        }
    }

    fn take(&mut self, from: usize, to: usize) {
        self.words[from..to].fill(Word::Taken);
    }

    fn past_space(&self, mut at: usize) -> usize {
        while self.words.get(at) == Some(&Word::Space) {
            at += 1;
        }
        at
    }

    /// Parses `hhmm` or `hhmmss` after the `T` of a date without separators. Returns the seconds since midnight and
    /// the index of the next word.
    fn compact(&mut self) -> Option<(i64, usize)> {
        let at = self.words.iter().position(|word| *word == Word::Name("t".to_owned()))?;
        let before = at.checked_sub(1).and_then(|before| self.words.get(before));
        let is_behind = matches!(before, Some(Word::Number(date)) if date.len() == 8);
        let Some(Word::Number(digits)) = self.words.get(at + 1).filter(|_| is_behind) else {
            return None;
        };
        let part = |from: usize| digits.get(from..from + 2).map_or(Some(0), |two| two.parse().ok());
        let clock =
            matches!(digits.len(), 4 | 6).then(|| Some([part(0)?, part(2)?, part(4)?]))??;
        let seconds = seconds(clock)?;
        self.take(at, at + 2);
        Some((seconds, at + 2))
    }

    /// Parses a date of eight digits.
    fn run_together(&mut self) -> Option<Option<i64>> {
        let is_date = |word: &Word| matches!(word, Word::Number(digits) if digits.len() == 8);
        let at = self.words.iter().position(is_date)?;
        let Word::Number(digits) = std::mem::replace(&mut self.words[at], Word::Taken) else {
            return None;
        };
        let [year, month, of_month] = [0..4, 4..6, 6..8].map(|part| digits[part].parse().ok());
        Some(year.zip(month).zip(of_month).and_then(|((y, m), d)| day(y, m, d)))
    }

    /// Parses a time of day: `hh:mm`, `hh:mm:ss` with a fraction, `10h30`, `9 pm`. The outer `None` means a time that
    /// does not exist; the inner `None` means that there is no time.
    fn time(&mut self) -> Option<Option<(i64, usize)>> {
        let is_time = |at: &usize| {
            let is_marked = |next: usize| {
                self.is_sign(next, ':') && self.number(next + 1, 2).is_some()
                    || self.name(next) == Some("h")
                    || self.noon(next).is_some()
            };
            self.number(*at, 2).is_some()
                && !at.checked_sub(1).is_some_and(|before| self.is_sign(before, '.'))
                && is_marked(at + 1)
        };
        let Some(start) = (0..self.words.len()).find(is_time) else { return Some(None) };
        let mut clock = [self.number(start, 2)?, 0, 0];
        let mut at = start + 1;
        for part in &mut clock[1..] {
            let is_next = self.is_sign(at, ':') || self.name(at) == Some("h");
            match self.number(at + 1, 2).filter(|_| is_next) {
                Some(number) => (*part, at) = (number, at + 2),
                None => break,
            }
        }
        if self.name(at) == Some("h") {
            at += 1;
        }
        let is_fraction = self.is_sign(at, '.') || self.is_sign(at, ',');
        if is_fraction && matches!(self.words.get(at + 1), Some(Word::Number(_))) {
            at += 2;
        }
        let before = (0..start).rev().find(|at| self.words[*at] != Word::Space);
        let before = before.and_then(|at| self.name(at)).and_then(names::half_of_day);
        let noon = self.noon(at);
        match (clock[0], noon.map(|(_, is_afternoon)| is_afternoon).or(before)) {
            (12, Some(false)) => clock[0] = 0,
            (1..=11, Some(true)) => clock[0] += 12,
            _ => {}
        }
        at = noon.map_or(at, |(end, _)| end);
        let seconds = seconds(clock)?;
        self.take(start, at);
        Some(Some((seconds, at)))
    }

    /// Parses `am` or `pm` at this word. Returns the index after it, and whether it is `pm`.
    fn noon(&self, at: usize) -> Option<(usize, bool)> {
        let at = self.past_space(at);
        match self.name(at)? {
            "am" => Some((at + 1, false)),
            "pm" => Some((at + 1, true)),
            "a" | "p" => {
                let is_pm = self.name(at) == Some("p");
                let dot = self.past_space(at + 1 + usize::from(self.is_sign(at + 1, '.')));
                let end = dot + 1 + usize::from(self.is_sign(dot + 1, '.'));
                (self.is_sign(at + 1, '.') && self.name(dot) == Some("m")).then_some((end, is_pm))
            }
            _ => None,
        }
    }

    /// Parses the UTC offset that follows the time, in seconds east of Greenwich. A number takes precedence over a
    /// name. An unknown name means UTC. `None` for an offset that does not exist.
    fn offset(&mut self, after: usize) -> Option<i64> {
        let mut named = 0;
        for at in after..self.words.len() {
            let is_behind = at == after
                || matches!(self.words[at - 1], Word::Space | Word::Taken | Word::Sign('('));
            match &self.words[at] {
                Word::Sign(sign @ ('+' | '-')) if is_behind => {
                    let sign = if *sign == '+' { 1 } else { -1 };
                    let Some(Word::Number(digits)) = self.words.get(at + 1) else { continue };
                    let is_between =
                        |word: &Word| !matches!(word, Word::Space | Word::Taken | Word::Sign('('));
                    let is_far = self.words[after..at].iter().any(is_between);
                    let (hours, minutes, end) = match digits.len() {
                        1 | 2 => match self.number(at + 3, 2).filter(|_| self.is_sign(at + 2, ':'))
                        {
                            Some(minutes) => {
                                (digits.parse::<i64>().ok()?, i64::from(minutes), at + 4)
                            }
                            // A number that does not directly follow the time is another part of the date.
                            None if is_far => continue,
                            None => (digits.parse().ok()?, 0, at + 2),
                        },
                        4 => (digits[..2].parse().ok()?, digits[2..].parse().ok()?, at + 2),
                        _ => continue,
                    };
                    if hours > 23 || minutes > 59 {
                        return None;
                    }
                    self.take(at, end);
                    return Some(sign * (hours * 3_600 + minutes * 60));
                }
                Word::Name(name) => {
                    if let Some(minutes) = names::zone(name) {
                        named = i64::from(minutes) * 60;
                        self.words[at] = Word::Taken;
                    }
                }
                _ => {}
            }
        }
        Some(named)
    }

    /// Parses numbers separated by `-`, `/` or `.`, with the year first or last. The outer `None` means that there
    /// are none.
    fn numeric(&mut self) -> Option<Option<i64>> {
        let (range, sign, parts) = numbers(&self.words)?;
        let date = match &parts.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [y, m, d] if y.len() == 4 => {
                year(y).and_then(|year| day(year, m.parse().ok()?, d.parse().ok()?))
            }
            // The day of the year (ISO 8601).
            [y, d] if y.len() == 4 && d.len() == 3 && sign == '-' => year(y).and_then(|year| {
                let of_year: u32 = d.parse().ok().filter(|day| (1..=366).contains(day))?;
                let found = day(year, 1, 1)? + i64::from(of_year - 1) * DAY;
                (found <= day(year, 12, 31)?).then_some(found)
            }),
            [y, m] if y.len() == 4 => year(y).and_then(|year| day(year, m.parse().ok()?, 1)),
            [one, other, y] if one.len() <= 2 && other.len() <= 2 => {
                let (one, other): (u32, u32) = (one.parse().ok()?, other.parse().ok()?);
                // With slashes the month comes first, as in the United States, unless the first number exceeds 12.
                let is_month_first = if sign == '/' { one <= 12 } else { other > 12 };
                let (month, of_month) = if is_month_first { (one, other) } else { (other, one) };
                year(y).and_then(|year| day(year, month, of_month))
            }
            _ => return None,
        };
        self.take(range.start, range.end);
        Some(date)
    }

    /// Parses the name of a month with a year and usually a day, or a year alone.
    fn named(&mut self) -> Option<Option<i64>> {
        let named = self.words.iter().enumerate().filter_map(|(at, word)| match word {
            Word::Name(name) => {
                names::month(name).map(|month| (at, month, names::is_weekday(name)))
            }
            _ => None,
        });
        // A name that may be a weekday counts as a month only if there is no other month.
        let found = named.min_by_key(|(_, _, is_doubtful)| *is_doubtful);
        let digits: Vec<_> = self.words.iter().filter_map(Word::digits).collect();
        let Some((_, month, _)) = found else {
            let is_alone = self.words.iter().all(|word| !matches!(word, Word::Name(_)));
            return match &digits[..] {
                [one] if is_alone && one.len() == 4 => Some(day(year(one)?, 1, 1)),
                _ => None,
            };
        };
        let date = match &digits[..] {
            [y] if y.len() == 4 => day(year(y)?, month, 1),
            [y, d, ..] if y.len() == 4 => day(year(y)?, month, d.parse().ok()?),
            [d, y, ..] => day(year(y)?, month, d.parse().ok()?),
            _ => None,
        };
        Some(date)
    }

    /// Parses a time such as `14.30` after a date, as written in northern Europe.
    fn late_time(&self) -> Option<i64> {
        let at = (0..self.words.len()).find(|at| {
            self.number(*at, 2).is_some()
                && self.is_sign(at + 1, '.')
                && matches!(self.words.get(at + 2), Some(Word::Number(digits)) if digits.len() == 2)
        })?;
        let is_more = self.is_sign(at + 3, '.');
        let second = self.number(at + 4, 2).filter(|_| is_more).unwrap_or(0);
        seconds([self.number(at, 2)?, self.number(at + 2, 2)?, second])
    }
}

/// Converts a time of day to seconds since midnight. 24:00 is the next midnight, and second 60 is the first second of
/// the next minute.
fn seconds([hour, minute, second]: [u32; 3]) -> Option<i64> {
    let exists = hour < 24 && minute < 60 && second <= 60;
    let is_end = (hour, minute, second) == (24, 0, 0);
    (exists || is_end).then(|| i64::from(hour * 3_600 + minute * 60 + second))
}

#[cfg(test)]
mod tests;
