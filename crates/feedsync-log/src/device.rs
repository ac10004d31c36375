//! Devices, which write into a log, and the ids of their records.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::stamp::decimal;

/// Name of a replica's incarnation. The replica numbers its records in one sequence, so no two replicas may
/// share a device. The name has at most 64 letters, digits, `_` and `-`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Device(Arc<str>);

/// A text that is not the name of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a device name: use 1 to 64 letters, digits, '_' or '-'")]
pub struct DeviceError;

impl Device {
    /// A new device, named by 64 random bits.
    pub fn minted(random: u64) -> Self {
        Self(format!("{random:016x}").into())
    }

    /// The text of the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Device {
    type Err = DeviceError;
    fn from_str(text: &str) -> Result<Self, DeviceError> {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if (1..=64).contains(&text.len()) && text.bytes().all(legal) {
            Ok(Self(text.into()))
        } else {
            Err(DeviceError)
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

/// Id of a record: its device, and its number among the records of that device, from 1. No other record ever
/// has this id (LR7, LR14).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId {
    /// Device that made the record.
    pub device: Device,
    /// Number among the records of that device.
    pub sequence: u64,
}

/// A text that is not the id of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the id of a record: use a device name, ':' and a number from 1")]
pub struct RecordIdError;

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.device, self.sequence)
    }
}

impl FromStr for RecordId {
    type Err = RecordIdError;
    fn from_str(text: &str) -> Result<Self, RecordIdError> {
        let (device, sequence) = text.split_once(':').ok_or(RecordIdError)?;
        let device = device.parse().map_err(|_| RecordIdError)?;
        match decimal(sequence) {
            Ok(sequence @ 1..) => Ok(Self { device, sequence }),
            _ => Err(RecordIdError),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_or_are_refused() {
        for legal in ["a", "9", "Anna_laptop-2", &"x".repeat(64)] {
            let device: Device = legal.parse().unwrap();
            assert_eq!(device.as_str(), legal);
            assert_eq!(format!("{device} {device:?}"), format!("{legal} \"{legal}\""));
        }
        for illegal in ["", "a.b", "a b", "é", "a@b", "a:b", &"x".repeat(65)] {
            assert_eq!(illegal.parse::<Device>(), Err(DeviceError), "{illegal}");
        }
        let id: RecordId = "laptop:18446744073709551615".parse().unwrap();
        assert_eq!(id.to_string(), "laptop:18446744073709551615");
        for illegal in ["laptop", "laptop:", "laptop:0", "laptop:01", ":1", "a:b:1", "a:-1"] {
            assert_eq!(illegal.parse::<RecordId>(), Err(RecordIdError), "{illegal}");
        }
    }

    #[test]
    fn a_minted_device_is_a_device() {
        for random in [0, u64::MAX] {
            let minted = Device::minted(random);
            assert_eq!(minted.as_str().parse(), Ok(minted.clone()));
        }
    }
}
