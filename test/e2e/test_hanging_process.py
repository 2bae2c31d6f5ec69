# SPDX-License-Identifier: MIT
"""A process that hangs in execve(), because a file system does not answer, holds a lock that readers of /proc/PID/stat, io,
environ and smaps_rollup wait for. The program must not hang with it, in any tier, and must still end on a signal."""
import contextlib
import json
import os
import shutil
import signal
import subprocess

import pytest

from daemonkit import cold, daemon  # noqa: F401  pylint: disable=unused-import
from runkit import PROG_DIR, SANITIZERS, wait_for

TIERS = {"bpf": [], "connector": ["--no-bpf"]}
NOBODY = 65534
LIMIT_S = 20  # an answer takes one or two seconds; hanging takes for ever

pytestmark = [pytest.mark.needs_root]


@pytest.fixture(autouse=True)
def without_leak_check(proctor):
	"""To find leaks, the sanitizer stops all threads at the end; one that hangs cannot be stopped."""
	proctor.env.update(SANITIZERS)


class Victims:
	"""Processes that live, and hang on command; see exec_hang.c."""

	def __init__(self, count, uid):
		self.process = subprocess.Popen([PROG_DIR / "exec_hang", str(count), str(uid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
		self.pids = [int(word) for word in self.process.stdout.readline().split()]
		assert len(self.pids) == count

	def hang(self):
		self.process.stdin.write("\n")
		self.process.stdin.flush()
		assert self.process.stdout.readline() == "they hang\n"

	def end(self):
		with contextlib.suppress(BrokenPipeError):
			self.process.stdin.close()
		self.process.wait(timeout=60)
		self.process.stdout.close()


@contextlib.contextmanager
def living(count=1, uid=0):
	victims = Victims(count, uid)
	try:
		yield victims
	finally:
		victims.end()


@contextlib.contextmanager
def hanging(count=1, uid=0):
	with living(count, uid) as victims:
		victims.hang()
		yield victims.pids


def does_plain_read_hang(pid):
	reader = subprocess.Popen(["cat", "/proc/%d/io" % pid], stdout=subprocess.DEVNULL)
	try:
		reader.wait(timeout=0.3)
		return False
	except subprocess.TimeoutExpired:
		return True
	finally:
		reader.kill()
		reader.wait(timeout=60)


def test_the_stage_is_set(proctor):  # pylint: disable=unused-argument
	with hanging() as pids:
		assert does_plain_read_hang(pids[0])
		assert not does_plain_read_hang(os.getpid())


@pytest.mark.parametrize("tier", TIERS)
def test_snapshot_shows_all_others(proctor, tier):
	with hanging(3) as pids:
		done = proctor("snapshot", "--json", *TIERS[tier], timeout=LIMIT_S)
		assert done.returncode == 0, done.stderr
		seen = {p["pid"] for p in json.loads(done.stdout)["processes"]}
		assert os.getpid() in seen
		if tier == "bpf":  # BPF reads nothing of the process itself
			assert set(pids) <= seen


@pytest.mark.parametrize("tier", TIERS)
def test_doctor_answers_and_names_the_trouble(proctor, tier):
	with hanging():
		done = proctor("doctor", *TIERS[tier], timeout=LIMIT_S)
		assert "BPF" in done.stdout, done.stderr
		if tier == "connector":
			assert "do not answer" in done.stdout


@pytest.mark.parametrize("tier", TIERS)
def test_a_job_beside_it_runs_to_its_end(proctor, tier):
	with hanging():
		done = proctor("run", *TIERS[tier], "--", "sh", "-c", "sleep 0.3; exit 3", timeout=LIMIT_S)
		assert done.returncode == 3, done.stderr


@pytest.mark.parametrize("tier", TIERS)
def test_a_job_that_hangs_itself_can_be_ended(proctor, tier):
	job = subprocess.Popen([proctor.binary, "run", *TIERS[tier], "--", PROG_DIR / "exec_hang", "1"], env=proctor.env, text=True,
			       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
	try:
		job.stdin.write("\n")
		job.stdin.flush()
		pid = int(job.stdout.readline().strip())
		assert job.stdout.readline() == "they hang\n"
		assert does_plain_read_hang(pid)
		wait_for(lambda: (proctor.state_dir / "proctor.db").exists())
		job.send_signal(signal.SIGTERM)
		assert job.wait(timeout=LIMIT_S) == -signal.SIGTERM
	finally:
		job.kill()
		job.communicate()


def test_record_names_it_and_ends_on_a_signal(proctor):
	with hanging() as pids:
		recorder = subprocess.Popen([proctor.binary, "record", "--no-bpf", "--interval", "0.2"], env=proctor.env, text=True,
					    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
		try:
			for line in recorder.stderr:  # on a busy machine it may name others before
				if "process %d does not answer" % pids[0] in line:
					break
			else:
				raise AssertionError("the recorder ended")
			recorder.send_signal(signal.SIGTERM)
			recorder.communicate(timeout=LIMIT_S)
			assert recorder.returncode == 0
		finally:
			recorder.kill()
			recorder.communicate()


def test_the_daemon_keeps_what_it_knew_and_goes_on(cold):  # noqa: F811
	def pids():
		return {p["pid"] for p in cold.result("daemon.top", limit=5000)["processes"]}

	with living(2) as victims:
		cold.start("--no-bpf")
		assert set(victims.pids) <= pids()
		victims.hang()
		cold.wait_ticks(2)
		assert set(victims.pids) | {os.getpid()} <= pids()
		assert "answer" in cold.log_text()
		assert cold.stop() == 0


def threads_of(pid):
	return len(os.listdir("/proc/%d/task" % pid))


def test_asking_for_it_again_costs_no_thread_more(cold):  # noqa: F811
	with living() as victims:
		cold.start("--no-bpf")
		(pid,) = victims.pids
		cold.result("job.start", job_id="stuck", pid=pid)
		cold.result("context.get", pid=pid)
		victims.hang()
		cold.wait_ticks(2)
		asks = [lambda: cold.result("context.get", pid=pid), lambda: cold.result("job.report", job_id="stuck")]
		for ask in asks:
			ask()
		before = threads_of(cold.process.pid)
		for _ in range(3):
			for ask in asks:
				ask()
		assert threads_of(cold.process.pid) <= before
		assert cold.stop() == 0


def test_a_process_that_hangs_is_not_reported_as_gone(cold):  # noqa: F811
	with hanging() as (pid,):
		done = cold.proctor("run", "--pid", pid, timeout=LIMIT_S, env=SANITIZERS)
		assert done.returncode == 125 and "process %d does not answer" % pid in done.stderr, done.stderr
		cold.start("--no-bpf")
		assert "process %d does not answer" % pid in cold.call("job.start", job_id="stuck", pid=pid)["error"]["message"]
		assert "no process with pid" in cold.call("job.start", job_id="gone", pid=2**22 - 1)["error"]["message"]
		assert cold.stop() == 0


def is_shown(daemon, pid):  # noqa: F811
	return any(p["pid"] == pid for p in daemon.result("daemon.top", limit=5000)["processes"])


def test_many_that_hang_blind_the_daemon_for_their_user_only(cold, children):  # noqa: F811
	cold.start("--no-bpf")
	with hanging(40, uid=NOBODY):
		wait_for(lambda: cold.result("daemon.status")["losses"]["refused_reads"] > 0)
		others = [children.spawn(["sleep", "60"], user=uid, group=uid, extra_groups=[]).pid for uid in (0, NOBODY + 1)]
		wait_for(lambda: all(is_shown(cold, pid) for pid in others))
		wait_for(lambda: cold.result("daemon.status")["losses"]["hanging_processes"])
		assert "too many processes of user %d do not answer" % NOBODY in cold.log_text()
		assert "did not answer;" in cold.proctor("status").stdout
		wait_for(lambda: cold.proctor.sql("SELECT 1 FROM recorder_events WHERE event_type = 'probe' AND details LIKE 'too many processes of user 65534%'"))
		assert cold.stop() == 0


@pytest.mark.skipif(not shutil.which("strace"), reason="NOT RUN: strace is not installed")
def test_a_trace_that_cannot_begin_is_given_up(cold):  # noqa: F811
	cold.start()
	with hanging(uid=NOBODY) as (pid,):
		message = cold.call("trace.start", NOBODY, pid=pid, seconds=3600)["error"]["message"]
		assert "it did not attach" in message
		assert cold.result("trace.list")["traces"][0]["status"] == "ended"
		assert cold.stop() == 0
