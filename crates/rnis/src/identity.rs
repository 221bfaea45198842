//! The identities of the cells in the network.

use crate::types::{Ecgi, Plmn};
use justfull_base::ConfigError;

/// The first cell of the reports, and the bearers of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellIdentity {
    /// Mobile country code, three digits.
    pub mcc: String,
    /// Mobile network code, two or three digits.
    pub mnc: String,
    /// The cell's identity in the network: seven hexadecimal digits of 28 bits. Each further cell
    /// has the next number.
    pub cell_id: String,
    /// QoS class of its bearers.
    pub qci: u8,
}

impl Default for CellIdentity {
    /// The network for tests, its first cell, and the default class.
    fn default() -> Self {
        Self { mcc: "001".into(), mnc: "01".into(), cell_id: "0000001".into(), qci: 9 }
    }
}

impl CellIdentity {
    /// Checks it.
    ///
    /// # Errors
    /// The field that does not have the standards' form.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        let hex = self.cell_id.bytes().all(|b| b.is_ascii_hexdigit());
        let refused = |field, found: &str, allowed: &str| {
            Err(ConfigError::new(field, &found, allowed, "TS 23.003 section 2.2"))
        };
        if self.mcc.len() != 3 || !digits(&self.mcc) {
            refused("mcc", &self.mcc, "three digits")
        } else if !(2..=3).contains(&self.mnc.len()) || !digits(&self.mnc) {
            refused("mnc", &self.mnc, "two or three digits")
        } else if self.cell_id.len() != 7 || !hex {
            refused("cell_id", &self.cell_id, "seven hexadecimal digits")
        } else {
            Ok(())
        }
    }

    /// The identity of cell `number` in the network; after the last number of 28 bits comes 0.
    pub(crate) fn of(&self, number: usize) -> String {
        let first = usize::from_str_radix(&self.cell_id, 16).unwrap_or(0);
        let digits = format!("{:07x}", (first + number) & 0x0fff_ffff);
        // The first one keeps its form.
        if number == 0 { self.cell_id.clone() } else { digits }
    }

    pub(crate) fn ecgi(&self, number: usize) -> Ecgi {
        Ecgi { cell_id: self.of(number), plmn: self.plmn() }
    }

    pub(crate) fn plmn(&self) -> Plmn {
        Plmn { mcc: self.mcc.clone(), mnc: self.mnc.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_consecutive_numbers_of_28_bits_and_the_first_keeps_its_form() {
        let of = |first: &str, number| {
            CellIdentity { cell_id: first.into(), ..CellIdentity::default() }.of(number)
        };
        assert_eq!((of("0000001", 0), of("0000001", 1)), ("0000001".into(), "0000002".into()));
        assert_eq!((of("00000FF", 0), of("00000FF", 1)), ("00000FF".into(), "0000100".into()));
        assert_eq!(of("fffffff", 1), "0000000");
    }
}
