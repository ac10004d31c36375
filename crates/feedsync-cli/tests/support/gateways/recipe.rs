//! The instructions of `feedsync gateway ca trust-help`, which the tests follow as printed.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::TestDirectory;

/// Indentation of lines that continue an instruction.
const CONTINUED: &str = "        ";

const UNDO: &str = "To undo it: ";

/// How one application or system is made to trust the authority, one command or variable a line.
#[derive(Debug)]
pub(crate) struct Recipe {
    pub(crate) trust: Vec<String>,
    pub(crate) undo: Vec<String>,
}

impl Recipe {
    /// The instruction for an application or a system.
    pub(crate) fn of(place: &TestDirectory, name: &str) -> Self {
        let run = place.run(&["--data", "gateway", "gateway", "ca", "trust-help"]);
        assert_eq!(run.code, 0, "{}", run.err);
        let begin = format!("  {name}  ");
        let mut lines = run.out.lines().skip_while(|line| !line.starts_with(&begin));
        let first = lines.next().unwrap_or_else(|| panic!("{name} in {}", run.out));
        let mut recipe = Self { trust: vec![first[begin.len()..].trim().to_owned()], undo: vec![] };
        for line in lines.take_while(|line| line.starts_with(CONTINUED)) {
            match (line.trim().strip_prefix(UNDO), recipe.undo.is_empty()) {
                (Some(command), _) => recipe.undo.push(command.to_owned()),
                (None, true) => recipe.trust.push(line.trim().to_owned()),
                (None, false) => recipe.undo.push(line.trim().to_owned()),
            }
        }
        recipe
    }

    /// The only variable of the instruction, and its value.
    pub(crate) fn variable(&self) -> (&str, &str) {
        let [line] = &self.trust[..] else { panic!("{self:?}") };
        line.split_once('=').expect("a variable")
    }
}

/// Runs commands of an instruction in a shell, which must succeed, with this home directory.
pub(crate) fn follow(commands: &[String], home: &Path) {
    assert!(!commands.is_empty());
    let mut shell = Command::new("sh");
    shell
        .args(["-ec", &commands.join("\n")])
        .env("HOME", home)
        .current_dir("/")
        .stdin(Stdio::null());
    let output = shell.output().unwrap();
    assert!(output.status.success(), "{commands:?}: {}", String::from_utf8_lossy(&output.stderr));
}
