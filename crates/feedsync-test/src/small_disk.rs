//! A small file system that a test can fill.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A `tmpfs` that is mounted for one test. Only root can mount it.
pub struct SmallDisk {
    directory: PathBuf,
}

impl SmallDisk {
    /// Mounts a file system with a size in mebibytes. Returns `None` and prints the reason to standard error
    /// if this process is not allowed to mount.
    pub fn mount(mebibytes: u32) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("feedsync-disk-{}-{number}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        fs::create_dir(&directory).expect("a directory to mount on");
        let size = format!("size={mebibytes}m,mode=700");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "feedsync-test"])
            .arg(&directory)
            .output();
        if mounted.as_ref().is_ok_and(|output| output.status.success()) {
            return Some(Self { directory });
        }
        let _ = fs::remove_dir(&directory);
        eprintln!("not run: it mounts a file system, which only root can do ({mounted:?})");
        None
    }

    /// Returns the root of the file system.
    pub fn path(&self) -> &Path {
        &self.directory
    }

    /// Fills the file system, to the last byte.
    pub fn fill(&self) {
        let mut filler =
            File::options().create(true).append(true).open(self.filler()).expect("a file");
        let mut piece = vec![0x5a; 1 << 20];
        while !piece.is_empty() {
            match filler.write(&piece) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::StorageFull => {
                    piece.truncate(piece.len() / 2);
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Removes the file that [`fill`](Self::fill) wrote.
    pub fn empty(&self) {
        fs::remove_file(self.filler()).expect("the filler");
    }

    fn filler(&self) -> PathBuf {
        self.directory.join("filler")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("--lazy").arg(&self.directory).status();
        if unmounted.is_ok_and(|status| status.success()) {
            let _ = fs::remove_dir(&self.directory);
        }
    }
}
