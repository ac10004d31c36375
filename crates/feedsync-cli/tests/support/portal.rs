//! A network between the program and a hub. It forwards everything, or sends its own responses, as captive
//! portals and expired sign-ins do.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use super::Hub;

const PAGE: &str = "<!DOCTYPE html>\n<html><title>Sign in</title>\n<p>to go on\n</html>\n";
const XHTML: &str = "<html xmlns=\"http://www.w3.org/1999/xhtml\"><head><title>Sign in</title></head><body/></html>\n";

/// Responses of an intermediary: name, status line, headers, body. `{elsewhere}` is another server, `{self}`
/// the requested address.
pub(crate) const INTERCEPTIONS: [(&str, &str, &str, &str); 19] = [
    ("page", "200 OK", "Content-Type: text/html; charset=utf-8\r\n", PAGE),
    (
        "tagged page",
        "200 OK",
        "Content-Type: text/html\r\nETag: \"p-1\"\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
        PAGE,
    ),
    ("endless page", "200 OK", "Content-Type: text/html\r\nTransfer-Encoding: chunked\r\n", PAGE),
    ("page without a type", "200 OK", "ETag: \"p-1\"\r\n", PAGE),
    ("page as text", "200 OK", "Content-Type: text/plain\r\nETag: \"p-1\"\r\n", PAGE),
    ("xhtml", "200 OK", "Content-Type: application/xhtml+xml\r\nETag: \"p-1\"\r\n", XHTML),
    ("text", "200 OK", "Content-Type: text/plain\r\n", "please sign in\n"),
    (
        "json",
        "200 OK",
        "Content-Type: application/json\r\nETag: \"p-1\"\r\n",
        "{\"error\":\"sign in\"}\n",
    ),
    ("created", "201 Created", "Content-Type: text/html\r\nETag: \"p-1\"\r\n", PAGE),
    ("conflict", "409 Conflict", "Content-Type: text/html\r\n", PAGE),
    ("precondition", "412 Precondition Failed", "Content-Type: text/html\r\n", PAGE),
    ("nothing", "204 No Content", "", ""),
    ("empty", "200 OK", "", ""),
    ("found", "302 Found", "Location: {elsewhere}/sign-in\r\n", ""),
    ("see other", "303 See Other", "Location: {elsewhere}/sign-in\r\n", PAGE),
    ("temporary", "307 Temporary Redirect", "Location: {elsewhere}/sign-in\r\n", ""),
    ("permanent", "308 Permanent Redirect", "Location: {elsewhere}/sign-in\r\n", ""),
    ("loop", "302 Found", "Location: {self}\r\n", ""),
    ("required", "511 Network Authentication Required", "Content-Type: text/html\r\n", PAGE),
];

/// Behaviour of the network.
#[derive(Clone, Copy)]
enum Interception {
    /// Forwards all requests to the hub.
    Through,
    /// Responds to all requests with this element of [`INTERCEPTIONS`].
    Everything(usize),
    /// Responds with a page of this status, except to GET requests, which reach the hub.
    Changes(&'static str),
}

/// The network in front of a hub.
pub(crate) struct Portal {
    /// Address at which the hub is reached.
    pub(crate) url: String,
    way: Arc<Mutex<Interception>>,
    /// Methods of the requests that the other server received.
    elsewhere: Arc<Mutex<Vec<String>>>,
}

impl Portal {
    pub(crate) fn before(hub: &Hub) -> Self {
        let elsewhere = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&elsewhere);
        let other = serve(move |stream| {
            if let Some(Request { method, .. }) = request(&stream) {
                heard.lock().unwrap().push(method);
                let (_, status, headers, body) = INTERCEPTIONS[0];
                answer(stream, status, headers, body);
            }
        });
        let way = Arc::new(Mutex::new(Interception::Through));
        let (chosen, hub) = (Arc::clone(&way), hub.url.trim_start_matches("http://").to_owned());
        let url = serve(move |stream| {
            let way = *chosen.lock().unwrap();
            match way {
                Interception::Through => forward(stream, &hub, ""),
                Interception::Everything(index) => {
                    let Some(Request { path, host, .. }) = request(&stream) else { return };
                    let (_, status, headers, body): (_, _, &str, _) = INTERCEPTIONS[index];
                    let headers = headers.replace("{elsewhere}", &other);
                    let headers = headers.replace("{self}", &format!("http://{host}{path}"));
                    answer(stream, status, &headers, body);
                }
                Interception::Changes(status) => {
                    let Some(Request { method, head, .. }) = request(&stream) else { return };
                    match method.as_str() {
                        "GET" => forward(stream, &hub, &alone(&head)),
                        _ => answer(stream, status, "Content-Type: text/html\r\n", PAGE),
                    }
                }
            }
        });
        Self { url, way, elsewhere }
    }

