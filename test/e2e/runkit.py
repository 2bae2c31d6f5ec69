# SPDX-License-Identifier: MIT
"""What the stories of `proctor run` share: the same command bare and under it, and what was recorded.

	def test_a_story(run):
		done = run("sh", "-c", "exit 3")
		assert done.returncode == 3
		assert run.job()["exit_code"] == 3
"""
import contextlib
import fcntl
import os
import shutil
import signal
import struct
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT, TIERS, TIMEOUT_S, read_store_so_far, wait_for

PROG_DIR = Path(os.environ.get("PROCTOR_PROG_DIR", ROOT / "build-test/test/prog"))
SIGNALS, WAYS, LOAD = (str(PROG_DIR / name) for name in ("signals", "ways", "load"))
NOBODY = "65534"
# A build with sanitizers forbids itself cores, and with that the command.
SANITIZERS = {"ASAN_OPTIONS": "disable_coredump=0:detect_leaks=0", "UBSAN_OPTIONS": "disable_coredump=0"}

# The beginning of programs that use up CPU time and print how much it was, by getrusage.
BURN = """
import resource
def cpu():
	used = resource.getrusage(resource.RUSAGE_SELF)
	return used.ru_utime + used.ru_stime
def burn(seconds):
	end = cpu() + seconds
	while cpu() < end:
		pass
"""


class Run:
	"""`proctor run`, into one store, which it reads, in a control group or in ours."""

	def __init__(self, proctor, group=None):
		self.proctor, self.group = proctor, group
		self.env = {**proctor.env, **SANITIZERS}

	def line(self, *command, options=()):
		return [self.proctor.binary, "run", *map(str, options), "--", *map(str, command)]

	def __call__(self, *command, options=(), **how):
		if self.group:
			how["preexec_fn"] = enter(self.group)
		return self.until_recorded(lambda: self.to_the_end(self.line(*command, options=options), **how))

	def until_recorded(self, once):
		"""In a full group the kernel may look for another process to kill before it has freed the memory of the first, and take
		the recorder: then all is done again."""
		while True:
			done = once()
			state_dir = self.proctor.env["PROCTOR_STATE_DIR"]
			was_killed = done.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)  # the latter by a shell around it
			if not self.group or not was_killed or read_store_so_far(state_dir, "SELECT 1 FROM jobs WHERE ended IS NOT NULL"):
				return done
			for path in Path(state_dir).iterdir():
				shutil.rmtree(path) if path.is_dir() else path.unlink()

	def bare(self, *command, **how):
		"""The same without us."""
		return self.to_the_end([str(word) for word in command], **how)

	def to_the_end(self, line, env=None, **how):
		for stream in ("stdout", "stderr"):
			how.setdefault(stream, subprocess.PIPE)
		how.setdefault("stdin", subprocess.DEVNULL)
		how.setdefault("text", True)
		how.setdefault("timeout", TIMEOUT_S)
		return subprocess.run(line, env=self.env if env is None else env, check=False, **how)

	def sql(self, query):
		return self.proctor.sql(query)

	def jobs(self, where="1"):
		return self.sql("SELECT * FROM jobs WHERE %s ORDER BY started" % where)

	def job(self, where="1"):
		"""The only one."""
		rows = self.jobs(where)
		assert len(rows) == 1, rows
		return rows[0]

	def is_recorded(self):
		"""Whether there is a job in the store, be it a running one."""
		return read_store_so_far(self.proctor.env["PROCTOR_STATE_DIR"], "SELECT 1 FROM jobs") != []

	def processes(self, where="1"):
		return self.sql("SELECT *, (SELECT j.job_id FROM job j WHERE j.id = process.job) AS job_id"
				" FROM process WHERE job IS NOT NULL AND %s ORDER BY id" % where)


def enter(group):
	"""A control group, for preexec_fn."""
	return lambda: (group / "cgroup.procs").write_text(str(os.getpid()), encoding="utf-8")


class Plain(Run):
	"""`proctor run` as a user without rights, on the proc connector, in a place of its own."""

	def __init__(self, as_nobody, group=None, before=(), **env):
		super().__init__(as_nobody, group)
		self.as_nobody, self.before, self.more = as_nobody, before, env

	def __call__(self, *command, options=(), **how):
		env = {**self.as_nobody.env, **SANITIZERS, **self.more}
		# The group is entered first: nobody has no right to.
		line = [str(self.as_nobody.place / "proctor"), "run", "--summary", *options, "--", *command]
		line = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", *self.before, *line]
		how |= {"env": env, "cwd": self.as_nobody.place, "preexec_fn": enter(self.group) if self.group else None}
		return self.until_recorded(lambda: subprocess.run(line, check=False, text=True, capture_output=True, timeout=60, **how))

	def sql(self, query):
		return self.as_nobody.sql(query)


def state_of(pid):
	"""R, S, T, Z …, or "" when there is no such process."""
	try:
		text = Path("/proc/%d/stat" % pid).read_text(encoding="utf-8", errors="replace")
	except (FileNotFoundError, ProcessLookupError):
		return ""
	return text[text.rindex(")") + 2]


def kernel_thread():
	"""The pid of one; None in a namespace of pids."""
	for pid in filter(str.isdigit, os.listdir("/proc")):
		try:
			if Path("/proc", pid, "stat").read_bytes().rsplit(b")", 1)[1].split()[1] == b"2":
				return int(pid)
		except (FileNotFoundError, ProcessLookupError):  # it has ended since it was listed
			continue
	return None


def cpu_of(pid):
	"""Seconds of CPU time."""
	with open("/proc/%d/schedstat" % pid, encoding="ascii") as text:
		return int(text.read().split()[0]) / 1e9


def children_of(pid, comm=None):
	"""Those that live, without our own helpers, or with this name."""
	try:
		pids = Path("/proc/%d/task/%d/children" % (pid, pid)).read_text(encoding="utf-8").split()
	except FileNotFoundError:
		return []
	found = []
	for child in map(int, pids):
		try:
			name = Path("/proc/%d/comm" % child).read_text(encoding="utf-8", errors="replace").strip()
		except (FileNotFoundError, ProcessLookupError):
			continue
		if name == comm or (comm is None and not name.startswith("proctor")):
			found.append(child)
	return found


def command_of(launcher):
	"""The pid of the command behind a launcher, once it runs its program."""
	return wait_for(lambda: children_of(launcher.pid))[0]


@contextlib.contextmanager
def store_locked(state_dir):
	"""No recorder can write meanwhile."""
	with open(Path(state_dir) / "write.lock", "r+b") as lock:
		fcntl.fcntl(lock, 38, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 1, 0))  # F_OFD_SETLKW of byte 0, as recorders lock
		yield


@pytest.fixture(params=["root", "nobody"])
def connected(request, run, as_nobody):
	"""connected(WORD…): runs that on the proc connector, as root or as a plain user, and returns what it printed and what was recorded."""

	def to_the_end(*command):
		if request.param == "root":
			done = run(*command, options=["--tier", "connector"])
		else:
			done = as_nobody("run", "--tier", "connector", "--", *command)
			run.proctor.env["PROCTOR_STATE_DIR"] = str(as_nobody.state_dir)
		assert done.returncode == 0, done.stderr
		assert run.job()["tier"].startswith(TIERS["connector"])
		return done.stdout, run

	to_the_end.copy = lambda program: program if request.param == "root" else as_nobody.copy(program)
	return to_the_end
