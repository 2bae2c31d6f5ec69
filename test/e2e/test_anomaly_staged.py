# SPDX-License-Identifier: MIT
"""Jobs that stall, storm, leak and are held back, staged at once, and others that only seem to."""
import json
import os
import subprocess
import sys

import pytest

from conftest import Proctor, end_all_of
from runkit import Run

PYTHON = sys.executable
STALL_S = 15  # how long a deadlock lasts before it is reported
LIMIT_S = STALL_S + 9

# Two children, each of which reads what the other would write next.
DEADLOCK = """
import os
(a_read, a_write), (b_read, b_write) = os.pipe(), os.pipe()
for mine, theirs in ((a_read, b_write), (b_read, a_write)):
	if os.fork() == 0:
		for fd in (a_read, a_write, b_read, b_write):
			if fd not in (mine, theirs):
				os.close(fd)
		os.read(mine, 1)
		os._exit(0)
for fd in (a_read, a_write, b_read, b_write):
	os.close(fd)
os.wait()
"""
# An idle pool: its workers wait for its pipe, and it for a connection that never comes.
SERVER = """
import os, signal, socket
signal.alarm(%d)
signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
read, write = os.pipe()
if os.fork() == 0:
	os.close(write)
	os.read(read, 1)
	os._exit(0)
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen()
server.accept()
""" % (LIMIT_S - 2)
THREADS = """
import threading, time
threading.stack_size(65536)
end = threading.Event()
for _ in range(1100):
	threading.Thread(target=end.wait, daemon=True).start()
time.sleep(3)
"""
PROCESSES = """
import os, time
children = []
for _ in range(74):
	pid = os.fork()
	if pid == 0:
		time.sleep(60)
		os._exit(0)
	children.append(pid)
time.sleep(3)
for pid in children:
	os.kill(pid, 9)
	os.waitpid(pid, 0)
"""
BUSY = """
import time
end = time.monotonic() + %d
while time.monotonic() < end:
	pass
""" % (LIMIT_S - 1)

# Two thirds of the memory that it may use at once, and the rest slowly, but not all of it.
EATER = """
import time
kept = [bytearray(b"x") * (120 << 20)]
for _ in range(55):
	kept.append(bytearray(b"x") * (1 << 20))
	time.sleep(0.6)
"""
# Half a MiB each second into a disk that is almost full, until it is reported.
FILLER = """
import sys, time
end = time.monotonic() + %d
with open(sys.argv[1] + "/out", "wb", buffering=0) as out:
	while time.monotonic() < end:
		out.write(bytes(100 << 10))
		time.sleep(0.2)
""" % (LIMIT_S + 6)
DISK_MIB, DISK_TAKEN_MIB = 100, 75

# What each is called, its options, and its command.
STAGED = {
	"deadlock": (["--time", "%ds" % LIMIT_S, "--grace", "2s"], [PYTHON, "-c", DEADLOCK]),
	"sleeper": ([], ["sleep", str(LIMIT_S - 2)]),
	"pipeline": ([], ["sh", "-c", "sleep %d | cat" % (LIMIT_S - 2)]),
	"server": ([], [PYTHON, "-c", SERVER]),
	"throttled": (["--cpu", "0.05"], [PYTHON, "-c", BUSY]),
	"threads": ([], [PYTHON, "-c", THREADS]),
	"eater": (["--mem", "200M"], [PYTHON, "-c", EATER]),
	"storm": (["--pids", "80"], [PYTHON, "-c", PROCESSES]),
}


