//! The cost of packets and of ports.

use super::*;

#[test]
fn no_packet_allocates_once_the_queues_have_their_size() {
    let config = config(ms(1), 60_000, droptail(), vec![source(100, 1_000)]);
    let (down, up) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let ends = Ends {
        ues: vec![UePort { port: Same(udp(UE, SERVER, 7, 40), up.clone()), addresses: Vec::new() }],
        server: Same(udp(SERVER, UE, 6000, 1_400), down.clone()),
    };
    let mut live = Live::new(&config, &LiveOptions::default(), ends).expect("sound settings");
    let mut turns = |from: u64, to: u64| {
        let before = ALLOCATIONS.get();
        for i in from..to {
            down.set(50);
            up.set(25);
            live.turn(at(i * 1_000)).expect("memory does not fail");
        }
        ALLOCATIONS.get() - before
    };
    assert!(turns(0, 100) > 0, "queues grow at first");
    assert_eq!(turns(100, 1_000), 0);
    let (result, report) = live.finish(Priority::RealTime, &Lateness::new(ms(1)));
    assert_eq!((report.down.received, report.up.received), (50_000, 25_000));
    assert!(
        result.layers[2].drops[0].1 > 5_000,
        "drops give their buffers back: {:?}",
        result.layers[2].drops
    );
}

/// A port over a socket that counts its readings.
struct Counted(std::os::unix::net::UnixDatagram, Rc<Cell<u64>>);

impl Port for Counted {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        self.1.set(self.1.get() + 1);
        match self.0.recv(buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            read => read.map(Some),
        }
    }

    fn send(&mut self, _packet: &[u8]) -> io::Result<bool> {
        Ok(true)
    }

    fn descriptor(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        Some(std::os::fd::AsFd::as_fd(&self.0))
    }
}

/// Reading the interfaces of 1000 UEs in each slot would make a run late.
#[test]
fn of_many_ues_only_senders_are_read() {
    const UES: u32 = 200;
    let mut config = config(ms(1), 60_000, droptail(), vec![source(100, 1_000)]);
    config.stack.ues = vec![config.stack.ues[0].clone(); UES as usize];
    let port = || {
        let (own, other) = std::os::unix::net::UnixDatagram::pair().expect("a pair of sockets");
        own.set_nonblocking(true).expect("a socket");
        let reads = Rc::new(Cell::new(0));
        (Counted(own, reads.clone()), other, reads)
    };
    let (server, _at_server, _) = port();
    let address = |ue: u32| IpAddr::from([10, 0, 1, ue as u8 + 1]);
    let (mut ues, mut others) = (Vec::new(), Vec::new());
    for ue in 0..UES {
        let (port, other, reads) = port();
        ues.push(UePort { port, addresses: vec![address(ue)] });
        others.push((other, reads));
    }
    let mut live =
        Live::new(&config, &LiveOptions::default(), Ends { ues, server }).expect("sound");
    for turn in 0..100 {
        for ue in [199, 7] {
            let IpAddr::V4(from) = address(ue) else { unreachable!("it is one") };
            others[ue as usize].0.send(&udp(from.octets(), SERVER, 7, 40)).expect("there is room");
        }
        live.turn(at(turn * 1_000)).expect("no port has gone");
    }
    let reads: Vec<u64> = others.iter().map(|(_, reads)| reads.get()).collect();
    assert!((200..=400).contains(&reads[7]) && reads[7] == reads[199], "{reads:?}");
    assert_eq!(reads.iter().sum::<u64>(), reads[7] + reads[199], "the silent are left alone");
    let (_, report) = live.finish(Priority::RealTime, &Lateness::new(ms(1)));
    assert_eq!(report.up.received, 200);
}
