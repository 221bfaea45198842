"""The package's service under systemd: reloads replace its process while connections pass data.

Without an argument: the trial, as a service of systemd. With one: an end of the connections.
"""

import contextlib
import hashlib
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import threading
import time

UNIT = "justfull-proxy"
RELOADS = 10
# Each connection transfers this and goes on until the last reload.
BYTES = 60_000_000
# Sent at once, with a pause after it.
CHUNK = 50_000
PAUSE_S = 0.01
# A step that takes longer has failed.
LIMIT_S = 30
DONE = pathlib.Path("/trial/done")
REPORTS = "/run/ran-reports"
SOCKET = "/run/justfull-proxy.sock"
CONFIGURATION = f"""\
[select]
interfaces = ["ran"]
ues = ["10.45.0.0/24"]
[control]
kind = "rapid"
[radio]
kind = "json_lines"
path = "{REPORTS}"
[operation]
socket = "{SOCKET}"
log = "/var/log/justfull-proxy.json"
"""
# systemd's word about a process that the reload's command started; that command ends at once, and
# systemd has the process as a child from then on.
FOREIGN = "which is not our child"
SERVER = ("10.9.0.2", 8080)
# Name, interface of this host to it, address of that interface, address.
HOSTS = [("ue", "ran", "10.45.0.1", "10.45.0.2"), ("server", "core", "10.9.0.1", SERVER[0])]


def send(stream, least):
    """Sends random bytes, `least` or more until the last reload, and their digest."""
    digest = hashlib.sha256()
    source = random.Random(least)
    sent = 0
    while sent < least or (least == BYTES and not DONE.exists()):
        part = source.randbytes(CHUNK)
        stream.sendall(part)
        digest.update(part)
        sent += CHUNK
        time.sleep(PAUSE_S)
    stream.sendall(digest.digest())
    stream.shutdown(socket.SHUT_WR)


def receive(stream):
    """Receives what `send` sends; returns how many bytes."""
    digest = hashlib.sha256()
    got = 0
    # The last bytes so far, which may be the digest.
    rest = b""
    while part := stream.recv(1 << 18):
        got += len(part)
        rest += part
        digest.update(rest[:-32])
        rest = rest[-32:]
    if rest != digest.digest():
        sys.exit(f"{got} bytes came, and they are others than were sent")
    return got


def answer(stream):
    kind = stream.recv(1)
    if kind == b"u":
        receive(stream)
        stream.sendall(b"equal")
    else:
        send(stream, BYTES if kind == b"d" else CHUNK)
    stream.close()


def serve():
    listener = socket.create_server(SERVER)
    print("listens", flush=True)
    while True:
        stream, _ = listener.accept()
        threading.Thread(target=answer, args=[stream], daemon=True).start()


def ask(kind):
    """Downloads (d, or s: little) or uploads (u)."""
    with socket.create_connection(SERVER, timeout=LIMIT_S) as stream:
        stream.sendall(kind.encode())
        if kind == "u":
            send(stream, BYTES)
            if stream.recv(5) != b"equal":
                sys.exit("the server did not receive what was sent")
        else:
            print(receive(stream))


