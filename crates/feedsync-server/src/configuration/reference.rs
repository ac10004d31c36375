//! The reference of all settings, and a configuration written as a file.

use super::{Setting, flag, settings, variable};
use crate::config::Config;

const INTRODUCTION: &str = "\
# Configuration

Settings of `feedsync serve`. The hub looks for each setting in this order and takes the first value that it finds:

1. a command-line flag: `--limits-body-bytes '4 MiB'`;
2. an environment variable: `FEEDSYNC_LIMITS_BODY_BYTES='4 MiB'`;
3. the configuration file, in TOML: the file that `--config FILE` (or `FEEDSYNC_CONFIG`) names, or else
   `feedsync.toml` in the data directory, if it exists;
4. the default.

```toml
public_base = \"https://feeds.example.org\"
trusted_proxies = [\"10.0.0.0/8\"]

[limits]
body_bytes = \"4 MiB\"
```

In flags and variables, the parts of a list are separated by commas. An unknown setting and an invalid value are errors:
the hub names the place of the error and does not start. `feedsync serve --print-config` prints all settings with their
current values, as a file. A running hub shows its limits at `/limits`.

This page is generated from the source code.

## When the disk is full

A hub that has no disk space for a change answers 507 (`urn:feedsync:1:problem:disk-full`) and stores nothing of it.
Meanwhile `/healthz` answers 503. Deletions, purges and removals still work: a store in a directory reserves 8 MiB for them
in the file `feedsync.reserve`, which the hub deletes when a write fails. The hub accepts all changes again as soon as
there is space for the reserve and 1 MiB more. If the disk is too full for the reserve, there is none, and the hub tries
each change. You can delete the file yourself; the hub creates it again. With PostgreSQL, whose server manages the disk,
there is no reserve.
";

/// docs/configuration.md.
pub fn reference() -> String {
    let default = Config::default();
    let mut text = INTRODUCTION.to_owned();
    let mut section = None;
    for setting in settings() {
        let of = setting.section();
        if section != Some(of) {
            let title = if of.is_empty() { "The hub".to_owned() } else { format!("`[{of}]`") };
            text.push_str(&format!("\n## {title}\n"));
            section = Some(of);
        }
        text.push_str(&format!(
            "\n### `{}`\n\n{}\n\nValue: {}. Default: `{}`. Flag `--{}`, variable `{}`.\n",
            setting.name,
            wrapped(&setting.doc, ""),
            setting.form,
            setting.value(&default),
            flag(setting.name),
            variable(setting.name),
        ));
    }
    text
}

/// Returns a configuration as a configuration file; secrets are left out.
pub fn as_toml(config: &Config) -> String {
    let mut text = String::new();
    let mut section = "";
    for setting in settings() {
        let of = setting.section();
        if section != of {
            text.push_str(&format!("[{of}]\n\n"));
            section = of;
        }
        let key = setting.name.rsplit('.').next().unwrap_or_default();
        let doc = wrapped(&setting.doc, "# ");
        text.push_str(&format!("{doc}\n{key} = {}\n\n", setting.value(config)));
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

impl Setting {
    /// Its value in a configuration, formatted for the file.
    pub fn value(&self, config: &Config) -> String {
        (self.show)(config)
    }

    /// Section of the file that contains it.
    fn section(&self) -> &'static str {
        self.name.split_once('.').map_or("", |(section, _)| section)
    }
}

/// Wraps a paragraph into lines of at most 100 characters, each with a prefix.
fn wrapped(paragraph: &str, beginning: &str) -> String {
    let mut lines = vec![beginning.to_owned()];
    for word in paragraph.split(' ') {
        let last = lines.last().map_or(0, String::len);
        if last > beginning.len() && last + 1 + word.len() > 100 {
            lines.push(beginning.to_owned());
        }
        if let Some(line) = lines.last_mut() {
            if line.len() > beginning.len() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n")
}
