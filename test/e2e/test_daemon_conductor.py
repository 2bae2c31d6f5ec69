# SPDX-License-Identifier: MIT
"""An orchestrator of one process that runs several jobs, each sheet in a child of its own."""
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from daemonkit import cold, daemon  # noqa: F401 pylint: disable=unused-import
from runkit import wait_for

NOBODY = 65534
BURN = "import time\nuntil = time.process_time() + %f\nwhile time.process_time() < until: pass"


def jobs_of(daemon):
	return {job["job_id"]: job for job in daemon.result("job.list")["jobs"]}


def processes_of(daemon, job_id):
	return [p for p in daemon.result("daemon.top")["processes"] if p["job_id"] == job_id]


def stored(daemon, job_id):
	"""Its row, once its end is on the disk: on a busy machine job.end may answer before that (`stored` is false then)."""
	query = "SELECT cpu_seconds, peak_rss_mb, processes FROM jobs WHERE job_id = '%s' AND ended IS NOT NULL" % job_id
	return wait_for(lambda: json.loads(daemon.proctor("sql", "--json", query).stdout))[0]


def run_sheet(line, job_id, num, seconds, uid):
	"""What its child used, by wait4; it begins when the daemon knows it."""
	child = subprocess.Popen([sys.executable, "-c", "input()\n" + BURN % seconds], stdin=subprocess.PIPE, user=uid)
	assert "result" in line.call("sheet.started", job_id=job_id, sheet_num=num, pid=child.pid)
	child.stdin.write(b"go\n")
	child.stdin.close()
	_, status, usage = os.wait4(child.pid, 0)
	child.returncode = status
	assert "result" in line.call("sheet.completed", job_id=job_id, sheet_num=num)
	return usage.ru_utime + usage.ru_stime


@pytest.mark.parametrize("uid", [0, NOBODY])
def test_a_conductor_runs_several_jobs_with_a_child_per_sheet(daemon, uid):
	used = {"first": 0.0, "second": 0.0}
	with daemon.line(uid) as line:
		for job_id in used:
			assert line.call("job.start", job_id=job_id, job_type="score", total_sheets=2)["result"]["status"] == "running"
		for num in (1, 2):
			for job_id, seconds in (("first", 0.2), ("second", 0.5)):
				used[job_id] += run_sheet(line, job_id, num, seconds, uid)
		wait_for(lambda: not processes_of(daemon, "first"))  # at the next tick
		assert [jobs_of(daemon)[job_id]["status"] for job_id in used] == ["running", "running"]
		for job_id in used:
			assert line.call("job.end", job_id=job_id, exit_code=0)["result"]["status"] == "completed"
	for job_id, seconds in used.items():
		stored(daemon, job_id)
		# On a busy machine the kernel reports what a process used in all a while after its end.
		key = "%d:%s" % (uid, job_id)
		wait_for(lambda: abs(daemon.result("job.profile", job_id=key)["total_cpu_seconds"] - seconds) < 0.06)
		profile = daemon.result("job.profile", job_id=key)
		assert profile["process_spawn_count"] == 2, profile
		assert list(profile["sheet_metrics"]) == ["1", "2"]
		job = jobs_of(daemon)[job_id]
		assert (job["uid"], job["last_completed_sheet"], job["total_sheets"]) == (uid, 2, 2)


def test_a_job_without_a_process_lasts_until_its_registrar_is_gone(daemon, children):
	conductor = children.python("import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n"
				    "s.sendall(b'{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"job.start\",\"params\":{\"job_id\":\"orphan\"}}\\n')\n"
				    "print(s.recv(4096), flush=True)\ns.close()\nsys.stdin.read()", daemon.socket, stdin=-1, stdout=-1)
	assert b'"running"' in conductor.stdout.readline()
	daemon.wait_ticks()
	assert jobs_of(daemon)["orphan"]["status"] == "running"  # though the connection is closed
	daemon.stop()
	daemon.start()
	assert jobs_of(daemon)["orphan"]["status"] == "running"
	conductor.stdin.close()
	conductor.wait()
	wait_for(lambda: jobs_of(daemon)["orphan"]["status"] == "lost")
	assert daemon.result("job.end", job_id="orphan", exit_code=3)["status"] == "failed"  # it may still be corrected


def test_a_process_that_is_found_by_its_workspace_is_in_the_current_sheet(daemon, children, tmp_path):
	with daemon.line() as line:
		line.call("job.start", job_id="found", workspace=str(tmp_path))
		line.call("sheet.started", job_id="found", sheet_num=4)
		found = children.spawn(["sh", "-c", "while sleep 0.2; do :; done; : %s/x" % tmp_path])
		there = wait_for(lambda: [p for p in processes_of(daemon, "found") if p["pid"] == found.pid])
		assert there[0]["sheet_num"] == 4
		assert os.getpid() not in {p["pid"] for p in processes_of(daemon, "found")}
		line.call("job.end", job_id="found")


