//! A file that maps a source's own names of UEs to addresses, one UE on each line; it is read again
//! when it changes.

use crate::report::MOST_ADDRESSES;
use justfull_net::Prefix;
use justfull_trace::input::{SETTINGS_LIMIT, read_text};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Addresses of UEs by a source's names.
#[derive(Clone, Debug)]
pub struct UeTable {
    path: PathBuf,
    changed: Option<(SystemTime, u64)>,
    known: BTreeMap<String, Vec<Prefix>>,
}

impl UeTable {
    /// Reads the file: a name and its addresses or prefixes on each line, between blanks; lines
    /// that begin with `#` are left out.
    ///
    /// # Errors
    /// It cannot be read, or a line of it is wrong.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut table = Self { path: path.to_owned(), changed: None, known: BTreeMap::new() };
        table.refresh()?;
        Ok(table)
    }

    /// Reads the file again if it has changed. If it is wrong now, the old addresses stay.
    ///
    /// # Errors
    /// It cannot be read, or a line of it is wrong.
    pub fn refresh(&mut self) -> io::Result<()> {
        let found = self.path.metadata()?;
        let state = (found.modified()?, found.len());
        if self.changed == Some(state) {
            return Ok(());
        }
        self.known = parse(&read_text(&self.path, SETTINGS_LIMIT)?)?;
        self.changed = Some(state);
        Ok(())
    }

    /// Addresses of the UE of that name; none if it is not known.
    #[must_use]
    pub fn addresses(&self, name: &str) -> &[Prefix] {
        self.known.get(name).map_or(&[], Vec::as_slice)
    }

    /// Addresses of the UE with that RNTI; none if it is not known. Its name is the number, the
    /// number in hexadecimal with `0x`, or its four hexadecimal digits alone, as srsRAN
    /// prints it. Digits alone mean the number first.
    #[must_use]
    pub fn of_rnti(&self, rnti: u32) -> &[Prefix] {
        let number = rnti.to_string();
        let hexadecimal = |(name, _): &(&String, &Vec<Prefix>)| {
            let marked = ["0x", "0X"].iter().find_map(|mark| name.strip_prefix(mark));
            let digits = marked.or_else(|| (name.len() == 4).then_some(name));
            digits.is_some_and(|digits| u32::from_str_radix(digits, 16) == Ok(rnti))
        };
        let by_hexadecimal = || self.known.iter().find(hexadecimal).map(|(_, all)| all);
        self.known.get(&number).or_else(by_hexadecimal).map_or(&[], Vec::as_slice)
    }
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn parse(text: &str) -> io::Result<BTreeMap<String, Vec<Prefix>>> {
    let mut known = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let mut words = line.split_whitespace();
        let Some(name) = words.next().filter(|name| !name.starts_with('#')) else { continue };
        let addresses: Result<Vec<Prefix>, ()> = words.map(str::parse).collect();
        let sound = addresses.ok().filter(|all| (1..=MOST_ADDRESSES).contains(&all.len()));
        let Some(addresses) = sound else {
            return Err(invalid(format!(
                "line {number}: allowed is a name and 1 to {MOST_ADDRESSES} addresses or prefixes"
            )));
        };
        if known.insert(name.to_owned(), addresses).is_some() {
            return Err(invalid(format!("line {number}: `{name}` is there twice")));
        }
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_rnti_is_found_by_its_number_and_in_hexadecimal() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ues");
        let found = |line: &str| {
            std::fs::write(&path, line).expect("a file");
            UeTable::read(&path).expect("a table").of_rnti(17_921).len()
        };
        for name in ["17921", "4601", "0x4601", "0X4601"] {
            assert_eq!(found(&format!("{name} 10.45.0.1\n")), 1, "{name}");
        }
        for other in ["17922", "4602", "0x17921", "04601", "-4601", "0x", "imsi4601"] {
            assert_eq!(found(&format!("{other} 10.45.0.1\n")), 0, "{other}");
        }
        std::fs::write(&path, "460a 10.45.0.1\n4601 10.45.0.2\n").expect("a file");
        let table = UeTable::read(&path).expect("a table");
        assert_eq!(table.of_rnti(0x460A).len(), 1, "of small letters");
        assert_eq!(table.of_rnti(4_601), table.of_rnti(17_921), "digits alone mean either");
    }

    #[test]
    fn a_changed_file_is_read_again_and_a_wrong_one_changes_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ues");
        assert!(UeTable::read(&path).is_err());
        std::fs::write(&path, "# rnti\n17921 10.45.0.1 fd45::/64\n\n7 10.45.0.2\n")
            .expect("a file");
        let mut table = UeTable::read(&path).expect("a table");
        assert_eq!((table.addresses("17921").len(), table.addresses("8").len()), (2, 0));
        for wrong in ["17921\n", "17921 ten\n", "7 10.45.0.1\n7 10.45.0.2\n"] {
            std::fs::write(&path, wrong).expect("a file");
            assert!(table.refresh().is_err(), "{wrong}");
            assert_eq!(table.addresses("7").len(), 1);
        }
        std::fs::write(&path, "8 10.45.0.1\n").expect("a file");
        table.refresh().expect("it is right again");
        assert_eq!((table.addresses("17921").len(), table.addresses("8").len()), (0, 1));
    }
}
