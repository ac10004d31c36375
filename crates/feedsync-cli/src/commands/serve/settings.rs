//! Flags for every setting of a hub, made from the declarations of the settings.

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use feedsync_server::Config;
use feedsync_server::configuration::{Setting, flag, settings};
use serde_json::Value;

/// Values of settings on the command line, by the name of the setting.
#[derive(Debug, Default)]
pub(crate) struct SettingFlags {
    pub(crate) given: Vec<(String, String)>,
}

/// Settings that are flags of `serve`. The store is an option of every command instead.
fn flags() -> impl Iterator<Item = Setting> {
    settings().into_iter().filter(|setting| setting.name != "store")
}

/// A value as it is typed after a flag: without the quotes and brackets of the configuration file.
fn plain(value: &str) -> String {
    let words = match serde_json::from_str::<Value>(value) {
        Ok(Value::Array(values)) => {
            let texts: Vec<_> = values.iter().filter_map(Value::as_str).collect();
            texts.join(", ")
        }
        Ok(Value::String(text)) => text,
        _ => value.to_owned(),
    };
    if words.is_empty() { "none".to_owned() } else { words }
}

impl Args for SettingFlags {
    fn augment_args(command: Command) -> Command {
        let default = Config::default();
        flags().fold(command, |command, setting| {
            let help = format!("{} [default: {}]", setting.doc, plain(&setting.value(&default)));
            let argument = Arg::new(setting.name)
                // `clap` needs static names. There are few of them, so they are leaked.
                .long(&*flag(setting.name).leak())
                .value_name("VALUE")
                .help(help)
                .help_heading("Settings")
                .hide_short_help(setting.name.contains('.'));
            command.arg(argument)
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SettingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.given = flags()
            .filter_map(|setting| {
                let value = matches.get_one::<String>(setting.name)?;
                Some((setting.name.to_owned(), value.clone()))
            })
            .collect();
        Ok(())
    }
}
