//! Client with which programs on this machine control a gateway. It reads the token and the address from the data
//! directory.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::secret::TOKEN_FILE;

/// File with the address of the control port.
pub const ADDRESS_FILE: &str = "control.address";

/// Default address of the control port.
pub const DEFAULT_ADDRESS: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 5024);

/// Timeout of a response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum size of a response, in bytes.
const MAX_RESPONSE_BYTES: usize = 256 << 20;

/// Client of a control port.
#[derive(Debug)]
pub struct Client {
    address: SocketAddr,
    token: String,
}

/// Error of a request to a gateway.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The token cannot be read.
    #[error("{path}: {source}")]
    Token {
        /// Path of the token.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// No gateway responds.
    #[error("no gateway responds at {address}: {reason}")]
    Unreachable {
        /// Address of the request.
        address: SocketAddr,
        /// Description of the failure.
        reason: String,
    },
    /// The gateway refused the request.
    #[error("{detail}")]
    Refused {
        /// Status of the response.
        status: StatusCode,
        /// Detail of the response.
        detail: String,
    },
}

impl Client {
    /// Creates a client for the gateway of a data directory. The address defaults to the one in the directory.
    pub fn of(directory: &Path, address: Option<SocketAddr>) -> Result<Self, ClientError> {
        let path = directory.join(TOKEN_FILE);
        let token = std::fs::read_to_string(&path);
        let token = token.map_err(|source| ClientError::Token { path, source })?.trim().to_owned();
        let told =
            || std::fs::read_to_string(directory.join(ADDRESS_FILE)).ok()?.trim().parse().ok();
        let address = address.or_else(told).unwrap_or(DEFAULT_ADDRESS);
        Ok(Self { address, token })
    }

    /// Address of the gateway.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends a request; returns the value of the response, or null if there is none.
    pub async fn ask(
        &self,
        method: Method,
        path: &str,
        value: Option<&Value>,
    ) -> Result<Value, ClientError> {
        let unreachable =
            |reason: String| ClientError::Unreachable { address: self.address, reason };
        let requested = timeout(RESPONSE_TIMEOUT, self.send(method, path, value)).await;
        let (status, bytes) = requested
            .map_err(|_| unreachable("the gateway did not respond in time".to_owned()))?
            .map_err(|error| unreachable(error.to_string()))?;
        let said: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        if status.is_success() {
            return Ok(said);
        }
        let detail = said["detail"].as_str().map_or_else(|| status.to_string(), str::to_owned);
        Err(ClientError::Refused { status, detail })
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        value: Option<&Value>,
    ) -> Result<(StatusCode, Bytes), Box<dyn std::error::Error + Send + Sync>> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, self.address.to_string())
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token));
        if value.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let body = value.map(Value::to_string).unwrap_or_default();
        let request = request.body(Full::new(Bytes::from(body)))?;
        let stream = TcpStream::connect(self.address).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let connection = tokio::spawn(connection);
        let answer = sender.send_request(request).await?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), MAX_RESPONSE_BYTES).collect().await?;
        connection.abort();
        Ok((status, body.to_bytes()))
    }
}
