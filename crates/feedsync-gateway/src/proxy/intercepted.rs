//! `CONNECT` requests whose connection is intercepted (decision 61).
//!
//! The request is accepted without asking the origin, so that the store can answer while the origin is unreachable.
//! The ClientHello of the application then decides. If the connection cannot be intercepted, the bytes that were
//! read go through a tunnel, and nothing was sent to the application.

use std::error::Error;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use http::{Request, header};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use rustls::AlertDescription;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use url::Host;

use super::Proxy;
use super::serve::{Connection, answer_all};
use crate::target::Authority;
use crate::tls_interception::{
    Application, EXEMPTION, ExemptionReason, Opening, Replayed, TlsInterception,
};

/// An accepted `CONNECT` request whose connection is intercepted.
#[derive(Debug)]
pub(super) struct Accepted {
    authority: Authority,
    application: Application,
    near: OnUpgrade,
}

/// Slot by which a request hands its accepted connection over to the task of the connection.
#[derive(Debug, Clone, Default)]
pub(super) struct AcceptedSlot(Arc<Mutex<Option<Accepted>>>);

impl AcceptedSlot {
    /// Takes what was accepted.
    pub(super) fn take(&self) -> Option<Accepted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Proxy {
    /// Decides whether the connection of a `CONNECT` request is intercepted. If so, it is handed over to its task.
    pub(super) async fn intercepts(
        &self,
        authority: &Authority,
        request: &mut Request<Incoming>,
    ) -> bool {
        let (Some(interception), Some(slot)) =
            (&self.tls_interception, request.extensions().get::<AcceptedSlot>().cloned())
        else {
            return false;
        };
        let name = request.headers().get(header::USER_AGENT);
        let application = Application::of(&String::from_utf8_lossy(
            name.map(|name| name.as_bytes()).unwrap_or_default(),
        ));
        let may = self.addresses.reachable.is_named(authority)
            && interception.config(authority).is_some()
            && !interception.is_exempt(authority, &application);
        if !may {
            return false;
        }
        let may_connect = self.may_connect(authority);
        if self.upstream.requests_client_certificate(authority, may_connect).await {
            let reason = ExemptionReason::ClientCertificate;
            exempt(interception, authority, Application::All, reason);
            return false;
        }
        let near = hyper::upgrade::on(request);
        let accepted = Accepted { authority: authority.clone(), application, near };
        *slot.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(accepted);
        true
    }

    /// Whether an origin may be reachable, as far as is known.
    fn may_connect(&self, authority: &Authority) -> bool {
        let location = format!("https://{authority}/").parse().ok();
        let (Some(driver), Some(location)) = (&self.driver, location) else { return true };
        driver.inspect(|state| state.is_online(&location))
    }

    /// Serves the rest of a connection that was accepted for interception.
    pub(super) async fn serve_intercepted(
        &self,
        accepted: Accepted,
        connection: Connection,
        mut stopping: watch::Receiver<bool>,
    ) {
        let Accepted { authority, application, near } = accepted;
        let Some(interception) = &self.tls_interception else { return };
        let stops = stopping.clone();
        let encrypted = tokio::select! {
            encrypted = self.encrypted(interception, &authority, near) => encrypted,
            // An error means that the gateway is gone.
            _ = stopping.wait_for(|stopping| *stopping) => return,
        };
        let served = match encrypted {
            Ok(None) => return,
            Ok(Some(stream)) => {
                let connection = Connection { intercepted: Some(authority.clone()), ..connection };
                // Some applications check the certificate after the handshake.
                answer_all(stream, self, connection, stops).await.map_err(Fault::Connection)
            }
            Err(error) => Err(Fault::Handshake(error)),
        };
        let Err(fault) = served else { return };
        match fault.refusal() {
            Some(alert) => {
                let reason = ExemptionReason::CertificateRefused(format!("{alert:?}"));
                exempt(interception, &authority, application, reason);
            }
            None => tracing::debug!(%fault, %authority, "intercepted connection ended"),
        }
    }

    /// Completes the handshake of an application; `None` if the connection is tunnelled or was closed.
    async fn encrypted(
        &self,
        interception: &TlsInterception,
        authority: &Authority,
        near: OnUpgrade,
    ) -> io::Result<Option<TlsStream<Replayed<TokioIo<hyper::upgrade::Upgraded>>>>> {
        let near = TokioIo::new(near.await.map_err(io::Error::other)?);
        let mut opening = Opening::read(near).await;
        let is_for_it = opening.server_name().is_none_or(|name| names(&name, authority));
        let config = interception.config(authority).filter(|_| is_for_it);
        let Some(config) = config.filter(|config| opening.fits(Arc::clone(config))) else {
            tracing::debug!(%authority, "tunnelling a connection that cannot be intercepted");
            self.tunnel_accepted(opening.stream, authority).await;
            return Ok(None);
        };
        let handshake = TlsAcceptor::from(config).accept(opening.stream);
        match timeout(self.limits.head_time, handshake).await {
            Ok(stream) => stream.map(Some),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

/// Whether a name of a ClientHello is the host of an authority.
fn names(name: &str, authority: &Authority) -> bool {
    Host::parse(name).is_ok_and(|host| host == *authority.host())
}

fn exempt(
    interception: &TlsInterception,
    authority: &Authority,
    application: Application,
    reason: ExemptionReason,
) {
    let minutes = EXEMPTION.as_secs() / 60;
    tracing::warn!(%authority, %application, %reason, minutes, "https is tunnelled, not intercepted");
    interception.exempt(authority, application, reason);
}

/// Error of an intercepted connection.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("the TLS handshake failed: {0}")]
    Handshake(#[source] io::Error),
    #[error(transparent)]
    Connection(hyper::Error),
}

impl Fault {
    /// Alert by which the application refused the certificate, if it did.
    fn refusal(&self) -> Option<AlertDescription> {
        let error = match self {
            Self::Handshake(error) => error,
            Self::Connection(error) => error.source()?.downcast_ref::<io::Error>()?,
        };
        match error.get_ref()?.downcast_ref::<rustls::Error>()? {
            rustls::Error::AlertReceived(alert) if is_refusal(*alert) => Some(*alert),
            _ => None,
        }
    }
}

fn is_refusal(alert: AlertDescription) -> bool {
    matches!(
        alert,
        AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied
            | AlertDescription::BadCertificateStatusResponse
    )
}
