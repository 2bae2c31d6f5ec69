# SPDX-License-Identifier: MIT
"""What every story needs: the program with a state directory of its own, processes that surely end, another user.

	def test_a_story(proctor, children):
		worker = children.spawn(["sleep", "30"])
		done = proctor("snapshot", "--json")
		assert done.returncode == 0, done.stderr
"""
import contextlib
import functools
import os
import pwd
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
# Whoever starts the tests may ignore signals (nohup, a job in the background), and what we start would inherit that.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

BINARY = os.environ.get("PROCTOR_BIN", str(ROOT / "build/proctor"))
SCRATCH = os.environ.get("TEST_SCRATCH_DIR", "/tmp")  # emptied by run-tests, even if we are killed
# For stores: memory, in our own mount namespace (see `private`). They need not wait for the disk.
STORES = "/run" if os.geteuid() == 0 and os.path.ismount("/run") else SCRATCH
TIMEOUT_S = 60
INHERITED = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "ASAN_OPTIONS", "UBSAN_OPTIONS", "MALLOC_PERTURB_")
CHILDREN_MAX = 2000


# What --tier is called in the record of a job.
TIERS = {"bpf": "BPF tracepoints", "connector": "proc connector", "proc": "samples of /proc"}


def pytest_configure(config):
	config.addinivalue_line("markers", "needs_root: asks the kernel for what only root may have")
	config.addinivalue_line("markers", "tier(name, …): how its jobs may be watched (see TIERS); without a name in any way")


def pytest_collection_modifyitems(items):
	if os.geteuid() == 0:
		return
	for item in items:
		if item.get_closest_marker("needs_root"):
			item.add_marker(pytest.mark.skip(reason="NOT RUN: needs root"))


def clean_environment(**more):
	"""The same for every test, whatever make, a job or a session around it has set."""
	kept = {name: os.environ[name] for name in INHERITED if name in os.environ}
	return {**kept, "LC_ALL": "C.UTF-8", **more}


def wait_for(condition, seconds=TIMEOUT_S, step=0.02):
	"""The first true answer. Tests wait for what they need; a sleep is too short on a busy machine and too long on any other.
	A condition that takes long to evaluate is evaluated less often: the CPU is needed by what is waited for."""
	end = time.monotonic() + seconds
	while True:
		began = time.monotonic()
		answer = condition()
		if answer:
			return answer
		now = time.monotonic()
		assert now < end, "it did not happen within %d s" % seconds
		time.sleep(max(step, min(2 * (now - began), 0.2)))


