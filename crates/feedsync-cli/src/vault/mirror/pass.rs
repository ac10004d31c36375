//! One pass of a mirror: it brings all notes and files in line.

use std::time::{Duration, SystemTime};

use feedsync_core::Timestamp;

use super::Mirror;
use super::decision::{Action, Doubt, Side, decide};
use super::folder::{Expected, NewFile};
use super::note::NoteHead;
use super::notes::Outcome;
use super::path::CaseRule;
use super::plan::{Pair, Plan, case_rule};
use super::report::Report;
use super::stamp::Stamp;
use super::state::Entry;
use super::trouble::Trouble;
use crate::failure::Failure;
use crate::output::text::count;
use feedsync_store::Digest;

/// Number of changes after which the state is stored during a pass.
const CHANGES_PER_SAVE: usize = 256;

/// Time for which a file must rest before a watching mirror takes an edit: programs write large files in several steps.
const REST: Duration = Duration::from_secs(1);

/// How a pass is carried out.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PassOptions {
    /// Whether somebody has confirmed that many notes or files may be deleted.
    pub(crate) is_confirmed: bool,
    /// Whether another pass follows, so that files which change at this moment can wait.
    pub(crate) is_repeated: bool,
    /// Whether notes may be written to a vault whose devices have not shown that they do not encrypt.
    pub(crate) is_unencrypted: bool,
}

/// A note or a file that was read, if that was necessary.
struct Read {
    side: Side,
    bytes: Option<Vec<u8>>,
    stamp: Option<Stamp>,
}

impl Read {
    /// Whether the content is the recorded one, but of a later revision or of another file.
    fn is_edited_back(&self, entry: &Entry) -> bool {
        let is_same_file = self.stamp.is_some_and(|stamp| stamp.is_same_file(entry.stamp));
        self.side == Side::Content(entry.hash) && self.bytes.is_some() && !is_same_file
    }

    const ABSENT: Self = Self { side: Side::Absent, bytes: None, stamp: None };

    fn known(hash: Digest, stamp: Option<Stamp>) -> Self {
        Self { side: Side::Content(hash), bytes: None, stamp }
    }

    fn new(bytes: Vec<u8>, stamp: Option<Stamp>) -> Self {
        Self { side: Side::Content(Digest::of(&bytes)), bytes: Some(bytes), stamp }
    }
}

impl Mirror {
    /// Brings all notes and files in line. What cannot be brought in line is left as it is and reported.
    pub(crate) async fn pass(&mut self, options: PassOptions) -> Result<Report, Failure> {
        self.notes.refresh(&mut self.stored).await?;
        let settings = self.notes.settings(&self.stored).await?;
        let mut listing = self.list()?;
        let now = date(SystemTime::now());
        let saved = self.folder.clear(&listing, &self.state, &now).map_err(Failure::store)?;
        if !saved.is_empty() {
            listing = self.list()?;
        }
        let rule = match settings.is_case_sensitive {
            true => CaseRule::Sensitive,
            false => case_rule(&self.stored),
        };
        let plan = Plan::of(&self.stored, &listing, &self.state, rule);
        if !options.is_confirmed {
            self.check_deletions(&plan)?;
        }
        let is_known = settings.are_encrypted == Some(false)
            || !self.stored.is_empty()
            || !self.state.entries.is_empty()
            || options.is_unencrypted;
        let writes_note = |pair: &Pair| pair.note.is_none() && pair.file.is_some();
        if !is_known && plan.pairs.iter().any(writes_note) {
            let message = "no device has written to the vault yet, so it is not known whether its notes are encrypted";
            return Err(Failure::refused(message)
                .hint("if they are not: --unencrypted, and the hub can read the notes"));
        }
        let mut report = Report { left_out: plan.left_out, ..Report::default() };
        let mut changes = 0;
        self.begin(&plan.pairs)?;
        for pair in &plan.pairs {
            if let Some(note) = pair.live_note().filter(|note| note.versions > 1) {
                report.versions.push((pair.path.clone(), note.versions));
            }
            if pair.is_unchanged() {
                report.mirrored += usize::from(pair.file.is_some());
                continue;
            }
            let done = self.bring_in_line(pair, options, &mut report).await;
            changes += 1;
            if done.is_err() || changes % CHANGES_PER_SAVE == 0 {
                self.save()?;
            }
            match done? {
                Ok(()) => report.mirrored += usize::from(self.state.entries.contains_key(&pair.id)),
                Err(Trouble::Busy) if options.is_repeated => {}
                Err(trouble) => report.left_out.push((pair.path.clone(), trouble)),
            }
        }
        self.save()?;
        Ok(report)
    }

