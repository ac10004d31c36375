//! Old names of commands. Each works for one release as it did, and a note on standard error gives the new name.

use std::ffi::OsString;

use clap::{Arg, Command};

/// A command that has a new name.
pub(crate) struct Renamed {
    /// Words of the old name.
    pub(crate) old: &'static [&'static str],
    /// Words of the new name. A word that is an option follows the command.
    pub(crate) new: &'static [&'static str],
    /// Option before the second argument, which had no option under the old name.
    pub(crate) second: Option<&'static str>,
    /// Hidden option that refuses what the old name did not do.
    pub(crate) only: Option<&'static str>,
}

const fn renamed(old: &'static [&'static str], new: &'static [&'static str]) -> Renamed {
    Renamed { old, new, second: None, only: None }
}

/// All old names. None of them is the name of a command today.
pub(crate) const RENAMED: &[Renamed] = &[
    renamed(&["init"], &["store", "init"]),
    renamed(&["create"], &["collection", "create"]),
    renamed(&["list"], &["collection", "list"]),
    renamed(&["rename"], &["collection", "rename"]),
    renamed(&["drop"], &["collection", "drop"]),
    renamed(&["undrop"], &["collection", "undrop"]),
    renamed(&["set"], &["collection", "set"]),
    renamed(&["settings"], &["collection", "settings"]),
    renamed(&["publish"], &["collection", "publish"]),
    renamed(&["grant"], &["collection", "grant"]),
    renamed(&["revoke"], &["collection", "revoke"]),
    renamed(&["grants"], &["collection", "grants"]),
    Renamed { only: Some("--only-move"), ..renamed(&["move"], &["edit"]) },
    Renamed { second: Some("--copy"), ..renamed(&["copy"], &["add"]) },
    renamed(&["recover"], &["undelete", "--discarded"]),
    renamed(&["subscribe"], &["remote", "subscribe"]),
    renamed(&["unsubscribe"], &["remote", "unsubscribe"]),
    renamed(&["follow"], &["remote", "discover"]),
    renamed(&["login"], &["remote", "login"]),
    renamed(&["logout"], &["remote", "logout"]),
    renamed(&["logins"], &["remote", "logins"]),
    renamed(&["replicate"], &["database", "replicate"]),
    renamed(&["backup"], &["store", "backup"]),
    renamed(&["restore"], &["store", "restore"]),
    renamed(&["migrate"], &["store", "migrate"]),
    renamed(&["doctor"], &["store", "doctor"]),
    renamed(&["purge"], &["store", "purge"]),
    renamed(&["audit"], &["store", "audit"]),
    renamed(&["token"], &["user", "token"]),
    renamed(&["merge"], &["file", "merge"]),
    renamed(&["validate"], &["file", "validate"]),
    renamed(&["convert"], &["file", "convert"]),
    Renamed { only: Some("--only-move"), ..renamed(&["file", "move"], &["file", "edit"]) },
    renamed(&["log", "sync"], &["log", "pull"]),
    renamed(&["reader", "move"], &["reader", "relocate"]),
    renamed(&["gateway", "drop"], &["gateway", "cancel"]),
];

/// A command line under new names.
pub(crate) struct Today {
    /// The arguments, with the name of the program first.
    pub(crate) arguments: Vec<OsString>,
    /// The old name in the command line, if there was one.
    pub(crate) renamed: Option<&'static Renamed>,
}

impl Renamed {
    /// Note for a user of the old name.
    pub(crate) fn note(&self) -> String {
        let mut new = self.new.join(" ");
        if let Some(option) = self.second {
            new = format!("{new} {option}");
        }
        let old = self.old.join(" ");
        format!("`feedsync {old}` is now `feedsync {new}`; the next release drops the old name")
    }
}

/// Replaces an old name in a command line of `program`.
pub(crate) fn today(program: &Command, arguments: Vec<OsString>) -> Today {
    let line = Line::read(program, &arguments);
    let named: Vec<&str> = line.words.iter().filter_map(|at| arguments[*at].to_str()).collect();
    let Some(renamed) = RENAMED.iter().find(|renamed| named.starts_with(renamed.old)) else {
        return Today { arguments, renamed: None };
    };
    let indexes = &line.words[..renamed.old.len()];
    // `help` and `man` take names of commands without options.
    let new: Vec<_> = renamed
        .new
        .iter()
        .copied()
        .chain(renamed.only)
        .filter(|word| !(line.is_about && word.starts_with("--")))
        .collect();
    let mut out = Vec::with_capacity(arguments.len() + new.len());
    for (at, argument) in arguments.into_iter().enumerate() {
        match indexes.iter().position(|index| *index == at) {
            None => out.push(argument),
            Some(nth) if nth + 1 == indexes.len() => {
                out.extend(new[nth..].iter().map(OsString::from));
            }
            Some(nth) => out.push(new[nth].into()),
        }
    }
    if let Some(option) = renamed.second.filter(|_| !line.is_about) {
        let Line { words, values, .. } = Line::read(program, &out);
        if let (Some(word), Some(second)) = (words.last(), values.get(1)) {
            let value = out.remove(*second);
            let mut whole = OsString::from(option);
            whole.push("=");
            whole.push(value);
            out.insert(word + 1, whole);
        }
    }
    Today { arguments: out, renamed: Some(renamed) }
}

/// Indexes of the arguments of a command line by their roles.
#[derive(Default)]
struct Line {
    /// Words that name the command. The last one may be an old name.
    words: Vec<usize>,
    /// Arguments of the command that are neither options nor values of options.
    values: Vec<usize>,
    /// Whether the command is `help` or `man`, and `words` name the command that it describes.
    is_about: bool,
}

impl Line {
    fn read(program: &Command, arguments: &[OsString]) -> Self {
        let mut line = Self::default();
        let mut path = vec![program];
        let (mut names_command, mut has_options) = (true, true);
        let mut at = 1;
        while let Some(argument) = arguments.get(at) {
            let text = argument.to_str().unwrap_or_default();
            if has_options && text == "--" {
                (names_command, has_options) = (false, false);
            } else if has_options && text.len() > 1 && text.starts_with('-') {
                at += usize::from(path.iter().any(|command| takes_next(command, text)));
            } else if names_command && line.words.is_empty() && matches!(text, "help" | "man") {
                line.is_about = true;
            } else if names_command {
                line.words.push(at);
                match path.last().and_then(|command| command.find_subcommand(text)) {
                    Some(command) => {
                        names_command = command.has_subcommands();
                        path.push(command);
                    }
                    None => names_command = false,
                }
            } else {
                line.values.push(at);
            }
            at += 1;
        }
        line
    }
}

/// Whether the argument after an option of a command is the value of that option.
fn takes_next(command: &Command, option: &str) -> bool {
    let is_named = |argument: &&Arg| match option.strip_prefix("--") {
        Some(long) => argument.get_long() == Some(long),
        None => argument.get_short().is_some() && argument.get_short() == option.chars().last(),
    };
    let found = command.get_arguments().find(is_named);
    found.is_some_and(|argument| argument.get_action().takes_values())
}

#[cfg(test)]
mod tests;
