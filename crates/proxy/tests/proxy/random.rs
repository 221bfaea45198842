//! Random connections, each through the proxy and again unsplit through the same forwarding host:
//! both ends see the same, whatever their sizes, options, pauses and order of ends.

use super::*;
use socket2::Protocol;
use std::sync::atomic::{AtomicU64, Ordering};

/// Connections at a time.
const WORKERS: u64 = 12;
/// Connections to these ports are split; those to other ports pass.
const SPLIT: u16 = 20_000;
const PLAIN: u16 = 30_000;
/// A socket that speaks Multipath TCP (linux/in.h).
const MPTCP: i32 = 262;

/// Random numbers of a case.
struct Draw(u64);

impl Draw {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % below
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.next(all.len() as u64) as usize]
    }
}

/// The way in which an end closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// It closes its direction when all data is sent.
    AtOnce,
    /// It first reads the other direction to its end.
    Last,
    /// It has all that it needs, sends a byte, and resets.
    Resets,
    /// The other end does that.
    IsReset,
    /// It closes and leaves data unread.
    Leaves,
    /// The other end does that.
    IsLeft,
}

/// The behaviour of one end.
#[derive(Clone, Debug)]
struct End {
    seed: u64,
    bytes: usize,
    chunk: usize,
    /// Pauses after so many chunks, in ms.
    pause: Option<(usize, u64)>,
    /// Every so many chunks end with an urgent byte.
    urgent: Option<usize>,
    read: usize,
    read_pause: Option<u64>,
    receive_buffer: Option<usize>,
    send_buffer: Option<usize>,
    mss: Option<u32>,
    nodelay: bool,
    ending: Ending,
}

impl End {
    fn draw(draw: &mut Draw, ending: Ending) -> Self {
        let bytes = match draw.next(20) {
            0..3 => 0,
            3..10 => draw.next(2_000) as usize,
            10..19 => draw.next(100_000) as usize,
            _ => draw.next(2_000_000) as usize,
        };
        let chunk = draw.of(&[1, 7, 536, 1_448, 4_096, 16_384, 16_385, 65_536, 1_000_000]);
        // Single bytes take long.
        let chunk = if bytes > 3_000 { chunk.max(1_000) } else { chunk };
        let read = draw.of(&[1_usize, 100, 1_448, 65_536, 1_000_000]);
        Self {
            seed: draw.next(u64::MAX),
            bytes,
            chunk,
            pause: (draw.next(4) == 0).then(|| (1 + draw.next(20) as usize, 1 + draw.next(20))),
            urgent: (draw.next(4) == 0).then(|| 1 + draw.next(5) as usize),
            read: if bytes > 3_000 { read.max(500) } else { read },
            read_pause: (draw.next(5) == 0).then(|| 1 + draw.next(3)),
            receive_buffer: (draw.next(4) == 0).then(|| draw.of(&[2_304, 8_192, 100_000])),
            send_buffer: (draw.next(4) == 0).then(|| draw.of(&[4_608, 20_000])),
            mss: (draw.next(5) == 0).then(|| draw.of(&[88, 536, 1_000])),
            nodelay: draw.next(2) == 0,
            ending,
        }
    }

    fn prepare(&self, socket: &Socket) -> io::Result<()> {
        self.receive_buffer.map_or(Ok(()), |bytes| socket.set_recv_buffer_size(bytes))?;
        self.send_buffer.map_or(Ok(()), |bytes| socket.set_send_buffer_size(bytes))?;
        // Multipath TCP has no urgent data.
        let _other = socket.set_out_of_band_inline(true);
        Ok(())
    }

    fn send(&self, stream: &TcpStream) -> io::Result<()> {
        let socket = socket2::SockRef::from(stream);
        for (number, chunk) in data(self.seed, self.bytes).chunks(self.chunk).enumerate() {
            let urgent = self.urgent.is_some_and(|every| number % every == 0);
            let (last, first) = chunk.split_last().expect("not empty");
            if urgent {
                (&*stream).write_all(first)?;
                socket.send_out_of_band(&[*last])?;
            } else {
                (&*stream).write_all(chunk)?;
            }
            if let Some((every, millis)) = self.pause
                && number % every == 0
                && number < 10 * every
            {
                thread::sleep(Duration::from_millis(millis));
            }
        }
        Ok(())
    }

