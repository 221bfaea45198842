//! A file that maps a source's own names of UEs to addresses, one UE on each line; it is read again
//! when it changes.

use crate::formats::SrsranUe;
use crate::report::{MOST_ADDRESSES, cell_name, pool_name};
use justfull_net::Prefix;
use justfull_trace::input::{SETTINGS_LIMIT, read_text};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// The UE of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedUe {
    /// Its addresses or prefixes.
    pub addresses: Vec<Prefix>,
    /// The cell that the name belongs to, if the file has it.
    pub cell: Option<Arc<str>>,
    /// The pool that the addresses belong to, if the file has it.
    pub pool: Option<Arc<str>>,
}

/// UEs by their names at a source.
#[derive(Clone, Debug)]
pub struct UeTable {
    path: PathBuf,
    changed: Option<(SystemTime, u64)>,
    known: BTreeMap<String, NamedUe>,
}

impl UeTable {
    /// Reads the file. Each line has a name, 1 to 16 addresses or prefixes, and optionally
    /// `cell=NAME` and `pool=NAME`, separated by blanks; lines that begin with `#` are comments.
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

    /// The UE of that name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&NamedUe> {
        self.known.get(name)
    }

    /// The UE with that RNTI; none if it is unknown. Its name in the file is the RNTI.
    /// Two cells may use the same RNTI, so `STATION/PCI/RNTI` and `PCI/RNTI` are searched first.
    /// The RNTI is a decimal number, a hexadecimal number with `0x`, or four hexadecimal digits, as
    /// srsRAN prints it. Digits alone are first read as a decimal number.
    #[must_use]
    pub fn of_rnti(&self, ue: SrsranUe<'_>) -> Option<&NamedUe> {
        let pci = ue.pci.map(|pci| format!("{pci}/")).unwrap_or_default();
        let scopes = [format!("{}/{pci}", ue.station), pci, String::new()];
        scopes.iter().find_map(|scope| self.in_scope(scope, ue.rnti))
    }

    fn in_scope(&self, scope: &str, rnti: u32) -> Option<&NamedUe> {
        let names = [
            format!("{scope}{rnti}"),
            format!("{scope}0x{rnti:x}"),
            format!("{scope}0x{rnti:X}"),
            format!("{scope}0X{rnti:X}"),
            format!("{scope}0x{rnti:04x}"),
            format!("{scope}0x{rnti:04X}"),
            format!("{scope}{rnti:04x}"),
            format!("{scope}{rnti:04X}"),
        ];
        names.iter().find_map(|name| self.known.get(name))
    }
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn parse(text: &str) -> io::Result<BTreeMap<String, NamedUe>> {
    let mut known = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let mut words = line.split_whitespace();
        let Some(name) = words.next().filter(|name| !name.starts_with('#')) else { continue };
        let ue = named(words).ok_or_else(|| {
            invalid(format!(
                "line {number}: allowed is a name, 1 to {MOST_ADDRESSES} addresses or prefixes, \
                 and perhaps cell=NAME and pool=NAME"
            ))
        })?;
        if known.insert(name.to_owned(), ue).is_some() {
            return Err(invalid(format!("line {number}: `{name}` is there twice")));
        }
    }
    Ok(known)
}

