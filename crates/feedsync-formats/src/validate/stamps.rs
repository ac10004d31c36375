//! Checks `when` and `by`. At least one is required, and both are recommended.

use super::findings::Findings;
use crate::remarks::Fault;
use crate::xml::{Attribute, Namespace};

/// Checks the attributes of `sx:history`, `sx:update` or `sx:conflict`.
pub(super) fn check(
    text: &str,
    (start, name): (usize, &str),
    attributes: &[Attribute],
    (clause, findings): (&'static str, &mut Findings),
) {
    let has = |wanted: &str| {
        attributes.iter().any(|attribute| {
            attribute.namespace() == Namespace::NONE
                && attribute.local(text) == wanted
                && !attribute.value(text).is_empty()
        })
    };
    if let Some((message, is_fault)) = missing(name, has("when"), has("by")) {
        let fault = Fault::new(start, clause, message);
        if is_fault { findings.fault_read_too(fault) } else { findings.warn(fault) }
    }
}

/// Returns the message about an incomplete stamp, and whether it is a fault.
pub(super) fn missing(name: &str, when: bool, by: bool) -> Option<(String, bool)> {
    let (lacks, recommended) = match (when, by) {
        (true, true) => return None,
        (false, false) => {
            return Some((format!("{name} has neither 'when' nor 'by'"), true));
        }
        (true, false) => ("by", "it does not distinguish endpoints"),
        (false, true) => ("when", "it loses against every equal version that has one"),
    };
    Some((format!("{name} lacks '{lacks}', which is recommended: {recommended}"), false))
}
