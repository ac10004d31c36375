//! `GET /authority.crt`: the certificate of the authority that signed the certificate of the hub, for devices that are to trust it.
//!
//! It is public, as the certificate of the hub is. A device that gets it over a connection that it does not trust yet compares its
//! fingerprint with the one that the hub printed.

use std::path::Path;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, header};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use crate::access::call::Call;
use crate::http::bounded_file;
use crate::http::problem::Problem;
use crate::hub::Hub;

/// Maximum size of the file, in bytes.
const MAX_FILE_BYTES: u64 = 64 << 10;

/// Media type with which browsers offer to install a certificate.
const MEDIA_TYPE: &str = "application/x-x509-ca-cert";

/// Reads the first certificate of a PEM file, in DER. Nothing else of the file is ever served. A file that has none is logged.
pub(crate) fn load(file: Option<&Path>) -> Option<Bytes> {
    let file = file?;
    match read_file(file) {
        Ok(certificate) => Some(certificate),
        Err(error) => {
            tracing::warn!(file = %file.display(), %error, "the certificate of the authority cannot be read and is not served");
            None
        }
    }
}

fn read_file(file: &Path) -> std::io::Result<Bytes> {
    let bytes = bounded_file::read(file, MAX_FILE_BYTES)?;
    let certificate = CertificateDer::from_pem_slice(&bytes);
    let certificate = certificate.map_err(|error| std::io::Error::other(error.to_string()))?;
    Ok(Bytes::copy_from_slice(&certificate))
}

/// `GET /authority.crt`.
pub(crate) async fn read(State(hub): State<Hub>, _: Call) -> Result<Response, Problem> {
    let certificate = hub.authority.clone();
    let missing = || Problem::not_found("this hub has no certificate authority of its own");
    let certificate = certificate.ok_or_else(missing)?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    Ok((headers, certificate).into_response())
}
