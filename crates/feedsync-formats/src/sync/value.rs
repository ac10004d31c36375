//! Values of FeedSync attributes (2.1).

use std::fmt::Display;
use std::str::FromStr;

use feedsync_core::{By, CounterError, IdentifierError, ItemId, Timestamp};

use super::signers::Signers;
use crate::options::Mode;
use crate::remarks::{Fault, Remarks};
use crate::xml::{Attribute, Element};

/// The attributes of one FeedSync element, with the data for reporting their faults.
pub(super) struct Attributes<'t, 'a, 'r> {
    element: Element<'t, 'a>,
    clause: &'static str,
    mode: Mode,
    remarks: &'r mut Remarks,
}

impl<'t, 'a, 'r> Attributes<'t, 'a, 'r> {
    pub(super) fn new(
        element: Element<'t, 'a>,
        clause: &'static str,
        mode: Mode,
        remarks: &'r mut Remarks,
    ) -> Self {
        Self { element, clause, mode, remarks }
    }

    fn find(&self, name: &str) -> Option<&'t Attribute> {
        self.element.attribute(crate::xml::Namespace::NONE, name)
    }

    fn fault(&self, attribute: &Attribute, problem: impl Display) -> Fault {
        let text = self.element.document();
        let name = attribute.local(text);
        let value = attribute.value(text);
        let shown: String = value.chars().take(80).collect();
        Fault::new(attribute.start(), self.clause, format!("{name}={shown:?}: {problem}"))
    }

    /// Reads a text that is not empty, if the attribute is present (2.1 rule 2).
    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, Fault> {
        let Some(attribute) = self.find(name) else { return Ok(None) };
        let value = attribute.value(self.element.document());
        if value.is_empty() {
            return Err(self.fault(attribute, "must not be empty"));
        }
        Ok(Some(value.into_owned()))
    }

    /// Creates the fault of a missing required attribute.
    pub(super) fn missing(&self, name: &str) -> Fault {
        let message = format!("{} lacks the attribute {name:?}", self.element.name());
        Fault::new(self.element.span().start, self.clause, message)
    }

    /// Reads a whole number from 1 to 2^31-1 (2.4, 2.5). Tolerant reading accepts leading zeros.
    pub(super) fn counter<T: FromStr<Err = CounterError>>(
        &mut self,
        name: &str,
    ) -> Result<T, Fault> {
        let Some(attribute) = self.find(name) else { return Err(self.missing(name)) };
        let value = attribute.value(self.element.document());
        let parsed = value.parse();
        if let (Err(CounterError::Shape), Mode::Tolerant, Some(number)) =
            (&parsed, self.mode, value.strip_prefix('0'))
        {
            let number = number.trim_start_matches('0');
            if let Ok(counter) = number.parse() {
                let warning = self.fault(attribute, "leading zeros are not allowed");
                self.remarks.warn(warning);
                return Ok(counter);
            }
        }
        parsed.map_err(|error| self.fault(attribute, error))
    }

    /// Reads `true` or `false`, in lower case (2.4).
    pub(super) fn boolean(&mut self, name: &str) -> Result<Option<bool>, Fault> {
        let Some(attribute) = self.find(name) else { return Ok(None) };
        match &*attribute.value(self.element.document()) {
            "true" => Ok(Some(true)),
            "false" => Ok(Some(false)),
            _ => Err(self.fault(attribute, "must be \"true\" or \"false\"")),
        }
    }

    /// Reads a time in UTC, in whole seconds (2.1 rule 5). Tolerant reading accepts lower-case `t`
    /// and `z`.
    pub(super) fn time(&mut self, name: &str) -> Result<Option<Timestamp>, Fault> {
        let Some(attribute) = self.find(name) else { return Ok(None) };
        let value = attribute.value(self.element.document());
        match Timestamp::parse(&value) {
            Ok(time) => Ok(Some(time)),
            Err(error) => match Timestamp::parse_tolerant(&value) {
                Ok(time) if self.mode == Mode::Tolerant => {
                    let warning = self.fault(attribute, error);
                    self.remarks.warn(warning);
                    Ok(Some(time))
                }
                _ => Err(self.fault(attribute, error)),
            },
        }
    }

    /// Reads the id of an item (2.4).
    pub(super) fn item_id(&mut self, name: &str) -> Result<ItemId, Fault> {
        let id = self.identifier(name, ItemId::new, ItemId::has_reserved)?;
        id.ok_or_else(|| self.missing(name))
    }

    /// Reads the id of an endpoint (2.5).
    pub(super) fn by(&mut self, name: &str, signers: &mut Signers) -> Result<Option<By>, Fault> {
        self.identifier(name, |text| signers.by(text), By::has_reserved)
    }

    fn identifier<T>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, IdentifierError>,
        has_reserved: impl Fn(&T) -> bool,
    ) -> Result<Option<T>, Fault> {
        let Some(attribute) = self.find(name) else { return Ok(None) };
        let value = attribute.value(self.element.document());
        let identifier = parse(&value).map_err(|error| self.fault(attribute, error))?;
        if has_reserved(&identifier) {
            let warning = self.fault(attribute, "'/', '?' and '#' are better percent-encoded");
            self.remarks.warn(warning);
        }
        Ok(Some(identifier))
    }
}
