//! The process that executes functions.

use std::io::{self, Read, Write};

use feedsync_formats::json::{Node, push_string};

use super::{Limits, Sandbox};
use crate::error::CallError;
use crate::message;

/// Maximum number of design documents whose sandboxes are kept.
const MAX_SANDBOXES: usize = 8;

/// Answers requests until the input ends, or until a function exceeds the limit of time or memory. The process ends then,
/// which returns the memory of that function.
///
/// The caller must be able to end the process: a limit of time is checked between steps of the language, and some steps,
/// such as sorting a large array, are long.
pub fn serve(input: &mut impl Read, output: &mut impl Write, limits: Limits) -> io::Result<()> {
    // The most recently used one is the last one.
    let mut sandboxes: Vec<(String, Sandbox)> = Vec::new();
    while let Some(request) = message::read(input)? {
        let response = respond(&mut sandboxes, &request, limits);
        message::write(output, response.as_ref().unwrap_or_else(|refusal| refusal))?;
        if response.is_err() {
            break;
        }
    }
    Ok(())
}

/// The response to a request. After an error the process ends.
fn respond(
    sandboxes: &mut Vec<(String, Sandbox)>,
    request: &str,
    limits: Limits,
) -> Result<String, String> {
    let request = Node::root(request);
    let member = |name: &str| request.member(name).map(|member| member.value);
    let (Some(design), Some(call)) = (member("design"), member("call")) else {
        return Ok(refusal("request", "a request has a design document and a call"));
    };
    let design = design.raw().to_owned();
    let known = sandboxes.iter().position(|(name, _)| *name == design);
    let sandbox = match (known, member("source")) {
        (Some(at), _) => Ok(sandboxes.remove(at).1),
        (None, Some(source)) => Sandbox::new(source.raw(), limits),
        (None, None) => return Ok("{\"unknown\":true}".to_owned()),
    };
    let called = sandbox.and_then(|mut sandbox| {
        let response = sandbox.call_text(call.raw())?;
        Ok((sandbox, response))
    });
    match called {
        Ok((sandbox, response)) => {
            if sandboxes.len() == MAX_SANDBOXES {
                sandboxes.remove(0);
            }
            sandboxes.push((design, sandbox));
            Ok(response)
        }
        Err(CallError::TimeLimit) => Err(refusal("time", "")),
        Err(CallError::MemoryLimit) => Err(refusal("memory", "")),
        Err(error) => Ok(refusal("compilation", &error.to_string())),
    }
}

fn refusal(kind: &str, reason: &str) -> String {
    let mut out = format!("{{\"refused\":\"{kind}\",\"reason\":");
    push_string(&mut out, reason);
    out.push('}');
    out
}