    /// Records which notes and files are about to be changed.
    pub(super) fn begin(&mut self, pairs: &[Pair]) -> Result<(), Failure> {
        for pair in pairs.iter().filter(|pair| !pair.is_unchanged()) {
            if let Some(entry) = self.state.entries.get_mut(&pair.id) {
                entry.is_pending = true;
            }
        }
        self.save()
    }

    /// Records that a note and its file were not changed after all.
    fn leave(&mut self, pair: &Pair) {
        if let (Some(entry), Some(before)) = (self.state.entries.get_mut(&pair.id), &pair.entry) {
            entry.is_pending = before.is_pending;
        }
    }

    fn list(&self) -> Result<super::folder::Listing, Failure> {
        self.folder.list().map_err(|error| Failure::file("the directory of the mirror", &error))
    }

    fn check_deletions(&self, plan: &Plan) -> Result<(), Failure> {
        let deletions = plan.deletions;
        let message = match deletions.doubt() {
            None => return Ok(()),
            Some(Doubt::EmptyDirectory) => format!(
                "the directory is empty, so {} would be deleted from the vault",
                count(deletions.notes as u64, "note")
            ),
            Some(Doubt::ManyNotes) => format!(
                "{} of {} are gone, so their notes would be deleted from the vault",
                count(deletions.notes as u64, "file"),
                deletions.mirrored
            ),
            Some(Doubt::ManyFiles) => format!(
                "{} of {} are gone from the vault, so their files would be deleted",
                count(deletions.files as u64, "note"),
                deletions.mirrored
            ),
        };
        Err(Failure::refused(message).hint(
            "is the disk there? To delete them: --yes. To write all files anew, name another directory",
        ))
    }

    /// Brings one note and its file in line.
    async fn bring_in_line(
        &mut self,
        pair: &Pair,
        options: PassOptions,
        report: &mut Report,
    ) -> Outcome<()> {
        let note = self.read_note(pair).await?;
        let (note, file) = match (note, self.read_file(pair, options)) {
            (Ok(note), Ok(file)) => (note, file),
            (Err(trouble), _) | (_, Err(trouble)) => {
                self.leave(pair);
                return Ok(Err(trouble));
            }
        };
        // After an interrupted pass it is not known whether the recorded content is older than that of the other side.
        let is_doubtful = |entry: &&Entry| {
            entry.is_pending && (note.is_edited_back(entry) || file.is_edited_back(entry))
        };
        let entry = pair.entry.as_ref().filter(|entry| !is_doubtful(entry));
        match decide(entry.map(|entry| entry.hash), note.side, file.side) {
            Action::Record => {
                self.record(pair, file);
                Ok(Ok(()))
            }
            Action::WriteFile => self.write_file(pair, note, file.side, report).await,
            Action::WriteNote => self.write_note(pair, file, report).await,
            Action::DeleteFile => Ok(self.delete_file(pair, file.side, report)),
            Action::DeleteNote => self.delete_note(pair, report).await,
            Action::Conflict => {
                let copied = self.copy_file(pair, &file);
                let copy = match copied {
                    Ok(copy) => copy,
                    Err(trouble) => return Ok(Err(trouble)),
                };
                let written = self.write_file(pair, note, file.side, report).await?;
                report.conflicts.push((pair.path.clone(), copy));
                Ok(written)
            }
        }
    }

    async fn read_note(&self, pair: &Pair) -> Outcome<Read> {
        let Some(note) = pair.live_note() else { return Ok(Ok(Read::ABSENT)) };
        let entry = pair.entry.as_ref();
        if let Some(entry) = entry.filter(|it| it.revision == note.revision.to_string()) {
            return Ok(Ok(Read::known(entry.hash, None)));
        }
        let content = self.notes.content(&pair.id, note).await?;
        Ok(content.map(|bytes| Read::new(bytes, None)))
    }

    fn read_file(&self, pair: &Pair, options: PassOptions) -> Result<Read, Trouble> {
        let Some(stamp) = pair.file else { return Ok(Read::ABSENT) };
        if let Some(entry) = pair.entry.as_ref().filter(|entry| entry.stamp == stamp) {
            return Ok(Read::known(entry.hash, Some(stamp)));
        }
        if options.is_repeated && stamp.is_younger_than(REST, SystemTime::now()) {
            return Err(Trouble::Busy);
        }
        let (bytes, stamp) = self.folder.read(&pair.path)?;
        Ok(Read::new(bytes, Some(stamp)))
    }

