//! The command `file`: replacement of the file.

use std::fs;
use std::process::Stdio;

use crate::file::{add, json, ok};
use crate::support::{Run, TestDirectory};

#[cfg(unix)]
#[test]
fn a_file_keeps_its_permissions_and_links_lead_to_it() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
    let place = TestDirectory::new();
    fs::create_dir(place.path("shared")).unwrap();
    let id = add(&place, "shared/n.atom", "Milk");
    let file = place.path("shared/n.atom");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("shared/n.atom", place.path("link.atom")).unwrap();
    ok(&place, &["file", "edit", "link.atom", &id, "--title", "Bread"]);
    assert!(fs::symlink_metadata(place.path("link.atom")).unwrap().is_symlink());
    let metadata = fs::metadata(&file).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o640);
    assert!(place.read("shared/n.atom").contains("Bread"));
    assert_eq!(fs::read_dir(place.path("shared")).unwrap().count(), 1);
    // A refused edit does not replace the file.
    place.run(&["file", "undelete", "link.atom", &id]).fails(1, "is not deleted");
    assert_eq!(fs::metadata(&file).unwrap().ino(), metadata.ino());
    fs::set_permissions(&file, fs::Permissions::from_mode(0o440)).unwrap();
    place.run(&["file", "rm", "link.atom", &id]).fails(5, "is read-only");
    place.run(&["file", "rm", "shared", &id]).fails(5, "not a regular file");
    symlink("none.atom", place.path("dangling.atom")).unwrap();
    place.run(&["file", "add", "dangling.atom", "--title", "x"]).fails(3, "leads to no file");
}

#[cfg(unix)]
#[test]
fn a_command_that_had_to_wait_edits_the_file_that_is_there_by_then() {
    let place = TestDirectory::new();
    let id = add(&place, "n.atom", "Milk");
    // The test acts like another command: it holds the lock and replaces the file.
    let held = fs::File::open(place.path("n.atom")).unwrap();
    held.lock().unwrap();
    let mut command = place.command(&["file", "rm", "n.atom", &id]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    let with_comment = place.read("n.atom").replace("</feed>", "<!-- theirs --></feed>");
    place.write("new", &with_comment);
    fs::rename(place.path("new"), place.path("n.atom")).unwrap();
    drop(held);
    let run = Run::of(child.wait_with_output().unwrap());
    assert_eq!(run.code, 0, "{run:?}");
    let text = place.read("n.atom");
    assert!(text.contains("<!-- theirs -->") && text.contains("deleted=\"true\""), "{text}");
}

#[test]
fn many_commands_that_edit_one_file_at_once_lose_nothing() {
    let place = TestDirectory::new();
    let id = add(&place, "n.json", "Milk");
    let commands: Vec<_> = (0..12)
        .map(|number| {
            let title = format!("title {number}");
            let arguments = match number % 2 {
                0 => vec!["file", "add", "n.json", "--title", &title],
                _ => vec!["file", "edit", "n.json", &id, "--title", &title],
            };
            let mut command = place.command(&arguments);
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in commands {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let items = json(&place, &["file", "ls", "n.json"]);
    assert_eq!(items.as_array().unwrap().len(), 7);
    // There are six edits. Each is a version or the ancestor of a later one.
    let shown = json(&place, &["file", "show", "n.json", &id]);
    let mut stamps: Vec<_> = std::iter::once(&shown)
        .chain(shown["conflicts"].as_array().unwrap())
        .flat_map(|version| version["history"].as_array().unwrap())
        .map(|update| update["by"].as_str().unwrap())
        .collect();
    stamps.sort_unstable();
    stamps.dedup();
    assert_eq!(stamps.len(), 7, "{shown}");
}
