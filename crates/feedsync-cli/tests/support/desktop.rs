//! Unmodified newsreaders with windows. Each runs on an invisible display, where the tests press keys, and
//! its state is read from its database.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use serde_json::json;

use super::support::newsroom::Marks;
use super::{TestDirectory, has, until};

/// Interval after which a key without effect is pressed again.
const RETRY_INTERVAL: Duration = Duration::from_secs(3);

/// Marks of articles, by title.
pub(crate) type Articles = BTreeMap<String, Marks>;

/// A running newsreader, which is stopped when it is dropped.
pub(crate) struct Newsreader {
    running: Option<Running>,
    display: Display,
    home: PathBuf,
    /// Title of the window.
    title: &'static str,
    database: PathBuf,
    /// Query for title, read mark and star.
    question: &'static str,
}

impl Newsreader {
    /// Starts Liferea with the hub as its only source; `None` if a program is not installed.
    pub(crate) fn liferea(place: &TestDirectory, hub: &str) -> Option<Self> {
        let mut liferea = Self::new(place, "liferea", "Liferea")?;
        let database = liferea.home.join(".local/share/liferea/liferea.db");
        liferea.database = database;
        liferea.question = "SELECT title, read, marked FROM items";
        let sources = format!(
            "<opml version=\"1.0\"><body><outline title=\"Hub\" id=\"hub\" type=\"source\" \
             sourceType=\"fl_google_reader\" xmlUrl=\"{hub}/reader/google\" username=\"anna\" \
             password=\"correct horse\"/></body></opml>"
        );
        liferea.write(".config/liferea/feedlist.opml", &sources);
        // An extension would look for the password elsewhere, so the extensions are disabled.
        let settings = "[org/gnome/liferea/plugins]\nactive-plugins=@as []\n";
        liferea.write(".config/glib-2.0/settings/keyfile", settings);
        liferea.run("liferea", &[]);
        Some(liferea)
    }

    /// Starts RSS Guard with one account, at the hub; `None` if a program is not installed.
    pub(crate) fn rss_guard(place: &TestDirectory, hub: &str) -> Option<Self> {
        let mut rss_guard = Self::new(place, "rssguard", "RSS Guard")?;
        rss_guard.database = rss_guard.home.join("data/database/database.db");
        rss_guard.question = "SELECT title, is_read, is_important FROM Messages";
        let settings = "[main]\nfirst_run=false\nfirst_run_4.0.4=false\nupdate_on_start=false\n\
             [gui]\nuse_tray_icon=false\nenable_notifications=false\n\
             [keyboard]\nm_actionUpdateAllItems=F5\nm_actionSelectNextItem=F7\n\
             m_actionSelectNextUnreadMessage=F8\n\
             m_actionSwitchImportanceOfSelectedMessages=F6\n";
        rss_guard.write("data/config/config.ini", settings);
        // RSS Guard encrypts passwords with a key. This key leaves them almost unchanged.
        rss_guard.write("data/config/key.private", "0");
        let data = rss_guard.home.join("data");
        let data = ["--no-single-instance", "--data", data.to_str().unwrap()];
        // RSS Guard creates its database at the first start.
        rss_guard.run("rssguard", &data);
        let last = "SELECT count(*) FROM sqlite_schema WHERE name = 'LabelsInMessages'";
        until("RSS Guard makes its database", || {
            let tables: i64 =
                rss_guard.open()?.query_row(last, [], |row| row.get(0)).map_err(told)?;
            if tables == 1 { Ok(()) } else { Err(rss_guard.said()) }
        });
        rss_guard.running = None;
        let account = json!({
            "service": 1024, // a server that is none of those it knows by name
            "url": format!("{hub}/reader/google"),
            "username": "anna",
            "password": "AwAAYwx+DGkKfl42WStYPQ==", // correct horse
            "batch_size": 100,
            "download_only_unread": false,
            "intelligent_synchronization": true,
            "fetch_newer_than": "2000-01-01",
        });
        let insert = "INSERT INTO Accounts (type, custom_data) VALUES ('greader', ?1)";
        rss_guard.open().unwrap().execute(insert, [account.to_string()]).unwrap();
        rss_guard.run("rssguard", &data);
        Some(rss_guard)
    }

