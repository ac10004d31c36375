//! Reads `sx:sharing` and `sx:related` (2.1, 2.2). A faulty part counts as absent and is reported.

use feedsync_core::RelatedKind;
use feedsync_core::sse::{Date, Related, Sharing, VERSION};

use super::attributes::{Attributes, Blank};
use crate::remarks::{Fault, Remarks};
use crate::xml::Element;

const CLAUSE: &str = "SSE 2.1";

/// Reads an `sx:sharing`.
pub(super) fn read_sharing(element: Element<'_, '_>, remarks: &mut Remarks) -> Sharing {
    let since = date(element, "since", CLAUSE, remarks);
    let until = date(element, "until", CLAUSE, remarks);
    let attributes = Attributes::new(element, CLAUSE, remarks);
    let version = attributes.text("version");
    let window = match attributes.find("window").filter(|(_, value)| !value.trim().is_empty()) {
        None => Ok(None),
        Some((attribute, days)) => match days.trim().parse() {
            Ok(days) => Ok(Some(days)),
            Err(_) => Err(attributes.fault(attribute, "must be a whole number of days")),
        },
    };
    let unknown_version = match (&version, attributes.find("version")) {
        (Ok(version), Some((attribute, _))) if version != VERSION => {
            Some(attributes.fault(attribute, format!("this is SSE {VERSION}")))
        }
        _ => None,
    };
    if let Some(warning) = unknown_version {
        remarks.warn(warning);
    }
    let related = element
        .children()
        .filter(|child| child.namespace().is_sse() && child.local() == "related")
        .filter_map(|child| {
            read_related(child, remarks).map_err(|fault| remarks.remark(fault)).ok()
        })
        .collect();
    Sharing {
        since,
        until,
        version: version.map_err(|fault| remarks.remark(fault)).unwrap_or_default(),
        window: window.map_err(|fault| remarks.remark(fault)).unwrap_or_default(),
        related,
    }
}

fn read_related(element: Element<'_, '_>, remarks: &mut Remarks) -> Result<Related, Fault> {
    const CLAUSE: &str = "SSE 2.2";
    let since = date(element, "since", CLAUSE, remarks);
    let until = date(element, "until", CLAUSE, remarks);
    let attributes = Attributes::new(element, CLAUSE, remarks);
    let kind = match attributes.text("type")?.as_str() {
        "complete" => RelatedKind::Complete,
        "aggregated" => RelatedKind::Aggregated,
        other => {
            let message = format!("type={other:?}: must be \"complete\" or \"aggregated\"");
            return Err(Fault::new(element.span().start, CLAUSE, message));
        }
    };
    let title = attributes.find("title").map(|(_, title)| title);
    Ok(Related { link: attributes.text("link")?, title, kind, since, until })
}

fn date(
    element: Element<'_, '_>,
    name: &str,
    clause: &'static str,
    remarks: &mut Remarks,
) -> Option<Date> {
    let date = Attributes::new(element, clause, remarks).date(name, Blank::Absent);
    date.map_err(|fault| remarks.remark(fault)).unwrap_or_default()
}
