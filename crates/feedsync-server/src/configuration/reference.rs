//! The reference of all settings, and a configuration written as a file.

use super::{Setting, flag, settings, variable};
use crate::config::Config;

const INTRODUCTION: &str = "\
# Configuration

How `feedsync serve` runs. A setting comes from the first of these that has it:

1. a flag of the command line: `--limits-body-bytes '4 MiB'`;
2. an environment variable: `FEEDSYNC_LIMITS_BODY_BYTES='4 MiB'`;
3. the configuration file, TOML: the one that `--config FILE` (or `FEEDSYNC_CONFIG`) names, else
   `feedsync.toml` in the data directory, if it is there;
4. its default.

```toml
public_base = \"https://feeds.example.org\"
trusted_proxies = [\"10.0.0.0/8\"]

[limits]
body_bytes = \"4 MiB\"
```

Lists have commas between their parts in flags and variables. A key that is not a setting is an error,
as is a value that a setting cannot have: the hub then names the place and does not start.
`feedsync serve --print-config` shows every setting with the value that counts, as a file; a running hub
shows its bounds at `/limits`.

This page is made from the code.

## When the disk is full

A hub that cannot store a change for want of space answers 507 (`urn:feedsync:1:problem:disk-full`) and stores nothing of it;
`/healthz` answers 503 then. Deletions, purges and removals go on: for them the store in a directory keeps 8 MiB back, in the file
`feedsync.reserve`, which it releases when a write fails. The hub takes all changes again as soon as the reserve and
1 MiB more are free. A disk that has no room for the reserve has none; each change is then tried. Who may remove files
may remove the reserve, too: it is made again. On PostgreSQL, where the server keeps the disk, nothing is kept back.
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
            "\n### `{}`\n\n{}\n\nIs {}. Default: `{}`. Flag `--{}`, variable `{}`.\n",
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