# A child that once had 200 MiB and used 0.5 s of CPU time, and uses 0.2 s when it is asked to.
PAST = """
import os, time
def burn(seconds):
	until = time.process_time() + seconds
	while time.process_time() < until: pass
if os.fork() == 0:
	big = bytearray(b"x") * (200 << 20)
	del big
	burn(0.5)
	print("past", flush=True)
	os.read(0, 1)
	burn(0.2)
	print("present", flush=True)
	os.read(0, 1)
else:
	os.wait()
"""


@pytest.mark.parametrize("order", ["registered before", "registered after"])
@pytest.mark.parametrize("uid", [0, NOBODY])
def test_the_past_of_a_sheets_processes_is_no_part_of_job_and_sheet(daemon, children, uid, order):
	with daemon.line(uid) as line:
		if order == "registered before":
			line.call("job.start", job_id="past")
		worker = children.python(PAST, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, user=uid)
		assert worker.stdout.readline() == "past\n"
		if order == "registered after":
			line.call("job.start", job_id="past")
		assert "result" in line.call("sheet.started", job_id="past", sheet_num=1, pid=worker.pid)
		print("x", end="", file=worker.stdin, flush=True)
		assert worker.stdout.readline() == "present\n"
		daemon.wait_ticks(2)
		line.call("sheet.completed", job_id="past", sheet_num=1)
		line.call("job.end", job_id="past")
	row = stored(daemon, "past")
	assert row["processes"] == 2 and 0.18 < row["cpu_seconds"] < 0.4 and row["peak_rss_mb"] < 100, row
	sheet, = json.loads(daemon.proctor("sql", "--json", "SELECT * FROM sheets WHERE job_id = 'past'").stdout)
	assert 0.18 < sheet["cpu_seconds"] < 0.4 and sheet["cpu_seconds_quality"] == "exact", sheet
	assert sheet["peak_rss_mb"] < 100 and sheet["processes"] == 2, sheet


