//! `CONNECT`: forwards opaque bytes in both directions (RFC 9110 9.3.6), unless the connection is intercepted.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::{Request, Response, StatusCode, header};
use hyper::body::{Body as _, Incoming};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, split};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::sleep;

use crate::proxy::body::Body;
use crate::proxy::problem::Problem;
use crate::proxy::{Intercepted, Proxy, check_way};
use crate::target::Authority;

/// Size of the buffer of one direction, in bytes.
const BUFFER_BYTES: usize = 16 << 10;

impl Proxy {
    /// Opens a tunnel. It ends when a side closes it, when it is idle for too long, or when the gateway stops.
    pub(crate) async fn tunnel(
        &self,
        mut request: Request<Incoming>,
    ) -> Result<Response<Body>, Problem> {
        let has_content = request.headers().contains_key(header::TRANSFER_ENCODING)
            || !request.body().is_end_stream();
        if has_content {
            return Err(Problem::bad_request("a CONNECT request must not have a body"));
        }
        check_way(request.headers())?;
        if request.extensions().get::<Intercepted>().is_some() {
            return Err(Problem::bad_request(
                "a tunnel inside an intercepted connection is not possible",
            ));
        }
        let authority = self.addresses.tunnel(request.uri())?;
        if self.intercepts(&authority, &mut request).await {
            return Ok(Response::new(Body::empty()));
        }
        let permit = self.tunnel_permit()?;
        let far = self.upstream.tunnel(&authority).await.map_err(|error| Problem::from(&error))?;
        let near = hyper::upgrade::on(request);
        let pause = self.limits.tunnel_pause;
        self.spawn_tunnel(permit, async move {
            match near.await {
                Ok(near) => carry_both(TokioIo::new(near), far, pause).await,
                Err(error) => tracing::debug!(%error, "cannot open a tunnel"),
            }
        });
        Ok(Response::new(Body::empty()))
    }

    /// Tunnels a connection that was accepted already. If that is not possible, the connection is closed.
    pub(super) async fn tunnel_accepted<N>(&self, near: N, authority: &Authority)
    where
        N: AsyncRead + AsyncWrite + Send + 'static,
    {
        let Ok(permit) = self.tunnel_permit() else { return };
        let far = match self.upstream.tunnel(authority).await {
            Ok(far) => far,
            Err(error) => return tracing::debug!(%error, "cannot open a tunnel"),
        };
        self.spawn_tunnel(permit, carry_both(near, far, self.limits.tunnel_pause));
    }

    /// Carries the bytes of a tunnel until it ends or the gateway stops.
    fn spawn_tunnel(
        &self,
        permit: OwnedSemaphorePermit,
        carried: impl Future<Output = ()> + Send + 'static,
    ) {
        let mut cut = self.cut.subscribe();
        tokio::spawn(async move {
            tokio::select! {
                () = carried => {}
                // An error means that the gateway is gone.
                _ = cut.wait_for(|cut| *cut) => {}
            }
            drop(permit);
        });
    }

    fn tunnel_permit(&self) -> Result<OwnedSemaphorePermit, Problem> {
        self.tunnels.clone().try_acquire_owned().map_err(|_| {
            let detail = "the maximum number of tunnels is open; try again later";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "Temporarily unavailable", detail)
        })
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