class Stage:
	"""The staged jobs, and how they ended: their status and what `run` printed."""

	def __init__(self, run):
		self.run, self.ends, self.staged = run, {}, dict(STAGED)

	def add_disk(self, place):
		"""Small, and in this mount namespace only."""
		place.mkdir()
		if os.geteuid() == 0:
			subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%dM,mode=0777" % DISK_MIB, "tmpfs", str(place)], check=True)
			(place / "earlier").write_bytes(bytes(DISK_TAKEN_MIB << 20))
			self.staged["filler"] = ([], [PYTHON, "-c", FILLER, str(place)])

	def play(self):
		"""All at once, into a store that exists; each is low on CPU time."""
		self.run("true")
		jobs = {name: subprocess.Popen(self.run.line(*command, options=["--summary", "--name", name, *options]),
					       env=self.run.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
			for name, (options, command) in self.staged.items()}
		for name, job in jobs.items():
			_, stderr = job.communicate(timeout=120)
			self.ends[name] = (job.returncode, stderr)

	def anomalies(self, name):
		(job,) = self.run.jobs("type = '%s'" % name)
		rows = self.run.sql("SELECT * FROM anomalies WHERE job_id = '%s'" % job["job_id"])
		return [row for row in rows if row["anomaly_type"] != "memory_pressure"]


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
	state_dir = tmp_path_factory.mktemp("staged") / "state"
	disk = tmp_path_factory.mktemp("staged") / "disk"
	played = Stage(Run(Proctor(state_dir)))
	try:
		played.add_disk(disk)
		played.play()
		yield played
	finally:
		end_all_of(state_dir)
		subprocess.run(["umount", str(disk)], check=False, stderr=subprocess.DEVNULL)


def test_a_deadlock_is_a_stall_that_names_both_ends(stage):
	(stall,) = stage.anomalies("deadlock")
	blocked = {row["pid"] for row in stage.run.processes("job IN (SELECT id FROM job WHERE type = 'deadlock')")}
	other = stall["description"].split("read on a pipe from python", 1)[1].split(" ")[1]
	assert (stall["anomaly_type"], stall["severity"], stall["basis"]) == ("stall", "high", "threshold")
	assert STALL_S <= stall["metric_value"] < LIMIT_S and round(stall["threshold"]) == STALL_S
	assert stall["pid"] in blocked and int(other) in blocked and int(other) != stall["pid"]
	assert "pipe_read" in stall["description"] and "(S" in stall["description"]


def test_a_job_that_was_stopped_while_it_stalled_hung(stage):
	page = json.loads(stage.run.proctor("why", "deadlock", "--json").stdout)
	(stall,) = stage.anomalies("deadlock")
	assert (page["cause"], page["confidence"]) == ("hung", "high")
	assert page["culprit"]["pid"] == stall["pid"]
	assert stall["description"] in [item["text"] for item in page["evidence"]]
	assert [item["source"] for item in page["evidence"]].count("limit") == 1
	text = stage.run.proctor("why", "deadlock").stdout
	assert "hung" in text and "on a pipe" in text
	assert "hung" in stage.ends["deadlock"][1]


@pytest.mark.parametrize("name", ["sleeper", "pipeline", "server"])
def test_what_waits_on_purpose_is_no_stall(stage, name):
	assert stage.ends[name][0] == 0
	assert stage.anomalies(name) == []


def test_a_job_that_is_held_back_by_its_cpu_limit_is_throttled(stage):
	(found,) = stage.anomalies("throttled")
	assert (found["anomaly_type"], found["severity"]) == ("throttled", "medium")
	assert found["pid"] is None and found["threshold"] == 25
	assert 50 < found["peak"] <= 100  # a twentieth of a core


def test_a_thousand_threads_at_once_are_an_explosion(stage):
	(found,) = stage.anomalies("threads")
	assert (found["anomaly_type"], found["severity"]) == ("thread_explosion", "high")
	assert 1000 <= found["peak"] <= 1101
	assert "many threads: python" in stage.ends["threads"][1]


def test_processes_that_multiply_up_to_their_limit_are_a_storm(stage):
	(found,) = stage.anomalies("storm")
	assert (found["anomaly_type"], found["severity"], found["threshold"]) == ("fork_storm", "critical", 72)
	assert found["pid"] is None and 72 <= found["peak"] <= 80
	assert "many processes:" in stage.ends["storm"][1]


def test_memory_that_runs_out_is_reported_with_the_time_left(stage):
	assert stage.ends["eater"][0] == 0
	# On a busy machine it grows in jumps: it may look like a spike, too, and run out of memory more than once.
	found = next(row for row in stage.anomalies("eater") if row["anomaly_type"] == "memory_exhaustion")
	assert (found["basis"], found["threshold"]) == ("threshold", 300)
	assert found["pid"] is None and 0 < found["peak"] <= found["metric_value"] <= 120
	assert "of 200 MiB used, at this rate all in" in found["description"]


def test_a_disk_that_will_soon_be_full_is_reported_with_the_time_left(stage):
	if "filler" not in stage.staged:
		pytest.skip("NOT RUN: needs root to mount a small disk")
	(found,) = stage.anomalies("filler")
	assert (found["anomaly_type"], found["basis"], found["threshold"]) == ("disk_filling", "threshold", 300)
	assert found["severity"] in ("high", "critical") and found["pid"] is None
	assert 0 < found["peak"] <= found["metric_value"] <= 300
	assert "of 100 MiB left in" in found["description"] and "/disk" in found["description"]
	assert "disk fills up:" in stage.ends["filler"][1] and "disk fills up" in stage.run.proctor("report", "filler").stdout


TAKE = """
import sys, time
def take(mib):
	block = bytearray(mib << 20)
	block[::4096] = bytes([1]) * len(block[::4096])
	return block
first, wait, second = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
kept = [take(first)]
time.sleep(wait)
kept.append(take(second))
time.sleep(1.2 if wait else 0)
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
	"""Five runs of a program that loads 300 MiB; a sixth that does so, later; and a seventh that takes much more."""
	run = Run(Proctor(tmp_path_factory.mktemp("model") / "state"))

	def take(name, *words):
		return run(PYTHON, "-c", TAKE, *words, options=["--name", "model", "--job-id", name, "--summary"])

	for number in range(5):
		assert take("earlier-%d" % number, 80, 0, 220).returncode == 0
	run.alike, run.leaking = take("alike", 80, 3, 220), take("leaking", 80, 3, 460)
	return run


def found_in(run, job):
	rows = run.sql("SELECT * FROM anomalies WHERE job_id = '%s' ORDER BY anomaly_type" % job)
	return [row for row in rows if row["anomaly_type"] != "memory_pressure"]


def test_loading_what_every_earlier_run_loaded_is_no_anomaly(model):
	assert model.alike.returncode == 0
	assert found_in(model, "alike") == []


def test_more_memory_than_any_earlier_run_is_a_leak(model):
	leak, spike = found_in(model, "leaking")
	assert (leak["anomaly_type"], spike["anomaly_type"]) == ("memory_leak", "memory_spike")
	assert [(row["basis"], row["earlier_runs"]) for row in (leak, spike)] == [("history", 6)] * 2
	assert leak["pid"] is None and spike["pid"]
	assert 330 < leak["threshold"] < 420 and 500 < leak["peak"] < 600
	assert "at most" in leak["description"] and "6 earlier runs" in leak["description"]
	assert "memory leak:" in model.leaking.stderr
	report = json.loads(model.proctor("report", "leaking", "--json").stdout)
	shown = {a["anomaly_type"]: a for a in report["anomalies"]}
	assert (shown["memory_leak"]["basis"], shown["memory_leak"]["earlier_runs"], shown["memory_leak"]["job_id"]) == ("history", 6, "leaking")
	assert "memory leak" in model.proctor("report", "leaking").stdout
