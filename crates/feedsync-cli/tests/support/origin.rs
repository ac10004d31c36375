//! A server with configured responses, which records its requests.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

type Answers = HashMap<(String, String), (u16, String, Vec<u8>)>;

pub(crate) struct Origin {
    pub(crate) port: u16,
    answers: Arc<Mutex<Answers>>,
    asked: Arc<Mutex<Vec<RecordedRequest>>>,
}

struct RecordedRequest {
    method: String,
    path: String,
    /// Head of the request in lower case.
    head: String,
    body: String,
}

impl Origin {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let answers = Arc::new(Mutex::new(Answers::new()));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (told, log) = (Arc::clone(&answers), Arc::clone(&asked));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (told, log) = (Arc::clone(&told), Arc::clone(&log));
                // A peer may disconnect at any time.
                std::thread::spawn(move || converse(stream, &told, &log).unwrap_or_default());
            }
        });
        Self { port, answers, asked }
    }

    /// Sets a response; `headers` are header lines.
    pub(crate) fn answers(&self, method: &str, path: &str, status: u16, headers: &str, body: &str) {
        let (key, body) = ((method.to_owned(), path.to_owned()), body.as_bytes().to_vec());
        self.answers.lock().unwrap().insert(key, (status, headers.to_owned(), body));
    }

    /// Bodies of the requests with this method and path.
    pub(crate) fn asked(&self, method: &str, path: &str) -> Vec<String> {
        self.each(method, path, |asked| asked.body.clone())
    }

    /// Heads of the requests with this method and path, in lower case.
    pub(crate) fn headers(&self, method: &str, path: &str) -> Vec<String> {
        self.each(method, path, |asked| asked.head.clone())
    }

    /// Paths of all requests that begin with this text.
    pub(crate) fn asked_below(&self, beginning: &str) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        let paths = asked.iter().map(|it| it.path.clone());
        paths.filter(|path| path.starts_with(beginning)).collect()
    }

    fn each(
        &self,
        method: &str,
        path: &str,
        of: impl Fn(&RecordedRequest) -> String,
    ) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|it| it.method == method && it.path == path).map(of).collect()
    }
}

fn converse(
    stream: TcpStream,
    answers: &Mutex<Answers>,
    asked: &Mutex<Vec<RecordedRequest>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    let lower = head.to_ascii_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length:"));
    let mut body = vec![0; length.map_or(0, |length| length.trim().parse().unwrap())];
    reader.read_exact(&mut body)?;
    let mut words = head.split_whitespace();
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let body = String::from_utf8_lossy(&body).into_owned();
    let (method, path) = (method.to_owned(), path.to_owned());
    let answer = answers.lock().unwrap().get(&(method.clone(), path.clone())).cloned();
    asked.lock().unwrap().push(RecordedRequest { method, path, head: lower, body });
    let (status, headers, body) =
        answer.unwrap_or((404, "Content-Type: text/plain\r\n".to_owned(), b"nothing".to_vec()));
    let length = body.len();
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {status} Answer\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    stream.write_all(&body)
}