# The process is found at a tick: between the two calls, or later.
@pytest.mark.parametrize("found_before_sheet", [False, True])
def test_an_older_process_that_is_found_brings_no_past_into_the_sheet(daemon, children, tmp_path, found_before_sheet):
	found = children.python(PAST + "# %s/x" % tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
	assert found.stdout.readline() == "past\n"
	with daemon.line() as line:
		line.call("job.start", job_id="late", workspace=str(tmp_path))
		if found_before_sheet:
			wait_for(lambda: len(processes_of(daemon, "late")) == 2)
		line.call("sheet.started", job_id="late", sheet_num=4)
		wait_for(lambda: [p["sheet_num"] for p in processes_of(daemon, "late")] == [4, 4])
		print("x", end="", file=found.stdin, flush=True)
		assert found.stdout.readline() == "present\n"
		daemon.wait_ticks(2)
		line.call("sheet.completed", job_id="late", sheet_num=4)
		line.call("sheet.started", job_id="late", sheet_num=5)
		wait_for(lambda: [p["sheet_num"] for p in processes_of(daemon, "late")] == [5, 5])
		line.call("job.end", job_id="late")
	stored(daemon, "late")
	sheet, later = json.loads(daemon.proctor("sql", "--json", "SELECT * FROM sheets WHERE job_id = 'late' ORDER BY sheet_num").stdout)
	assert 0.18 < sheet["cpu_seconds"] < 0.4 and sheet["cpu_seconds_quality"] in ("exact", "at_least"), sheet
	assert sheet["peak_rss_mb"] < 100 and sheet["processes"] == 2, sheet
	assert (later["cpu_seconds"] or 0) < 0.1, later


@pytest.mark.parametrize("uid", [0, NOBODY])
def test_the_end_of_a_child_has_its_sheet_everywhere(daemon, uid):
	with daemon.line(uid) as line, daemon.line(uid) as ear:
		assert "result" in line.call("job.start", job_id="steps")
		ear.send('{"jsonrpc":"2.0","id":1,"method":"daemon.monitor.stream","params":{"job_id":"steps"}}\n')
		sheets = {}
		for num in range(1, 6):
			child = subprocess.Popen(["sh", "-c", "read go; exit 3"], stdin=subprocess.PIPE, user=uid)
			assert "result" in line.call("sheet.started", job_id="steps", sheet_num=num, pid=child.pid)
			child.communicate(b"\n", timeout=60)
			sheets[child.pid] = num
			assert "result" in line.call("sheet.failed", job_id="steps", sheet_num=num, exit_code=3)
		assert "result" in line.call("job.end", job_id="steps", exit_code=1)
		heard = {}
		while len(heard) < 5:
			event = ear.read()["params"]
			if event["event"] == "process.exit":
				heard[event["data"]["pid"]] = event["sheet_num"]
		recent = line.call("daemon.events")["result"]["events"]
	assert heard == sheets
	assert {e["pid"]: e["sheet_num"] for e in recent if e["event_type"] == "exit"} == sheets
	stored(daemon, "steps")
	of_store = lambda query: {row["pid"]: row["sheet_num"] for row in json.loads(daemon.proctor("sql", "--json", query).stdout)}
	assert of_store("SELECT pid, sheet_num FROM process_events WHERE event_type = 'exit' AND job_id = 'steps'") == sheets
	assert of_store("SELECT p.pid, p.sheet AS sheet_num FROM process p JOIN job j ON j.id = p.job WHERE j.job_id = 'steps'") == sheets


@pytest.mark.parametrize("uid", [0, NOBODY])
@pytest.mark.parametrize("exit_code, status", [(0, "lost"), (3, "failed")])
def test_the_end_of_a_job_is_the_end_of_its_open_sheets_for_all_subscribers(daemon, children, uid, exit_code, status):
	worker = children.spawn(["sleep", "60"], user=uid)
	with daemon.line(uid) as line, daemon.line(uid) as ear:
		ear.call("bus.subscribe", job_id="open", filter="sheet.")
		assert "result" in line.call("job.start", job_id="open")
		assert "result" in line.call("sheet.started", job_id="open", sheet_num=1, pid=worker.pid)
		assert "result" in line.call("sheet.started", job_id="open", sheet_num=2)
		assert "result" in line.call("job.end", job_id="open", exit_code=exit_code)
		heard = [ear.read()["params"] for _ in range(4)]
	ends = {e["data"]["sheet_num"]: (e["event"], e["data"]["status"]) for e in heard[2:]}
	assert ends == {1: ("sheet.failed", status), 2: ("sheet.failed", status)}


# Burns as many ms of CPU time as it is asked to, with as many MiB that it gives back.
WORKER = """
import sys, time
for line in sys.stdin:
	ms, mib = map(int, line.split())
	block = bytearray(b"x") * (mib << 20)
	del block
	until = time.process_time() + ms / 1000
	while time.process_time() < until: pass
	print("done", flush=True)
"""


class Worker:
	def __init__(self, children, uid):
		self.process = children.python(WORKER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, user=uid)
		self.pid = self.process.pid
		self.work(1, 0)

	def cpu(self):
		"""By the kernel's clock of the process."""
		return time.clock_gettime(~self.pid << 3 | 2)

	def work(self, ms, mib):
		"""How much CPU time it took."""
		before = self.cpu()
		print(ms, mib, file=self.process.stdin, flush=True)
		assert self.process.stdout.readline() == "done\n"
		return self.cpu() - before


@pytest.mark.parametrize("uid", [0, NOBODY])
def test_a_worker_counts_in_each_job_that_it_works_for_while_it_does(daemon, children, uid):
	worker = Worker(children, uid)
	used = {"first": 0.0, "second": 0.0}
	with daemon.line(uid) as line:
		for job_id in used:
			line.call("job.start", job_id=job_id)
		for num, job_id, ms, mib in ((1, "first", 300, 200), (1, "second", 100, 0), (2, "first", 200, 0), (2, "second", 400, 100)):
			assert "result" in line.call("sheet.started", job_id=job_id, sheet_num=num, pid=worker.pid)
			used[job_id] += worker.work(ms, mib)
			if num == 1:
				daemon.wait_ticks()
			assert "result" in line.call("sheet.completed", job_id=job_id, sheet_num=num)
		for job_id in used:
			line.call("job.end", job_id=job_id)
	for job_id, largest in (("first", 200), ("second", 100)):
		row = stored(daemon, job_id)
		assert abs(row["cpu_seconds"] - used[job_id]) < 0.03, (row, used)
		assert row["processes"] == 1, row
		assert row["peak_rss_mb"] < largest + 60, row
		sheets = json.loads(daemon.proctor("sql", "--json", "SELECT cpu_seconds FROM sheets WHERE job_id = '%s'" % job_id).stdout)
		assert abs(sum(sheet["cpu_seconds"] for sheet in sheets) - used[job_id]) < 0.03, (sheets, used)


@pytest.mark.parametrize("uid", [0, NOBODY])
def test_sheets_of_two_jobs_that_overlap_in_one_process_have_no_figures(daemon, children, uid):
	worker = Worker(children, uid)
	with daemon.line(uid) as line:
		for job_id in ("first", "second"):
			line.call("job.start", job_id=job_id)
			assert "result" in line.call("sheet.started", job_id=job_id, sheet_num=1, pid=worker.pid)
			worker.work(200, 0)
		for job_id in ("first", "second"):
			line.call("sheet.completed", job_id=job_id, sheet_num=1)
			line.call("job.end", job_id=job_id)
	for job_id in ("first", "second"):
		assert 0.18 < stored(daemon, job_id)["cpu_seconds"] < 0.3  # it is in one job at a time
	sheets = json.loads(daemon.proctor("sql", "--json", "SELECT cpu_seconds, missing_reason FROM sheets").stdout)
	assert len(sheets) == 2 and all(s["cpu_seconds"] is None and "overlap" in s["missing_reason"] for s in sheets), sheets


@pytest.mark.parametrize("uid", [0, NOBODY])
def test_an_orchestrator_that_reports_the_sheets_of_its_jobs_is_in_none(daemon, children, uid):
	workers = {job_id: Worker(children, uid) for job_id in ("first", "second")}
	used = {}
	with daemon.line(uid) as line:
		for job_id, worker in workers.items():
			line.call("job.start", job_id=job_id, pid=worker.pid)
			assert "result" in line.call("sheet.started", job_id=job_id, sheet_num=1)
		assert os.getpid() not in {p["pid"] for job_id in workers for p in processes_of(daemon, job_id)}
		for job_id, ms in (("first", 300), ("second", 100)):
			used[job_id] = workers[job_id].work(ms, 0)
			line.call("sheet.completed", job_id=job_id, sheet_num=1)
		for job_id in workers:
			line.call("job.end", job_id=job_id)
	for job_id, cpu in used.items():
		row = stored(daemon, job_id)
		assert row["processes"] == 1 and abs(row["cpu_seconds"] - cpu) < 0.03, (row, used)
		sheet, = json.loads(daemon.proctor("sql", "--json", "SELECT * FROM sheets WHERE job_id = '%s'" % job_id).stdout)
		assert sheet["processes"] == 1 and abs(sheet["cpu_seconds"] - cpu) < 0.03, (sheet, used)


def test_an_event_has_the_sheet_of_its_time(daemon, children):
	worker = Worker(children, 0)
	with daemon.line() as line:
		line.call("job.start", job_id="steps")
		for num in (1, 2):
			line.call("sheet.started", job_id="steps", sheet_num=num, pid=worker.pid)
			daemon.wait_ticks()
			if num == 1:
				line.call("sheet.completed", job_id="steps", sheet_num=num)
		worker.process.kill()
		worker.process.wait()
		query = "SELECT sheet_num FROM process_events WHERE event_type = 'kill' AND pid = %d" % worker.pid
		assert wait_for(lambda: daemon.proctor.sql(query)) == [{"sheet_num": 2}]
		line.call("job.end", job_id="steps")


def test_the_first_process_of_a_running_job_stays_in_it(daemon, children):
	worker = Worker(children, 0)
	with daemon.line() as line:
		line.call("job.start", job_id="own", pid=worker.pid)
		line.call("job.start", job_id="other")
		refused = line.call("sheet.started", job_id="other", sheet_num=1, pid=worker.pid)
		assert refused["error"]["data"]["code"] == "conflict" and "'own'" in refused["error"]["message"]
		worker.process.stdin.close()
		worker.process.wait()
		wait_for(lambda: jobs_of(daemon)["own"]["status"] == "completed")


@pytest.mark.parametrize("uid", [0, NOBODY])
def test_an_inner_job_is_no_part_of_the_job_that_its_process_comes_from(daemon, children, uid):
	shell = children.spawn(["sh", "-c", "%s -c \"$WORKER\"; :" % sys.executable],
			       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, user=uid, env={**os.environ, "WORKER": WORKER})
	work = lambda ms: (print(ms, 0, file=shell.stdin, flush=True), shell.stdout.readline())
	with daemon.line(uid) as line:
		line.call("job.start", job_id="outer", pid=shell.pid)
		work(200)
		inner = int(Path("/proc/%d/task/%d/children" % (shell.pid, shell.pid)).read_text(encoding="ascii"))
		assert line.call("job.start", job_id="inner", pid=inner)["result"]["status"] == "running"
		work(400)
		line.call("job.end", job_id="inner")
		daemon.wait_ticks(2)
		work(100)
		shell.stdin.close()
		shell.wait()
		wait_for(lambda: jobs_of(daemon)["outer"]["status"] == "completed")
	assert 0.4 <= stored(daemon, "inner")["cpu_seconds"] < 0.45
	outer = stored(daemon, "outer")
	assert 0.2 <= outer["cpu_seconds"] < 0.4 and outer["processes"] == 2, outer