def run(*words):
    """The output of a command, whose failure ends the trial."""
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        fail(f"{' '.join(words)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


def fail(message):
    journal = ["journalctl", "--no-pager", "--lines=60", f"--unit={UNIT}"]
    print(message, "The journal:", sep="\n", flush=True)
    subprocess.run(journal)
    os._exit(1)


def expect(holds, message):
    if not holds:
        fail(message)


def until(holds, what):
    end = time.monotonic() + LIMIT_S
    while not holds():
        expect(time.monotonic() < end, f"not within {LIMIT_S} s: {what}")
        time.sleep(0.02)


def show(name):
    return run("systemctl", "show", "--value", f"--property={name}", UNIT)


def status():
    return json.loads(run("justfull", "proxy", "status", "--socket", SOCKET, "--json"))


def lay_out():
    """Namespaces of a UE and of a server; this host is between them."""
    for name, interface, here, there in HOSTS:
        inside = ["ip", "-netns", name]
        run("ip", "netns", "add", name)
        run("ip", "link", "add", interface, "type", "veth", "peer", "name", "eth0", "netns", name)
        run("ip", "address", "add", f"{here}/24", "dev", interface)
        run("ip", "link", "set", interface, "up")
        run(*inside, "address", "add", f"{there}/24", "dev", "eth0")
        run(*inside, "link", "set", "eth0", "up")
        run(*inside, "route", "add", "default", "via", here)
    for forwarding in ("ipv4/ip_forward", "ipv6/conf/all/forwarding"):
        pathlib.Path("/proc/sys/net", forwarding).write_text("1")
    os.mkfifo(REPORTS)
    pathlib.Path("/etc/justfull").mkdir()
    pathlib.Path("/etc/justfull/rapid.toml").write_text(CONFIGURATION)


def end(name, role):
    """A process in a namespace."""
    words = ["ip", "netns", "exec", name, sys.executable, __file__, role]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def report():
    """Reports of a cell of 100 Mbit/s."""
    pipe = os.open(REPORTS, os.O_RDWR | os.O_NONBLOCK)
    for at_us in range(0, 1 << 40, 100_000):
        line = {"ue": "10.45.0.2", "cell": "bytes", "at_us": at_us, "slot_us": 1000, "slots": 100}
        line |= {"offered": 1_250_000, "used": 500_000}
        with contextlib.suppress(BlockingIOError):
            os.write(pipe, json.dumps(line).encode() + b"\n")
        time.sleep(0.1)


def watch(states):
    """Collects the states of the service."""
    while not DONE.exists():
        states.add(show("ActiveState"))
        time.sleep(0.1)


def reload():
    """One reload: a new process has the place of the old one, and both connections."""
    old = show("MainPID")
    run("systemctl", "reload", UNIT)
    new = show("MainPID")
    expect(new not in (old, "0"), f"the reload left process {old}, the main process is {new}")
    until(lambda: not pathlib.Path(f"/proc/{old}").exists(), f"the old process {old} ends")
    installed = os.path.samefile(f"/proc/{new}/exe", "/usr/bin/justfull")
    expect(installed, f"process {new} is not of the program that is installed now")
    told = status()
    expect(told["process"] == int(new), f"{told['process']} has the socket, not {new}")
    expect(told["flows"] == 2, f"there are two connections: {told}")
    brief = end("ue", "s")
    said, _ = brief.communicate(timeout=LIMIT_S)
    expect(brief.returncode == 0, f"a new connection: {said}")
    return new


def trial():
    run("dpkg", "--install", "/trial/justfull.deb")
    lay_out()
    rules = run("ip", "rule")
    threading.Thread(target=report, daemon=True).start()
    server = end("server", "serve")
    expect(server.stdout.readline() == "listens\n", "the server does not listen")
    run("systemctl", "start", UNIT)
    states = set()
    watcher = threading.Thread(target=watch, args=[states])
    watcher.start()
    ends = [end("ue", role) for role in ("d", "u")]
    until(lambda: status()["flows"] == 2, "both connections are split")
    processes = {show("MainPID")}
    # An upgrade: the program's file is another one from here on.
    run("dpkg", "--install", "/trial/justfull.deb")
    begun = time.monotonic()
    processes |= {reload() for _ in range(RELOADS)}
    took = time.monotonic() - begun
    expect(all(end.poll() is None for end in ends), "a connection ended before the last reload")
    DONE.touch()
    for process in ends:
        said, _ = process.communicate(timeout=4 * LIMIT_S)
        expect(process.returncode == 0, f"a connection: {said}")
    watcher.join()
    expect(len(processes) == RELOADS + 1, f"processes: {processes}")
    expect(states <= {"active", "reloading"}, f"the service was {states}")
    expect(show("NRestarts") == "0", "the service was restarted")
    ended = status()["ended"]
    expect(not any(n for how, n in ended.items() if how != "completed"), f"connections: {ended}")
    watched()
    run("systemctl", "stop", UNIT)
    after = (show("ActiveState"), show("Result"))
    expect(after == ("inactive", "success"), f"after its stop: {after}")
    expect(run("ip", "rule") == rules, "policy routes are left")
    print(f"{RELOADS} reloads in {took:.1f} s lost no byte of {ended['completed']} connections")


def quiet():
    """No warning is in the journal."""
    text = run("journalctl", "--quiet", "--priority=warning", "--output=cat", f"--unit={UNIT}")
    wrong = [line for line in text.splitlines() if FOREIGN not in line]
    expect(not wrong, f"the journal has warnings: {wrong}")


def watched():
    """After a reload, systemd restarts a process that is killed."""
    quiet()
    killed = int(show("MainPID"))
    os.kill(killed, signal.SIGKILL)
    until(lambda: show("NRestarts") == "1", "systemd restarts the killed process")
    until(lambda: show("ActiveState") == "active", "the service is active again")
    expect(show("MainPID") not in (str(killed), "0"), "there is no other process")


if len(sys.argv) == 1:
    trial()
elif sys.argv[1] == "serve":
    serve()
else:
    ask(sys.argv[1])
