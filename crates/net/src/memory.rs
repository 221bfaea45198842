//! Memory of the kernel's TCP (Linux Documentation/networking/ip-sysctl.rst, `tcp_mem`,
//! `tcp_rmem`).

use std::fs;
use std::io;

/// Sizes of a socket's receive buffer in the network namespace of the calling thread: the least,
/// the first and the most, in bytes.
const RECEIVE_BUFFERS: &str = "/proc/sys/net/ipv4/tcp_rmem";

/// True if the kernel's TCP is short of memory, in all namespaces: it rose above the second number
/// of `tcp_mem` and has not fallen below the first since. Meanwhile no receiver offers more than
/// four segments, so every connection of the machine is slow.
#[must_use]
pub fn tcp_is_short() -> bool {
    fs::read_to_string("/proc/thread-self/net/protocols").is_ok_and(|table| is_short(&table))
}

/// [`tcp_is_short`], from the kernel's table of protocols.
fn is_short(table: &str) -> bool {
    let mut lines = table.lines().map(|line| line.split_ascii_whitespace());
    let Some(column) = lines.next().and_then(|mut names| names.position(|name| name == "press"))
    else {
        return false;
    };
    lines
        .filter(|line| line.clone().next().is_some_and(|name| name.starts_with("TCP")))
        .filter_map(|mut line| line.nth(column))
        .any(|press| press == "yes")
}

/// Sets the most bytes to which a socket's receive buffer grows by itself, in the network namespace
/// of the calling thread.
pub(crate) fn set_receive_buffer(most: u32) -> io::Result<()> {
    let now = fs::read_to_string(RECEIVE_BUFFERS)?;
    let mut sizes = now.split_ascii_whitespace();
    let (Some(least), Some(first)) = (sizes.next(), sizes.next()) else {
        return Err(io::Error::other(format!("{RECEIVE_BUFFERS} has `{}`", now.trim())));
    };
    fs::write(RECEIVE_BUFFERS, format!("{least} {first} {most}"))
}

/// Makes receivers in the network namespace of the calling thread acknowledge each segment behind a
/// hole at once (RFC 5681 section 4.2). By default Linux delays up to 44 of these acknowledgements
/// for a millisecond (ip-sysctl.rst, `tcp_comp_sack_nr`).
pub(crate) fn acknowledge_each() -> io::Result<()> {
    fs::write("/proc/sys/net/ipv4/tcp_comp_sack_nr", "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_table_says_whether_tcp_is_short_of_memory() {
        let table = |v4: &str, v6: &str, udp: &str| {
            format!(
                "protocol  size sockets  memory press maxhdr  slab module     cl co di\n\
                 UDP       1536      2       3   {udp}       0   yes  kernel      y  y  y\n\
                 TCPv6     2608      0     140   {v6}      320   yes  kernel      y  y  y\n\
                 TCP       2440      1     140   {v4}      320   yes  kernel      y  y  y\n"
            )
        };
        assert!(!is_short(&table("no", "no", "NI")));
        assert!(!is_short(&table("no", "no", "yes")), "another protocol's");
        assert!(is_short(&table("yes", "no", "NI")));
        assert!(is_short(&table("no", "yes", "NI")));
        assert!(!is_short("") && !is_short("press\nTCP\n"));
        assert!(!tcp_is_short(), "this machine's, while a test runs");
    }
}
