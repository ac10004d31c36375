//! Connections that are tunnelled untouched for a while, because interception would break them.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use crate::target::Authority;

/// Time for which connections are exempt.
pub(crate) const EXEMPTION: Duration = Duration::from_secs(60 * 60);

/// Maximum number of exemptions; a new one replaces the oldest.
const MAX_EXEMPTIONS: usize = 256;

/// Maximum length of the name of an application, in characters.
const MAX_NAME: usize = 100;

/// Application that an exemption is for: the `User-Agent` of its `CONNECT` request, which may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Application {
    /// All applications.
    All,
    /// Those of this name.
    Named(String),
}

impl Application {
    /// Application that sent a `User-Agent`.
    pub(crate) fn of(name: &str) -> Self {
        Self::Named(name.chars().filter(|char| !char.is_control()).take(MAX_NAME).collect())
    }

    fn includes(&self, other: &Self) -> bool {
        *self == Self::All || self == other
    }
}

impl fmt::Display for Application {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all applications"),
            Self::Named(name) if name.is_empty() => f.write_str("an application without a name"),
            Self::Named(name) => f.write_str(name),
        }
    }
}

/// Connections of an application to an authority that are tunnelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exemption {
    /// The authority.
    pub authority: Authority,
    /// The application.
    pub application: Application,
    /// Reason for it.
    pub reason: ExemptionReason,
    /// Time at which the next connection is intercepted again.
    pub until: SystemTime,
}

/// Reason why connections are tunnelled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExemptionReason {
    /// The application refused the certificate: it does not trust the authority, or accepts only certain
    /// certificates of this host (pinning).
    #[error("the application refused the certificate of the gateway ({0})")]
    CertificateRefused(String),
    /// The server asks for a client certificate, which only the application can have.
    #[error("the server asks for a client certificate")]
    ClientCertificate,
}

/// The current exemptions.
#[derive(Debug, Default)]
pub(super) struct Exemptions(Mutex<VecDeque<Exemption>>);

impl Exemptions {
    /// Adds an exemption, or renews it.
    pub(super) fn add(&self, exemption: Exemption) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|it| {
            (&it.authority, &it.application) != (&exemption.authority, &exemption.application)
        });
        if all.len() == MAX_EXEMPTIONS {
            all.pop_front();
        }
        all.push_back(exemption);
    }

    /// Whether connections of an application to an authority are exempt now.
    pub(super) fn has(
        &self,
        authority: &Authority,
        application: &Application,
        now: SystemTime,
    ) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().any(|it| {
            it.until > now && it.authority == *authority && it.application.includes(application)
        })
    }

    /// Returns the exemptions that have not ended, oldest first.
    pub(super) fn all(&self, now: SystemTime) -> Vec<Exemption> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|it| it.until > now);
        all.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exemption(authority: &str, application: Application, until: SystemTime) -> Exemption {
        let reason = ExemptionReason::ClientCertificate;
        Exemption { authority: authority.parse().unwrap(), application, reason, until }
    }

    #[test]
    fn an_exemption_is_for_one_application_or_all_and_ends() {
        let now = SystemTime::now();
        let exemptions = Exemptions::default();
        let (one, other) = (Application::of("curl/8\n"), Application::of("Mozilla/5.0"));
        exemptions.add(exemption("a.example:443", one.clone(), now + EXEMPTION));
        exemptions.add(exemption("b.example:443", Application::All, now + EXEMPTION));
        let has = |authority: &str, application: &Application, now| {
            exemptions.has(&authority.parse().unwrap(), application, now)
        };
        assert!(has("a.example:443", &Application::of("curl/8"), now));
        assert!(!has("a.example:443", &other, now));
        assert!(!has("a.example:8443", &one, now));
        assert!(has("b.example:443", &other, now));
        assert!(!has("b.example:443", &other, now + EXEMPTION));
        assert_eq!(exemptions.all(now).len(), 2);
        assert_eq!(exemptions.all(now + EXEMPTION), []);
    }

    #[test]
    fn the_number_of_exemptions_is_bounded() {
        let now = SystemTime::now();
        let exemptions = Exemptions::default();
        for number in 0..1_000 {
            let authority = format!("h{number}.example:443");
            for _ in 0..2 {
                exemptions.add(exemption(&authority, Application::All, now + EXEMPTION));
            }
        }
        assert_eq!(exemptions.all(now).len(), MAX_EXEMPTIONS);
        let newest = "h999.example:443".parse().unwrap();
        assert!(exemptions.has(&newest, &Application::All, now));
        assert!(Application::of(&"a".repeat(10_000)).to_string().len() <= MAX_NAME);
    }
}
