//! Sets the scenario's receive window on the kernel's sockets.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use justfull_tcp::receiver::Window;
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{setsockopt, sockopt};
use socket2::SockRef;

/// Bytes of a fixed window; none for one that grows by the kernel's own rules.
pub(super) fn fixed(window: &Window) -> Option<u32> {
    match *window {
        Window::Fixed(bytes) => Some(u32::try_from(bytes.0).unwrap_or(u32::MAX)),
        Window::Auto(_) => None,
    }
}

/// Limits the window that `socket` advertises to `window` bytes. The kernel's buffer tuning raises
/// the limit again as data arrives, so call this at every read (tcp(7), `TCP_WINDOW_CLAMP`).
pub(super) fn clamp(socket: &impl AsRawFd, window: u32) -> io::Result<()> {
    let value = libc::c_int::try_from(window).unwrap_or(libc::c_int::MAX);
    let (bytes, option) = (size_of_val(&value) as libc::socklen_t, libc::TCP_WINDOW_CLAMP);
    // SAFETY: `value` outlives the call, which reads `bytes` bytes of it.
    let answer = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            option,
            (&raw const value).cast(),
            bytes,
        )
    };
    Errno::result(answer)?;
    Ok(())
}

/// Lets `socket` hold `window` unacknowledged bytes: the window limits the simulator's senders, not
/// a buffer of the kernel (`tcp_wmem`). Without the right to exceed the machine's limit, the buffer
/// stays at that limit.
pub(super) fn make_room(socket: &impl AsFd, window: u32) -> io::Result<()> {
    let bytes = usize::try_from(window).unwrap_or(usize::MAX);
    match setsockopt(socket, sockopt::SndBufForce, &bytes) {
        Err(Errno::EPERM) => SockRef::from(socket).set_send_buffer_size(bytes),
        done => Ok(done?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_base::Bytes;
    use justfull_tcp::receiver::AutoWindow;
    use socket2::{Domain, Socket, Type};

    #[test]
    fn a_socket_takes_the_window_of_the_scenario() {
        assert_eq!(fixed(&Window::Fixed(Bytes(100_000))), Some(100_000));
        assert_eq!(fixed(&Window::Fixed(Bytes(1 << 40))), Some(u32::MAX));
        assert_eq!(fixed(&Window::Auto(AutoWindow::default())), None);
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        clamp(&socket, 100_000).expect("the kernel takes it");
        make_room(&socket, 50_000).expect("the kernel takes it");
        // The kernel doubles the value for its own overhead.
        assert_eq!(socket.send_buffer_size().expect("a size"), 100_000);
    }
}
