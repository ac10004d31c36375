//! Servers that ask for a client certificate. The gateway has none, so that only a tunnel serves their applications.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustls::SignatureScheme;
use rustls::client::ResolvesClientCert;
use rustls::sign::CertifiedKey;
use tokio::time::Instant;

use crate::target::Authority;

/// Time for which an observation counts.
const PERIOD: Duration = Duration::from_secs(60 * 60);

/// Maximum number of observed authorities; more replace all of them.
const MAX_AUTHORITIES: usize = 1_024;

tokio::task_local! {
    /// Whether the server of the handshake that this task runs has asked for a certificate.
    static REQUESTED: Cell<bool>;
}

/// Client without a certificate, which records that one was requested.
#[derive(Debug)]
pub(super) struct NoCertificate;

impl ResolvesClientCert for NoCertificate {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<std::sync::Arc<CertifiedKey>> {
        // Without a scope nobody wants to know.
        let _ = REQUESTED.try_with(|requested| requested.set(true));
        None
    }

    fn has_certs(&self) -> bool {
        false
    }
}

/// Runs a handshake; returns its result, and whether the server asked for a certificate.
pub(super) async fn observed<F: Future>(handshake: F) -> (F::Output, bool) {
    let observed = async {
        let result = handshake.await;
        (result, REQUESTED.with(Cell::get))
    };
    REQUESTED.scope(Cell::new(false), observed).await
}

/// Observations by authority.
#[derive(Debug, Default)]
pub(super) struct CertificateRequests(Mutex<HashMap<Authority, (Instant, bool)>>);

impl CertificateRequests {
    /// Records whether a server asked for a certificate.
    pub(super) fn record(&self, authority: &Authority, was_requested: bool) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_AUTHORITIES && !known.contains_key(authority) {
            known.clear();
        }
        known.insert(authority.clone(), (Instant::now(), was_requested));
    }

    /// Whether a server asks for a certificate, if that was observed within the last hour.
    pub(super) fn known(&self, authority: &Authority) -> Option<bool> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, was_requested) = known.get(authority)?;
        (since.elapsed() < PERIOD).then_some(*was_requested)
    }
}
