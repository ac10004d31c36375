//! Certificate of a hub from an authority that speaks ACME (RFC 8555), with `acme-tls/1` as proof (RFC 8737).

mod client;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use feedsync_client::{FileReaders, replace_file};
use feedsync_fetch::Fetcher;
use feedsync_server::{Config, ServedCertificate};
use feedsync_store::owned;
use instant_acme::{
    Account, AccountCredentials, AuthorizationStatus, ChallengeType, Identifier, NewAccount,
    NewOrder, OrderStatus, RetryPolicy,
};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::failure::Failure;
use client::AcmeClient;

/// Directory within the data directory.
const DIRECTORY: &str = "acme";

/// File with the certificates and the key: one file, so that they always belong together.
const CERTIFICATE: &str = "certificate.pem";

/// File with the account at the authority.
const ACCOUNT: &str = "account.json";

/// File with the names of the certificate.
const NAMES: &str = "names.json";

/// Maximum time for one attempt.
const MAX_ATTEMPT: Duration = Duration::from_secs(10 * 60);

/// Pause after a first failure. Each further one doubles it, so that an hour has five attempts at most.
const FIRST_PAUSE: Duration = Duration::from_secs(2 * 60);

/// Maximum pause between attempts.
const MAX_PAUSE: Duration = Duration::from_secs(6 * 60 * 60);

/// Maximum time between two looks at the certificate. The clock may have been set meanwhile.
const MAX_SLEEP: Duration = Duration::from_secs(12 * 60 * 60);

/// Directory of the account and the certificate within a data directory.
pub(crate) fn directory(data: &Path) -> PathBuf {
    data.join(DIRECTORY)
}

/// The certificate of a hub that an authority issues.
#[derive(Debug)]
pub(super) struct AcmeCertificate {
    directory: PathBuf,
    names: Vec<String>,
    contact: Option<String>,
    authority: String,
    fetcher: Fetcher,
}

