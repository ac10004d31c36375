//! Functions of design documents, executed by processes.

use std::sync::Arc;

use async_trait::async_trait;
use feedsync_couch::DocumentId;
use feedsync_endpoint::documents::functions::{DesignFunctions, DesignSource};
use feedsync_functions::host::{Design, Host, Program};
use feedsync_functions::{Call, CallError};
use sha2::{Digest as _, Sha256};

/// Number of processes that validate documents at the same time.
const VALIDATING_PROCESSES: usize = 2;

/// Number of processes that execute other functions at the same time. They may take long, so documents are validated by
/// others.
const OTHER_PROCESSES: usize = 2;

/// Executes functions by processes of a program, which are started when they are needed.
#[derive(Debug)]
pub struct HostedFunctions {
    validating: Host,
    other: Host,
}

impl HostedFunctions {
    /// Returns what executes functions by this program.
    pub fn new(program: Program) -> Arc<Self> {
        let other = Host::new(program.clone(), OTHER_PROCESSES);
        Arc::new(Self { validating: Host::new(program, VALIDATING_PROCESSES), other })
    }
}

#[async_trait]
impl DesignFunctions for HostedFunctions {
    async fn call(&self, design: &DesignSource, call: &Call<'_>) -> Result<String, CallError> {
        // The name stands for one text, whichever database has it.
        let digest = Sha256::digest(design.source.as_bytes());
        let name: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let host = match call {
            Call::Validate { .. } => &self.validating,
            _ => &self.other,
        };
        let result = host.call(Design { name: &name, source: &design.source }, call).await;
        if let Err(error) = &result {
            tracing::warn!(design = design.id.as_str(), %error, "cannot execute a function of a design document");
        }
        result
    }

    fn report_skipped(&self, design: &DesignSource, document: &DocumentId, error: &CallError) {
        let (design, document) = (design.id.as_str(), document.as_str());
        tracing::warn!(design, document, %error, "a document has no rows in views");
    }
}
