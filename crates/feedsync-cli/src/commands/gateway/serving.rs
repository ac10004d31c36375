//! Options that run a gateway. A command for a running gateway refuses them.

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// Names of the options. `--control` is not among them, because the commands accept it too.
const OPTIONS: [&str; 8] =
    ["listen", "quota", "strict", "allow", "mount", "newsreader", "allow_origin", "intercept"];

/// Refuses these options before a subcommand. Options of every command are allowed before it.
#[derive(Debug)]
pub(super) struct Alone;

impl FromArgMatches for Alone {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let Some(command) = matches.subcommand_name() else { return Ok(Self) };
        let is_given =
            |option: &&&str| matches.value_source(option) == Some(ValueSource::CommandLine);
        match OPTIONS.iter().find(is_given) {
            None => Ok(Self),
            Some(option) => Err(Error::raw(
                ErrorKind::ArgumentConflict,
                format!(
                    "--{} runs a gateway and cannot be used with the command '{command}', which asks one that \
                     runs\n",
                    option.replace('_', "-")
                ),
            )),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        Self::from_arg_matches(matches).map(|_| ())
    }
}

impl Args for Alone {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}
