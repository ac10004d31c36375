//! `CONNECT`: forwards opaque bytes in both directions (RFC 9110 9.3.6).

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::{Request, Response, StatusCode, header};
use hyper::body::{Body as _, Incoming};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, split};
use tokio::time::sleep;

use crate::proxy::body::Body;
use crate::proxy::problem::Problem;
use crate::proxy::{Proxy, check_way};

/// Size of the buffer of one direction, in bytes.
const BUFFER_BYTES: usize = 16 << 10;

impl Proxy {
    /// Opens a tunnel. It ends when a side closes it, when it is idle for too long, or when the gateway stops.
    pub(crate) async fn tunnel(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<Body>, Problem> {
        let has_content = request.headers().contains_key(header::TRANSFER_ENCODING)
            || !request.body().is_end_stream();
        if has_content {
            return Err(Problem::bad_request("a CONNECT request must not have a body"));
        }
        check_way(request.headers())?;
        let authority = self.addresses.tunnel(request.uri())?;
        let place = self.tunnels.clone().try_acquire_owned().map_err(|_| {
            let detail = "the maximum number of tunnels is open; try again later";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "Temporarily unavailable", detail)
        })?;
        let far = self.upstream.tunnel(&authority).await.map_err(|error| Problem::from(&error))?;
        let pause = self.limits.tunnel_pause;
        let mut cut = self.cut.subscribe();
        let near = hyper::upgrade::on(request);
        tokio::spawn(async move {
            let carried = async {
                match near.await {
                    Ok(near) => carry_both(TokioIo::new(near), far, pause).await,
                    Err(error) => tracing::debug!(%error, "cannot open a tunnel"),
                }
            };
            tokio::select! {
                () = carried => {}
                // An error means that the gateway is gone.
                _ = cut.wait_for(|cut| *cut) => {}
            }
            drop(place);
        });
        Ok(Response::new(Body::empty()))
    }
}

async fn carry_both<N, F>(near: N, far: F, pause: Duration)
where
    N: AsyncRead + AsyncWrite,
    F: AsyncRead + AsyncWrite,
{
    let moved = AtomicBool::new(false);
    let (from_near, to_near) = split(near);
    let (from_far, to_far) = split(far);
    let both = async {
        let (there, back) = (carry(from_near, to_far, &moved), carry(from_far, to_near, &moved));
        tokio::try_join!(there, back)
    };
    tokio::select! {
        carried = both => {
            if let Err(error) = carried {
                tracing::debug!(%error, "tunnel interrupted");
            }
        }
        () = silence(&moved, pause) => tracing::debug!("tunnel closed: idle timeout"),
    }
}

/// Copies one direction to its end; the other may continue.
async fn carry(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    moved: &AtomicBool,
) -> io::Result<()> {
    let mut bytes = vec![0; BUFFER_BYTES];
    loop {
        let read = from.read(&mut bytes).await?;
        if read == 0 {
            return to.shutdown().await;
        }
        to.write_all(&bytes[..read]).await?;
        moved.store(true, Ordering::Relaxed);
    }
}

/// Completes when no bytes have moved for between one and two pauses.
async fn silence(moved: &AtomicBool, pause: Duration) {
    loop {
        sleep(pause).await;
        if !moved.swap(false, Ordering::Relaxed) {
            return;
        }
    }
}
