//! Revisions as updates, and updates as revisions.
//!
//! A revision that was made as one is an update of a line of its own, `couch.` and the revision, whose sequence is its
//! generation. An update that was made as one is a revision whose signature tells it: when, by whom, and its sequence,
//! without which two of one second and one line would have one signature, and PouchDB tells revisions of a document by
//! that. Each is told from the other, and comes back as it was.

use std::fmt::Write as _;

use feedsync::{By, Sequence, Timestamp, Update, line::REVISIONS};

use crate::revision::{Revision, Signature};

/// Between the parts of a signature that tells an update.
const BETWEEN: char = '~';

/// The update that a revision is; none of one whose generation is beyond what an update can have, or that is too long.
pub fn update_of(revision: &Revision) -> Option<Update> {
    if let Some(update) = told(revision) {
        return Some(update);
    }
    let by = By::encoded(&format!("{REVISIONS}{revision}")).ok()?;
    Update::new(sequence(revision.generation())?, None, Some(by)).ok()
}

/// Whether a revision tells an update that was made as one.
pub(super) fn is_told(revision: &Revision) -> bool {
    told(revision).is_some()
}

/// The revision that an update is that made a version of so many updates. None where its names are too long for one.
pub(super) fn revision_of_update(update: &Update, updates: u64) -> Option<Revision> {
    match made_as_revision(update) {
        Some(revision) => Some(revision),
        None => Revision::new(updates, signature(update)?),
    }
}

/// The revision that an update was made as.
fn made_as_revision(update: &Update) -> Option<Revision> {
    let name = update.by()?.as_str().strip_prefix(REVISIONS)?;
    let name = percent_encoding::percent_decode_str(name).decode_utf8().ok()?;
    let revision: Revision = name.parse().ok()?;
    let comes_back = update_of(&revision)?.is_same(update);
    comes_back.then_some(revision)
}

fn sequence(number: u64) -> Option<Sequence> {
    Sequence::new(u32::try_from(number).ok()?).ok()
}

fn signature(update: &Update) -> Option<Signature> {
    let mut text = String::new();
    if let Some(when) = update.when() {
        text.extend(when.to_string().chars().filter(|it| !matches!(it, '-' | ':')));
    }
    text.push(BETWEEN);
    if let Some(by) = update.by() {
        push(&mut text, by.as_str());
    }
    text.push(BETWEEN);
    push(&mut text, &update.sequence().to_string());
    // So long are digests, which have other characters.
    if text.len() == 32 {
        text.push(BETWEEN);
    }
    text.parse().ok()
}

/// The update that a signature tells, if it is just what would be written for it.
fn told(revision: &Revision) -> Option<Update> {
    let text = revision.signature().to_string();
    let mut parts = text.split(BETWEEN).map(part);
    let (when, by, at) = (parts.next()??, parts.next()??, parts.next()??);
    let when = match &*when {
        "" => None,
        when => Some(time(when)?),
    };
    let by = match &*by {
        "" => None,
        by => Some(By::new(by).ok()?),
    };
    let sequence = sequence(at.parse().ok()?)?;
    let update = Update::new(sequence, when, by).ok()?;
    let written = signature(&update)?;
    (written == *revision.signature() && made_as_revision(&update).is_none()).then_some(update)
}

/// Appends a part; what is neither a letter, a digit nor a full stop as `_` and two digits. Clients refuse a signature with a
/// hyphen.
fn push(out: &mut String, part: &str) {
    for byte in part.bytes() {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'.' => out.push(char::from(byte)),
            // A string takes all that is written to it.
            _ => drop(write!(out, "_{byte:02x}")),
        }
    }
}

/// The time whose hyphens and colons were left out.
fn time(digits: &str) -> Option<Timestamp> {
    let part = |from: usize, to: usize| digits.get(from..to);
    let text = format!(
        "{}-{}-{}:{}:{}",
        part(0, 4)?,
        part(4, 6)?,
        part(6, 11)?,
        part(11, 13)?,
        digits.get(13..)?
    );
    Timestamp::parse_tolerant(&text).ok()
}

fn part(text: &str) -> Option<String> {
    let (mut out, mut bytes) = (Vec::with_capacity(text.len()), text.bytes());
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'_' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                u8::try_from(digit(bytes.next()?)? << 4 | digit(bytes.next()?)?).ok()?
            }
            _ => byte,
        });
    }
    String::from_utf8(out).ok()
}
