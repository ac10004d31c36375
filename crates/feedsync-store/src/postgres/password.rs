//! The password of an address that has none, from the places that libpq uses: `PGPASSWORD`, otherwise the
//! matching line of the password file (`PGPASSFILE`, otherwise `~/.pgpass`). A line is
//! `host:port:database:user:password`, where `*` matches any value. A file that others can read is rejected.
//! As in libpq, anything but a regular file (`/dev/null`, a directory, a pipe) is ignored.

use std::path::PathBuf;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::error::StoreError;

/// Maximum number of bytes of a password file that are read.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Adds the stored password to a configuration that has none.
pub(super) fn complete(config: &mut Config) -> Result<(), StoreError> {
    if config.get_password().is_some() {
        return Ok(());
    }
    if let Some(password) = std::env::var("PGPASSWORD").ok().filter(|text| !text.is_empty()) {
        config.password(password);
        return Ok(());
    }
    let Some(path) = file() else { return Ok(()) };
    let Some(text) = read(&path)? else { return Ok(()) };
    if let Some(password) = find(&text, &asked(config)) {
        config.password(password);
    }
    Ok(())
}

/// Path of the password file.
fn file() -> Option<PathBuf> {
    let named = std::env::var_os("PGPASSFILE").filter(|path| !path.is_empty());
    named.map(PathBuf::from).or_else(|| Some(std::env::home_dir()?.join(".pgpass")))
}

/// Contents of the file, if it exists; an error if others can read it.
fn read(path: &PathBuf) -> Result<Option<String>, StoreError> {
    use std::io::Read as _;
    // This is checked first, because opening a pipe blocks until a process opens it for writing.
    if !path.is_file() {
        return Ok(None);
    }
    let Ok(file) = std::fs::File::open(path) else { return Ok(None) };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = file.metadata().map_or(0, |data| data.permissions().mode());
        if mode & 0o077 != 0 {
            let reason = "others can use this file of passwords: chmod 600";
            return Err(StoreError::Place { path: path.clone(), reason });
        }
    }
    let mut text = String::new();
    let failed = |source| StoreError::File { path: path.clone(), source };
    file.take(MAX_FILE_BYTES).read_to_string(&mut text).map_err(failed)?;
    Ok(Some(text))
}

/// Values to match against a line: the names of the host, the port, the database and the user.
struct PasswordQuery {
    hosts: Vec<String>,
    port: String,
    database: String,
    user: String,
}

fn asked(config: &Config) -> PasswordQuery {
    let mut hosts = Vec::new();
    for host in config.get_hosts() {
        match host {
            Host::Tcp(name) => hosts.push(name.clone()),
            #[cfg(unix)]
            Host::Unix(directory) => {
                hosts.extend([directory.display().to_string(), "localhost".to_owned()]);
            }
        }
    }
    hosts.extend(config.get_hostaddrs().iter().map(ToString::to_string));
    let user = config.get_user().unwrap_or_default().to_owned();
    PasswordQuery {
        hosts,
        port: config.get_ports().first().copied().unwrap_or(5432).to_string(),
        database: config.get_dbname().map_or_else(|| user.clone(), str::to_owned),
        user,
    }
}

/// The password of the first matching line.
fn find(text: &str, asked: &PasswordQuery) -> Option<String> {
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = fields(line);
        let [host, port, database, user, password] = &fields[..] else { return None };
        let fits = |field: &str, value: &str| field == "*" || field == value;
        let of_host = host == "*" || asked.hosts.contains(host);
        let all = of_host
            && fits(port, &asked.port)
            && fits(database, &asked.database)
            && fits(user, &asked.user);
        all.then(|| password.clone())
    })
}

/// Splits a line at its colons; a backslash escapes a colon or a backslash.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ':' if fields.len() < 5 => fields.push(String::new()),
            '\\' => last(&mut fields).extend(letters.next()),
            letter => last(&mut fields).push(letter),
        }
    }
    fields
}

fn last(fields: &mut [String]) -> &mut String {
    let last = fields.len() - 1;
    &mut fields[last]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_fits_has_the_password() {
        let text = "# db:5432:hub:anna:no\n\
                    db:5432:other:anna:other\n\
                    db:6432:hub:anna:a\\:b\\\\c\n\
                    *:*:*:otto:any:thing\n\
                    /run/pg:*:hub:anna:socket\n\
                    [::1]:too:few\n";
        let of = |url: &str| {
            let config: Config = url.parse().unwrap();
            find(text, &asked(&config))
        };
        assert_eq!(of("postgres://anna@db:6432/hub").as_deref(), Some("a:b\\c"));
        assert_eq!(of("postgres://anna@db/hub"), None);
        assert_eq!(of("postgres://anna@db/other").as_deref(), Some("other"));
        assert_eq!(of("postgres://otto@elsewhere/x").as_deref(), Some("any:thing"));
        assert_eq!(of("postgres://anna@%2Frun%2Fpg/hub").as_deref(), Some("socket"));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_read_is_refused_by_its_name() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("passwords");
        assert_eq!(read(&path).unwrap(), None);
        std::fs::write(&path, "*:*:*:*:geheim\n").unwrap();
        let open = |mode| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            read(&path)
        };
        let refused = open(0o640).unwrap_err().to_string();
        assert!(refused.contains("passwords: ") && !refused.contains("geheim"), "{refused}");
        assert!(open(0o600).unwrap().is_some());
    }

    #[cfg(unix)]
    #[test]
    fn password_path_that_is_not_a_regular_file_is_ignored() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(read(&directory.path().to_owned()).unwrap(), None);
        assert_eq!(read(&PathBuf::from("/dev/null")).unwrap(), None);
        let pipe = directory.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert_eq!(read(&pipe).unwrap(), None);
    }
}
