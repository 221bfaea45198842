//! A TUN device: IP datagrams of at most the MTU.
//!
//! Without `IFF_VNET_HDR` the kernel cuts segments and fills in checksums before `read` returns,
//! and accepts datagrams with any checksum from `write`, as if they came from a wire. `IFF_NO_PI`:
//! no header before the datagram. A device of [`Tun::create_cutting`] cuts the segments and
//! fills in the checksums itself: one `read` or `write` may have a packet of many segments.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::errno::Errno;
use nix::libc;

use crate::netlink::LinkName;
use crate::port::{Joined, Port};
use crate::segments::{Cut, LONGEST, OFFLOAD_PREFIX};

/// The kernel's device for TUN and TAP.
pub(super) const DEVICE: &str = "/dev/net/tun";

nix::ioctl_write_ptr_bad!(
    tun_set_iff,
    nix::request_code_write!(b'T', 202, size_of::<libc::c_int>()),
    libc::ifreq
);

nix::ioctl_write_int_bad!(
    tun_set_persist,
    nix::request_code_write!(b'T', 203, size_of::<libc::c_int>())
);

nix::ioctl_write_int_bad!(
    tun_set_offload,
    nix::request_code_write!(b'T', 208, size_of::<libc::c_uint>())
);

/// Offloads of linux/if_tun.h: checksums, and TCP segments over IPv4 and IPv6.
const OFFLOADS: libc::c_int = 0x01 | 0x02 | 0x04;
/// [`OFFLOADS`], and TCP segments with CWR on the first (`TUN_F_TSO_ECN`).
const OFFLOADS_WITH_CWR: libc::c_int = OFFLOADS | 0x08;
/// Checksums, and UDP datagrams over IPv4 and IPv6 (Linux 6.2).
const UDP_OFFLOADS: libc::c_int = 0x01 | 0x20 | 0x40;

/// One end of a TUN device. After a drop of this value the interface discards the packets sent to
/// it; it ends with its namespace.
#[derive(Debug)]
pub struct Tun {
    file: File,
    name: LinkName,
    /// The interface stays until its namespace ends.
    stays: bool,
    /// The packet to cut; none if this device does not cut packets.
    cutting: Option<Cutting>,
}

/// A packet of many segments from the kernel, and its cutter.
#[derive(Debug)]
struct Cutting {
    /// The prefix and the packet.
    bytes: Box<[u8]>,
    cut: Option<Cut>,
    counts: Joined,
    /// The kernel also sends many UDP datagrams as one packet.
    with_udp: bool,
}

impl Tun {
    /// Creates the interface `name` in the namespace of the calling thread. It is down and has no
    /// address.
    pub(super) fn create(name: LinkName) -> io::Result<Self> {
        Self::create_with(name, 0)
    }

    /// Creates it by [`Tun::create_cutting`] if `joined`, and otherwise by [`Tun::create`].
    pub(super) fn joining(name: LinkName, joined: bool) -> io::Result<Self> {
        if joined { Self::create_cutting(name) } else { Self::create(name) }
    }

    /// Creates it as [`Tun::create`] does. If the kernel has the offloads, one packet may have many
    /// segments of TCP, and from Linux 6.2 on many datagrams of UDP. [`Port::receive`] cuts it.
    fn create_cutting(name: LinkName) -> io::Result<Self> {
        let mut tun = Self::create_with(name, libc::IFF_VNET_HDR)?;
        let takes = |offloads| {
            // SAFETY: TUNSETOFFLOAD takes a number, on a descriptor that is open.
            unsafe { tun_set_offload(tun.file.as_raw_fd(), offloads) }.is_ok()
        };
        let with_udp = takes(OFFLOADS_WITH_CWR | UDP_OFFLOADS);
        if with_udp || takes(OFFLOADS) {
            let bytes = vec![0; OFFLOAD_PREFIX + LONGEST].into_boxed_slice();
            tun.cutting = Some(Cutting { bytes, cut: None, counts: Joined::default(), with_udp });
            return Ok(tun);
        }
        tun.stays = false;
        drop(tun);
        Self::create(name)
    }

