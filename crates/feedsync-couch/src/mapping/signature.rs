//! Mapping between revisions and updates.
//!
//! A revision that was made as one is an update of its own authoring line, `couch.` and the revision, whose
//! sequence is the generation. An update that was made as one is a revision whose signature encodes its time,
//! author and sequence. Without the sequence, two updates of one line in one second would have the same
//! signature, and PouchDB identifies revisions of a document by that. The two kinds are distinguishable, and
//! both are mapped back unchanged.

use std::fmt::Write as _;

use feedsync_core::{By, Sequence, Timestamp, Update, line::REVISIONS};

use crate::revision::{Revision, Signature};

/// Separator between the parts of a signature that encodes an update.
const SEPARATOR: char = '~';

/// The update for a revision; `None` for one whose generation or name exceeds the limits of an update.
pub fn update_of(revision: &Revision) -> Option<Update> {
    if let Some(update) = decoded_update(revision) {
        return Some(update);
    }
    let by = By::encoded(&format!("{REVISIONS}{revision}")).ok()?;
    Update::new(sequence(revision.generation())?, None, Some(by)).ok()
}

/// Whether a revision encodes an update that was made as one.
pub(super) fn encodes_update(revision: &Revision) -> bool {
    decoded_update(revision).is_some()
}

/// The revision for an update that is the latest of a version with this many updates. `None` if its names are
/// too long.
pub(super) fn revision_of_update(update: &Update, updates: u64) -> Option<Revision> {
    match made_as_revision(update) {
        Some(revision) => Some(revision),
        None => Revision::new(updates, signature(update)?),
    }
}

/// The revision as which an update was made.
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
    text.push(SEPARATOR);
    if let Some(by) = update.by() {
        push(&mut text, by.as_str());
    }
    text.push(SEPARATOR);
    push(&mut text, &update.sequence().to_string());
    // Digests have this length, and consist of other characters.
    if text.len() == 32 {
        text.push(SEPARATOR);
    }
    text.parse().ok()
}

/// The update that a signature encodes, if encoding the update gives the same signature.
fn decoded_update(revision: &Revision) -> Option<Update> {
    let text = revision.signature().to_string();
    let mut parts = text.split(SEPARATOR).map(part);
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

/// Appends a part. Characters other than letters, digits and full stops are written as `_` and two digits per
/// byte. Clients reject a signature with a hyphen.
fn push(out: &mut String, part: &str) {
    for byte in part.bytes() {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'.' => out.push(char::from(byte)),
            // Writing to a string cannot fail.
            _ => drop(write!(out, "_{byte:02x}")),
        }
    }
}

/// Parses a time without hyphens and colons.
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
