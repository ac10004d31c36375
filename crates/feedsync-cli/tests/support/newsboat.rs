//! Unmodified newsboat, which reads through a hub, or fetches a feed itself. It runs in a separate terminal, where the
//! tests press keys, or without one.

#![allow(dead_code)] // each test binary uses a part of this

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

use super::support::{TestDirectory, has, until};

/// API by which newsboat accesses a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    FeedHq,
    Miniflux,
    Nextcloud,
    TinyTinyRss,
}

impl Mode {
    pub(crate) const ALL: [Self; 4] =
        [Self::FeedHq, Self::Miniflux, Self::Nextcloud, Self::TinyTinyRss];

    /// Prefix of the settings, and last segment of the path at the hub.
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::FeedHq => ("feedhq", "google"),
            Self::Miniflux => ("miniflux", "miniflux"),
            Self::Nextcloud => ("ocnews", "nextcloud"),
            Self::TinyTinyRss => ("ttrss", "ttrss"),
        }
    }

    /// Name of the API in paths of the hub and in options of a gateway.
    pub(crate) const fn path(self) -> &'static str {
        self.names().1
    }
}

/// newsboat with a separate cache.
pub(crate) struct Newsboat {
    home: PathBuf,
    /// Its API; none if it fetches feeds itself.
    pub(crate) mode: Option<Mode>,
    /// Additional variables, such as the proxy.
    environment: Vec<(String, String)>,
}

impl Newsboat {
    /// Creates a newsboat for a hub; `None` if a program is not installed.
    pub(crate) fn new(place: &TestDirectory, name: &str, mode: Mode, hub: &str) -> Option<Self> {
        Self::at(place, name, mode, &format!("{hub}/reader/{}", mode.path()))
    }

    /// Creates a newsboat with this server address; `None` if a program is not installed.
    pub(crate) fn at(place: &TestDirectory, name: &str, mode: Mode, url: &str) -> Option<Self> {
        if !has("newsboat") || !has("tmux") {
            return None;
        }
        let (setting, _) = mode.names();
        let mut config = format!(
            "urls-source \"{setting}\"\n{setting}-url \"{url}\"\n\
             {setting}-login \"anna\"\n{setting}-password \"correct horse\"\n\
             auto-reload no\nconfirm-exit no\n\
             show-read-feeds yes\nshow-read-articles yes\n"
        );
        if mode != Mode::Miniflux {
            config += &format!("{setting}-flag-star \"s\"\n");
        }
        if mode == Mode::FeedHq {
            config += "feedhq-show-special-feeds \"no\"\nfeedhq-min-items 100\n";
        }
        Some(Self::with(place, name, &[("config", &config)], Some(mode)))
    }

    /// Creates a newsboat that fetches one feed itself; `None` if it is not installed.
    pub(crate) fn of_feed(place: &TestDirectory, name: &str, url: &str) -> Option<Self> {
        let files = [("config", "auto-reload no\n"), ("urls", url)];
        has("newsboat").then(|| Self::with(place, name, &files, None))
    }

    fn with(place: &TestDirectory, name: &str, files: &[(&str, &str)], mode: Option<Mode>) -> Self {
        let home = place.path(name);
        std::fs::create_dir_all(home.join(".newsboat")).unwrap();
        for (name, text) in files {
            std::fs::write(home.join(".newsboat").join(name), text).unwrap();
        }
        Self { home, mode, environment: Vec::new() }
    }

    /// The same newsboat with an additional variable.
    pub(crate) fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Runs newsboat without a terminal.
    pub(crate) fn execute(&self, what: &str) -> Output {
        let mut command = Command::new("newsboat");
        command.args(["-x", what]).env("HOME", &self.home).env_remove("no_proxy");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.output().unwrap()
    }

    /// Reloads all feeds; returns the number of unread articles as newsboat prints it.
    pub(crate) fn unread(&self) -> String {
        let reloaded = self.execute("reload");
        assert!(reloaded.status.success(), "{:?}: {reloaded:?}", self.mode);
        let told = self.execute("print-unread");
        String::from_utf8(told.stdout).unwrap().trim().to_owned()
    }

    /// Opens newsboat in a terminal, and waits until it shows its feeds.
    pub(crate) fn open(&self) -> Terminal<'_> {
        let terminal = Terminal { newsboat: self };
        let opened = terminal.tmux(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "100",
            "-y",
            "30",
            "exec newsboat",
        ]);
        assert!(opened.status.success(), "{opened:?}");
        terminal.sees("Your feeds");
        terminal
    }
}

/// A terminal that runs newsboat.
pub(crate) struct Terminal<'n> {
    newsboat: &'n Newsboat,
}

impl Terminal<'_> {
    fn tmux(&self, arguments: &[&str]) -> Output {
        let socket = self.newsboat.home.join("tmux");
        Command::new("tmux")
            .arg("-S")
            .arg(socket)
            .args(arguments)
            .env("HOME", &self.newsboat.home)
            .env("TERM", "xterm")
            .env("LC_ALL", "C.UTF-8")
            .output()
            .unwrap()
    }

    /// Text on the screen.
    pub(crate) fn screen(&self) -> String {
        String::from_utf8_lossy(&self.tmux(&["capture-pane", "-p"]).stdout).into_owned()
    }

    /// Waits until the screen contains the text.
    pub(crate) fn sees(&self, text: &str) {
        until(&format!("{:?} shows {text:?}", self.newsboat.mode), || {
            let screen = self.screen();
            if screen.contains(text) { Ok(()) } else { Err(screen) }
        });
    }

    /// Presses keys in sequence, by the names of tmux.
    pub(crate) fn press(&self, keys: &[&str]) {
        for key in keys {
            let pressed = self.tmux(&["send-keys", key]);
            assert!(pressed.status.success(), "{pressed:?}");
        }
    }

    /// Waits for a line of a list, and moves to it.
    pub(crate) fn go_to(&self, text: &str) {
        self.sees(text);
        // The first line of a list is below the line with the name of the list.
        let line = self.screen().lines().skip(1).position(|line| line.contains(text));
        self.press(&["Home"]);
        (0..line.unwrap_or(0)).for_each(|_| self.press(&["Down"]));
    }

    /// Opens a line of a list.
    pub(crate) fn open(&self, text: &str) {
        self.go_to(text);
        self.press(&["Enter"]);
    }

    /// Presses a key and waits until the screen contains the text.
    pub(crate) fn press_until(&self, key: &str, text: &str) {
        self.press(&[key]);
        self.sees(text);
    }
}

/// Closes the terminal and waits until newsboat has ended. A second instance with the same cache would not
/// start, without an error message.
impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        let running = self.tmux(&["display-message", "-p", "#{pane_pid}"]).stdout;
        let running = String::from_utf8_lossy(&running).trim().to_owned();
        // tmux ends after its program has ended.
        let hung_up = Command::new("kill").args(["-HUP", &running]).status();
        let ends = hung_up.is_ok_and(|status| status.success());
        let mut left = 100_u32;
        while ends && left > 0 && self.tmux(&["has-session"]).status.success() {
            std::thread::sleep(Duration::from_millis(20));
            left -= 1;
        }
        if !ends || left == 0 {
            self.tmux(&["kill-server"]);
        }
    }
}
