//! Conversion between stored values and the JSON texts of rows. A text that cannot be converted back is reported
//! as damaged.

mod edit;
mod error;
mod fields;
mod resource;
mod subscription;

pub(crate) use edit::{edit, edit_value, remaining_edit, shown, shown_value};
pub(crate) use error::{error, error_value};
pub use fields::Damaged;
pub(crate) use fields::{Fields, bytes_of, content_value, header_list, partition_text};
pub(crate) use resource::{AddressRow, belonging, belonging_value};
pub(crate) use subscription::{subscription, subscription_value};
