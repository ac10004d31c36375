//! Web servers that know nothing of us: nginx and lighttpd, on the files of `www`.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::{Place, has, until};

pub(crate) struct WebServer {
    pub(crate) program: &'static str,
    arguments: Vec<String>,
    asked_log: PathBuf,
    address: SocketAddr,
    pub(crate) authority: String,
    child: Option<Child>,
    /// How many lines of what it was asked were told, and how often that was asked.
    told: usize,
    times: usize,
}

/// What it was asked, and how many bytes it answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) status: u16,
    pub(crate) bytes: usize,
}

impl WebServer {
    /// nginx with these directives for all servers and for this one; none where there is no nginx.
    pub(crate) fn nginx(place: &Place, http: &str, server: &str) -> Option<Self> {
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("  {name}_temp_path {{at}}/nginx-{name};\n"))
            .concat();
        let configuration = format!(
            "daemon off;\nmaster_process off;\npid {{at}}/nginx.pid;\nerror_log {{at}}/nginx.log;\n\
             events {{}}\nhttp {{\n{temporary}  log_format asked \
             '$request_method $uri $status $body_bytes_sent';\n  access_log {{at}}/asked.log asked;\n  \
             {http}\n  server {{\n    listen 127.0.0.1:{{port}};\n    root {{at}}/www;\n    {server}\n  \
             }}\n}}\n"
        );
        let arguments = ["-e", "{at}/nginx.log", "-c", "{at}/nginx.conf"];
        Self::start(place, "nginx", &arguments, &configuration)
    }

    /// Apache as a proxy of an address, which compresses all that the client takes compressed; none where there is
    /// no Apache.
    pub(crate) fn apache(place: &Place, behind: &str) -> Option<Self> {
        let modules: String =
            ["mpm_event", "authz_core", "proxy", "proxy_http", "deflate", "filter"]
                .map(|name| {
                    format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n")
                })
                .concat();
        // Started by root it serves as somebody else. Who asks is the hub's own machine, and is not named.
        let configuration = format!(
            "ServerRoot {{at}}\nServerName localhost\nListen 127.0.0.1:{{port}}\n\
             PidFile {{at}}/apache.pid\nErrorLog {{at}}/apache.log\nMutex file:{{at}}\n{modules}\
             User www-data\nGroup www-data\nProxyPass / {behind}/\nProxyPreserveHost On\n\
             ProxyAddHeaders Off\nSetOutputFilter DEFLATE\n"
        );
        Self::start(place, "apache2", &["-X", "-f", "{at}/apache2.conf"], &configuration)
    }

    /// lighttpd as it comes; none where there is none.
    pub(crate) fn lighttpd(place: &Place) -> Option<Self> {
        let configuration = "server.document-root = \"{at}/www\"\nserver.bind = \"127.0.0.1\"\n\
             server.port = {port}\nserver.modules = ( \"mod_accesslog\" )\n\
             server.errorlog = \"{at}/lighttpd.log\"\naccesslog.filename = \"{at}/asked.log\"\n\
             accesslog.format = \"%m %U %s %b\"\n\
             mimetype.assign = ( \".jsonl\" => \"application/x-ndjson\" )\n";
        Self::start(place, "lighttpd", &["-D", "-f", "{at}/lighttpd.conf"], configuration)
    }

    /// In arguments and configuration stands `{at}` for the place, and `{port}` for the port.
    fn start(
        place: &Place,
        program: &'static str,
        arguments: &[&str],
        configuration: &str,
    ) -> Option<Self> {
        if !has(program) {
            return None;
        }
        std::fs::create_dir_all(place.path("www")).unwrap();
        // It cannot tell which port it took, so it is told one that was free.
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let at = place.path("").to_str().unwrap().trim_end_matches('/').to_owned();
        let told =
            |text: &str| text.replace("{at}", &at).replace("{port}", &address.port().to_string());
        place.write(&format!("{program}.conf"), &told(configuration));
        let mut server = Self {
            program,
            arguments: arguments.iter().map(|argument| told(argument)).collect(),
            asked_log: place.path("asked.log"),
            authority: address.to_string(),
            address,
            child: None,
            told: 0,
            times: 0,
        };
        server.wake();
        Some(server)
    }

    pub(crate) fn url(&self, file: &str) -> String {
        format!("http://{}/{file}", self.authority)
    }

    /// Starts it again, and waits until it answers.
    pub(crate) fn wake(&mut self) {
        assert!(self.child.is_none());
        let mut command = Command::new(self.program);
        self.child = Some(command.args(&self.arguments).stdin(Stdio::null()).spawn().unwrap());
        until("the web server listens", || {
            TcpStream::connect(self.address).map_err(|error| error.to_string())
        });
    }

    /// Ends it without a word.
    pub(crate) fn kill(&mut self) {
        let mut child = self.child.take().expect("a web server that runs");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// What it was asked since this was called before.
    pub(crate) fn asked(&mut self) -> Vec<Asked> {
        // It writes down what it was asked in that order, and this last.
        self.times += 1;
        let last = format!("/asked-{}", self.times);
        let mut stream = TcpStream::connect(self.address).unwrap();
        write!(stream, "GET {last} HTTP/1.0\r\n\r\n").unwrap();
        stream.read_to_end(&mut Vec::new()).unwrap();
        let lines = until("the web server writes down what it was asked", || {
            let text = std::fs::read_to_string(&self.asked_log);
            let text = text.map_err(|error| error.to_string())?;
            let is_there = text.contains(&format!("GET {last} 404"));
            is_there.then_some(text).ok_or_else(|| format!("not {last}"))
        });
        let asked: Vec<_> = lines.lines().map(read).collect();
        let new = asked[self.told..].iter().filter(|asked| asked.path != last).cloned().collect();
        self.told = asked.len();
        new
    }
}

fn read(line: &str) -> Asked {
    let words: Vec<_> = line.split(' ').collect();
    let [method, path, status, bytes] = words[..] else { panic!("{line}") };
    let (method, path) = (method.to_owned(), path.to_owned());
    Asked { method, path, status: status.parse().unwrap(), bytes: bytes.parse().unwrap_or(0) }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
