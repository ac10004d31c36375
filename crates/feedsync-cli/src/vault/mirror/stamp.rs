//! Metadata that differ when a file was changed.

use std::fs::Metadata;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

/// Size, times and identity of a file. Equal stamps mean an unchanged content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Size in bytes.
    pub(super) size: u64,
    /// Time of the last change of the content, in nanoseconds since 1970.
    pub(super) modified: i64,
    /// Time of the last change of the metadata; zero where the system has none. Programs cannot set it.
    pub(super) changed: i64,
    /// Number of the file; zero where the system has none.
    pub(super) inode: u64,
}

impl Stamp {
    pub(super) fn of(metadata: &Metadata) -> Self {
        let (changed, inode) = identity(metadata);
        let modified = metadata.modified().map_or(0, nanoseconds);
        Self { size: metadata.len(), modified, changed, inode }
    }

    /// Whether nobody wrote to the file. A pass that is killed may have changed its metadata.
    pub(super) fn is_same_file(self, other: Self) -> bool {
        let content = |stamp: Self| (stamp.inode, stamp.size, stamp.modified);
        content(self) == content(other)
    }

    /// Time of the last edit in milliseconds since 1970.
    pub(super) fn milliseconds(self) -> u64 {
        u64::try_from(self.modified / 1_000_000).unwrap_or_default()
    }

    /// Whether the file was changed less than a duration ago.
    pub(super) fn is_younger_than(self, age: Duration, now: SystemTime) -> bool {
        let age = i64::try_from(age.as_nanos()).unwrap_or(i64::MAX);
        (0..age).contains(&nanoseconds(now).saturating_sub(self.modified))
    }

    /// The stamp as it is stored.
    pub(super) fn value(self) -> Value {
        json!([self.size, self.modified, self.changed, self.inode])
    }

    /// Parses a stored stamp.
    pub(super) fn read(value: &Value) -> Option<Self> {
        let [size, modified, changed, inode] = value.as_array()?.as_slice() else { return None };
        Some(Self {
            size: size.as_u64()?,
            modified: modified.as_i64()?,
            changed: changed.as_i64()?,
            inode: inode.as_u64()?,
        })
    }
}

fn nanoseconds(time: SystemTime) -> i64 {
    let (duration, sign) = match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => (after, 1),
        Err(before) => (before.duration(), -1),
    };
    i64::try_from(duration.as_nanos()).map_or(i64::MAX * sign, |nanoseconds| nanoseconds * sign)
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> (i64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    let changed = metadata.ctime().saturating_mul(1_000_000_000);
    (changed.saturating_add(metadata.ctime_nsec()), metadata.ino())
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> (i64, u64) {
    (0, 0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_edit_changes_the_stamp_even_if_size_and_time_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("note.md");
        fs::write(&path, "one").unwrap();
        let before = Stamp::of(&fs::metadata(&path).unwrap());
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        std::thread::sleep(Duration::from_millis(20));
        fs::write(&path, "two").unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        let after = Stamp::of(&fs::metadata(&path).unwrap());
        assert_eq!((before.size, before.modified), (after.size, after.modified));
        assert_eq!(before != after, cfg!(unix));
    }

    #[test]
    fn ages_are_compared_with_the_clock() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(100);
        let stamp = |modified| Stamp { size: 0, modified, changed: 0, inode: 0 };
        let second = Duration::from_secs(1);
        assert!(stamp(99_500_000_000).is_younger_than(second, now));
        assert!(!stamp(98_000_000_000).is_younger_than(second, now));
        // A time in the future does not keep a file from being mirrored.
        assert!(!stamp(200_000_000_000).is_younger_than(second, now));
        assert_eq!(stamp(99_500_000_000).milliseconds(), 99_500);
        assert_eq!(stamp(-1).milliseconds(), 0);
    }
}
