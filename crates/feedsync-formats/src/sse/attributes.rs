//! Values of SSE attributes (1.2, 2).

use std::fmt::Display;

use feedsync_core::sse::{Date, Stamp, VersionNumber};
use feedsync_core::{By, IdentifierError, ItemId};

use crate::remarks::{Fault, Remarks};
use crate::xml::{Attribute, Element, Namespace, is_white};

/// The attributes of one element, with the data for reporting their faults.
pub(super) struct Attributes<'t, 'a, 'r> {
    element: Element<'t, 'a>,
    clause: &'static str,
    remarks: &'r mut Remarks,
}

impl<'t, 'a, 'r> Attributes<'t, 'a, 'r> {
    pub(super) fn new(
        element: Element<'t, 'a>,
        clause: &'static str,
        remarks: &'r mut Remarks,
    ) -> Self {
        Self { element, clause, remarks }
    }

    pub(super) fn find(&self, name: &str) -> Option<(&'t Attribute, String)> {
        let attribute = self.element.attribute(Namespace::NONE, name)?;
        Some((attribute, attribute.value(self.element.document()).into_owned()))
    }

    pub(super) fn fault(&self, attribute: &Attribute, problem: impl Display) -> Fault {
        let text = self.element.document();
        let shown: String = attribute.value(text).chars().take(80).collect();
        let message = format!("{}={shown:?}: {problem}", attribute.local(text));
        Fault::new(attribute.start(), self.clause, message)
    }

    /// Creates the fault of a missing required attribute.
    pub(super) fn missing(&self, name: &str) -> Fault {
        let message = format!("{} lacks the attribute {name:?}", self.element.name());
        Fault::new(self.element.span().start, self.clause, message)
    }

    /// Reads a required value that is not blank.
    pub(super) fn text(&self, name: &str) -> Result<String, Fault> {
        match self.find(name) {
            None => Err(self.missing(name)),
            Some((attribute, value)) if is_white(&value) => {
                Err(self.fault(attribute, "must not be empty"))
            }
            Some((_, value)) => Ok(value),
        }
    }

    /// Reads the id of an item (S16).
    pub(super) fn item_id(&mut self, name: &str) -> Result<ItemId, Fault> {
        let id = self.identifier(name, ItemId::new, ItemId::has_reserved)?;
        id.ok_or_else(|| self.missing(name))
    }

    /// Reads a version number (S17, R-S3).
    pub(super) fn version(&self, name: &str) -> Result<VersionNumber, Fault> {
        let (attribute, value) = self.find(name).ok_or_else(|| self.missing(name))?;
        value.parse().map_err(|error| self.fault(attribute, error))
    }

    /// Reads a flag: `true`, or `false`, an empty value or none for false (S18, S19).
    pub(super) fn flag(&self, name: &str) -> Result<bool, Fault> {
        let Some((attribute, value)) = self.find(name) else { return Ok(false) };
        match value.as_str() {
            "true" => Ok(true),
            "false" | "" => Ok(false),
            _ => Err(self.fault(attribute, "must be \"true\", \"false\" or empty")),
        }
    }

    /// Reads a date-time (S3). If `blank` allows it, a blank value counts as absent (S6, S12).
    pub(super) fn date(&mut self, name: &str, blank: Blank) -> Result<Option<Date>, Fault> {
        let Some((attribute, value)) = self.find(name) else { return Ok(None) };
        if blank == Blank::Absent && is_white(&value) {
            return Ok(None);
        }
        let date: Date = value.parse().map_err(|error| self.fault(attribute, error))?;
        if !date.is_gmt() {
            let warning = self.fault(attribute, "the zone is written GMT");
            self.remarks.warn(warning);
        }
        Ok(Some(date))
    }

    /// Reads `when` and `by`, of which at least one is required (S20, S51). An empty `by` counts as
    /// absent (R-S4).
    pub(super) fn stamp(&mut self) -> Result<Stamp, Fault> {
        let when = self.date("when", Blank::Fault)?;
        let empty = self.find("by").is_some_and(|(_, by)| by.is_empty());
        let by = if empty { None } else { self.identifier("by", By::new, By::has_reserved)? };
        Stamp::new(when, by).map_err(|_| {
            let message = format!("{} needs a 'when', a 'by', or both", self.element.name());
            Fault::new(self.element.span().start, self.clause, message)
        })
    }

    fn identifier<T>(
        &mut self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, IdentifierError>,
        has_reserved: impl Fn(&T) -> bool,
    ) -> Result<Option<T>, Fault> {
        let Some((attribute, value)) = self.find(name) else { return Ok(None) };
        let identifier = parse(&value).map_err(|error| self.fault(attribute, error))?;
        if has_reserved(&identifier) {
            let warning = self.fault(attribute, "'/', '?' and '#' are better percent-encoded");
            self.remarks.warn(warning);
        }
        Ok(Some(identifier))
    }
}

/// Meaning of a blank date-time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blank {
    /// The value counts as absent (2.1, 2.2).
    Absent,
    /// The value is a fault.
    Fault,
}
