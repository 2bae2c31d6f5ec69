# SPDX-License-Identifier: MIT
"""Use proctor from a Python program. Needs only the standard library.

A program that runs under `proctor run` is connected to the recorder of its job; any other to the daemon, if one is running.

    import proctor

    with proctor.connect() as p:
        with p.sheet(1, total=3, label="prepare"):
            prepare()
        with p.phase("load", rows=1000):
            load()
        p.mark("epoch", n=1, loss=0.25)

What a program reports (jobs, sheets, phases, marks, events) never raises, whatever happens to the server or to the values: a report that
fails is dropped, `p.error` is the last error, and the first one is logged (logger "proctor"). Questions (call, context, pressure, admit,
subscribe) raise Error, or NotRunning if there is no server. With `connect(strict=True)` reports raise, too; with
`connect(quiet=True)` nothing raises and nothing is logged, and a question that fails returns None.

Values may be whatever has a number in it: numpy and torch scalars count as numbers; NaN and infinities are sent as the texts "NaN",
"Infinity" and "-Infinity", because JSON has no numbers for them; anything else is sent as its text.
"""
import contextlib
import functools
import json
import logging
import math
import os
import pwd
import select
import signal
import socket
import struct
import sys
import time

__version__ = "0.1.0"
__all__ = ["Client", "Error", "NotRunning", "Refused", "connect", "probe_jax_peak_memory_mb"]

ID_MAX = 127  # bytes of the longest possible id
REPLY_MAX = 33 << 20
TEXT_MAX = 1000  # characters of a value that is neither a number nor a text
DEPTH_MAX = 16  # of lists and objects in a value
BACKLOG_PAUSE_S = 0.01


class Error(Exception):
	"""Any failure; `code` is the stable word of docs/rpc.md, or None."""

	code = None


class NotRunning(Error):
	"""There is neither a surrounding job nor a daemon, or it is gone."""


class _Endless(Error):
	"""No server of ours sends as much: it is given up."""


class Refused(Error):
	"""The server refused the call; `code` has the reason."""

	def __init__(self, error):
		super().__init__(error.get("message", "the server refused the call without a reason"))
		data = error.get("data")
		self.code = data.get("code") if isinstance(data, dict) else None
		self.number = error.get("code")


# ---- finding a server ------------------------------------------------------------------------------------------------


def _home():
	"""HOME, else the home directory in the user database; None if the user is not in it."""
	if os.environ.get("HOME"):
		return os.environ["HOME"]
	try:
		return pwd.getpwuid(os.geteuid()).pw_dir
	except KeyError:
		return None


def _state_dir():
	"""The same search as that of the commands: `run` sets PROCTOR_STATE_DIR only if this would not find it. None: unknown."""
	if os.environ.get("PROCTOR_STATE_DIR"):
		return os.environ["PROCTOR_STATE_DIR"]
	if os.environ.get("STATE_DIRECTORY", "").startswith("/"):
		return os.environ["STATE_DIRECTORY"].split(":")[0]
	if os.geteuid() == 0:
		return "/var/lib/proctor"
	if os.environ.get("XDG_STATE_HOME", "").startswith("/"):
		return os.path.join(os.environ["XDG_STATE_HOME"], "proctor")
	home = _home() or ""
	return os.path.join(home, ".local/state/proctor") if home.startswith("/") else None


def _places():
	"""The sockets to try, in order: the door of the surrounding job, the user's own daemon, the machine's daemon."""
	job_id, state_dir = os.environ.get("PROCTOR_JOB_ID", ""), _state_dir()
	if state_dir and job_id and len(job_id) <= ID_MAX and "/" not in job_id and not job_id.startswith("."):
		yield os.path.join(state_dir, "jobs", job_id, "sock")
	if os.environ.get("PROCTOR_SOCKET"):
		yield os.environ["PROCTOR_SOCKET"]
		return
	runtime = os.environ.get("XDG_RUNTIME_DIR", "")
	if os.geteuid() != 0 and runtime.startswith("/"):
		yield os.path.join(runtime, "proctor", "daemon.sock")
	yield "/run/proctor/daemon.sock"