    /// Prepares a newsreader if it is installed, without starting it.
    fn new(place: &TestDirectory, program: &'static str, title: &'static str) -> Option<Self> {
        if ![program, "Xvfb", "xdotool"].map(has).iter().all(|is_there| *is_there) {
            return None;
        }
        let home = place.path(program);
        std::fs::create_dir_all(&home).unwrap();
        let display = Display::start();
        Some(Self { running: None, display, home, title, database: PathBuf::new(), question: "" })
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.home.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Runs the program isolated from the settings, secrets and session of the user.
    fn run(&mut self, program: &str, arguments: &[&str]) {
        let log = File::create(self.home.join("log")).unwrap();
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", &self.home)
            .env("TMPDIR", &self.home)
            .env("XDG_RUNTIME_DIR", &self.home)
            .env("DBUS_SESSION_BUS_ADDRESS", format!("unix:path={}/none", self.home.display()))
            .env("GSETTINGS_BACKEND", "keyfile")
            .env("QT_QPA_PLATFORM", "xcb")
            // The web engine runs as root only without its sandbox. It shows only pages of the tests here.
            .env("QTWEBENGINE_DISABLE_SANDBOX", "1")
            .env("LC_ALL", "C.UTF-8")
            .env("DISPLAY", &self.display.name)
            .current_dir(&self.home)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .process_group(0);
        self.running = Some(Running(command.spawn().unwrap()));
    }

    /// Opens the database of the newsreader, which must exist.
    fn open(&self) -> Result<Connection, String> {
        Connection::open_with_flags(&self.database, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(told)
    }

    /// All articles in the database.
    fn articles(&self) -> Result<Articles, String> {
        let connection = self.open()?;
        let mut statement = connection.prepare(self.question).map_err(told)?;
        let rows = statement.query_map([], |row| {
            Ok((row.get(0)?, Marks { read: row.get(1)?, starred: row.get(2)? }))
        });
        rows.map_err(told)?.collect::<Result<_, _>>().map_err(told)
    }

    /// Waits until `find` returns a value for the articles. The key is pressed meanwhile, and again at
    /// intervals, because its action may be unavailable at first.
    pub(crate) fn until<T>(
        &self,
        what: &str,
        key: Option<&str>,
        find: impl Fn(&Articles) -> Option<T>,
    ) -> T {
        let mut pressed: Option<Instant> = None;
        until(&format!("{}: {what}", self.title), || {
            let articles = self.articles();
            if let Some(found) = articles.as_ref().ok().and_then(&find) {
                return Ok(found);
            }
            if let Some(key) = key
                && pressed.is_none_or(|pressed| pressed.elapsed() > RETRY_INTERVAL)
            {
                self.press(key);
                pressed = Some(Instant::now());
            }
            Err(format!("{articles:?}\n{}", self.said()))
        })
    }

    /// Presses keys in sequence, by the names of xdotool.
    pub(crate) fn press(&self, keys: &str) {
        let window = until(&format!("{} shows its window", self.title), || {
            let found = self.xdotool(&["search", "--onlyvisible", "--name", self.title])?;
            found.lines().last().map(str::to_owned).ok_or_else(|| self.said())
        });
        let mut arguments = vec!["windowfocus", &window, "key"];
        arguments.extend(keys.split(' '));
        until(&format!("{} takes {keys}", self.title), || self.xdotool(&arguments));
    }

    fn xdotool(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new("xdotool");
        let output = command.args(arguments).env("DISPLAY", &self.display.name).output().unwrap();
        if output.status.success() {
            Ok(String::from_utf8(output.stdout).unwrap())
        } else {
            Err(format!("{}\n{}", String::from_utf8_lossy(&output.stderr), self.said()))
        }
    }

    /// End of the program's output.
    fn said(&self) -> String {
        let text = std::fs::read(self.home.join("log")).unwrap_or_default();
        let end = &text[text.len().saturating_sub(2_000)..];
        String::from_utf8_lossy(end).into_owned()
    }
}

fn told(error: rusqlite::Error) -> String {
    error.to_string()
}

/// A program and all processes that it has started.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let kill = format!("kill -s KILL -- -{}", self.0.id());
        let _ = Command::new("sh").args(["-c", &kill]).stderr(Stdio::null()).status();
        let _ = self.0.wait();
    }
}

/// An invisible display.
struct Display {
    server: Child,
    name: String,
}

impl Display {
    /// Starts a display with a free number.
    fn start() -> Self {
        let mut server = Command::new("Xvfb")
            .args([
                "-displayfd",
                "1",
                "-screen",
                "0",
                "1280x800x24",
                "-nolisten",
                "tcp",
                "-noreset",
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut number = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut number).unwrap();
        assert!(!number.is_empty(), "Xvfb found no free display");
        Self { server, name: format!(":{}", number.trim()) }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