    /// Reads `most` bytes, or to the end.
    fn receive(&self, stream: &TcpStream, most: usize) -> Seen {
        let (mut got, mut buffer, mut pauses) = (Vec::new(), vec![0; self.read], 0);
        let end = loop {
            let length = self.read.min(most - got.len());
            if length == 0 {
                break "enough".to_owned();
            }
            match (&*stream).read(&mut buffer[..length]) {
                Ok(0) => break "end".into(),
                Ok(length) => got.extend_from_slice(&buffer[..length]),
                Err(error) => break error.kind().to_string(),
            }
            if let Some(millis) = self.read_pause.filter(|_| pauses < 20) {
                pauses += 1;
                thread::sleep(Duration::from_millis(millis));
            }
        };
        Seen { bytes: got.len(), hash: Sha256::digest(&got).to_vec(), end }
    }

    /// The whole behaviour of this end; the other end has `theirs`.
    fn act(&self, stream: TcpStream, theirs: &Self) -> Seen {
        let own = &stream;
        match self.ending {
            Ending::AtOnce | Ending::Last => thread::scope(|scope| {
                if self.ending == Ending::AtOnce {
                    scope.spawn(|| {
                        // The reader sees a failure.
                        let _sent = self.send(own).and_then(|()| own.shutdown(Shutdown::Write));
                    });
                    return self.receive(own, usize::MAX);
                }
                let sending = scope.spawn(|| self.send(own).is_ok());
                let seen = self.receive(own, usize::MAX);
                let _sent = sending.join().expect("it ends");
                let _closed = own.shutdown(Shutdown::Write);
                seen
            }),
            Ending::Resets | Ending::IsReset => thread::scope(|scope| {
                let sending = scope.spawn(|| self.send(own).is_ok());
                let seen = self.receive(own, theirs.bytes);
                let sent = sending.join().expect("it ends");
                if self.ending == Ending::Resets {
                    // The other end has everything, and sends a byte.
                    let told = self.receive(own, 1).bytes == 1;
                    socket2::SockRef::from(own).set_linger(Some(Duration::ZERO)).expect("open");
                    return Seen { end: format!("{sent} {told}"), ..seen };
                }
                let told = (&*own).write_all(b"x").is_ok();
                let after = self.receive(own, 1);
                Seen { end: format!("{sent} {told} {}", after.end), ..seen }
            }),
            Ending::Leaves => {
                // One byte of many.
                let seen = self.receive(own, 1);
                let mut more = [0];
                let _waits = own.peek(&mut more);
                seen
            }
            Ending::IsLeft => {
                let sent = self.send(own);
                let seen = self.receive(own, usize::MAX);
                let reset = sent.is_err() || seen.end != "end";
                Seen { end: format!("reset: {reset}"), ..seen }
            }
        }
    }
}

/// The observations of an end.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    bytes: usize,
    hash: Vec<u8>,
    end: String,
}

#[derive(Clone, Debug)]
struct Case {
    family: usize,
    ue: u8,
    multipath: bool,
    /// The ends of the client and the server.
    ends: [End; 2],
}

impl Case {
    fn draw(seed: u64) -> Self {
        let mut draw = Draw(seed);
        let mut endings = draw.of(&[
            [Ending::AtOnce, Ending::AtOnce],
            [Ending::AtOnce, Ending::AtOnce],
            [Ending::AtOnce, Ending::Last],
            [Ending::AtOnce, Ending::Last],
            [Ending::Resets, Ending::IsReset],
            [Ending::Leaves, Ending::IsLeft],
        ]);
        if draw.next(2) == 0 {
            endings.reverse();
        }
        let mut ends = endings.map(|ending| End::draw(&mut draw, ending));
        // If it leaves data unread, its end may arrive before its reset.
        let multipath = draw.next(10) == 0 && ends[0].ending != Ending::Leaves;
        if multipath {
            ends.iter_mut().for_each(|end| end.urgent = None);
        }
        // Much data takes minutes through a tiny window.
        let buffers = ends.iter().flat_map(|end| [end.receive_buffer, end.send_buffer]).flatten();
        let most = buffers.min().map_or(usize::MAX, |bytes| 2 * bytes);
        for end in &mut ends {
            end.bytes = end.bytes.min(most);
            if end.ending == Ending::IsLeft {
                end.bytes = end.bytes.max(2_000);
                end.chunk = end.chunk.max(1_000);
            }
        }
        Self { family: draw.next(2) as usize, ue: 1 + draw.next(8) as u8, multipath, ends }
    }