_ABSENT = (FileNotFoundError, NotADirectoryError, ConnectionRefusedError)


def _deadline(timeout):
	return None if timeout is None else time.monotonic() + timeout


def _left(deadline):
	"""Seconds, for settimeout()."""
	if deadline is None:
		return None
	left = deadline - time.monotonic()
	if left <= 0:
		raise TimeoutError("timed out")
	return left


def _dial(sock, path, deadline):
	directory = os.open(os.path.dirname(path) or ".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
	try:  # the kernel's limit is 107 bytes, and a path may be longer
		while True:
			sock.settimeout(_left(deadline))
			with contextlib.suppress(BlockingIOError):  # more clients wait than the server lets in at once
				sock.connect("/proc/self/fd/%d/%s" % (directory, os.path.basename(path)))
				break
			time.sleep(BACKLOG_PAUSE_S)
	finally:
		os.close(directory)
	_pid, uid, _gid = struct.unpack("iII", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
	if uid not in (0, os.geteuid()):
		raise Error("'%s' is served by user %d, who is not trusted" % (path, uid))


def _open(path, timeout):
	"""A socket that is connected to a trusted server: one of root or of our own user."""
	try:
		with contextlib.ExitStack() as undo:
			sock = undo.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC))
			_dial(sock, path, _deadline(timeout))
			undo.pop_all()
			return sock
	except _ABSENT as error:
		raise NotRunning("'%s': %s" % (path, error)) from error
	except TimeoutError:
		raise
	except OSError as error:
		raise Error("'%s': %s" % (path, error)) from error


def _connect(path, timeout):
	tried = [path] if path else list(_places())
	for place in tried:
		with contextlib.suppress(NotRunning):
			return place, _open(place, timeout)
	raise NotRunning("no server at %s: run under `proctor run`, or start `proctor daemon`" % ", ".join(tried))


def connect(path=None, timeout=5.0, quiet=False, strict=False):
	"""Returns a Client; `timeout` is for each call, in seconds. Raises only if it is strict; a client without a server reports nothing."""
	client = Client(path, timeout, _QUIET if quiet else _STRICT if strict else _USUAL)
	try:
		client._use(*_connect(path, timeout))
	except Exception as error:  # pylint: disable=broad-except
		client._give_up(str(error))
		client._failed(error, is_report=True)
	return client


# ---- the connection --------------------------------------------------------------------------------------------------