/// Reason why there is no new certificate.
#[derive(Debug, thiserror::Error)]
enum AcmeError {
    #[error(transparent)]
    Protocol(#[from] instant_acme::Error),
    #[error(transparent)]
    Use(#[from] feedsync_server::CertificateError),
    #[error(transparent)]
    Address(#[from] feedsync_fetch::FetchError),
    #[error(transparent)]
    Challenge(#[from] feedsync_server::ChallengeError),
    #[error("{path}: {source}", path = path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("the authority offers no check by acme-tls/1 for {0}")]
    NoChallenge(String),
    #[error("the authority cannot confirm the names: {0}")]
    Refused(String),
    #[error("the authority did not finish within ten minutes")]
    Late,
}

impl AcmeCertificate {
    /// The certificate that a configuration asks for, which then names its file. `None` if it asks for none.
    pub(super) fn configured(
        data: &Path,
        fetcher: &Fetcher,
        config: &mut Config,
    ) -> Result<Option<Self>, Failure> {
        if config.tls.acme_names.is_empty() {
            return Ok(None);
        }
        let directory = directory(data);
        owned::make_directory(&directory)
            .map_err(|error| Failure::file(&directory.display().to_string(), &error))?;
        let file = directory.join(CERTIFICATE);
        config.tls.certificate = Some(file.clone());
        config.tls.key = Some(file);
        Ok(Some(Self {
            directory,
            names: config.tls.acme_names.clone(),
            contact: config.tls.acme_contact.clone(),
            authority: config.tls.acme_directory.clone(),
            fetcher: fetcher.clone(),
        }))
    }

    /// Gets the certificate when there is none, renews it after two thirds of its life, and tries again after failures.
    pub(super) async fn run(self, served: ServedCertificate) {
        let mut pause = FIRST_PAUSE;
        loop {
            if let Some(wait) = self.remaining(&served) {
                sleep(wait.min(MAX_SLEEP)).await;
                continue;
            }
            let attempt = timeout(MAX_ATTEMPT, self.obtain(&served)).await;
            served.end_challenges();
            match attempt.unwrap_or(Err(AcmeError::Late)) {
                Ok(()) => tracing::info!(names = ?self.names, "the hub has a new certificate"),
                Err(error) => {
                    let seconds = pause.as_secs();
                    tracing::warn!(%error, seconds, "no certificate from the authority; trying again");
                }
            }
            // One that is due at once, because the clock is wrong, say, is no reason to ask the authority again at once.
            match self.remaining(&served) {
                Some(_) => pause = FIRST_PAUSE,
                None => {
                    sleep(pause).await;
                    pause = (pause * 2).min(MAX_PAUSE);
                }
            }
        }
    }

    /// Time until the certificate has to be renewed; `None` if it is due.
    fn remaining(&self, served: &ServedCertificate) -> Option<Duration> {
        let names = fs::read(self.directory.join(NAMES)).ok()?;
        let names: Value = serde_json::from_slice(&names).ok()?;
        if names != json!({ "names": self.names, "authority": self.authority }) {
            return None;
        }
        served.renewal()?.duration_since(SystemTime::now()).ok()
    }

    /// Proves to the authority that the hub has the names, stores the certificate, and has the hub use it.
    async fn obtain(&self, served: &ServedCertificate) -> Result<(), AcmeError> {
        let account = self.account().await?;
        let names: Vec<_> = self.names.iter().cloned().map(Identifier::Dns).collect();
        let mut order = account.new_order(&NewOrder::new(&names)).await?;
        let mut authorizations = order.authorizations();
        while let Some(authorization) = authorizations.next().await {
            let mut authorization = authorization?;
            if authorization.status == AuthorizationStatus::Valid {
                continue;
            }
            let name = authorization.identifier().to_string();
            let challenge = authorization.challenge(ChallengeType::TlsAlpn01);
            let mut challenge = challenge.ok_or_else(|| AcmeError::NoChallenge(name.clone()))?;
            let proof = challenge.key_authorization();
            served.answer_challenge(&name, proof.digest().as_ref())?;
            challenge.set_ready().await?;
        }
        let retries = RetryPolicy::new().timeout(MAX_ATTEMPT);
        let status = order.poll_ready(&retries).await?;
        if status != OrderStatus::Ready {
            let error = order.state().error.as_ref().map(ToString::to_string);
            return Err(AcmeError::Refused(error.unwrap_or_else(|| format!("{status:?}"))));
        }
        let key = order.finalize().await?;
        let chain = order.poll_certificate(&retries).await?;
        self.write(CERTIFICATE, format!("{chain}\n{key}").as_bytes())?;
        let names = json!({ "names": self.names, "authority": self.authority });
        self.write(NAMES, names.to_string().as_bytes())?;
        Ok(served.reload()?)
    }

    /// The account at the authority, which is made when the authority is first used.
    async fn account(&self) -> Result<Account, AcmeError> {
        let client = AcmeClient::new(&self.fetcher, &self.authority)?;
        let client = Account::builder_with_http(Box::new(client));
        if let Some(credentials) = self.stored_account() {
            return Ok(client.from_credentials(credentials).await?);
        }
        let contact = self.contact.as_ref().map(|address| format!("mailto:{address}"));
        let contact: Vec<&str> = contact.as_deref().into_iter().collect();
        let new = NewAccount {
            contact: &contact,
            terms_of_service_agreed: true,
            only_return_existing: false,
        };
        let (account, credentials) = client.create(&new, self.authority.clone(), None).await?;
        let stored = json!({ "authority": self.authority, "credentials": credentials });
        self.write(ACCOUNT, stored.to_string().as_bytes())?;
        Ok(account)
    }

    fn stored_account(&self) -> Option<AccountCredentials> {
        let stored = fs::read(self.directory.join(ACCOUNT)).ok()?;
        let mut stored: Value = serde_json::from_slice(&stored).ok()?;
        let is_there = stored["authority"] == self.authority.as_str();
        serde_json::from_value(stored["credentials"].take()).ok().filter(|_| is_there)
    }

    /// Replaces a file atomically; only its owner can read it.
    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), AcmeError> {
        let path = self.directory.join(name);
        let written = replace_file(&path, bytes, FileReaders::Owner);
        written.map_err(|source| AcmeError::File { path, source })
    }
}
