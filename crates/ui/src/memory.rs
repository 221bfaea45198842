//! Memory of this process and of the machine.

use std::fs;

/// Bytes that the pages of this process take, in memory and in swap; none where the system has no
/// `/proc` (proc_pid_status(5), `VmRSS` and `VmSwap`).
pub(crate) fn taken() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    Some(bytes(&text, "VmRSS:")?.saturating_add(bytes(&text, "VmSwap:").unwrap_or(0)))
}

/// Bytes that the machine could give without swapping; none where the system has no `/proc`
/// (proc_meminfo(5), `MemAvailable`).
pub(crate) fn available() -> Option<u64> {
    bytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

/// The bytes in the line `name` of a table of `/proc`.
fn bytes(table: &str, name: &str) -> Option<u64> {
    let line = table.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_table_is_a_number_of_bytes() {
        let text = "Name:\tjustfull\nVmRSS:\t    1024 kB\nVmData:\t 9 kB\nVmSwap:\t       2 kB\n";
        assert_eq!([bytes(text, "VmRSS:"), bytes(text, "VmSwap:")], [Some(1 << 20), Some(2048)]);
        for text in ["", "VmRSS: kB", "VmRSS: 1 MB", "VmRSS: 99999999999999999999 kB"] {
            assert_eq!(bytes(text, "VmRSS:"), None, "{text}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_takes_memory_and_the_machine_has_some() {
        assert!(taken().is_some_and(|bytes| bytes > 1 << 20));
        assert!(available().is_some_and(|bytes| bytes > 1 << 20));
    }
}