    /// Records that both sides are the same.
    fn record(&mut self, pair: &Pair, file: Read) {
        match (pair.live_note(), file.side, file.stamp) {
            (Some(note), Side::Content(hash), Some(stamp)) => {
                self.remember(pair, note.revision.to_string(), hash, stamp);
            }
            _ => drop(self.state.entries.remove(&pair.id)),
        }
    }

    fn remember(&mut self, pair: &Pair, revision: String, hash: Digest, stamp: Stamp) {
        let (path, is_pending) = (pair.path.clone(), false);
        let entry = Entry { path, revision, hash, stamp, is_pending };
        self.state.entries.insert(pair.id.clone(), entry);
    }

    async fn write_file(
        &mut self,
        pair: &Pair,
        read: Read,
        there: Side,
        report: &mut Report,
    ) -> Outcome<()> {
        let Some(note) = pair.live_note() else { return Ok(Err(Trouble::Busy)) };
        let bytes = match read.bytes {
            Some(bytes) => bytes,
            None => match self.notes.content(&pair.id, note).await? {
                Ok(bytes) => bytes,
                Err(trouble) => return Ok(Err(trouble)),
            },
        };
        let expected = match there {
            Side::Content(hash) => Expected::Content(hash),
            Side::Absent => Expected::Absent,
        };
        let new = NewFile { path: &pair.path, bytes: &bytes, modified: note.head.modified };
        let written = self.folder.write(new, expected, &date(SystemTime::now()));
        Ok(written.map(|stamp| {
            self.remember(pair, note.revision.to_string(), Digest::of(&bytes), stamp);
            report.files_written.push(pair.path.clone());
        }))
    }

    async fn write_note(&mut self, pair: &Pair, file: Read, report: &mut Report) -> Outcome<()> {
        // A file that was edited has been read.
        let (Some(bytes), Some(stamp)) = (file.bytes, file.stamp) else {
            return Ok(Err(Trouble::Busy));
        };
        let before = pair.note.as_ref();
        let path = pair.live_note().map_or(&pair.path, |note| &note.head.path).clone();
        let modified = stamp.milliseconds();
        let created = before.map(|note| note.head.created).filter(|created| *created > 0);
        let head = NoteHead {
            path,
            is_deleted: false,
            is_text: false,
            created: created.unwrap_or(modified),
            modified,
        };
        let base = before.map(|note| &note.revision);
        let written = self.notes.write(&pair.id, &head, base, &bytes).await?;
        Ok(written.map(|revision| {
            self.remember(pair, revision.to_string(), Digest::of(&bytes), stamp);
            report.notes_written.push(pair.path.clone());
        }))
    }

    fn delete_file(&mut self, pair: &Pair, side: Side, report: &mut Report) -> Result<(), Trouble> {
        let Side::Content(hash) = side else { return Err(Trouble::Busy) };
        self.folder.delete(&pair.path, hash, &date(SystemTime::now()))?;
        self.state.entries.remove(&pair.id);
        report.files_deleted.push(pair.path.clone());
        Ok(())
    }

    async fn delete_note(&mut self, pair: &Pair, report: &mut Report) -> Outcome<()> {
        let Some(note) = pair.live_note() else { return Ok(Err(Trouble::Busy)) };
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let now = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        let deleted = self.notes.delete(&pair.id, &note.revision, now).await?;
        Ok(deleted.map(|_| {
            self.state.entries.remove(&pair.id);
            report.notes_deleted.push(pair.path.clone());
        }))
    }

    /// Copies the version of a file that was edited on both sides. The time of the edit names the copy, so that a pass which
    /// was interrupted does not make a second one.
    fn copy_file(&self, pair: &Pair, file: &Read) -> Result<String, Trouble> {
        let (Some(bytes), Some(stamp)) = (&file.bytes, file.stamp) else {
            return Err(Trouble::Busy);
        };
        let modified = stamp.milliseconds();
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(modified);
        self.folder.copy(NewFile { path: &pair.path, bytes, modified }, &date(time))
    }
}

/// A time in the name of a file: `2026-11-27 08.00.00`, in UTC.
fn date(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let seconds = i64::try_from(since).ok().and_then(Timestamp::from_unix_seconds);
    let text = seconds.map_or_else(|| since.to_string(), |time| time.to_string());
    text.trim_end_matches('Z').replace('T', " ").replace(':', ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_names_on_every_system() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_766_400);
        assert_eq!(date(time), "2026-11-27 08.00.00");
        assert_eq!(date(SystemTime::UNIX_EPOCH), "1970-01-01 00.00.00");
    }
}
