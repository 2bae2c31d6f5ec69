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

Failures are raised as Error, or as NotRunning if there is no server. With `connect(quiet=True)` nothing is ever raised, for
programs that should behave the same with and without proctor: a call that fails returns None, and `p.error` is the last error.
"""
import contextlib
import functools
import json
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


class Error(Exception):
	"""Any failure; `code` is the stable word of docs/rpc.md, or None."""

	code = None


class NotRunning(Error):
	"""There is neither a surrounding job nor a daemon, or it is gone."""


class Refused(Error):
	"""The server refused the call; `code` has the reason."""

	def __init__(self, error):
		super().__init__(error.get("message", "the server refused the call without a reason"))
		self.code = (error.get("data") or {}).get("code")
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


def _dial(sock, path):
	directory = os.open(os.path.dirname(path) or ".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
	try:  # the kernel's limit is 107 bytes, and a path may be longer
		sock.connect("/proc/self/fd/%d/%s" % (directory, os.path.basename(path)))
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
			sock.settimeout(timeout)
			_dial(sock, path)
			undo.pop_all()
			return sock
	except _ABSENT as error:
		raise NotRunning("'%s': %s" % (path, error)) from error
	except OSError as error:
		raise Error("'%s': %s" % (path, error)) from error


def _connect(path, timeout):
	tried = [path] if path else list(_places())
	for place in tried:
		with contextlib.suppress(NotRunning):
			return place, _open(place, timeout)
	raise NotRunning("no server at %s: run under `proctor run`, or start `proctor daemon`" % ", ".join(tried))


def connect(path=None, timeout=5.0, quiet=False):
	"""Returns a Client; `timeout` is for each call, in seconds. A quiet one never raises an Error, even if it loses its daemon."""
	try:
		return (_Quiet if quiet else Client)(*_connect(path, timeout), timeout)
	except Exception as error:  # pylint: disable=broad-except
		if not quiet:
			raise
		return _Quiet(path, None, timeout, error)


# ---- the connection --------------------------------------------------------------------------------------------------


class _Lines:
	"""One JSON object per line, in both directions."""

	def __init__(self, sock):
		self.sock = sock
		self.waiting = bytearray()

	def has_ended(self):
		"""Whether the other side has hung up."""
		poll = select.poll()
		poll.register(self.sock, select.POLLRDHUP)
		return bool(poll.poll(0))

	def send(self, line):
		# A server that refuses the connection sends the reason before it closes it: receive() reads that, or fails.
		with contextlib.suppress(BrokenPipeError, ConnectionResetError):
			self.sock.sendall(line, socket.MSG_NOSIGNAL)  # the program may have restored SIGPIPE's default action

	def receive(self):
		while True:
			end = self.waiting.find(b"\n")
			if end >= 0:
				line = bytes(self.waiting[:end])
				del self.waiting[: end + 1]
				return _object(line)
			if len(self.waiting) > REPLY_MAX:
				raise Error("the answer is too large")
			more = self.sock.recv(1 << 16)
			if not more:
				raise ConnectionResetError("the connection ended")
			self.waiting += more


def _object(line):
	try:
		message = json.loads(line)
	except ValueError as error:
		raise Error("the answer is not JSON: %s" % error) from error
	if not isinstance(message, dict):
		raise Error("the answer is not an object")
	return message


def _line(message):
	try:
		return json.dumps(message, separators=(",", ":"), allow_nan=False).encode() + b"\n"
	except (TypeError, ValueError, RecursionError) as error:
		raise Error("%s: the parameters cannot be written as JSON: %s" % (message["method"], error)) from error


def _given(params):
	return {key: value for key, value in params.items() if value is not None}


class Client:
	"""One connection, for one thread at a time. Forked children open their own.

	After a restart of the daemon the next call goes to the new one. No call is sent twice: a call during which the daemon
	went away raises NotRunning, and may or may not have been executed. A daemon that did not answer in time is given up."""

	error = None  # of a quiet client: the last error

	def __init__(self, path, sock, timeout):
		self.path = path
		self._timeout = timeout
		self._lines = _Lines(sock) if sock else None
		self._closed_why = "the client was closed"
		self._last_id = 0

	def __enter__(self):
		return self

	def __exit__(self, *_):
		self.close()

	def close(self):
		if self._lines:
			self._lines.sock.close()
		self._lines = None

	def call(self, method, **params):
		"""Calls any method of docs/rpc.md; parameters that are None are not sent."""
		return self._ask(None, method, params)

	def _ask(self, key, method, params):
		"""The answer, or one member of it."""
		answer = self._exchange(method, _given(params))
		if key is None:
			return answer
		if not isinstance(answer, dict) or key not in answer:
			raise Error("%s: the answer has no %s" % (method, key))
		return answer[key]

	def _exchange(self, method, params):
		self._last_id += 1
		line = _line({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
		try:
			self._revive()
			self._lines.send(line)
			return self._answer()
		except TimeoutError as error:
			self.close()  # a late answer must not be taken for the next one
			self._closed_why = "%s: no answer within %g s" % (method, self._timeout)
			raise Error(self._closed_why) from error
		except OSError as error:
			raise NotRunning("%s: %s" % (method, error)) from error

	def _check_open(self):
		if not self._lines:
			raise NotRunning(self._closed_why)

	def _revive(self):
		self._check_open()
		if self._lines.has_ended():
			fresh = _open(self.path, self._timeout)
			self._lines.sock.close()
			self._lines = _Lines(fresh)

	def _answer(self):
		while True:
			reply = self._lines.receive()
			if isinstance(reply.get("error"), dict) and reply.get("id") in (None, self._last_id):
				raise Refused(reply["error"])
			if reply.get("id") == self._last_id:
				return reply.get("result")

	# ---- jobs and sheets

	def job_start(self, job_type=None, job_id=None, pid=None, command=None, cwd=None, tags=None, total_sheets=None,
		      workspace=None):
		"""Registers a job with the daemon: a process (default: our own) and its descendants. With pid=0 it has no process of its own,
		only those of its sheets (`sheet_start(pid=…)`), and lasts until job_end() or until we end. Returns its id."""
		pid = os.getpid() if pid is None else pid or None
		return self._ask("job_id", "job.start", {
			"job_type": job_type, "job_id": job_id, "pid": pid, "command": command, "cwd": cwd, "tags": tags,
			"total_sheets": total_sheets, "workspace": workspace})

	def job_end(self, job_id, exit_code=0, signal=None):  # pylint: disable=redefined-outer-name
		"""Reports how the job ended. A negative exit code, as `Popen.wait()` returns it, is a signal."""
		exit_code, signal = _ending_of(exit_code, signal)
		status = "failed" if exit_code or signal else "completed"
		self.call("job.end", job_id=job_id, status=status, signal=signal, exit_code=None if signal else exit_code)

	@contextlib.contextmanager
	def job(self, job_type=None, **more):
		"""A job for the length of the block; an exception makes it a failed one. Yields its id (None: quiet, and there is no job)."""
		job_id = self.job_start(job_type, **more)
		with _ending(self.job_end, job_id):
			yield job_id

	def sheet_start(self, num=None, total=None, label=None, job_id=None, pid=None):
		"""Opens a sheet, by default the next one. Returns its number."""
		return self._ask("sheet_num", "sheet.started", {"sheet_num": num, "total": total, "label": label, "job_id": job_id, "pid": pid})

	def sheet_end(self, num, exit_code=0, signal=None, job_id=None):  # pylint: disable=redefined-outer-name
		exit_code, signal = _ending_of(exit_code, signal)
		if not exit_code and not signal:
			self.call("sheet.completed", sheet_num=num, job_id=job_id)
			return
		self.call("sheet.failed", sheet_num=num, job_id=job_id, signal=signal, exit_code=None if signal else exit_code)

	@contextlib.contextmanager
	def sheet(self, num=None, total=None, label=None, job_id=None):
		"""A sheet for the length of the block; an exception makes it a failed one. Yields its number (None: quiet, and there is no sheet)."""
		num = self.sheet_start(num, total, label, job_id)
		with _ending(functools.partial(self.sheet_end, job_id=job_id), num):
			yield num

	# ---- marks and phases

	def mark(self, name, **data):
		"""Adds an event to the job."""
		self.call("job.mark", name=name, data=data)

	@contextlib.contextmanager
	def phase(self, name, **data):
		"""Times the block. Yields a dict to which data may be added."""
		begun = time.monotonic()

		def end(_, **_how):
			self.call("job.phase", name=name, seconds=time.monotonic() - begun, data=data)

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

	def publish(self, event, **data):
		return self._ask("seq", "bus.publish", {"event": event, "data": data})

	def subscribe(self, prefix=None, job_id=None, since_seq=None, timeout=None):
		"""Yields events as dicts with `event`, `seq`, `timestamp`, `job_id` and `data`, on a connection of its own, until none
		arrives for `timeout` seconds (None: forever). If events were lost, {"event": "bus.lagged", "lost": N} is one of them;
		N is None after a restart of the daemon. Raises NotRunning if the daemon is gone; a quiet client just ends."""
		self._check_open()
		feed = Client(self.path, _open(self.path, self._timeout), self._timeout)
		try:
			feed.call("bus.subscribe", filter=prefix, job_id=job_id, since_seq=since_seq)
		except BaseException:
			feed.close()
			raise
		return _events(feed, timeout)


def _events(feed, timeout):
	with feed:
		feed._lines.sock.settimeout(timeout)
		while True:
			try:
				message = feed._lines.receive()
			except (TimeoutError, BlockingIOError):
				return
			except OSError as error:
				raise NotRunning("bus.subscribe: %s" % error) from error
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
	return (None, -exit_code) if not number and exit_code and exit_code < 0 else (exit_code, number)


def _failure(error):
	if isinstance(error, SystemExit) and isinstance(error.code, (int, type(None))):
		return {"exit_code": (error.code or 0) & 0xFF}
	if isinstance(error, KeyboardInterrupt):
		return {"signal": int(signal.SIGINT)}
	return {"exit_code": 1}


class _Quiet(Client):
	"""Never raises: a call that fails returns None, and the last error is kept."""

	def __init__(self, path, sock, timeout, error=None):
		super().__init__(path, sock, timeout)
		self.error = error
		if error:
			self._closed_why = str(error)

	def _ask(self, key, method, params):
		try:
			return super()._ask(key, method, params)
		except Exception as error:  # pylint: disable=broad-except
			self.error = error
			return None

	def subscribe(self, *args, **params):
		try:
			return self._without_errors(super().subscribe(*args, **params))
		except Exception as error:  # pylint: disable=broad-except
			self.error = error
			return iter(())

	def _without_errors(self, events):
		try:
			yield from events
		except Exception as error:  # pylint: disable=broad-except
			self.error = error


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
