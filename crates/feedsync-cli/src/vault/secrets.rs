//! Passphrases that people copy from a screen to a telephone.

use ring::error::Unspecified;
use ring::rand::{SecureRandom as _, SystemRandom};

/// Letters and digits that nobody takes for one another. There are 32, so that each byte gives one without a bias.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// Letters of a group; groups have a hyphen between them.
const GROUP: usize = 4;

/// Fills an array with random bytes of the operating system.
pub(crate) fn random<const LENGTH: usize>() -> Result<[u8; LENGTH], Unspecified> {
    let mut bytes = [0; LENGTH];
    SystemRandom::new().fill(&mut bytes)?;
    Ok(bytes)
}

/// A passphrase with a letter for each byte, that is with five bits of each.
pub(crate) fn passphrase(bytes: &[u8]) -> String {
    let groups = bytes.chunks(GROUP).map(|group| {
        let letter = |byte: &u8| char::from(ALPHABET[usize::from(byte % 32)]);
        group.iter().map(letter).collect::<String>()
    });
    groups.collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passphrase_has_a_letter_for_each_byte_in_groups() {
        assert_eq!(passphrase(&[0, 1, 2, 3, 4, 31, 32, 255]), "abcd-e9a9");
        let letters: std::collections::BTreeSet<_> = ALPHABET.iter().collect();
        assert_eq!(letters.len(), 32);
        assert!(!ALPHABET.iter().any(|letter| b"l1o0".contains(letter)));
        assert_ne!(random::<16>().unwrap(), random::<16>().unwrap());
    }
}
