//! Reads the first bytes of a tunnel, and gives them back: the decision about a connection changes none of them.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::server::{Accepted, Acceptor};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};
use tokio::time::{Instant, timeout_at};

/// Time that a client has to send its first byte. In other protocols the server may speak first.
const FIRST_BYTE_TIMEOUT: Duration = Duration::from_secs(2);

/// Time that a client has to send the whole ClientHello. Other protocols may begin with the same bytes.
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum size of a ClientHello with its framing, in bytes.
const MAX_HELLO_BYTES: usize = 64 << 10;

/// First byte of a TLS handshake (RFC 8446 5.1).
const HANDSHAKE: u8 = 22;

/// Start of a tunnel.
pub(crate) struct Opening<S> {
    /// The stream, which begins with the bytes that were read.
    pub(crate) stream: Replayed<S>,
    hello: Option<Accepted>,
}

impl<S: AsyncRead + Unpin> Opening<S> {
    /// Reads a ClientHello. Reading ends with the first byte that cannot belong to one, or after a few seconds.
    pub(crate) async fn read(mut stream: S) -> Self {
        let mut bytes = Vec::new();
        let start = Instant::now();
        let mut acceptor = Acceptor::default();
        let mut fed = 0;
        let hello = loop {
            let wait = if bytes.is_empty() { FIRST_BYTE_TIMEOUT } else { HELLO_TIMEOUT };
            match timeout_at(start + wait, stream.read_buf(&mut bytes)).await {
                Ok(Ok(read)) if read > 0 => {}
                // The other side of the tunnel sees the end or the error when it reads.
                _ => break None,
            }
            if bytes[0] != HANDSHAKE || bytes.len() > MAX_HELLO_BYTES {
                break None;
            }
            match fed_with(&mut acceptor, &bytes[fed..]) {
                Ok(None) => fed = bytes.len(),
                Ok(Some(accepted)) => break Some(accepted),
                Err(()) => break None,
            }
        };
        Self { stream: Replayed { first: bytes, given: 0, stream }, hello }
    }

    /// Name that the client wants (SNI), if it sent one.
    pub(crate) fn server_name(&self) -> Option<String> {
        self.hello.as_ref()?.client_hello().server_name().map(str::to_owned)
    }

    /// Whether a server with this configuration can complete the handshake: version, cipher suite, signature and
    /// application protocol. This runs the first step of it without sending anything.
    pub(crate) fn fits(&mut self, config: Arc<ServerConfig>) -> bool {
        self.hello.take().is_some_and(|hello| hello.into_connection(config).is_ok())
    }
}

fn fed_with(acceptor: &mut Acceptor, mut bytes: &[u8]) -> Result<Option<Accepted>, ()> {
    while !bytes.is_empty() {
        acceptor.read_tls(&mut bytes).map_err(|_| ())?;
        if let Some(accepted) = acceptor.accept().map_err(|_| ())? {
            return Ok(Some(accepted));
        }
    }
    Ok(None)
}

/// A stream whose first bytes were already read.
#[derive(Debug)]
pub(crate) struct Replayed<S> {
    first: Vec<u8>,
    given: usize,
    stream: S,
}

impl<S: AsyncRead + Unpin> AsyncRead for Replayed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let left = &self.first[self.given..];
        if left.is_empty() {
            return Pin::new(&mut self.stream).poll_read(context, buffer);
        }
        let most = left.len().min(buffer.remaining());
        buffer.put_slice(&left[..most]);
        self.given += most;
        if self.given == self.first.len() {
            (self.first, self.given) = (Vec::new(), 0);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Replayed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn hello(name: &str) -> Vec<u8> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        let name = name.to_owned().try_into().unwrap();
        let mut connection = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
        let mut bytes = Vec::new();
        connection.write_tls(&mut bytes).unwrap();
        bytes
    }

    /// Sends bytes in pieces; returns whether they are a ClientHello, its name, and all bytes of the stream.
    async fn opened(bytes: &[u8], piece: usize) -> (bool, Option<String>, Vec<u8>) {
        let (mut near, far) = tokio::io::duplex(1 << 20);
        let pieces: Vec<_> = bytes.chunks(piece).map(<[u8]>::to_vec).collect();
        tokio::spawn(async move {
            for piece in pieces {
                near.write_all(&piece).await.unwrap();
                tokio::task::yield_now().await;
            }
        });
        let mut opening = Opening::read(far).await;
        let (is_hello, name) = (opening.hello.is_some(), opening.server_name());
        let mut all = Vec::new();
        opening.stream.read_to_end(&mut all).await.unwrap();
        (is_hello, name, all)
    }

    #[tokio::test]
    async fn a_client_hello_is_read_in_pieces_and_replayed() {
        let mut bytes = hello("example.org");
        bytes.extend(b"and more");
        for piece in [1, 7, 100, 10_000] {
            let (is_hello, name, all) = opened(&bytes, piece).await;
            assert!(is_hello, "{piece}");
            assert_eq!(name.as_deref(), Some("example.org"));
            assert_eq!(all, bytes);
        }
    }

    #[tokio::test]
    async fn other_bytes_are_replayed_untouched() {
        let mut damaged = hello("example.org");
        // The length of the session id.
        damaged[43] = 0xff;
        let endless = [&[22, 3, 1, 0x40, 0][..], &vec![1; 200_000]].concat();
        for bytes in
            [&b"SSH-2.0-x\r\n"[..], b"", b"\x16", b"\x16\x03\x01 not http", &damaged, &endless]
        {
            let (is_hello, name, all) = opened(bytes, 1_000).await;
            assert_eq!((is_hello, name, all.as_slice()), (false, None, bytes));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_client_is_not_waited_for_long() {
        let start = Instant::now();
        let (_near, far) = tokio::io::duplex(10);
        let opening = Opening::read(far).await;
        assert!(opening.hello.is_none());
        assert!(start.elapsed() < 3 * SECOND);
    }
}