class _Lines:
	"""One JSON object per line, in both directions."""

	def __init__(self, sock):
		self.sock = sock
		self.waiting = bytearray()
		self.last_id = 0

	def has_ended(self):
		"""Whether the other side has hung up."""
		poll = select.poll()
		poll.register(self.sock, select.POLLRDHUP)
		return bool(poll.poll(0))

	def send(self, line):
		# A server that refuses the connection sends the reason before it closes it: receive() reads that, or fails.
		with contextlib.suppress(BrokenPipeError, ConnectionResetError):
			self.sock.sendall(line, socket.MSG_NOSIGNAL)  # the program may have restored SIGPIPE's default action

	def receive(self, deadline=None):
		searched = 0
		while True:
			end = self.waiting.find(b"\n", searched)
			if end >= 0:
				line = bytes(self.waiting[:end])
				del self.waiting[: end + 1]
				return _object(line)
			searched = len(self.waiting)
			if searched > REPLY_MAX:
				raise _Endless("the answer is too large")
			if deadline:
				self.sock.settimeout(_left(deadline))
			more = self.sock.recv(1 << 16)
			if not more:
				raise ConnectionResetError("the connection ended")
			self.waiting += more

	def call(self, method, params, timeout):
		"""The result. An answer to an earlier call, which was interrupted, is skipped."""
		deadline = _deadline(timeout)
		self.last_id += 1
		line = _line({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
		self.sock.settimeout(timeout)
		self.send(line)
		while True:
			reply = self.receive(deadline)
			if isinstance(reply.get("error"), dict) and reply.get("id") in (None, self.last_id):
				raise Refused(reply["error"])
			if reply.get("id") == self.last_id:
				return reply.get("result")


def _object(line):
	try:
		message = json.loads(line)
	except (ValueError, RecursionError) as error:
		raise Error("the answer is not JSON: %s" % error) from error
	if not isinstance(message, dict):
		raise Error("the answer is not an object")
	return message


def _line(message):
	return json.dumps(_plain(message), separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _given(params):
	return {key: value for key, value in params.items() if value is not None}


# ---- values ----------------------------------------------------------------------------------------------------------


def _text(value):
	"""Of any object. A lone surrogate is no character."""
	try:
		return str(value)[:TEXT_MAX].encode("utf-8", "replace").decode()
	except Exception:  # pylint: disable=broad-except
		return "<%s>" % type(value).__name__


def _number(value):
	if isinstance(value, int):
		return int(value) if -(1 << 63) <= value < 1 << 63 else _text(value)
	if math.isnan(value):
		return "NaN"
	return float(value) if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"


def _plain(value, depth=0):
	"""What JSON can express of the value. Scalars of numpy, torch and their like have item()."""
	if value is None or isinstance(value, bool):
		return value
	if isinstance(value, str):
		return value.encode("utf-8", "replace").decode()
	if isinstance(value, (int, float)):
		return _number(value)
	if depth < DEPTH_MAX and isinstance(value, dict):
		return {_text(key): _plain(member, depth + 1) for key, member in value.items()}
	if depth < DEPTH_MAX and isinstance(value, (list, tuple)):
		return [_plain(member, depth + 1) for member in value]
	try:
		scalar = value.item()
	except Exception:  # pylint: disable=broad-except
		return _text(value)
	return _plain(scalar) if isinstance(scalar, (bool, int, float, str)) else _text(value)


# ---- the client ------------------------------------------------------------------------------------------------------

_USUAL, _QUIET, _STRICT = "usual", "quiet", "strict"
_log = logging.getLogger("proctor")
_logged = []  # not empty: a failure was logged, in this process or in the one that it was forked from


class Client:
	"""For any number of threads, signal handlers and forked children: each call has a connection for itself, and they are reused.

	After a restart of the daemon the next call goes to the new one. No call is sent twice: a call during which the daemon
	went away fails as NotRunning, and may or may not have been executed. A server that does not answer in time, or without end, is given up."""

	error = None  # the last one

	def __init__(self, path, timeout, mode=_USUAL):
		self.path = path
		self._timeout = timeout
		self._mode = mode
		self._idle = []  # connections; append() and pop() are atomic
		self._pid = os.getpid()
		self._closed_why = None

	def __enter__(self):
		return self

	def __exit__(self, *_):
		self.close()

	def close(self):
		self._give_up("the client was closed")

	def _use(self, path, sock):
		self.path = path
		self._idle.append(_Lines(sock))

	def _give_up(self, why):
		self._closed_why = self._closed_why or why
		self._drop_idle()

	def _drop_idle(self):
		with contextlib.suppress(IndexError):
			while True:
				self._idle.pop().sock.close()

	def call(self, method, **params):
		"""Calls any method of docs/rpc.md; parameters that are None are not sent."""
		return self._ask(None, method, params)

	def _ask(self, key, method, params, is_report=False):
		"""The answer, or one member of it. None: it failed."""
		try:
			answer = self._exchange(method, _given(params))
			if key is None:
				return answer
			if not isinstance(answer, dict) or key not in answer:
				raise Error("%s: the answer has no %s" % (method, key))
			return answer[key]
		except Exception as error:  # pylint: disable=broad-except
			return self._failed(error, is_report)

	def _report(self, key, method, params):
		return self._ask(key, method, params, is_report=True)

	def _failed(self, error, is_report):
		self.error = error
		if self._mode == _STRICT or (self._mode == _USUAL and not is_report):
			if isinstance(error, Error):
				raise error
			raise Error("%s: %s" % (type(error).__name__, error)) from error
		if self._mode == _USUAL and not _logged:
			_logged.append(True)
			with contextlib.suppress(Exception):  # stderr may be closed, or the interpreter about to end
				_log.warning("proctor: %s; reports that fail are dropped, and only the first failure is logged", error)
		return None

	def _exchange(self, method, params):
		try:
			return self._call_on(self._take(), method, params)
		except TimeoutError as error:
			self._give_up("%s: no answer within %g s" % (method, self._timeout))
			raise Error(self._closed_why) from error
		except _Endless as error:
			self._give_up("%s: %s" % (method, error))
			raise
		except OSError as error:
			raise NotRunning("%s: %s" % (method, error)) from error

	def _call_on(self, lines, method, params):
		try:
			result = lines.call(method, params, self._timeout)
		except Refused:
			self._idle.append(lines)
			raise
		except BaseException:  # of an interrupted call half a line may have been sent
			lines.sock.close()
			raise
		self._idle.append(lines)
		return result

	def _check_open(self):
		if self._closed_why:
			raise NotRunning(self._closed_why)

	def _take(self):
		"""A connection that no other call uses."""
		self._check_open()
		if self._pid != os.getpid():  # those of the parent are not ours
			self._pid = os.getpid()
			self._drop_idle()
		with contextlib.suppress(IndexError):
			while True:
				lines = self._idle.pop()
				if not lines.has_ended():
					return lines
				lines.sock.close()
		return _Lines(_open(self.path, self._timeout))

	# ---- jobs and sheets

	def job_start(self, job_type=None, job_id=None, pid=None, command=None, cwd=None, tags=None, total_sheets=None,
		      workspace=None):
		"""Registers a job with the daemon: a process (default: our own) and its descendants. With pid=0 it has no process of its own,
		only those of its sheets (`sheet_start(pid=…)`), and lasts until job_end() or until we end. Returns its id."""
		pid = os.getpid() if pid is None else pid or None
		return self._report("job_id", "job.start", {
			"job_type": job_type, "job_id": job_id, "pid": pid, "command": command, "cwd": cwd, "tags": tags,
			"total_sheets": total_sheets, "workspace": workspace})

	def job_end(self, job_id, exit_code=0, signal=None):  # pylint: disable=redefined-outer-name
		"""Reports how the job ended. A negative exit code, as `Popen.wait()` returns it, is a signal."""
		exit_code, signal = _ending_of(exit_code, signal)
		status = "failed" if exit_code or signal else "completed"
		self._report(None, "job.end", {"job_id": job_id, "status": status, "signal": signal, "exit_code": None if signal else exit_code})

	@contextlib.contextmanager
	def job(self, job_type=None, **more):
		"""A job for the length of the block; an exception makes it a failed one. Yields its id (None: there is no job)."""
		job_id = self.job_start(job_type, **more)
		with _ending(self.job_end, job_id):
			yield job_id

	def sheet_start(self, num=None, total=None, label=None, job_id=None, pid=None):
		"""Opens a sheet, by default the next one. Returns its number."""
		return self._report("sheet_num", "sheet.started", {"sheet_num": num, "total": total, "label": label, "job_id": job_id, "pid": pid})

	def sheet_end(self, num, exit_code=0, signal=None, job_id=None):  # pylint: disable=redefined-outer-name
		exit_code, signal = _ending_of(exit_code, signal)
		if not exit_code and not signal:
			self._report(None, "sheet.completed", {"sheet_num": num, "job_id": job_id})
			return
		self._report(None, "sheet.failed", {"sheet_num": num, "job_id": job_id, "signal": signal, "exit_code": None if signal else exit_code})

	@contextlib.contextmanager
	def sheet(self, num=None, total=None, label=None, job_id=None):
		"""A sheet for the length of the block; an exception makes it a failed one. Yields its number (None: there is no sheet)."""
		num = self.sheet_start(num, total, label, job_id)
		with _ending(functools.partial(self.sheet_end, job_id=job_id), num):
			yield num

	# ---- marks and phases

	def mark(self, name, /, **data):
		"""Adds an event to the job."""
		self._report(None, "job.mark", {"name": name, "data": data})

	@contextlib.contextmanager
	def phase(self, name, /, **data):
		"""Times the block. Yields a dict to which data may be added."""
		begun = time.monotonic()

		def end(_, **_how):
			self._report(None, "job.phase", {"name": name, "seconds": time.monotonic() - begun, "data": data})

		with _ending(end, name):
			yield data

	# ---- the current state

	def context(self, pid=None):
		return self.call("context.get", pid=pid)

	def pressure(self):
		return self.call("pressure.get")

	def admit(self, job_type=None, what=None):
		return self.call("admit", job_type=job_type, what=what)

	# ---- the bus

	def publish(self, event, /, **data):
		return self._report("seq", "bus.publish", {"event": event, "data": data})

	def subscribe(self, prefix=None, job_id=None, since_seq=None, timeout=None):
		"""Yields events as dicts with `event`, `seq`, `timestamp`, `job_id`, `job_uid` (if there is a job) and `data`, on a
		connection of its own, until none arrives for `timeout` seconds (None: forever). If events were lost,
		{"event": "bus.lagged", "lost": N} is one of them; N is None after a restart of the daemon. Raises
		NotRunning if the daemon is gone; a quiet client just ends."""
		try:
			self._check_open()
			with contextlib.ExitStack() as undo:
				feed = _Lines(undo.enter_context(_open(self.path, self._timeout)))
				feed.call("bus.subscribe", _given({"filter": prefix, "job_id": job_id, "since_seq": since_seq}), self._timeout)
				undo.pop_all()
		except Exception as error:  # pylint: disable=broad-except
			self._failed(error, is_report=False)
			return iter(())
		return self._events(feed, timeout)

	def _events(self, feed, timeout):
		with feed.sock:
			feed.sock.settimeout(timeout)
			while True:
				try:
					message = feed.receive()
				except (TimeoutError, BlockingIOError):
					return
				except Exception as error:  # pylint: disable=broad-except
					self._failed(NotRunning("bus.subscribe: %s" % error) if isinstance(error, OSError) else error, is_report=False)
					return
				if "method" in message:
					yield {"event": message["method"], **(message.get("params") or {})}


@contextlib.contextmanager
def _ending(end, what):
	"""Reports how the block ended, unless `what` is None: then it never began. The block's own exception takes precedence."""
	try:
		yield
	except BaseException as error:
		if what is not None:
			with contextlib.suppress(Error):
				end(what, **_failure(error))
		raise
	if what is not None:
		end(what)


def _ending_of(exit_code, number):
	"""The subprocess module reports a signal as a negative exit code."""
	is_signal = not number and isinstance(exit_code, int) and exit_code < 0
	return (None, -exit_code) if is_signal else (exit_code, number)


def _failure(error):
	if isinstance(error, SystemExit) and isinstance(error.code, (int, type(None))):
		return {"exit_code": (error.code or 0) & 0xFF}
	if isinstance(error, KeyboardInterrupt):
		return {"signal": int(signal.SIGINT)}
	return {"exit_code": 1}


# ---- JAX -------------------------------------------------------------------------------------------------------------


def _jax_peak_bytes():
	jax = sys.modules.get("jax")  # if the program did not load it, there is no figure
	if jax is None:
		return 0
	peaks = [(device.memory_stats() or {}).get("peak_bytes_in_use", 0) for device in jax.local_devices() if device.platform != "cpu"]
	return max(peaks, default=0)


def probe_jax_peak_memory_mb(client=None):
	"""The peak device memory of JAX in this process, in MiB: what its allocator handed out on the device that used most, not
	the pool that it reserved. 0.0 without JAX or without a device. It is also reported to the job, if there is one."""
	try:
		peak_mb = _jax_peak_bytes() / (1 << 20)
	except Exception:  # pylint: disable=broad-except
		return 0.0
	if peak_mb > 0:
		with contextlib.suppress(Error):
			with contextlib.nullcontext(client) if client else connect(quiet=True) as p:
				p.mark("memory", jax_peak_bytes_mb=round(peak_mb, 1))
	return peak_mb
