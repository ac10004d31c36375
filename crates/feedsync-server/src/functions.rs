//! Functions of design documents, executed by processes.

use std::sync::Arc;

use async_trait::async_trait;
use feedsync_endpoint::documents::functions::{DesignFunctions, DesignSource};
use feedsync_functions::host::{Design, Host, Program};
use feedsync_functions::{Call, CallError};
use sha2::{Digest as _, Sha256};

/// Number of processes that execute functions at the same time.
const PROCESSES: usize = 2;

/// Executes functions by processes of a program, which are started when they are needed.
#[derive(Debug)]
pub struct HostedFunctions {
    host: Host,
}

impl HostedFunctions {
    /// Returns what executes functions by this program.
    pub fn new(program: Program) -> Arc<Self> {
        Arc::new(Self { host: Host::new(program, PROCESSES) })
    }
}

#[async_trait]
impl DesignFunctions for HostedFunctions {
    async fn call(&self, design: &DesignSource, call: &Call<'_>) -> Result<String, CallError> {
        // The name stands for one text, whichever database has it.
        let digest = Sha256::digest(design.source.as_bytes());
        let name: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let result = self.host.call(Design { name: &name, source: &design.source }, call).await;
        if let Err(error) = &result {
            tracing::warn!(design = design.id.as_str(), %error, "cannot execute a function of a design document");
        }
        result
    }
}