fn named<'a>(words: impl Iterator<Item = &'a str>) -> Option<NamedUe> {
    let mut ue = NamedUe::default();
    for word in words {
        match word.split_once('=') {
            Some(("cell", cell)) if ue.cell.is_none() => ue.cell = Some(cell_name(cell).ok()?),
            Some(("pool", pool)) if ue.pool.is_none() => ue.pool = Some(pool_name(pool).ok()?),
            Some(_) => return None,
            None => ue.addresses.push(word.parse().ok()?),
        }
    }
    (1..=MOST_ADDRESSES).contains(&ue.addresses.len()).then_some(ue)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn of(rnti: u32) -> SrsranUe<'static> {
        SrsranUe { station: "gnb:8001", pci: Some(1), rnti }
    }

    #[test]
    fn an_rnti_of_one_cell_is_none_of_another() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ues");
        let lines = "7 10.45.0.1\n2/0x4601 10.45.0.2\nb:8001/2/17921 10.45.0.3\n";
        std::fs::write(&path, lines).expect("a file");
        let table = UeTable::read(&path).expect("a table");
        let found = |station, pci, rnti| {
            let ue = table.of_rnti(SrsranUe { station, pci, rnti })?;
            ue.addresses.first().map(ToString::to_string)
        };
        assert_eq!(found("a:8001", Some(2), 17_921).as_deref(), Some("10.45.0.2/32"));
        assert_eq!(found("b:8001", Some(2), 17_921).as_deref(), Some("10.45.0.3/32"));
        assert_eq!(found("a:8001", Some(1), 17_921), None, "another cell's");
        assert_eq!(found("a:8001", None, 17_921), None);
        assert_eq!(found("a:8001", Some(9), 7).as_deref(), Some("10.45.0.1/32"), "any cell's");
    }

    #[test]
    fn a_name_may_belong_to_a_cell_and_to_a_pool() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ues");
        std::fs::write(&path, "east.1 10.45.0.1 cell=east\n").expect("a file");
        let table = UeTable::read(&path).expect("a table");
        assert_eq!(table.named("east.1").and_then(|ue| ue.cell.as_deref()), Some("east"));
        std::fs::write(&path, "7 10.45.0.1 pool=blue cell=east\n").expect("a file");
        let table = UeTable::read(&path).expect("a table");
        assert_eq!(table.named("7").and_then(|ue| ue.pool.as_deref()), Some("blue"));
        for wrong in [
            "x cell=east",
            "x 10.0.0.1 cell=",
            "x 10.0.0.1 cell=a cell=b",
            "x 10.0.0.1 pool=",
            "x 10.0.0.1 pool=a pool=b",
            "x 10.0.0.1 net=a",
        ] {
            std::fs::write(&path, wrong).expect("a file");
            assert!(UeTable::read(&path).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_rnti_is_found_by_its_number_and_in_hexadecimal() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ues");
        let found = |line: &str| {
            std::fs::write(&path, line).expect("a file");
            let table = UeTable::read(&path).expect("a table");
            table.of_rnti(of(17_921)).map_or(0, |ue| ue.addresses.len())
        };
        for name in ["17921", "4601", "0x4601", "0X4601"] {
            assert_eq!(found(&format!("{name} 10.45.0.1\n")), 1, "{name}");
        }
        for other in ["17922", "4602", "0x17921", "04601", "-4601", "0x", "imsi4601"] {
            assert_eq!(found(&format!("{other} 10.45.0.1\n")), 0, "{other}");
        }
        std::fs::write(&path, "460a 10.45.0.1\n4601 10.45.0.2\n").expect("a file");
        let table = UeTable::read(&path).expect("a table");
        assert_eq!(table.of_rnti(of(0x460A)).map_or(0, |ue| ue.addresses.len()), 1);
        assert_eq!(table.of_rnti(of(4_601)), table.of_rnti(of(17_921)), "digits alone mean either");
    }

    fn count(table: &UeTable, name: &str) -> usize {
        table.named(name).map_or(0, |ue| ue.addresses.len())
    }

    #[test]
    fn a_changed_file_is_read_again_and_a_wrong_one_changes_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ues");
        assert!(UeTable::read(&path).is_err());
        std::fs::write(&path, "# rnti\n17921 10.45.0.1 fd45::/64\n\n7 10.45.0.2\n")
            .expect("a file");
        let mut table = UeTable::read(&path).expect("a table");
        assert_eq!((count(&table, "17921"), count(&table, "8")), (2, 0));
        for wrong in ["17921\n", "17921 ten\n", "7 10.45.0.1\n7 10.45.0.2\n"] {
            std::fs::write(&path, wrong).expect("a file");
            assert!(table.refresh().is_err(), "{wrong}");
            assert_eq!(count(&table, "7"), 1);
        }
        std::fs::write(&path, "8 10.45.0.1\n").expect("a file");
        table.refresh().expect("it is right again");
        assert_eq!((count(&table, "17921"), count(&table, "8")), (0, 1));
    }
}
