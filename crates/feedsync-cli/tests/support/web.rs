//! Independent web servers for the files of `www`: nginx, Apache and lighttpd.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::{TestDirectory, has, until};

pub(crate) struct WebServer {
    pub(crate) program: &'static str,
    arguments: Vec<String>,
    asked_log: PathBuf,
    address: SocketAddr,
    scheme: &'static str,
    pub(crate) authority: String,
    child: Option<Child>,
    /// Number of requests that `asked` has returned; `times` is the number of its calls.
    told: usize,
    times: usize,
}

/// A request, and the number of bytes in its response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordedRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) status: u16,
    pub(crate) bytes: usize,
}

impl WebServer {
    /// Starts nginx with these directives for all servers and for this server; `None` if it is not installed.
    pub(crate) fn nginx(place: &TestDirectory, http: &str, server: &str) -> Option<Self> {
        Self::nginx_at(place, "listen 127.0.0.1:{port};", http, server)
    }

    /// Starts nginx as `nginx` does, over https with the certificate of `certify_localhost`. Its log must be read from
    /// the file: `asked` does not speak TLS.
    pub(crate) fn nginx_encrypted(place: &TestDirectory, http: &str, server: &str) -> Option<Self> {
        let listen = "listen 127.0.0.1:{port} ssl;\n    ssl_certificate {at}/localhost.pem;\n    \
             ssl_certificate_key {at}/localhost.key;";
        let mut nginx = Self::nginx_at(place, listen, http, server)?;
        nginx.scheme = "https";
        nginx.authority = nginx.authority.replace("127.0.0.1", "localhost");
        Some(nginx)
    }

    fn nginx_at(place: &TestDirectory, listen: &str, http: &str, server: &str) -> Option<Self> {
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("  {name}_temp_path {{at}}/nginx-{name};\n"))
            .concat();
        let configuration = format!(
            "daemon off;\nmaster_process off;\npid {{at}}/nginx.pid;\nerror_log {{at}}/nginx.log;\n\
             events {{}}\nhttp {{\n{temporary}  log_format asked \
             '$request_method $uri $status $body_bytes_sent';\n  access_log {{at}}/asked.log asked;\n  \
             {http}\n  server {{\n    {listen}\n    root {{at}}/www;\n    {server}\n  \
             }}\n}}\n"
        );
        let arguments = ["-e", "{at}/nginx.log", "-c", "{at}/nginx.conf"];
        Self::start(place, "nginx", &arguments, &configuration)
    }

    /// Starts Apache as a proxy that compresses all responses if the client accepts that; `None` if it is not
    /// installed.
    pub(crate) fn apache(place: &TestDirectory, behind: &str) -> Option<Self> {
        let modules: String =
            ["mpm_event", "authz_core", "proxy", "proxy_http", "deflate", "filter"]
                .map(|name| {
                    format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n")
                })
                .concat();
        // If root starts Apache, it serves as another user. It adds no headers about the client, which is on
        // the same machine.
        let configuration = format!(
            "ServerRoot {{at}}\nServerName localhost\nListen 127.0.0.1:{{port}}\n\
             PidFile {{at}}/apache.pid\nErrorLog {{at}}/apache.log\nMutex file:{{at}}\n{modules}\
             User www-data\nGroup www-data\nProxyPass / {behind}/\nProxyPreserveHost On\n\
             ProxyAddHeaders Off\nSetOutputFilter DEFLATE\n"
        );
        Self::start(place, "apache2", &["-X", "-f", "{at}/apache2.conf"], &configuration)
    }

    /// Starts lighttpd with few settings; `None` if it is not installed.
    pub(crate) fn lighttpd(place: &TestDirectory) -> Option<Self> {
        let configuration = "server.document-root = \"{at}/www\"\nserver.bind = \"127.0.0.1\"\n\
             server.port = {port}\nserver.modules = ( \"mod_accesslog\" )\n\
             server.errorlog = \"{at}/lighttpd.log\"\naccesslog.filename = \"{at}/asked.log\"\n\
             accesslog.format = \"%m %U %s %b\"\n\
             mimetype.assign = ( \".jsonl\" => \"application/x-ndjson\" )\n";
        Self::start(place, "lighttpd", &["-D", "-f", "{at}/lighttpd.conf"], configuration)
    }

    /// Starts a server. In arguments and configuration, `{at}` stands for the directory and `{port}` for the
    /// port.
    fn start(
        place: &TestDirectory,
        program: &'static str,
        arguments: &[&str],
        configuration: &str,
    ) -> Option<Self> {
        if !has(program) {
            return None;
        }
        std::fs::create_dir_all(place.path("www")).unwrap();
        // The server cannot report its port, so it gets one that was free.
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let at = place.path("").to_str().unwrap().trim_end_matches('/').to_owned();
        let told =
            |text: &str| text.replace("{at}", &at).replace("{port}", &address.port().to_string());
        place.write(&format!("{program}.conf"), &told(configuration));
        let mut server = Self {
            program,
            arguments: arguments.iter().map(|argument| told(argument)).collect(),
            asked_log: place.path("asked.log"),
            scheme: "http",
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
        format!("{}://{}/{file}", self.scheme, self.authority)
    }

    /// Starts the server again, and waits until it accepts connections.
    pub(crate) fn wake(&mut self) {
        assert!(self.child.is_none());
        let mut command = Command::new(self.program);
        self.child = Some(command.args(&self.arguments).stdin(Stdio::null()).spawn().unwrap());
        until("the web server listens", || {
            TcpStream::connect(self.address).map_err(|error| error.to_string())
        });
    }

    /// Kills the process.
    pub(crate) fn kill(&mut self) {
        let mut child = self.child.take().expect("a web server that runs");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Requests since the previous call.
    pub(crate) fn asked(&mut self) -> Vec<RecordedRequest> {
        // The server logs requests in order, so this request is the last one in the log.
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

fn read(line: &str) -> RecordedRequest {
    let words: Vec<_> = line.split(' ').collect();
    let [method, path, status, bytes] = words[..] else { panic!("{line}") };
    let (method, path) = (method.to_owned(), path.to_owned());
    RecordedRequest {
        method,
        path,
        status: status.parse().unwrap(),
        bytes: bytes.parse().unwrap_or(0),
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
