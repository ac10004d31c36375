use std::path::{Component, Path};

use proptest::prelude::*;

use super::*;

#[test]
fn paths_that_could_leave_the_directory_are_refused() {
    for path in [
        "",
        "/",
        "/etc/passwd",
        "..",
        "../x.md",
        "a/../../x.md",
        "a/..",
        "a//b.md",
        "a/./b.md",
        ".",
        "a/",
        "C:/x.md",
        "c:x.md",
        "z:",
    ] {
        assert_eq!(check(path, System::Unix), Err(PathTrouble::Outside), "{path:?}");
    }
    for path in ["a\0b.md", "a\nb.md", "..\\x.md", "a\\..\\..\\x.md", "\\\\server\\x", "a/\u{7f}"] {
        assert_eq!(check(path, System::Unix), Err(PathTrouble::Character), "{path:?}");
    }
}

#[test]
fn hidden_files_and_documents_of_the_plugin_are_left_out() {
    for path in [
        "i:.obsidian/app.json",
        "ix:desk/app.json",
        "IX:desk/app.json",
        "ps:desk/plugin.md",
        ".obsidian/app.json",
        ".x",
        "a/.git/config",
        ".feedsync-mirror-new-1",
    ] {
        assert_eq!(check(path, System::Unix), Err(PathTrouble::Hidden), "{path:?}");
    }
    for path in [
        "h:37me21jj44pcc",
        "f:0011",
        "obsydian_livesync_version",
        "syncinfo",
        "Redflag.md",
        "livesync_log_2026.md",
        "H:x",
        "SYNCINFO",
    ] {
        assert_eq!(check(path, System::Unix), Err(PathTrouble::OtherMeaning), "{path:?}");
    }
    let name = "x".repeat(256);
    assert_eq!(check(&name, System::Unix), Err(PathTrouble::TooLong));
    assert_eq!(check(&name[..255], System::Unix), Ok(()));
}

#[test]
fn names_that_windows_reserves_are_refused_there() {
    for (path, trouble) in [
        ("aux", PathTrouble::Reserved),
        ("a/NUL.md", PathTrouble::Reserved),
        ("com1.tar.gz", PathTrouble::Reserved),
        ("LPT³", PathTrouble::Reserved),
        ("CON .md", PathTrouble::Reserved),
        ("a. /b.md", PathTrouble::Reserved),
        ("note.", PathTrouble::Reserved),
        ("what?.md", PathTrouble::Character),
        ("10:30.md", PathTrouble::Character),
        ("a|b/c.md", PathTrouble::Character),
    ] {
        assert_eq!(check(path, System::Windows), Err(trouble), "{path:?}");
        assert_eq!(check(path, System::Unix), Ok(()), "{path:?}");
    }
    for path in ["console.md", "com.md", "com10.md", "Grüße/Tag 1.md", "a.b/c"] {
        assert_eq!(check(path, System::Windows), Ok(()), "{path:?}");
    }
}

#[test]
fn ids_are_those_of_the_plugin() {
    for (path, id) in [
        ("Folder/Note.md", "folder/note.md"),
        ("GRÜSSE 🎉.md", "grüsse 🎉.md"),
        ("_Index.md", "/_index.md"),
        ("ΟΔΟΣ.md", "οδοσ.md"),
        ("ΟΔΟΣ", "οδος"),
        ("İ.md", "i̇.md"),
    ] {
        assert_eq!(id_of(path, CaseRule::Insensitive), id);
        assert_eq!(path_of_note(id, Some(path)), path);
    }
    assert_eq!(id_of("_Index.md", CaseRule::Sensitive), "/_Index.md");
    assert_eq!(path_of_note("/_index.md", None), "_index.md");
    assert_eq!(path_of_note("note.md", Some("")), "note.md");
    // A second slash makes the path an absolute one.
    assert_eq!(
        check(path_of_note("x", Some("//etc/passwd")), System::Unix),
        Err(PathTrouble::Outside)
    );
}

#[test]
fn files_of_conflicts_have_their_date_and_keep_their_ending() {
    let date = "2026-11-27 08.00.00";
    let path = |path, number| conflict_path(path, date, number);
    assert_eq!(path("a.b/note.tar.md", 1), "a.b/note.tar (conflict 2026-11-27 08.00.00).md");
    assert_eq!(path("a.b/Makefile", 2), "a.b/Makefile (conflict 2026-11-27 08.00.00 2)");
    let long = path(&format!("{}.md", "ü".repeat(126)), 1);
    assert!(long.len() <= 255 && long.ends_with("00).md"), "{long}");
    assert_eq!(check(&long, System::Windows), Ok(()));
}

proptest! {
    /// A path that passes is a relative path of plain names, for the system as for this program.
    #[test]
    fn a_path_that_passes_stays_below_the_directory(
        path in "([a-c.~ /\\\\:]|\\.\\./|[A-Z]:|\\PC|\0){0,12}",
        is_windows in any::<bool>(),
    ) {
        let system = if is_windows { System::Windows } else { System::Unix };
        if check(&path, system).is_ok() {
            let names: Option<Vec<_>> = Path::new(&path)
                .components()
                .map(|component| match component {
                    Component::Normal(name) => name.to_str(),
                    _ => None,
                })
                .collect();
            let names = names.expect("only plain names");
            prop_assert_eq!(names.join("/"), path.as_str());
            prop_assert!(Path::new("/dir").join(&path).starts_with("/dir"));
            let id = id_of(&path, CaseRule::Insensitive);
            prop_assert_eq!(id_of(path_of_note(&id, None), CaseRule::Insensitive), id);
        }
    }
}
