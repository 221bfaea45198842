//! Checks of a host that forwards packets between two sides.

use crate::SystemError;
use nix::net::if_::if_nametoindex;
use std::fs;

/// Most bytes of an interface's name (`IFNAMSIZ` less the closing zero).
const LONGEST_NAME: usize = 15;

/// True if an interface can have this name.
#[must_use]
pub fn is_interface_name(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len())
        && !name.bytes().any(|b| b == b'/' || b.is_ascii_whitespace() || b == 0)
}

/// True if this host has an interface of this name.
fn has_interface(name: &str) -> bool {
    if_nametoindex(name).is_ok()
}

/// Checks that packets which arrive at the interface `name` can take a detour: the detour's rule
/// matches nothing while there is no interface of this name.
///
/// # Errors
/// There is no such interface.
pub fn can_detour(name: &str) -> Result<(), SystemError> {
    if has_interface(name) {
        return Ok(());
    }
    let doing = format!("lead what arrives at {name} through a device");
    Err(SystemError::new(doing, "there is no such interface"))
}

/// Checks that each interface exists.
///
/// # Errors
/// The first name without an interface, and the `field` that names it.
pub fn interfaces_exist<'a>(
    named: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<(), String> {
    match named.into_iter().find(|(_, name)| !has_interface(name)) {
        Some((field, name)) => Err(format!("there is no {name}, which `{field}` names")),
        None => Ok(()),
    }
}

/// The kernel's setting `net.key`, with slashes: `ipv4/ip_forward`. None if the kernel lacks it.
#[must_use]
pub fn setting(key: &str) -> Option<String> {
    fs::read_to_string(format!("/proc/sys/net/{key}")).ok().map(|text| text.trim().to_owned())
}

/// True if the interface `lo` has IPv6, which packets to this host need. The kernel may lack it,
/// and `net.ipv6.conf.all.disable_ipv6` or `net.ipv6.conf.lo.disable_ipv6` may be set.
#[must_use]
pub fn has_ipv6() -> bool {
    setting("ipv6/conf/lo/disable_ipv6").as_deref() == Some("0")
}

/// Checks that the kernel forwards IPv4 and, if it is `also_v6` and the kernel has it, IPv6.
///
/// # Errors
/// The settings that must change.
pub fn forwards(also_v6: bool) -> Result<String, String> {
    let v6 = setting("ipv6/conf/all/forwarding").filter(|_| also_v6);
    let off: Vec<&str> = [
        (setting("ipv4/ip_forward").as_deref() != Some("1"), "net.ipv4.ip_forward"),
        (v6.is_some_and(|v6| v6 != "1"), "net.ipv6.conf.all.forwarding"),
    ]
    .into_iter()
    .filter_map(|(off, name)| off.then_some(name))
    .collect();
    if off.is_empty() {
        return Ok("on".into());
    }
    Err(format!("{} must be 1: this host is a router between both sides", off.join(" and ")))
}

/// Checks that the kernel forwards IPv4 packets that arrive at the interface `name`.
///
/// # Errors
/// The setting that must change.
pub fn forwards_from(name: &str) -> Result<String, String> {
    match setting(&format!("ipv4/conf/{name}/forwarding")).as_deref() {
        Some("1") => Ok(format!("on at {name}")),
        _ => Err(format!(
            "net.ipv4.conf.{name}.forwarding must be 1: the kernel forwards into the detour"
        )),
    }
}

/// Checks that no reverse path filter of `interfaces`, or of all, is strict: it drops packets that
/// arrive where no answer to them leaves, such as the packets that come back from a detour. The
/// larger one of an interface's number and the number of all holds (ip-sysctl.rst).
///
/// # Errors
/// The strict ones.
pub fn lets_detours_back<'a>(
    interfaces: impl IntoIterator<Item = &'a str>,
) -> Result<String, String> {
    let number = |name: &str| setting(&format!("ipv4/conf/{name}/rp_filter"));
    let loose = number("all").as_deref() == Some("2");
    let strict: Vec<String> = interfaces
        .into_iter()
        .chain(["all"])
        .filter(|name| !loose && number(name).as_deref() == Some("1"))
        .map(|name| format!("net.ipv4.conf.{name}.rp_filter"))
        .collect();
    if strict.is_empty() {
        return Ok("not strict".into());
    }
    Err(format!(
        "strict: {} is 1, which drops packets that come another way than answers go; 2 or 0 lets \
         them pass",
        strict.join(" and ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_interfaces_have_1_to_15_bytes_without_blanks_and_slashes() {
        for name in ["a", "eth0.100", "123456789012345"] {
            assert!(is_interface_name(name), "{name}");
        }
        for name in ["", "1234567890123456", "a b", "a/b", "a\0"] {
            assert!(!is_interface_name(name), "{name:?}");
        }
    }

    #[test]
    fn the_first_missing_interface_is_named_with_its_field() {
        let error = interfaces_exist([("a.x", "lo"), ("a.y", "jf-none"), ("a.z", "jf-other")]);
        assert_eq!(error, Err("there is no jf-none, which `a.y` names".into()));
        assert_eq!(interfaces_exist([("a.x", "lo")]), Ok(()));
    }
}