    /// Responds to all requests with this element of [`INTERCEPTIONS`] from now on.
    pub(crate) fn stands_between(&self, way: usize) {
        *self.way.lock().unwrap() = Interception::Everything(way);
    }

    /// Responds with a page of this status, except to GET requests, from now on.
    pub(crate) fn refuses_changes(&self, status: &'static str) {
        *self.way.lock().unwrap() = Interception::Changes(status);
    }

    /// Forwards all requests from now on.
    pub(crate) fn lets_through(&self) {
        *self.way.lock().unwrap() = Interception::Through;
    }

    /// Methods of the requests that the program sent to the other server.
    pub(crate) fn sent_on(&self) -> Vec<String> {
        self.elsewhere.lock().unwrap().clone()
    }
}

/// Starts a proxy in front of another one, which replaces a host in requests; returns its URL. It is for tunnels.
pub(crate) fn renaming(proxy: String, host: &'static str, other: &'static str) -> String {
    serve(move |stream| {
        if let Some(request) = request(&stream) {
            forward(stream, &proxy, &request.head.replace(host, other));
        }
    })
}

/// Serves each connection in a separate thread; returns the address.
fn serve(each: impl Fn(TcpStream) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let each = Arc::new(each);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let each = Arc::clone(&each);
            thread::spawn(move || each(stream));
        }
    });
    url
}

/// A request, whose body was read too.
struct Request {
    method: String,
    path: String,
    host: String,
    head: String,
}

/// Adds `Connection: close` to the head of a request.
fn alone(head: &str) -> String {
    head.replacen("\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1)
}

fn request(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let field = |name: &str| {
        head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    };
    let length = field("content-length").map_or(0, |length| length.parse().unwrap());
    reader.read_exact(&mut vec![0; length]).ok()?;
    let mut words = head.split_whitespace().map(str::to_owned);
    let (method, path, host) = (words.next()?, words.next()?, field("host")?);
    Some(Request { method, path, host, head })
}

/// Sends a response and closes the connection. A chunked response never ends by itself. The peer may
/// disconnect at any time.
fn answer(mut stream: TcpStream, status: &str, headers: &str, body: &str) {
    let endless = headers.contains("chunked");
    let length = if endless || status.starts_with("204") {
        String::new()
    } else {
        format!("Content-Length: {}\r\n", body.len())
    };
    let head = format!("HTTP/1.1 {status}\r\n{headers}{length}Connection: close\r\n\r\n");
    let mut written = stream.write_all(head.as_bytes());
    if endless {
        while written.is_ok() {
            written = write!(stream, "{:x}\r\n{body}\r\n", body.len());
        }
    } else {
        let _ = stream.write_all(body.as_bytes());
    }
}

/// Forwards a connection, of which `read` was read already.
fn forward(stream: TcpStream, hub: &str, read: &str) {
    let Ok(mut there) = TcpStream::connect(hub) else { return };
    if there.write_all(read.as_bytes()).is_err() {
        return;
    }
    let (Ok(mut from), Ok(mut to)) = (stream.try_clone(), there.try_clone()) else { return };
    let upwards = thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(std::net::Shutdown::Write);
    });
    let (mut from, mut to) = (there, stream);
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(std::net::Shutdown::Both);
    let _ = upwards.join();
}
