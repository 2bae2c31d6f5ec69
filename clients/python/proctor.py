# SPDX-License-Identifier: MIT
"""Speak to proctor from a Python program: the standard library is all it needs.

A program that runs under `proctor run` reaches the recorder of its job; any other reaches the daemon, if one runs.

    import proctor

    with proctor.connect() as p:
        with p.sheet(1, total=3, label="prepare"):
            prepare()
        with p.phase("load", rows=1000):
            load()
        p.mark("epoch", n=1, loss=0.25)

`connect()` raises NotRunning where there is neither. `connect(quiet=True)` returns a client that does nothing then, for
programs that should run the same with and without proctor.
"""
import contextlib
import json
import os
import pwd
import signal
import socket
import struct
import sys
import time

__version__ = "0.1.0"
__all__ = ["Client", "Error", "NotRunning", "Refused", "connect", "probe_jax_peak_memory_mb"]

ID_MAX = 127  # bytes of the longest id that there is
REPLY_MAX = 33 << 20


class Error(Exception):
	"""Whatever went wrong; `code` is the word of docs/rpc.md that does not change, or None."""

	code = None


class NotRunning(Error):
	"""There is no job around us and no daemon, or it has gone."""


class Refused(Error):
	"""The server said no; `code` says which no."""

	def __init__(self, error):
		super().__init__(error.get("message", "refused without a reason"))
		self.code = (error.get("data") or {}).get("code")
		self.number = error.get("code")


# ---- whom to speak to ------------------------------------------------------------------------------------------------


def _home():
	"""As the program finds it: HOME, else what the list of users says; None where that does not know us."""
	if os.environ.get("HOME"):
		return os.environ["HOME"]
	try:
		return pwd.getpwuid(os.geteuid()).pw_dir
	except KeyError:
		return None


def _state_dir():
	"""Looked for as the program does: `run` names it only where this would not find it. None: no place is known."""
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
	"""Where somebody may answer: the job's own door, then the daemons, the nearest first."""
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


