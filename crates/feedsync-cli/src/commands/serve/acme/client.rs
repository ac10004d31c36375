//! Requests to an authority, by the one policy for outbound requests.

use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use feedsync_fetch::{FetchError, Fetched, Fetcher, Request, Response, address};
use http::header::{CONTENT_TYPE, LINK, LOCATION, RETRY_AFTER};
use http::{HeaderName, Method};
use http_body_util::BodyExt as _;
use instant_acme::{BodyWrapper, BytesResponse, Error, HttpClient};

/// Maximum size of a response, in bytes.
const MAX_BYTES: usize = 1 << 20;

const MEDIA_TYPE: &str = "application/jose+json";

const REPLAY_NONCE: HeaderName = HeaderName::from_static("replay-nonce");

/// Sends the requests of the protocol. Only an authority at a private address leads to private addresses.
pub(super) struct AcmeClient(Fetcher);

impl AcmeClient {
    /// Sends requests to the authority with this directory.
    pub(super) fn new(fetcher: &Fetcher, directory: &str) -> Result<Self, FetchError> {
        Ok(Self(fetcher.given(address(directory)?)))
    }
}

impl HttpClient for AcmeClient {
    fn request(
        &self,
        request: http::Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>> {
        let fetcher = self.0.clone();
        Box::pin(async move { send(fetcher, request).await })
    }
}

async fn send(
    fetcher: Fetcher,
    request: http::Request<BodyWrapper<Bytes>>,
) -> Result<BytesResponse, Error> {
    let (head, body) = request.into_parts();
    let url = address(&head.uri.to_string()).map_err(other)?;
    let request = match head.method {
        Method::POST => {
            let Ok(body) = body.collect().await;
            Request::post(url, MEDIA_TYPE, body.to_bytes())
        }
        Method::HEAD => Request::head(url),
        _ => Request::read(url),
    };
    match fetcher.fetch(request.raw()).await.map_err(other)? {
        Fetched::Answer(response) => received(*response).await,
        Fetched::NotModified => Err(Error::Str("the authority answers 304")),
    }
}

async fn received(mut response: Response) -> Result<BytesResponse, Error> {
    let mut head = http::Response::builder().status(response.status());
    for name in [REPLAY_NONCE, LOCATION, RETRY_AFTER, CONTENT_TYPE, LINK] {
        if let Some(value) = response.header(name.clone()) {
            head = head.header(name, value);
        }
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(other)? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_BYTES {
            return Err(Error::Str("the authority sends more than 1 MiB"));
        }
    }
    let (parts, ()) = head.body(())?.into_parts();
    Ok(BytesResponse { parts, body: Box::new(Bytes::from(bytes)) })
}

fn other(error: FetchError) -> Error {
    Error::Other(Box::new(error))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::source::NetworkAccess;

    #[tokio::test]
    async fn a_public_authority_leads_to_no_private_address() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}/order", listener.local_addr().unwrap());
        let fetcher = NetworkAccess::new(None).fetcher().unwrap();
        let client = AcmeClient::new(&fetcher, "http://8.8.8.8/directory").unwrap();
        let request = http::Request::get(&url).body(BodyWrapper::default()).unwrap();
        let error = client.request(request).await.err().unwrap().to_string();
        assert!(error.contains("is not a public address"), "{error}");
        assert!(listener.accept().is_err(), "a request was sent");
    }
}
