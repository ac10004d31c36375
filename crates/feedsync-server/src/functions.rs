//! Functions of design documents, executed by processes.

use std::sync::Arc;

use async_trait::async_trait;
use feedsync_couch::{Refusal, RefusalKind, text};
use feedsync_endpoint::documents::validation::{
    ProposedUpdate, ValidationContext, ValidationFunction, ValidationFunctions,
};
use feedsync_formats::json::Node;
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
impl ValidationFunctions for HostedFunctions {
    async fn validate(
        &self,
        function: &ValidationFunction,
        updates: &[ProposedUpdate],
        context: ValidationContext<'_>,
    ) -> Result<Vec<Option<Refusal>>, Refusal> {
        let pairs: Vec<(&str, Option<&str>)> =
            updates.iter().map(|update| (&*update.document, update.before.as_deref())).collect();
        let call =
            Call::Validate { updates: &pairs, user: context.user, security: context.security };
        // The name stands for one text, whichever database has it.
        let digest = Sha256::digest(function.source.as_bytes());
        let name: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let design = Design { name: &name, source: &function.source };
        let design_id = function.design.as_str();
        let failed = |error: CallError| {
            let kind = match error {
                CallError::Busy => RefusalKind::Unavailable,
                CallError::Missing(_) | CallError::Compilation(_) => RefusalKind::Compilation,
                _ => RefusalKind::FunctionProcess,
            };
            tracing::warn!(design = design_id, %error, "cannot execute validate_doc_update");
            kind.with_reason(format_args!("validate_doc_update of {design_id}: {error}"))
        };
        let result = self.host.call(design, &call).await.map_err(failed)?;
        let refusals: Vec<_> =
            Node::root(&result).elements().map(|said| refusal(said, design_id)).collect();
        match refusals.len() == updates.len() {
            true => Ok(refusals),
            false => Err(failed(CallError::Process("a result of another length".to_owned()))),
        }
    }
}

/// The refusal that a function has stated.
fn refusal(said: Node<'_>, design: &str) -> Option<Refusal> {
    let member = |name: &str| {
        let member = said.member(name)?;
        Some(text(member.value).map_or_else(|| member.value.raw().to_owned(), |it| it.into_owned()))
    };
    if let Some(reason) = member("forbidden") {
        return Some(RefusalKind::Forbidden.with_reason(reason));
    }
    if let Some(reason) = member("unauthorized") {
        return Some(RefusalKind::Unauthorized.with_reason(reason));
    }
    let thrown = member("thrown")?;
    let reason = format_args!("validate_doc_update of {design} failed: {thrown}");
    Some(RefusalKind::Forbidden.with_reason(reason))
}
