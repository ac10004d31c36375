//! Origins and applications that speak https.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

use feedsync_gateway::tls_interception::CertificateAuthority;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::support::{Answer, DEADLINE, Gateway, find};

/// Authority that applications and the gateway trust as they do those of the system.
pub(crate) struct TestAuthority(CertifiedIssuer<'static, KeyPair>);

impl TestAuthority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn root(&self) -> CertificateDer<'static> {
        self.0.der().clone()
    }

    fn server(&self, names: &[&str], asks_for_certificate: bool) -> ServerConfig {
        let key = KeyPair::generate().unwrap();
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &self.0).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = if asks_for_certificate {
            let roots = Arc::new(roots(&[self.root()]));
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider);
            builder.with_client_cert_verifier(verifier.allow_unauthenticated().build().unwrap())
        } else {
            builder.with_no_client_auth()
        };
        let mut config =
            builder.with_single_cert(vec![certificate.der().clone(), self.root()], key).unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        config
    }
}

fn roots(certificates: &[CertificateDer<'static>]) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    certificates.iter().for_each(|root| roots.add(root.clone()).unwrap());
    roots
}

/// An https origin that answers each request with `ok`.
pub(crate) struct SecureOrigin {
    pub(crate) address: SocketAddr,
    received: Arc<Mutex<Vec<String>>>,
}

impl SecureOrigin {
    pub(crate) async fn start(authority: &TestAuthority, names: &[&str]) -> Self {
        Self::with(authority.server(names, false)).await
    }

    pub(crate) async fn asking_for_certificates(authority: &TestAuthority, names: &[&str]) -> Self {
        Self::with(authority.server(names, true)).await
    }

    async fn with(config: ServerConfig) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let received = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&received);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, seen) = (acceptor.clone(), Arc::clone(&seen));
                tokio::spawn(async move {
                    let Ok(mut stream) = acceptor.accept(stream).await else { return };
                    let mut bytes = Vec::new();
                    while matches!(stream.read_buf(&mut bytes).await, Ok(read) if read > 0) {
                        while let Some(end) = find(&bytes, b"\r\n\r\n") {
                            let request: Vec<u8> = bytes.drain(..end + 4).collect();
                            seen.lock().unwrap().push(String::from_utf8(request).unwrap());
                            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
                            stream.write_all(answer).await.unwrap();
                        }
                    }
                });
            }
        });
        Self { address, received }
    }

    pub(crate) fn received(&self) -> Vec<String> {
        self.received.lock().unwrap().clone()
    }
}

/// An application that speaks https through a gateway.
#[derive(Clone)]
pub(crate) struct SecureApplication {
    pub(crate) trusted: Vec<CertificateDer<'static>>,
    pub(crate) protocols: Vec<Vec<u8>>,
    pub(crate) name: &'static str,
}

impl SecureApplication {
    /// Trusts the authority of the origins, and that of the gateway with this data directory.
    pub(crate) fn trusting(authority: &TestAuthority, data: Option<&Path>) -> Self {
        let mut trusted = vec![authority.root()];
        trusted.extend(data.map(gateway_root));
        Self { trusted, protocols: vec![b"http/1.1".to_vec()], name: "test/1" }
    }

    pub(crate) fn speaking(self, protocols: &[&str]) -> Self {
        let protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        Self { protocols, ..self }
    }

    /// Opens a connection to an authority, and encrypts it for a host.
    pub(crate) async fn connect(
        &self,
        gateway: &Gateway,
        authority: &str,
        host: &str,
    ) -> io::Result<TlsStream<TcpStream>> {
        let stream = tunnel(gateway, authority, self.name).await;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots(&self.trusted))
            .with_no_client_auth();
        config.alpn_protocols = self.protocols.clone();
        let name = ServerName::try_from(host.to_owned()).unwrap();
        let connected = TlsConnector::from(Arc::new(config)).connect(name, stream);
        timeout(DEADLINE, connected).await.unwrap()
    }

    /// Sends a request in a connection of its own.
    pub(crate) async fn ask(&self, gateway: &Gateway, authority: &str, request: &str) -> Answer {
        let host = authority.rsplit_once(':').unwrap().0;
        let mut stream = self.connect(gateway, authority, host).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        rest(&mut stream).await
    }
}

/// Root certificate of the gateway with this data directory.
pub(crate) fn gateway_root(data: &Path) -> CertificateDer<'static> {
    let certificate = CertificateAuthority::certificate_in(data).unwrap().unwrap();
    CertificateDer::from(certificate.der().to_vec())
}

/// Requests a connection; returns it once it was accepted.
pub(crate) async fn tunnel(gateway: &Gateway, authority: &str, name: &str) -> TcpStream {
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    let request =
        format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: {name}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while find(&head, b"\r\n\r\n").is_none() {
        let read = timeout(DEADLINE, stream.read_buf(&mut head)).await.unwrap().unwrap();
        assert_ne!(read, 0, "{}", String::from_utf8_lossy(&head));
    }
    assert!(head.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&head));
    stream
}

/// Reads a response to the end of the connection.
pub(crate) async fn rest(stream: &mut TlsStream<TcpStream>) -> Answer {
    let mut bytes = Vec::new();
    let read = timeout(DEADLINE, stream.read_to_end(&mut bytes)).await;
    let reset = read.expect("the gateway closes the connection").is_err();
    let end = find(&bytes, b"\r\n\r\n").unwrap_or(bytes.len());
    let body = bytes.get(end + 4..).unwrap_or_default().to_vec();
    Answer { head: String::from_utf8_lossy(&bytes[..end]).into_owned(), body, reset }
}

/// Whether the certificate of a connection is not the origin's.
pub(crate) fn is_intercepted(stream: &TlsStream<TcpStream>) -> bool {
    let (_, connection) = stream.get_ref();
    // Origins send their root, too.
    connection.peer_certificates().unwrap().len() == 1
}
