//! Command lines of this program, for advice.

use std::path::Path;
use std::sync::OnceLock;

/// Name of the program and the options that name the data directory and the store.
static INVOCATION: OnceLock<String> = OnceLock::new();

/// Stores the options that the user gave, so that advice repeats them: the data directory unless it is the default
/// one, and the store.
pub(crate) fn set_invocation(data: Option<&Path>, store: Option<&str>) {
    let mut call = program();
    if let Some(data) = data {
        call.push_str(&format!(" --data {}", quoted(&data.display().to_string())));
    }
    if let Some(store) = store {
        call.push_str(&format!(" --store {}", quoted(store)));
    }
    // This function is called once.
    let _ = INVOCATION.set(call);
}

/// A command line with the same data directory and store, for advice.
pub(crate) fn command(arguments: &str) -> String {
    format!("{} {arguments}", INVOCATION.get_or_init(program))
}

/// Advice to list all objects of a kind with this command.
pub(crate) fn see_all(arguments: &str) -> String {
    format!("see them all: {}", command(arguments))
}

/// A command line with another data directory, for advice.
pub(crate) fn command_at(data: &str, arguments: &str) -> String {
    format!("{} --data {} {arguments}", program(), quoted(data))
}

/// Quotes a word for a shell.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-:@%=+,~\\".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Name of the program; its path if it was called by one.
fn program() -> String {
    let called = std::env::args().next().filter(|name| name.contains('/'));
    called.unwrap_or_else(|| "feedsync".to_owned())
}
