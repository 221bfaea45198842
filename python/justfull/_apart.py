"""Jobs of methods in Python, each in a process of its own.

A `Maker` has a process that imports the campaign's Python files once, and makes a copy of itself
(fork) for each job. An exception, an endless loop or the end of a process is the failure of one
job alone, and no job sees the memory of another.
"""

from __future__ import annotations

import importlib.util
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from justfull import _native
from justfull.errors import ArgumentError
from justfull.own import Method

Place = tuple[str, str, str | None, bool]
"""The campaign's file, the dataset's folder, the folder of traces, and whether plugins are
loaded."""

Job = tuple[str, int, int]
"""A case by its name, and a seed twice: first and last of a stretch."""

_GRACE_S = 5.0
"""Real time that a job may take beyond `job_limit`."""

_LIMIT_S = 600.0
"""`job_limit` of a campaign that has none."""

_END_S = 2.0
"""Real time in which the process of a `Maker` ends by itself; while it imports it does not."""

_LONGEST = 10_000
"""Characters of a reason that are kept."""

_LONGEST_REPLY = 64 << 20
"""Bytes of a job's reply that are read."""


class Maker:
    """A process that makes jobs of methods in Python, started when it is first needed."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._closed = False

    def start(self) -> None:
        """Starts the process, which imports the methods. Raises ArgumentError for a method that
        cannot be imported or is not in the file."""
        # A session of its own, so that Ctrl-C reaches only the caller, who then ends it. Texts have
        # the same hash in all runs.
        program = (f"import sys; sys.path[:] = {sys.path!r}\n"
                   "from justfull import _apart; _apart.serve()")
        with self._lock:
            if self._closed:
                raise RuntimeError("the campaign has ended")
            self._process = subprocess.Popen(
                [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                start_new_session=True, env={**os.environ, "PYTHONHASHSEED": "0"})
        reply = self._ask(self._place)
        if reply is None:
            raise _refusal("python", f"files whose import ends the process: {self._end()}",
                           "files that can be imported")
        if "field" in reply:
            raise _refusal(reply["field"], reply["found"], reply["allowed"])

    def make(self, native: _native.Campaign, job: Job) -> tuple[str, float]:
        """Makes a part of one job. Returns the input of `record`, and the seconds of CPU."""
        if self._process is None:
            self.start()
        reply = self._ask(job)
        if reply is None:
            why = f"the process that makes jobs {self._end()}"
        elif "lines" in reply:
            return reply["lines"], reply["cpu_s"]
        else:
            why = reply["failed"]
        return native.failed([job], why), 0.0

    def close(self) -> None:
        """Ends the process, and with it the job that it makes."""
        with self._lock:
            self._closed = True
            process = self._process
        if process is None or process.stdin is None:
            return
        # When its requests end, it ends the job and all of the job's processes.
        try:
            process.stdin.close()
            process.wait(_END_S)
        except (OSError, subprocess.TimeoutExpired):
            process.kill()
            process.wait()

    def __enter__(self) -> Maker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, what: Any) -> dict[str, Any] | None:
        """The answer; none when the process has ended."""
        assert self._process is not None
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        try:
            stdin.write(json.dumps(what).encode() + b"\n")
            stdin.flush()
            line = stdout.readline()
            reply = json.loads(line) if line.endswith(b"\n") else None
            if reply is None or isinstance(reply, dict):
                return reply
        except OSError:
            return None
        except ValueError:
            pass
        # The answer comes from another writer: no further answer counts.
        self._process.kill()
        return None

    def _end(self) -> str:
        """How the process ended; another is started for the next job."""
        assert self._process is not None
        status, self._process = self._process.wait(), None
        return ended(status)


def _refusal(field: str, found: str, allowed: str) -> ArgumentError:
    return ArgumentError(f"{field}: found {found}, allowed is {allowed}",
                         field=field, found=found, allowed=allowed)


def ended(status: int) -> str:
    """How a process with this exit status, or minus this signal, ended."""
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"


def loaded(name: str, file: Path, class_name: str, base: str) -> Method:
    """The method `name` of a campaign: the class in `file`. Raises ArgumentError."""
    field = f"python.{name}"
    spec = importlib.util.spec_from_file_location(f"_justfull_method_{name}", file)
    if spec is None or spec.loader is None:
        raise _refusal(f"{field}.file", str(file), "a file of Python, NAME.py")
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        line = _line(error, file)
        found = f"{file}{line}: {type(error).__name__}: {error}"
        raise _refusal(f"{field}.file", found, "a file that can be imported") from error
    try:
        method = Method.of(getattr(module, class_name))
    except (AttributeError, ArgumentError):
        raise _refusal(f"{field}.class", class_name,
                       f"a class of {file} with one of justfull's base classes") from None
    if method.base.lower() != base.lower():
        raise _refusal(f"{field}.base", base, f"that of its class, {method.base}")
    return Method(name, method.base, limiter=method.limiter, aqm=method.aqm, aqm_in=method.aqm_in,
                  rb_scheduler=method.rb_scheduler, congestion_control=method.congestion_control)


def _line(error: BaseException, file: Path) -> str:
    if isinstance(error, SyntaxError):
        return f", line {error.lineno}"
    line, trace = "", error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(file):
            line = f", line {trace.tb_lineno}"
        trace = trace.tb_next
    return line


def serve() -> None:
    """The process of a `Maker`: a line of JSON for each request and each answer."""
    requests, answers = os.fdopen(os.dup(0), "rb", buffering=0), os.fdopen(os.dup(1), "wb")
    # A method's prints and reads use other files.
    os.dup2(2, 1)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)

    def answer(what: dict[str, Any]) -> None:
        answers.write(json.dumps(what).encode() + b"\n")
        answers.flush()

    native = _native.Campaign(*json.loads(requests.readline()))
    try:
        methods = {name: loaded(name, file, class_name, base)
                   for name, file, class_name, base in native.python}
    except ArgumentError as error:
        answer({"field": error.field, "found": error.found, "allowed": error.allowed})
        return
    # This process adopts orphans of jobs and ends them with their job; processes from the import of
    # a method stay.
    _native.adopt_orphans()
    others = frozenset(_children())
    answer({})
    own = (requests.fileno(), answers.fileno())
    while line := requests.readline():
        job = tuple(json.loads(line))
        answer(_apart(native, methods, job, own, others))


def _apart(
    native: _native.Campaign, methods: dict[str, Method], job: Job, own: tuple[int, int],
    others: frozenset[int],
) -> dict[str, Any]:
    """Makes `job` in a process of its own and waits for it. The job does not get the descriptors
    `own` of this process, for requests and answers; `others` are processes that do not belong to
    the job."""
    requests, _ = own
    limit_s = (native.job_limit_s or _LIMIT_S) + _GRACE_S
    from_child, to_parent = os.pipe()
    # Buffered output must belong to one process.
    sys.stdout.flush()
    sys.stderr.flush()
    parent, child = os.getpid(), os.fork()
    if child == 0:
        for descriptor in own:
            os.close(descriptor)
        _make(native, methods, job, parent, to_parent)
    os.close(to_parent)
    _lead(child)
    text, end, handle = b"", time.monotonic() + limit_s, os.pidfd_open(child)
    # Not select(2), since a method may have a thousand files open.
    why, heard = None, select.poll()
    for descriptor in (from_child, handle, requests):
        heard.register(descriptor, select.POLLIN)
    while True:
        left_s = max(0.0, end - time.monotonic())
        ready = {descriptor for descriptor, _ in heard.poll(left_s * 1000)}
        if from_child in ready:
            more = os.read(from_child, 1 << 16)
            text += more
            if not more or len(text) > _LONGEST_REPLY:
                heard.unregister(from_child)
        elif handle in ready:
            break
        elif requests in ready:
            # Requests come only after answers, so this is the end of the caller.
            _kill(child)
            _end_orphans(others)
            os._exit(1)
        else:
            why = f"it had not ended after {limit_s:g} s, more than job_limit"
            break
    # All its processes end with it.
    _kill(child)
    _, status = os.waitpid(child, 0)
    _end_orphans(others)
    os.close(from_child)
    os.close(handle)
    try:
        answered: dict[str, Any] = json.loads(text)
        return answered
    except ValueError:
        return {"failed": why or f"its process {ended(os.waitstatus_to_exitcode(status))}"}


def _lead(process: int) -> None:
    """Makes `process` a group of its own; both sides do, for either may be first."""
    try:
        os.setpgid(process, process)
    except (ProcessLookupError, PermissionError):
        pass


def _kill(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def _children() -> list[int]:
    """The processes that this one has started or adopted."""
    found: list[int] = []
    for thread in os.listdir("/proc/self/task"):
        try:
            text = Path(f"/proc/self/task/{thread}/children").read_text(encoding="ascii")
        except OSError:
            continue  # it has ended, or the kernel does not tell
        found += map(int, text.split())
    return found


def _end_orphans(others: frozenset[int]) -> None:
    """Ends the processes that a job has left, in any group or session, but not `others`. When such
    a process ends, its children become children of this process."""
    end = time.monotonic() + _END_S
    while (left := [child for child in _children() if child not in others]):
        for child in left:
            try:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            except OSError:
                pass
        if time.monotonic() > end:
            break  # it starts others faster than they end


def _make(
    native: _native.Campaign, methods: dict[str, Method], job: Job, parent: int, to_parent: int
) -> None:
    """Makes `job` and never returns."""
    try:
        _lead(0)
        _native.die_with_parent(parent)
        name = native.python_of([job])
        lines, cpu_s = native.make_part([job], methods.get(name or ""))
        reply: dict[str, Any] = {"lines": lines, "cpu_s": cpu_s}
    except BaseException as error:
        reply = {"failed": f"{type(error).__name__}: {error}"[:_LONGEST]}
    with os.fdopen(to_parent, "wb") as pipe:
        pipe.write(json.dumps(reply).encode())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
