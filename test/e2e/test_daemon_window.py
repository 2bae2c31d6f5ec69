# SPDX-License-Identifier: MIT
"""A registered job has what happened between job.start and job.end: no more, though its processes are older or live on."""
import os
import subprocess
import time
from pathlib import Path

import pytest

from conftest import read_store
from daemonkit import cold, daemon  # noqa: F401 pylint: disable=unused-import
from runkit import wait_for

NOBODY = 65534
# Does what it is asked to, a word per line: memory in MiB that is given back, CPU time in ms, children that burn 50 ms each.
WORKER = """
import mmap, os, sys, time
def burn(ms):
	until = time.process_time() + ms / 1000
	while time.process_time() < until: pass
for line in sys.stdin:
	what, n = line.split()
	if what == "hold":
		block = mmap.mmap(-1, int(n) << 20)
		for at in range(0, len(block), 4096): block[at] = 1
		block.close()
	elif what == "burn":
		burn(int(n))
	elif what == "zombie":
		for _ in range(int(n)):
			if os.fork() == 0:
				burn(50)
				os._exit(0)
			os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
	else:
		for _ in range(int(n)):
			if os.fork() == 0:
				burn(50)
				os._exit(0)
			os.wait()
	print("done", flush=True)
"""


class Worker:
	def __init__(self, children, uid):
		self.process = children.python(WORKER, stdin=-1, stdout=-1, user=uid)
		self.pid = self.process.pid

	def do(self, what, amount):
		self.process.stdin.write(b"%s %d\n" % (what.encode(), amount))
		self.process.stdin.flush()
		assert self.process.stdout.readline() == b"done\n"

	def cpu(self):
		"""By the kernel's clock of the process."""
		return time.clock_gettime(~self.pid << 3 | 2)

	def rss_mb(self):
		return int(Path("/proc/%d/statm" % self.pid).read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20


@pytest.fixture(params=[0, NOBODY], ids=["root", "nobody"])
def worker(request, children):
	one = Worker(children, request.param)
	one.uid = request.param
	return one


def profile(daemon, worker, job_id):
	return daemon.result("job.profile", worker.uid, job_id=job_id)


def memory_used(daemon, job_id):
	job, = read_store(daemon.proctor.state_dir, "SELECT peak_used_mb FROM jobs WHERE job_id = '%s'" % job_id)
	return job["peak_used_mb"]


def test_a_process_counts_from_the_start_of_its_job(daemon, worker):
	worker.do("hold", 300)
	worker.do("burn", 300)
	daemon.wait_ticks()
	daemon.result("job.start", worker.uid, job_id="idle", pid=worker.pid)
	daemon.wait_ticks()
	daemon.result("job.end", worker.uid, job_id="idle")
	idle = profile(daemon, worker, "idle")
	assert idle["total_cpu_seconds"] < 0.02 and idle["process_spawn_count"] == 1, idle
	assert worker.rss_mb() * 0.5 < idle["peak_rss_mb"] < 60, idle
	assert memory_used(daemon, "idle") < 60
	before = worker.cpu()
	daemon.result("job.start", worker.uid, job_id="next", pid=worker.pid)
	worker.do("burn", 300)
	worker.do("hold", 400)  # more than ever: the kernel's mark is of this job
	used = worker.cpu() - before
	daemon.result("job.end", worker.uid, job_id="next")
	after = profile(daemon, worker, "next")
	assert abs(after["total_cpu_seconds"] - used) < 0.05, (after, used)
	assert 400 < after["peak_rss_mb"] < 460, after
	assert profile(daemon, worker, "idle") == idle


def test_nothing_is_added_after_the_end_that_was_reported(daemon, worker):
	daemon.result("job.start", worker.uid, job_id="over", pid=worker.pid)
	worker.do("fork", 1)
	daemon.result("job.end", worker.uid, job_id="over")
	ended = profile(daemon, worker, "over")
	assert ended["process_spawn_count"] == 2 and ended["total_cpu_seconds"] >= 0.05, ended
	worker.do("fork", 7)
	worker.do("burn", 200)
	daemon.wait_ticks()
	assert profile(daemon, worker, "over") == ended
	daemon.result("job.start", worker.uid, job_id="after", pid=worker.pid)
	worker.do("fork", 2)
	daemon.wait_ticks()  # it is stored as a process of this job
	daemon.result("job.end", worker.uid, job_id="after")
	assert profile(daemon, worker, "after")["process_spawn_count"] == 3
	assert 0.1 <= profile(daemon, worker, "after")["total_cpu_seconds"] < 0.2
	assert profile(daemon, worker, "over") == ended


def test_no_event_after_the_end_is_one_of_the_job(daemon, worker):
	daemon.result("job.start", worker.uid, job_id="quiet", pid=worker.pid)
	worker.do("fork", 1)
	daemon.wait_ticks()
	daemon.result("job.end", worker.uid, job_id="quiet")
	worker.process.kill()
	worker.process.wait()
	everything = "SELECT event_type, job_id FROM process_events WHERE pid = %d AND event_type != 'spawn' ORDER BY id" % worker.pid
	killed = [{"event_type": "kill", "job_id": None}, {"event_type": "exit", "job_id": None}]
	wait_for(lambda: len(daemon.proctor.sql(everything)) == 2)
	assert daemon.proctor.sql(everything) == killed
	assert [row["event_type"] for row in daemon.proctor.sql("SELECT event_type FROM job_process_events ORDER BY id")][-2:] == ["spawn", "exit"]
	key = "%d:quiet" % worker.uid
	assert "Events worth knowing" not in daemon.proctor("report", key).stdout
	assert "SIGKILL" not in daemon.proctor("events", key).stdout


def test_what_ended_before_its_job_was_not_left_behind_though_its_totals_come_later(daemon, worker):
	"""The kernel reports them when it is reaped, or never."""
	daemon.result("job.start", worker.uid, job_id="early", pid=worker.pid)
	worker.do("zombie", 1)
	daemon.result("job.end", worker.uid, job_id="early")
	def early():
		return read_store(daemon.proctor.state_dir, "SELECT * FROM jobs WHERE job_id = 'early'")[0]
	job = early()
	assert (job["processes"], job["exited_processes"], job["outlived_processes"]) == (2, 1, 1), job
	assert job["cpu_seconds_quality"] == "at_least", job
	worker.do("fork", 1)  # whichever it waits for
	wait_for(lambda: 0.05 <= early()["cpu_seconds"] < 0.1)


def test_what_outlives_the_first_process_adds_nothing(daemon, children, tmp_path):
	go = tmp_path / "go"
	first = children.spawn(["sh", "-c", "(while [ ! -e %s ]; do sleep 0.05; done; for i in 1 2 3 4 5 6 7; do true & wait; done; "
				"exec sleep 60) & read line" % go], stdin=-1)
	daemon.result("job.start", job_id="outlived", pid=first.pid)
	first.stdin.close()
	first.wait()
	wait_for(lambda: {j["job_id"]: j for j in daemon.result("job.list")["jobs"]}["outlived"]["status"] != "running")
	daemon.wait_ticks()
	ended = daemon.result("job.profile", job_id="outlived")
	go.touch()
	daemon.wait_ticks(2)
	assert daemon.result("job.profile", job_id="outlived") == ended


def test_a_job_that_goes_on_after_a_restart_has_nothing_of_before(daemon, worker):
	worker.do("burn", 300)
	daemon.result("job.start", worker.uid, job_id="restarted", pid=worker.pid)
	before = worker.cpu()
	worker.do("burn", 300)
	daemon.wait_ticks()
	daemon.stop()
	daemon.start()
	worker.do("burn", 200)
	used = worker.cpu() - before
	daemon.result("job.end", worker.uid, job_id="restarted")
	assert used - 0.1 < profile(daemon, worker, "restarted")["total_cpu_seconds"] < used + 0.05


def test_events_of_jobs_are_not_displaced_by_others(daemon, worker):
	daemon.result("job.start", worker.uid, job_id="quiet", pid=worker.pid)
	worker.do("fork", 1)
	subprocess.run(["sh", "-c", "for i in $(seq 300); do /bin/true; done"], check=True)
	daemon.wait_ticks()
	for uid in (0, worker.uid):
		events = daemon.result("daemon.events", uid, limit=200)["events"]
		assert {e["job_id"] for e in events} == {"quiet"} and {e["event_type"] for e in events} >= {"spawn", "exit"}
	daemon.result("job.end", worker.uid, job_id="quiet")
	assert daemon.proctor.sql("SELECT DISTINCT job_id FROM job_process_events") == [{"job_id": "quiet"}]
	assert daemon.proctor.sql("SELECT DISTINCT recorder_kind FROM snapshots") == [{"recorder_kind": "daemon"}]
