//! Two proxies share the UEs of one host, each with descriptors of its own.

use super::*;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// A proxy for the UEs of `prefix`, with so many descriptors.
fn proxy_of(chain: &Chain, prefix: &str, mark: u32, descriptors: usize) -> Part {
    let folder = tempfile::tempdir().expect("a folder");
    let text = format!(
        "[select]\ninterfaces = [\"ran\"]\nues = [\"{prefix}\"]\n[route]\nmark = {mark}\n\
         table = {mark}\n[operation]\nsocket = {:?}\n",
        folder.path().join("socket")
    );
    fs::write(folder.path().join("rapid.toml"), text).expect("a file");
    let limit = ["prlimit".into(), format!("--nofile={descriptors}")];
    let mut proxy = launch(chain, &folder, false, &limit);
    until_ready(&mut proxy, &folder);
    Part { proxy, folder, limit }
}

struct Part {
    proxy: Child,
    folder: tempfile::TempDir,
    limit: [String; 2],
}

impl Part {
    /// Another process takes this one's place, under the same limit.
    fn take_over(&mut self, chain: &Chain) {
        let next = launch(chain, &self.folder, true, &self.limit);
        let mut old = std::mem::replace(&mut self.proxy, next);
        until("the old proxy ends", || old.try_wait().expect("a child").is_some());
        assert_eq!(old.wait().expect("a child").code(), Some(0));
        until_ready(&mut self.proxy, &self.folder);
    }

    fn status(&self) -> Value {
        let text = ask(&self.folder.path().join("socket"), "status").expect("an answer");
        serde_json::from_str(&text).expect("JSON")
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // It may have ended.
        let _ended = self.proxy.kill();
        let _status = self.proxy.wait();
    }
}

/// Full size: 10 000 connections. The servers' kernel keeps them without a descriptor until they
/// are accepted, since this process has no more descriptors than a proxy.
#[test]
fn soak_two_proxies_hold_more_connections_than_the_descriptors_of_one_allow() {
    if !can_build() || !faults::installed("prlimit") {
        return;
    }
    let (count, descriptors) =
        if std::env::var_os("JUSTFULL_SOAK").is_some() { (10_000, 20_000) } else { (1_000, 2_000) };
    // Clients need a descriptor each; a process may always raise its own limit to the hard one.
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard).expect("it may");
    let chain = Chain::build(8, Mtus::SMALL_RAN).expect("three hosts");
    let mut parts = [("10.45.0.0/30", 500), ("10.45.0.4/30", 501)]
        .map(|(prefix, mark)| proxy_of(&chain, prefix, mark, descriptors));
    let [at, _] = Chain::server();
    let bind = || {
        let one = |_| {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
            socket.bind(&SocketAddr::from((at, 0)).into())?;
            socket.listen(4_096)?;
            Ok(TcpListener::from(socket))
        };
        (0..4).map(one).collect::<io::Result<Vec<_>>>()
    };
    let listeners = chain.inside(Place::Server, bind).expect("they listen");
    let to: Vec<SocketAddr> =
        listeners.iter().map(|one| one.local_addr().expect("an address")).collect();
    let connect = || {
        let one = |index: usize| {
            // UEs 2 and 3 belong to the first proxy, 4 and 5 to the second.
            let own = Chain::ue((index % 4) as u8 + 2)[0];
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
            socket.bind(&SocketAddr::from((own, 0)).into())?;
            socket.connect_timeout(&to[index / 4 % 4].into(), LIMIT)?;
            Ok(limited(socket.into()))
        };
        (0..count).map(one).collect::<io::Result<Vec<TcpStream>>>()
    };
    let clients = chain.inside(Place::Ue, connect).expect("they connect");
    for part in &parts {
        until("it has its half", || part.status()["flows"] == count / 2);
        let status = part.status();
        assert_eq!((&status["accepted"], &status["over_limit"]), (&(count / 2).into(), &0.into()));
        let most = status["flows_limit"].as_u64().expect("a number");
        assert!(most < count as u64, "one alone could have all: {status}");
    }
    parts[0].take_over(&chain);
    for part in &parts {
        assert_eq!(part.status()["flows"], count / 2, "each still has its own");
    }
    let mut by_address: BTreeMap<SocketAddr, TcpStream> = clients
        .into_iter()
        .map(|client| (client.local_addr().expect("an address"), client))
        .collect();
    for listener in &listeners {
        for _ in 0..10 {
            let (mut server, peer) = listener.accept().expect("one waits");
            server.write_all(b"x").expect("it is sent");
            let mut client = by_address.remove(&peer).expect("a client of its own address");
            client.read_exact(&mut [0]).expect("a byte");
        }
    }
    drop((by_address, listeners));
    for part in &parts {
        until("all have ended", || part.status()["flows"] == 0);
    }
}