@functools.cache
def usual_tier():
	"""The one that we have here unless another is asked for; None: it depends on the machine."""
	has_bpf = "BPF yes" in subprocess.run([BINARY, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
	return "bpf" if os.geteuid() == 0 and has_bpf else None


def check_tier(request, state_dir, usual):
	"""What a test shows of another tier than the one it is about is worth nothing. It states it by a mark, or by its parameter `tier`."""
	mark, params = request.node.get_closest_marker("tier"), getattr(request.node, "callspec", None)
	stated = params.params.get("tier") if params else None
	wanted = list(mark.args) if mark else [stated] if isinstance(stated, str) else [usual]
	found = [row["tier"] for row in read_store_so_far(state_dir, "SELECT DISTINCT tier FROM jobs WHERE tier IS NOT NULL")]
	if wanted and wanted != [None]:
		names = tuple(TIERS[name] for name in wanted)
		assert all(tier.startswith(names) for tier in found), "watched by %s, not by %s" % (found, names)


def read_store(state_dir, query):
	"""Rows of a store, as dictionaries. Read in place: a process for each question costs more than the jobs that most tests record."""
	with contextlib.closing(sqlite3.connect("file:%s/proctor.db?mode=ro" % state_dir, uri=True, timeout=TIMEOUT_S)) as db:
		db.row_factory = sqlite3.Row
		return [dict(row) for row in db.execute(query)]


def read_store_so_far(state_dir, query):
	"""The same; nothing while there is no store, or one without tables."""
	try:
		return read_store(state_dir, query)
	except sqlite3.Error:
		return []


def sanitizers(verb, checked=set()):
	"""Leaks are searched once for each verb and test, whatever its parameters: it takes as long as most calls themselves."""
	about = (os.environ.get("PYTEST_CURRENT_TEST", "").partition("[")[0], verb)
	if about not in checked or "ASAN_OPTIONS" in os.environ:
		checked.add(about)
		return {}
	return {"ASAN_OPTIONS": "detect_leaks=0"}


class Proctor:
	"""Runs the program. Each instance has a state directory of its own."""

	def __init__(self, state_dir):
		self.binary = BINARY
		self.state_dir = Path(state_dir)
		self.env = clean_environment(PROCTOR_STATE_DIR=str(state_dir))

	def __call__(self, *args, timeout=TIMEOUT_S, env=None, **options):
		"""To the end: a CompletedProcess with text (or bytes, with text=False) in stdout and stderr."""
		options.setdefault("text", True)
		options.setdefault("stdin", subprocess.DEVNULL)
		return subprocess.run([self.binary, *map(str, args)], env={**sanitizers(args[:1]), **self.env, **(env or {})}, timeout=timeout,
				      stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **options)

	def sql(self, query):
		return read_store(self.env["PROCTOR_STATE_DIR"], query)


@pytest.fixture
def state_dir():
	place = Path(tempfile.mkdtemp(prefix="proctor-store-", dir=STORES))
	yield place / "state"
	shutil.rmtree(place, ignore_errors=True)


def newest_pid():
	return int(Path("/proc/loadavg").read_text(encoding="ascii").split()[-1])


def end_all_of(state_dir, since=0):
	"""What a story that broke off left of its jobs, stopped ones too: killed, known by their environment. Those that are older than
	the pid `since` are not looked at, unless pids have begun anew."""
	mark = b"\0PROCTOR_STATE_DIR=%s\0" % os.fsencode(state_dir)
	is_anew = newest_pid() < since
	for pid in (int(name) for name in os.listdir("/proc") if name.isdigit() and (is_anew or int(name) > since)):
		try:
			process = os.pidfd_open(pid)
		except OSError:
			continue
		try:
			if mark in b"\0" + Path("/proc/%d/environ" % pid).read_bytes():
				signal.pidfd_send_signal(process, signal.SIGKILL)
		except OSError:
			pass  # it is gone, or not ours to see
		finally:
			os.close(process)


@pytest.fixture
def proctor(request, state_dir):
	assert os.access(BINARY, os.X_OK), "no program at %s: build it, or set PROCTOR_BIN" % BINARY
	runner = Proctor(state_dir)
	before = newest_pid()
	yield runner
	end_all_of(state_dir, before)
	check_tier(request, runner.state_dir, usual_tier())


class Children:
	"""Processes that a test starts, each in a session of its own; what is left at the end is killed, by pid."""

	def __init__(self):
		self.started = []

	def spawn(self, command, **options):
		assert len(self.started) < CHILDREN_MAX, "a test may start %d processes" % CHILDREN_MAX
		options.setdefault("stdin", subprocess.DEVNULL)
		options.setdefault("start_new_session", True)
		child = subprocess.Popen(list(map(str, command)), **options)  # pylint: disable=consider-using-with
		self.started.append(child)
		# It may still be half-way through execve(), without a command line.
		wait_for(lambda: Path("/proc/%d/cmdline" % child.pid).read_bytes() or child.poll() is not None, step=0.001)
		return child

	def python(self, program, *args, **options):
		"""A child that runs this text."""
		return self.spawn([sys.executable, "-c", program, *args], **options)

	def busy(self, seconds=30):
		return self.spawn(["timeout", str(seconds), "sh", "-c", "while :; do :; done"])

	def idle(self, count, seconds=60):
		return [self.spawn(["sleep", str(seconds)]) for _ in range(count)]

	def end_all(self):
		for child in self.started:
			if child.poll() is not None:
				continue
			# Its session is its group; a child that left it is its own test's to end.
			try:
				os.killpg(child.pid, signal.SIGKILL)
			except (ProcessLookupError, PermissionError):
				child.kill()
		for child in self.started:
			child.wait(timeout=TIMEOUT_S)
			for stream in (child.stdin, child.stdout, child.stderr):
				if stream:
					stream.close()


@pytest.fixture
def children():
	kept = Children()
	yield kept
	kept.end_all()


@pytest.fixture
def gate(tmp_path):
	"""Where a command waits (`read go <gate`) until gate.open()."""
	path = tmp_path / "gate"
	os.mkfifo(path)

	class Gate:
		def __str__(self):
			return str(path)

		def open(self):
			os.close(wait_for(self.try_to_open))

		def try_to_open(self):
			try:
				return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
			except OSError:  # nobody waits yet
				return None

	return Gate()


@contextlib.contextmanager
def running_as_nobody(uid=None):
	"""The program as the user nobody, or as the user with this uid, with a state directory of its own. Needs root."""
	if os.geteuid() != 0:
		pytest.skip("NOT RUN: needs root to become nobody")
	nobody = pwd.getpwnam("nobody")
	uid = nobody.pw_uid if uid is None else uid
	place = Path(SCRATCH) / ("proctor-nobody-%d-%d" % (os.getpid(), time.monotonic_ns()))
	place.mkdir(mode=0o700)
	# The build tree may lie where nobody cannot read, so the program is brought along.
	binary = place / "proctor"
	for source, copy in ((BINARY, binary), (BINARY + "-top", place / "proctor-top")):
		try:
			os.link(source, copy)
		except FileNotFoundError:  # installed elsewhere
			continue
		except OSError:  # another file system
			shutil.copy2(source, copy)
		copy.chmod(0o755)
	(place / "state").mkdir()
	for path in (place, place / "state"):
		os.chown(path, uid, nobody.pw_gid)
	runner = Proctor(place / "state")
	runner.binary = str(binary)
	runner.env["HOME"] = str(place)

	def run(*args, **options):
		return runner(*args, user=uid, group=nobody.pw_gid, extra_groups=[], cwd=place, **options)

	run.place, run.state_dir, run.env, run.sql = place, runner.state_dir, runner.env, runner.sql
	run.copy = lambda program: shutil.copy2(program, place)  # a program of the build tree, to where it can be read
	yield run
	shutil.rmtree(place)


@pytest.fixture
def as_somebody(request):
	"""The same as a user that has no other processes, those of tests that run beside this one neither."""
	with running_as_nobody(100000 + os.getpid()) as run_as_somebody:
		yield run_as_somebody
		check_tier(request, run_as_somebody.state_dir, "connector")


@pytest.fixture
def as_nobody(request):
	"""running_as_nobody(), for one test."""
	with running_as_nobody() as run_as_nobody:
		yield run_as_nobody
		check_tier(request, run_as_nobody.state_dir, "connector")


@pytest.fixture
def run(proctor):
	"""`proctor run` and what it recorded: see runkit.py. A test that uses it and hangs ends with the line where it hung."""
	from runkit import Run  # pylint: disable=import-outside-toplevel

	def give_up(*_):
		raise TimeoutError("the test took more than %d s" % TIMEOUT_S)

	before = signal.signal(signal.SIGALRM, give_up)
	signal.alarm(TIMEOUT_S)
	yield Run(proctor)
	signal.alarm(0)
	signal.signal(signal.SIGALRM, before)
