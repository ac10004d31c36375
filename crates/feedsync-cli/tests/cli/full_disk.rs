//! Full disks: every command that fails says that the disk is full.

use feedsync_test::small_disk::SmallDisk;

use crate::support::TestDirectory;

const FEED: &str = "https://example.org/feed";

#[test]
fn command_that_fails_on_a_full_disk_says_that_the_disk_is_full() {
    let Some(disk) = SmallDisk::mount(48) else { return };
    let place = TestDirectory::new();
    let data = disk.path().join("desk").display().to_string();
    let run = |arguments: &[&str]| place.run(&[&["--data", &data], arguments].concat());
    let ok = |arguments: &[&str]| run(arguments).success(arguments);
    ok(&["store", "init", "--endpoint", "desk"]);
    ok(&["collection", "create", "notes"]);
    let id = ok(&["add", "notes", "--title", "Milk"]);
    ok(&["log", "create", "notes"]);
    ok(&["reader", "subscribe", FEED]);
    place.write("line", "{}\n");
    let backup = disk.path().join("backup.db").display().to_string();
    for has_reserve in [true, false] {
        if !has_reserve {
            let _ = std::fs::remove_file(disk.path().join("desk/feedsync.reserve"));
        }
        disk.fill();
        let commands: [&[&str]; 21] = [
            &["collection", "list"],
            &["ls", "notes"],
            &["show", "notes", id.trim_end()],
            &["status"],
            &["store", "doctor"],
            &["conflicts", "notes"],
            &["export", "notes"],
            &["collection", "settings", "notes"],
            &["user", "list"],
            &["remote", "list"],
            &["store", "audit"],
            &["log", "verify", "notes"],
            &["add", "notes", "--title", "More"],
            &["collection", "create", "more"],
            &["collection", "set", "notes", "keep.age=90d"],
            &["log", "append", "notes", "line"],
            &["reader", "mark", FEED, "--up-to", "now"],
            &["reader", "sync", "notes"],
            &["user", "add", "anna", "--administrator", "--no-password"],
            &["store", "backup", &backup],
            &["store", "init"],
        ];
        for command in commands {
            let run = run(command);
            let said = run.err.contains("the disk is full: make room on it");
            let is_taken = command == ["store", "init"] && run.code == 1;
            assert!(run.code == 0 || is_taken || (said && run.code == 5), "{command:?}: {run:?}");
            assert!(!run.err.contains("panicked"), "{command:?}: {}", run.err);
        }
        disk.empty();
    }
}
