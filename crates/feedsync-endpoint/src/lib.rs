#![doc = env!("CARGO_PKG_DESCRIPTION")]
