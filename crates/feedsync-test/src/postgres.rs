//! A PostgreSQL server for the tests alone.
//!
//! It listens on a Unix socket in a temporary directory, and writes to the disk as a production server does.
//! It ends with the process in any case: a shell waits for the end of a pipe from the process, stops the
//! server and removes the directory. PostgreSQL refuses to run as root, so root runs it as `nobody`.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// A running server.
pub struct Cluster {
    directory: PathBuf,
    programs: PathBuf,
    databases: AtomicU64,
    restarting: Mutex<()>,
    /// The shell, which keeps the server running while its input is open.
    shell: Child,
}

impl Cluster {
    /// Returns the common server of this process, which is started at the first call.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Cluster> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// Starts a separate server, for a test that restarts it.
    pub fn start() -> Self {
        let programs = programs();
        let directory = directory();
        let script = r#"
            programs=$1 directory=$2 template=$3
            as() { "$@"; }
            if [ "$(id -u)" = 0 ]; then
                chown nobody "$directory"
                as() { setpriv --reuid nobody --regid nogroup --clear-groups "$@"; }
            fi
            cd "$directory"
            exec 3>initdb.log
            make() {
                cp -a "$template" data 2>&3 && return
                rm -rf data
                as "$programs/initdb" -D data -U postgres -A trust -E UTF8 --no-locale --no-sync >&3 2>&3 || return
                # Another process may make the same directory: the first one remains.
                cp -a data "$template.$$" 2>&3 && mv -nT "$template.$$" "$template" 2>&3
                rm -rf "$template.$$"
            }
            make &&
            cat >>data/postgresql.conf <<END &&
                listen_addresses = ''
                unix_socket_directories = '$directory'
                max_connections = 300
                shared_buffers = 64MB
END
            as "$programs/pg_ctl" -D data -l server.log -w -t 60 start >start.log 2>&1 &&
            echo ready || { cat initdb.log start.log server.log; exit 1; }
            exec >/dev/null 2>&1
            cat
            as "$programs/pg_ctl" -D data -m immediate -w stop
            rm -rf "$directory"
        "#;
        let mut shell = Command::new("sh")
            .args(["-c", script, "sh"])
            .args([&programs, &directory, &template(&programs)])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut said = String::new();
        let mut output = shell.stdout.take().expect("piped");
        // The shell closes its output once the server has started, or has failed to.
        output.read_to_string(&mut said).expect("the shell's output");
        assert!(said.starts_with("ready"), "PostgreSQL does not start: {said}");
        Self {
            directory,
            programs,
            databases: AtomicU64::new(0),
            restarting: Mutex::new(()),
            shell,
        }
    }

    /// Creates a new, empty database; returns its address.
    pub fn database(&self) -> String {
        let number = self.databases.fetch_add(1, Ordering::SeqCst);
        let name = format!("test{number}");
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.url(&name)
    }

    /// Returns the address of a database of this name.
    pub fn url(&self, name: &str) -> String {
        format!("host={} user=postgres dbname={name}", self.directory.display())
    }

    /// Runs SQL in a database, with psql; returns its output.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        let output = Command::new(self.programs.join("psql"))
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-h"])
            .arg(&self.directory)
            .args(["-d", database, "-c", sql])
            .output()
            .expect("psql");
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Returns the dump of a database, as SQL.
    pub fn dump(&self, database: &str) -> String {
        let output = Command::new(self.programs.join("pg_dump"))
            .args(["--inserts", "-U", "postgres", "-h"])
            .arg(&self.directory)
            .arg(database)
            .output()
            .expect("pg_dump");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        // Commands for psql itself are not sent to a database.
        let lines = text.lines().filter(|line| !line.starts_with('\\'));
        lines.flat_map(|line| [line, "\n"]).collect()
    }

    /// Stops the server as in a crash, and starts it again.
    pub fn crash(&self) {
        let _one = self.restarting.lock().unwrap_or_else(PoisonError::into_inner);
        self.control(&["-m", "immediate", "stop"]);
        self.control(&["-l", "server.log", "start"]);
    }

    /// Runs pg_ctl and waits for it.
    pub fn control(&self, arguments: &[&str]) {
        let program = self.programs.join("pg_ctl");
        let mut command = match fs::metadata(self.directory.join("data")) {
            Ok(data) if is_ours(&data) => Command::new(&program),
            _ => {
                let mut command = Command::new("setpriv");
                command.args(["--reuid", "nobody", "--regid", "nogroup", "--clear-groups"]);
                command.arg(&program);
                command
            }
        };
        let status = command
            .args(["-D", "data", "-w", "-t", "60"])
            .args(arguments)
            .current_dir(&self.directory)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("pg_ctl");
        assert!(status.success(), "pg_ctl {arguments:?}");
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        // The shell stops the server first.
        let _ = self.shell.wait();
    }
}

/// Returns where the data of a new server are kept, since making them takes most of the time of a start. It is
/// beside the tests, and belongs to this version of PostgreSQL.
fn template(programs: &Path) -> PathBuf {
    let version = Command::new(programs.join("initdb")).arg("--version").output().expect("initdb");
    let version: String = String::from_utf8_lossy(&version.stdout)
        .chars()
        .map(|character| if character.is_ascii_alphanumeric() { character } else { '-' })
        .collect();
    let tests = std::env::current_exe().expect("the path of the test");
    tests.with_file_name(format!("new-{}", version.trim_matches('-')))
}

/// Whether the data belongs to this user, so that no switch of users is needed.
fn is_ours(data: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let ours = fs::metadata("/proc/self").map(|own| own.uid());
    ours.is_ok_and(|own| own == data.uid())
}

fn directory() -> PathBuf {
    // The path is short, since the length of a socket's path is limited.
    let mut random = [0; 8];
    fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut random))
        .expect("bytes");
    let number = u64::from_ne_bytes(random);
    let directory = std::env::temp_dir().join(format!("feedsync-pg-{number:016x}"));
    fs::create_dir(&directory).expect("a temporary directory");
    directory
}

/// Returns the directory of PostgreSQL's programs: in the PATH, or the newest in the directories of
/// distributions.
fn programs() -> PathBuf {
    let has_all = |directory: &Path| {
        ["initdb", "pg_ctl", "psql"].iter().all(|program| directory.join(program).exists())
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&path).find(|directory| has_all(directory));
    let versions = || {
        let mut found: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib/postgresql")
            .into_iter()
            .flatten()
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let version = entry.file_name().to_str()?.parse().ok()?;
                Some((version, entry.path().join("bin")))
            })
            .filter(|(_, directory)| has_all(directory))
            .collect();
        found.sort();
        found.pop().map(|(_, directory)| directory)
    };
    in_path.or_else(versions).unwrap_or_else(|| {
        panic!(
            "PostgreSQL is missing, which these tests start for themselves: install it, as with \
             'apt-get install postgresql', or put initdb and pg_ctl into the PATH"
        )
    })
}