    /// The observations of the client and the server.
    fn run(&self, world: &World, listener: &TcpListener) -> io::Result<[Seen; 2]> {
        let to = listener.local_addr()?;
        let own = SocketAddr::from((Chain::ue(self.ue)[self.family], 0));
        let [client, server] = &self.ends;
        let stream = world.chain.inside(Place::Ue, || {
            let domain = Domain::for_address(to);
            let multipath = self.multipath.then(|| Protocol::from(MPTCP));
            let socket = Socket::new(domain, Type::STREAM, multipath)
                .or_else(|_| Socket::new(domain, Type::STREAM, None))?;
            client.prepare(&socket)?;
            // Multipath TCP does not have this option.
            let _other = client.mss.map(|mss| socket.set_tcp_mss(mss));
            let _other = socket.set_tcp_nodelay(client.nodelay);
            socket.bind(&own.into())?;
            socket.connect_timeout(&to.into(), LIMIT)?;
            Ok(limited(socket.into()))
        })?;
        thread::scope(|scope| {
            let there = scope.spawn(|| -> io::Result<Seen> {
                let (stream, _) = listener.accept()?;
                let socket = socket2::SockRef::from(&stream);
                server.prepare(&socket)?;
                socket.set_tcp_nodelay(server.nodelay)?;
                Ok(server.act(limited(stream), client))
            });
            let here = client.act(stream, server);
            Ok([here, there.join().expect("it ends")?])
        })
    }
}

/// Options of TCP that apply to a whole host: each connection has the values at its beginning.
fn change_an_option(world: &World, draw: &mut Draw) {
    let name =
        draw.of(&["tcp_timestamps", "tcp_sack", "tcp_window_scaling", "tcp_ecn", "tcp_fastopen"]);
    let place = draw.of(&[Place::Ue, Place::Middle, Place::Server]);
    let value = draw.next(2).to_string();
    let set = || fs::write(format!("/proc/sys/net/ipv4/{name}"), &value);
    world.chain.inside(place, set).expect("it is set");
}

#[test]
fn soak_random_connections_are_the_same_with_the_proxy_and_without() {
    if !can_build() {
        return;
    }
    let count = if std::env::var_os("JUSTFULL_SOAK").is_some() { 10_000 } else { 1_000 };
    let first = std::env::var("JUSTFULL_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let world = World::new(&format!("ports = [\"1-{}\"]\n[limits]\npipes = 3\n", PLAIN - 1));
    let next = AtomicU64::new(first);
    let differ: Vec<String> = thread::scope(|scope| {
        let worker = |number: u64| {
            let (world, next) = (&world, &next);
            let listen = |base: u16, family: usize| {
                let at = (Chain::server()[family], base + number as u16);
                let listener = world.chain.inside(Place::Server, || TcpListener::bind(at));
                let listener = listener.expect("it listens");
                // An accepted socket inherits it from its first byte on.
                let inline = socket2::SockRef::from(&listener).set_out_of_band_inline(true);
                inline.expect("it is open");
                listener
            };
            let listeners = [SPLIT, PLAIN].map(|base| [0, 1].map(|family| listen(base, family)));
            move || {
                let mut found = Vec::new();
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + count || !found.is_empty() {
                        return found;
                    }
                    let case = Case::draw(seed);
                    if seed % 40 == 0 {
                        change_an_option(world, &mut Draw(!seed));
                    }
                    let [split, plain] = [0, 1].map(|way: usize| {
                        let seen = case.run(world, &listeners[way][case.family]);
                        seen.map_err(|e| e.to_string())
                    });
                    if split != plain || split.is_err() {
                        found.push(format!("{seed}: {case:?}\nproxy {split:?}\nplain {plain:?}"));
                    }
                }
            }
        };
        let workers: Vec<_> = (0..WORKERS).map(|number| scope.spawn(worker(number))).collect();
        workers.into_iter().flat_map(|one| one.join().expect("it ends")).collect()
    });
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
    until("all have ended", || world.status()["flows"] == 0);
    let status = world.status();
    assert_eq!((&status["accepted"], &status["pipes"]), (&count.into(), &0.into()), "{status}");
}