def _open(path, timeout):
	"""A connected socket of somebody whom we believe: root, or ourselves."""
	sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
	try:
		sock.settimeout(timeout)
		directory = os.open(os.path.dirname(path) or ".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
		try:  # an address has room for 107 bytes, a path may have more
			sock.connect("/proc/self/fd/%d/%s" % (directory, os.path.basename(path)))
		finally:
			os.close(directory)
		_pid, uid, _gid = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
		if uid not in (0, os.geteuid()):
			raise Error("'%s' is served by user %d, who is not believed" % (path, uid))
		return sock
	except BaseException:
		sock.close()
		raise


_ABSENT = (FileNotFoundError, NotADirectoryError, ConnectionRefusedError)


def connect(path=None, timeout=5.0, quiet=False):
	"""A Client; `timeout` is for each call, in seconds."""
	tried = [path] if path else list(_places())
	for place in tried:
		try:
			return Client(place, _open(place, timeout), timeout)
		except _ABSENT:
			continue
		except OSError as error:
			raise Error("'%s': %s" % (place, error)) from error
	if quiet:
		return _Nobody()
	raise NotRunning("nobody answers at %s: run under `proctor run`, or start `proctor daemon`" % ", ".join(tried))


# ---- the connection --------------------------------------------------------------------------------------------------


class _Lines:
	"""One JSON object a line, both ways."""

	def __init__(self, sock):
		self.sock = sock
		self.waiting = bytearray()

	def send(self, message):
		self.sock.sendall(json.dumps(message, separators=(",", ":")).encode() + b"\n")

	def receive(self):
		while True:
			end = self.waiting.find(b"\n")
			if end >= 0:
				line = bytes(self.waiting[:end])
				del self.waiting[: end + 1]
				return json.loads(line)
			if len(self.waiting) > REPLY_MAX:
				raise Error("the answer is too large")
			more = self.sock.recv(1 << 16)
			if not more:
				raise NotRunning("the connection ended")
			self.waiting += more


def _given(params):
	return {key: value for key, value in params.items() if value is not None}


class Client:
	"""One connection; for one thread at a time. Forked children make their own."""

	def __init__(self, path, sock, timeout):
		self.path = path
		self._timeout = timeout
		self._lines = _Lines(sock)
		self._last_id = 0

	def __enter__(self):
		return self

	def __exit__(self, *_):
		self.close()

	def close(self):
		self._lines.sock.close()

	def call(self, method, **params):
		"""Any method of docs/rpc.md; parameters that are None are not sent."""
		self._last_id += 1
		request = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": _given(params)}
		try:
			self._lines.send(request)
			return self._answer()
		except TimeoutError as error:
			self.close()  # an answer that comes late must not be taken for the next one
			raise Error("%s: no answer within %g s" % (method, self._timeout)) from error
		except OSError as error:
			raise NotRunning("%s: %s" % (method, error)) from error

	def _answer(self):
		while True:
			reply = self._lines.receive()
			if "error" in reply and reply.get("id") in (None, self._last_id):
				raise Refused(reply["error"])
			if reply.get("id") == self._last_id:
				return reply["result"]

	# ---- jobs and sheets

	def job_start(self, job_type=None, job_id=None, pid=None, command=None, cwd=None, tags=None, total_sheets=None,
		      workspace=None):
		"""Registers a job with the daemon: the process (ours) and its descendants. Returns its id."""
		return self.call("job.start", job_type=job_type, job_id=job_id, pid=pid, command=command, cwd=cwd, tags=tags,
				 total_sheets=total_sheets, workspace=workspace)["job_id"]

	def job_end(self, job_id, exit_code=0, signal=None):  # pylint: disable=redefined-outer-name
		status = "failed" if exit_code or signal else "completed"
		self.call("job.end", job_id=job_id, status=status, signal=signal, exit_code=None if signal else exit_code)

	@contextlib.contextmanager
	def job(self, job_type=None, **more):
		"""A job as long as the block; an exception makes it a failed one. Gives its id."""
		job_id = self.job_start(job_type, **more)
		try:
			yield job_id
		except BaseException as error:
			self.job_end(job_id, **_failure(error))
			raise
		self.job_end(job_id)

	def sheet_start(self, num=None, total=None, label=None, job_id=None, pid=None):
		"""Opens a sheet, the next one without a number. Returns its number."""
		return self.call("sheet.started", sheet_num=num, total=total, label=label, job_id=job_id, pid=pid)["sheet_num"]

	def sheet_end(self, num, exit_code=0, signal=None, job_id=None):  # pylint: disable=redefined-outer-name
		if not exit_code and not signal:
			self.call("sheet.completed", sheet_num=num, job_id=job_id)
			return
		self.call("sheet.failed", sheet_num=num, job_id=job_id, signal=signal, exit_code=None if signal else exit_code)

	@contextlib.contextmanager
	def sheet(self, num=None, total=None, label=None, job_id=None):
		"""A sheet as long as the block; an exception makes it a failed one. Gives its number."""
		num = self.sheet_start(num, total, label, job_id)
		try:
			yield num
		except BaseException as error:
			self.sheet_end(num, job_id=job_id, **_failure(error))
			raise
		self.sheet_end(num, job_id=job_id)

	# ---- what happens in the job

	def mark(self, name, **data):
		"""An event in the job's run log."""
		self.call("job.mark", name=name, data=data)

	@contextlib.contextmanager
	def phase(self, name, **data):
		"""Times the block. The dict that it gives may be added to."""
		begun = time.monotonic()
		try:
			yield data
		finally:
			self.call("job.phase", name=name, seconds=time.monotonic() - begun, data=data)

	# ---- how things are

	def context(self, pid=None):
		return self.call("context.get", pid=pid)

	def pressure(self):
		return self.call("pressure.get")

	def admit(self, job_type=None, what=None):
		return self.call("admit", job_type=job_type, what=what)

	# ---- the bus

	def publish(self, event, **data):
		return self.call("bus.publish", event=event, data=data)["seq"]

	def subscribe(self, prefix=None, job_id=None, since_seq=None, timeout=None):
		"""Events as dicts with `event`, `seq`, `timestamp`, `job_id` and `data`, on a connection of its own, until nothing
		comes for `timeout` seconds (None: for ever). Who reads too slowly gets one {"event": "bus.lagged", "lost": N}, who comes back with a
		number of before a restart one with None."""
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
			except TimeoutError:
				return
			if "method" in message:
				yield {"event": message["method"], **message["params"]}


def _failure(error):
	if isinstance(error, SystemExit) and isinstance(error.code, int):
		return {"exit_code": error.code & 0xFF}
	if isinstance(error, KeyboardInterrupt):
		return {"signal": int(signal.SIGINT)}
	return {"exit_code": 1}


class _Nobody:
	"""Does nothing, for programs that nobody records."""

	path = None

	def __enter__(self):
		return self

	def __exit__(self, *_):
		pass

	def call(self, _method, **_params):
		return None

	def subscribe(self, *_args, **_params):
		return iter(())

	@contextlib.contextmanager
	def _block(self, *_args, **_params):
		yield _params

	job = sheet = phase = _block
	close = job_start = job_end = sheet_start = sheet_end = mark = context = pressure = admit = publish = (
		lambda self, *_args, **_params: None
	)


# ---- JAX -------------------------------------------------------------------------------------------------------------


def _jax_peak_bytes():
	jax = sys.modules.get("jax")  # a program that does not use it has no figure, and should not load it for one
	if jax is None:
		return 0
	peaks = [(device.memory_stats() or {}).get("peak_bytes_in_use", 0) for device in jax.local_devices() if device.platform != "cpu"]
	return max(peaks, default=0)


def probe_jax_peak_memory_mb(client=None):
	"""The peak of device memory that JAX has used in this process, in MiB: what its allocator really handed out, on the
	device that had most, not the pool it reserved. 0.0 when there is no JAX or no device. The job is told, if there is one."""
	try:
		peak_mb = _jax_peak_bytes() / (1 << 20)
	except Exception:  # pylint: disable=broad-except
		return 0.0
	if peak_mb > 0:
		with contextlib.suppress(Error):
			with contextlib.nullcontext(client) if client else connect(quiet=True) as p:
				p.mark("memory", jax_peak_bytes_mb=round(peak_mb, 1))
	return peak_mb