    /// The protocols whose packets may have many segments; none if this device does not cut
    /// packets.
    pub(super) fn cuts(&self) -> Option<&'static str> {
        self.cutting.as_ref().map(|of| if of.with_udp { "TCP and UDP" } else { "TCP" })
    }

    /// Creates it as [`Tun::create_passing`] does, with offloads: each packet has a prefix of
    /// [`OFFLOAD_PREFIX`] bytes.
    pub(super) fn create_offloading(name: LinkName) -> io::Result<Self> {
        let mut tun = Self::create_with(name, libc::IFF_VNET_HDR)?;
        tun.stays = false;
        // SAFETY: TUNSETOFFLOAD takes a number, on a descriptor that is open.
        unsafe { tun_set_offload(tun.file.as_raw_fd(), OFFLOADS) }?;
        Ok(tun)
    }

    /// Creates it as [`Tun::create_passing`] does: each packet has a prefix of [`OFFLOAD_PREFIX`]
    /// bytes. Also returns whether packets in both directions may hold several UDP datagrams.
    pub(super) fn create_prefixed(name: LinkName) -> io::Result<(Self, bool)> {
        let mut tun = Self::create_with(name, libc::IFF_VNET_HDR)?;
        tun.stays = false;
        // SAFETY: TUNSETOFFLOAD takes a number, on a descriptor that is open.
        let joins = unsafe { tun_set_offload(tun.file.as_raw_fd(), UDP_OFFLOADS) }.is_ok();
        Ok((tun, joins))
    }

    /// Writes `parts` as one packet, which begins with its prefix; false when the interface accepts
    /// no more now.
    ///
    /// # Errors
    /// The interface has gone, or fails.
    pub fn send_parts(&mut self, parts: &[IoSlice<'_>]) -> io::Result<bool> {
        self.write(parts)
    }

    fn create_with(name: LinkName, more: libc::c_int) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(DEVICE)?;
        let flags = libc::IFF_TUN | libc::IFF_NO_PI | more;
        let request = libc::ifreq {
            ifr_name: name.as_c_chars(),
            ifr_ifru: libc::__c_anonymous_ifr_ifru {
                ifru_flags: flags.try_into().map_err(io::Error::other)?,
            },
        };
        // SAFETY: TUNSETIFF reads and writes one `ifreq`, which lives until the call returns, on a
        // descriptor that is open.
        unsafe { tun_set_iff(file.as_raw_fd(), &raw const request) }?;
        Ok(Self { file, name, stays: true, cutting: None })
    }

    /// Creates it as [`Tun::create`] does; a drop removes the interface.
    pub(super) fn create_passing(name: LinkName) -> io::Result<Self> {
        let mut tun = Self::create(name)?;
        tun.stays = false;
        Ok(tun)
    }

    /// The interface's name inside its namespace.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    fn explain(&self, error: io::Error) -> io::Error {
        let name = self.name();
        match error.raw_os_error().map(Errno::from_raw) {
            // The descriptor's device was deleted.
            Some(Errno::EBADFD) => {
                io::Error::new(io::ErrorKind::NotFound, format!("the interface {name} has gone"))
            }
            // The device of a write is down.
            Some(Errno::EIO) => {
                io::Error::new(io::ErrorKind::NetworkDown, format!("the interface {name} is down"))
            }
            _ => io::Error::new(error.kind(), format!("the interface {name}: {error}")),
        }
    }
}

impl Drop for Tun {
    fn drop(&mut self) {
        if !self.stays {
            return;
        }
        // The kernel takes about 25 ms to remove one interface, and no longer to remove all
        // interfaces of a namespace that ends, in the background. So the interface stays until its
        // namespace ends. A killed process does not reach this code; the kernel then removes its
        // interfaces one by one. SAFETY: TUNSETPERSIST takes a number, on a descriptor that is
        // open.
        let _removed_now = unsafe { tun_set_persist(self.file.as_raw_fd(), 1) };
    }
}

impl Tun {
    /// Reads one packet into `buffer`; none if no packet waits.
    fn read(file: &mut File, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            match file.read(buffer) {
                Ok(length) => return Ok(Some(length)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Writes `parts` as one packet.
    fn write(&mut self, parts: &[IoSlice<'_>]) -> io::Result<bool> {
        loop {
            match self.file.write_vectored(parts) {
                Ok(_) => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_full(&error) => return Ok(false),
                Err(error) => return Err(self.explain(error)),
            }
        }
    }
}

impl Cutting {
    /// Writes the next segment to `buffer`. After the last segment, reads the next packet from
    /// `file`.
    fn receive(&mut self, file: &mut File, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let mut cut = match self.cut.take() {
            Some(cut) => cut,
            None => {
                let Some(length) = Tun::read(file, &mut self.bytes)? else { return Ok(None) };
                let Some(cut) = Cut::new(&self.bytes[..length]) else {
                    // The prefix does not fit the packet. The caller finds it too long or
                    // malformed.
                    let packet = self.bytes[..length].get(OFFLOAD_PREFIX..).unwrap_or_default();
                    let kept = packet.len().min(buffer.len());
                    buffer[..kept].copy_from_slice(&packet[..kept]);
                    return Ok(Some(kept));
                };
                self.counts.cut += u64::from(cut.is_many());
                cut
            }
        };
        let length = cut.next(&self.bytes[OFFLOAD_PREFIX..], buffer);
        self.cut = Some(cut).filter(Cut::is_midway);
        Ok(length)
    }
}

impl Port for Tun {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let read = match &mut self.cutting {
            None => Self::read(&mut self.file, buffer),
            Some(cutting) => cutting.receive(&mut self.file, buffer),
        };
        read.map_err(|error| self.explain(error))
    }

    fn is_midway(&self) -> bool {
        self.cutting.as_ref().is_some_and(|cutting| cutting.cut.is_some())
    }

    fn send(&mut self, packet: &[u8]) -> io::Result<bool> {
        match self.cutting {
            None => self.write(&[IoSlice::new(packet)]),
            Some(_) => self.write(&[IoSlice::new(&[0; OFFLOAD_PREFIX]), IoSlice::new(packet)]),
        }
    }

    fn joins(&self) -> bool {
        self.cutting.is_some()
    }

    fn send_joined(&mut self, parts: &[IoSlice<'_>]) -> io::Result<bool> {
        let sent = self.write(parts)?;
        if let Some(cutting) = &mut self.cutting {
            cutting.counts.joined += u64::from(sent);
        }
        Ok(sent)
    }

    fn joined(&self) -> Joined {
        self.cutting.as_ref().map_or_else(Joined::default, |cutting| cutting.counts)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.as_fd())
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// True when the kernel currently has no room or no memory for a packet.
pub(super) fn is_full(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
        || matches!(error.raw_os_error().map(Errno::from_raw), Some(Errno::ENOBUFS | Errno::ENOMEM))
}
