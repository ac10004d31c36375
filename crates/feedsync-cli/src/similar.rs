//! Suggestions for commands that do not exist.

use clap::Command;
use clap::error::{ContextKind, ContextValue, Error};
use feedsync_endpoint::nearest;

use crate::renamed::RENAMED;

/// Returns `did you mean ...?` for an unknown command that is similar to an old name, or to a command of a group. For
/// commands beside the unknown one, clap itself makes the suggestion.
pub(crate) fn suggestion(program: &Command, error: &Error) -> Option<String> {
    let Some(ContextValue::String(written)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let mut names: Vec<_> = program
        .get_subcommands()
        .map(|command| (command.get_name().to_owned(), command.get_name().to_owned()))
        .collect();
    for renamed in RENAMED {
        if let [old] = renamed.old {
            names.push(((*old).to_owned(), renamed.new.join(" ")));
        }
    }
    for group in program.get_subcommands() {
        for command in group.get_subcommands() {
            let name = command.get_name();
            names.push((name.to_owned(), format!("{} {name}", group.get_name())));
        }
    }
    let near = nearest(written, names.iter().map(|(name, _)| name.as_str()))?;
    let is_suggested = matches!(
        error.get(ContextKind::SuggestedSubcommand),
        Some(ContextValue::Strings(suggested)) if suggested.iter().any(|name| name == near)
    );
    let (name, command) = names.iter().find(|(name, _)| name == near)?;
    (name != command && !is_suggested).then(|| format!("did you mean feedsync {command}?"))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use super::*;
    use crate::arguments::Cli;

    #[test]
    fn unknown_commands_have_suggestions() {
        for (line, suggested) in [
            ("feedsync creat notes", Some("did you mean feedsync collection create?")),
            ("feedsync backupp x", Some("did you mean feedsync store backup?")),
            ("feedsync relocate x", Some("did you mean feedsync reader relocate?")),
            ("feedsync quux", None),
            ("feedsync conflict notes", None),
            ("feedsync user lits", None),
            ("feedsync collection creat", None),
        ] {
            let error = Cli::try_parse_from(line.split(' ')).unwrap_err();
            assert_eq!(suggestion(&Cli::command(), &error).as_deref(), suggested, "{line}");
        }
        let error = Cli::try_parse_from(["feedsync", "conflict", "notes"]).unwrap_err();
        assert!(error.to_string().contains("'conflicts'"), "{error}");
        let error = Cli::try_parse_from(["feedsync", "add", "--titel", "x"]).unwrap_err();
        assert!(error.to_string().contains("'--title'"), "{error}");
        let error = Cli::try_parse_from(["feedsync", "collection", "lst"]).unwrap_err();
        assert!(error.to_string().contains("'list'"), "{error}");
    }
}
