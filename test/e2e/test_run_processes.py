# SPDX-License-Identifier: MIT
"""Every process of a job is seen, whatever it does to get away, and what is left behind is reported, awaited or ended."""
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

from conftest import TIERS, Proctor
from runkit import LOAD, WAYS, Run, connected, state_of, wait_for  # noqa: F401 pylint: disable=unused-import

EVENT_TIERS = ["bpf", "connector"]
FINAL_CPU = 1  # in process.final: the CPU time is the kernel's last word. The peak has a bit of its own

pytestmark = pytest.mark.needs_root


class Escaped:
	"""One run of all ways, as the processes report it and as it was recorded."""

	def __init__(self, run, tier):
		self.done = run(WAYS, "all", options=["--tier", tier])
		self.reported = {}
		for line in self.done.stdout.splitlines():
			way, pid, parent, end = line.split()
			self.reported[int(pid)] = (way, int(parent), int(end))
		self.job = run.job()
		self.rows = run.processes()
		self.events = run.sql("SELECT * FROM process_events ORDER BY timestamp, id")


@pytest.fixture(scope="module", params=EVENT_TIERS)
def escaped(request, tmp_path_factory):
	for _ in range(5):  # a disk that stalls for seconds costs some of the record, and that is reported
		found = Escaped(Run(Proctor(tmp_path_factory.mktemp(request.param) / "state")), request.param)
		if "the disk was too slow" not in found.done.stderr:
			break
	assert found.job["tier"].startswith(TIERS[request.param])
	return found


NAMED_LIKE_US = """
import ctypes, os, resource
ctypes.CDLL(None).prctl(15, b"proctor-signals")
ballast = bytearray(200 << 20)
for _ in range(3):
	if os.fork() == 0:
		end = os.times().user + 0.1
		while os.times().user < end:
			pass
		os._exit(0)
	os.wait()
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime)
"""


@pytest.mark.parametrize("tier", TIERS)
def test_a_name_of_our_helpers_hides_nothing(run, tier):
	"""Helpers are known by the process that was started, not by a name that any process can take."""
	done = run(sys.executable, "-c", NAMED_LIKE_US, options=["--tier", tier])
	used, = run.sql("SELECT processes, cpu_seconds, peak_rss_mb FROM jobs")
	assert used["cpu_seconds"] >= float(done.stdout) - 0.001
	assert used["peak_rss_mb"] > 200
	assert used["processes"] == 4 or tier == "proc"


# ---- seen --------------------------------------------------------------------------------------


def test_all_ways_run_as_without_us(escaped):
	assert (escaped.done.returncode, escaped.done.stderr) == (0, "")
	ways = Counter(way for way, _, _ in escaped.reported.values())
	assert ways["short-life"] == 20 and ways["deaf-parent"] == 5 and ways["sibling"] == 2
	assert {"setsid", "double-fork", "daemon", "orphan", "no-signal", "vfork", "thread-exec", "chain", "killed", "abort"} <= set(ways)


def test_each_process_is_counted_once(escaped):
	assert Counter(row["pid"] for row in escaped.rows) == Counter(list(escaped.reported))
	job = escaped.job
	for figure in ("processes", "exited_processes"):
		assert (job[figure], job[figure + "_quality"]) == (len(escaped.reported), "exact")
	assert job["failed_processes"] == sum(end > 0 for _, _, end in escaped.reported.values())
	assert job["signalled_processes"] == sum(end < 0 for _, _, end in escaped.reported.values())
	assert job["leaked_processes"] == 0


def test_each_has_the_parent_that_made_it(escaped):
	for row in escaped.rows:
		way, parent, _ = escaped.reported[row["pid"]]
		if way != "sibling":  # it was made by one and given to another: its maker is reported where it is known
			assert row["ppid"] == parent, way


def test_each_has_its_end(escaped):
	for row in escaped.rows:
		way, _, end = escaped.reported[row["pid"]]
		assert (row["exit_code"], row["signal"]) == ((end, None) if end >= 0 else (None, -end)), way
		# The command's process is made a moment before it is let go, and with that its job begins.
		assert escaped.job["started"] - 1 < row["started"] <= row["ended"] <= escaped.job["ended"] + 0.02, way


def test_each_has_the_command_it_ran_last(escaped):
	leaves = {11: "setsid", 12: "double-fork", 13: "daemon", 15: "sibling", 16: "vfork", 17: "thread-exec", 18: "deaf-parent", 20: "chain",
		  21: "no-signal"}
	# The connector gives but a number, and a process of 1 ms may be gone before it is read: then it has no name.
	is_late = escaped.job["tier"].startswith("proc connector")
	for row in escaped.rows:
		way, _, end = escaped.reported[row["pid"]]
		if end in leaves:
			assert leaves[end] == way
		if end in leaves or end == 19:
			assert row["command"] == "ways leaf %d %d" % (end, 2 if end == 19 else 1) or (is_late and row["comm"] in ("ways", None)), way


def test_each_begins_and_ends_once_among_the_events(escaped):
	for kind in ("spawn", "exit"):
		assert Counter(e["pid"] for e in escaped.events if e["event_type"] == kind) == Counter(list(escaped.reported))
	for pid, (way, _, end) in escaped.reported.items():
		last = [e for e in escaped.events if e["pid"] == pid and e["event_type"] == "exit"][0]
		assert (last["exit_code"], last["signal_num"]) == ((end, None) if end >= 0 else (None, -end)), way


def test_totals_of_each_are_reported_where_the_kernel_reports_them(escaped):
	if escaped.job["tier"].startswith("BPF"):
		final = [row for row in escaped.rows if (row["final"] or 0) & FINAL_CPU]
		assert len(final) > 0.9 * len(escaped.rows)  # the kernel is free to report the last ones too late: those have samples
		for row in final:
			way = escaped.reported[row["pid"]][0]
			assert row["cpu_time_us"] and (row["peak_rss_kib"] or way == "killed"), (way, row)  # that one had touched nothing
	assert escaped.job["cpu_seconds_quality"] == "exact"
	assert escaped.job["cpu_seconds"] > 0


def test_a_thread_is_no_process(run):
	assert run(LOAD, "thread", 5, 1).returncode == 0
	assert run.job()["processes"] == 1


@pytest.mark.tier("proc")
def test_by_ticks_alone_it_is_at_least_and_the_command_has_its_end(run, children, gate):
	launcher = children.spawn(run.line("sh", "-c", "%s all >/dev/null; cat %s; exit 3" % (WAYS, gate), options=["--tier", "proc", "--interval", "0.05"]),
				  env=run.env)
	wait_for(lambda: run.is_recorded() and run.processes("command = 'cat %s'" % gate))
	gate.open()
	assert launcher.wait(timeout=30) == 3
	job = run.job()
	assert job["processes_quality"] == "at_least" and 3 <= job["processes"] <= 55
	assert run.processes("command LIKE 'sh -c%'")[0]["exit_code"] == 3
	assert len(run.processes("command = 'cat %s'" % gate)) == 1


@pytest.mark.parametrize("tier", EVENT_TIERS)
def test_a_command_that_ends_before_the_first_tick_has_its_name_and_end(run, tier):
	for _ in range(10):  # with one CPU for both, it often is
		done = run("true", options=["--tier", tier], preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}))
		assert (done.returncode, done.stderr) == (0, "")
	rows = run.processes()
	assert [(row["comm"], row["exit_code"]) for row in rows] == [("true", 0)] * 10
	assert all(row["ended"] for row in rows)


@pytest.mark.tier("connector")
def test_a_program_that_ended_before_a_tick_has_no_name_but_never_that_of_another(connected):
	_, run = connected("sh", "-c", "seq 300 | xargs -n1 true; true")
	is_whole = run.job()["processes_quality"] == "exact"  # else the report of an exec may be among those that were lost
	commands = Counter(row["command"] for row in run.processes() if row["comm"] == "xargs")
	assert commands == Counter(["xargs -n1 true"]) or not is_whole
	names = Counter(row["comm"] for row in run.processes())
	assert names["true"] + names[None] >= 300 and set(names) <= {"sh", "seq", "xargs", "true", None}, names
	assert names["true"] > 0
	report = run.proctor("report", run.job()["job_id"])
	assert report.returncode == 0 and (not names[None] or "?" in report.stdout)


# ---- ours among them ---------------------------------------------------------------------------


def test_no_process_has_used_no_cpu(as_nobody):
	"""/proc counts in clock ticks: what is less is missing, not ~0s."""
	assert as_nobody("run", "-q", "--interval", "0.05", "--", "sh", "-c", "sleep 0.5 & sleep 0.5 & wait").returncode == 0
	report = json.loads(as_nobody("report", "last", "--json").stdout)
	rows = report["costly_processes"] + report["programs"]
	assert rows and all(row["cpu_seconds"] is None or row["cpu_seconds"] > 0 for row in rows), rows


@pytest.mark.parametrize("tier", EVENT_TIERS)
def test_a_sheet_is_its_command_and_fails_once(run, tier):
	script = '"$0" sheet 1 -- sh -c "exit 3"; "$0" phase x -- sh -c "kill -9 \\$\\$"; "$0" sheet 2 -- sleep 0.2; true'
	done = run("sh", "-c", script, run.proctor.binary, options=["--tier", tier])
	assert done.returncode == 0
	job = run.job()
	counts = job["failed_processes"], job["signalled_processes"]
	assert job["processes"] == 10  # with a helper of each of ours
	assert counts == (1, 1) or (tier == "connector" and max(counts) == 2), counts  # … whose own end then counts, too
	if tier == "connector":  # a name that is asked for when its process is gone stays that of its parent
		return
	report = run.proctor("report").stdout
	assert "to proctor" not in report, report
	names = Counter(row["comm"] for row in run.processes())
	# While one of ours forks its helper it has the helper's name, and may be sampled with it.
	assert names.pop("proctor") + names["proctor-signals"] == 6 and names.pop("proctor-signals") >= 3
	assert names == {"sh": 3, "sleep": 1}
	peaks = {row["sheet"]: row["peak_rss_kib"] for row in run.processes("sheet > 0 AND comm NOT LIKE 'proctor%'")}
	for sheet in run.sql("SELECT * FROM sheets"):
		assert sheet["processes"] == 1
		assert sheet["peak_rss_mb"] * 1024 <= peaks[sheet["sheet_num"]]


@pytest.mark.parametrize("tier", EVENT_TIERS)
def test_a_sheet_whose_command_is_not_there_fails_once(run, tier):
	done = run("sh", "-c", '"$0" sheet 1 -- /no/such/command; true', run.proctor.binary, options=["--tier", tier])
	assert done.returncode == 0
	assert run.job()["failed_processes"] in ((1, 2) if tier == "connector" else (1,))


def test_helpers_of_a_job_within_the_job_are_of_the_job_but_not_its_work(run):
	"""Only its own recorder knows them from a program that took their name."""
	run(*run.line("true"), options=["--name", "outer"])
	assert run.job("type = 'outer'")["processes"] >= 3 and run.job("type = 'outer'")["hungriest"] == "true"


# ---- left behind -------------------------------------------------------------------------------


@pytest.fixture
def left():
	"""Pids that a test leaves behind, ended with it."""
	pids = []
	yield pids
	for pid in pids:
		try:
			os.kill(pid, signal.SIGKILL)
		except ProcessLookupError:
			pass


def leave_pids(text, left):
	"""Takes up those that reported themselves; the pid of the process that left them."""
	lines = [line.split() for line in text.splitlines()]
	left += [int(line[1]) for line in lines]
	return int(lines[0][2])


def gone(pids):
	return all(state_of(pid) in ("", "Z") for pid in pids)


@pytest.mark.parametrize("tier", TIERS)
def test_leftover_processes_are_reported_and_left_alone(run, left, tier):
	began = time.monotonic()
	done = run(WAYS, "leave", 3, options=["--tier", tier, "--summary"])
	assert time.monotonic() - began < 60  # they sleep for two minutes
	leave_pids(done.stdout, left)
	assert done.returncode == 0 and len(left) == 3
	assert not any(state_of(pid) in ("", "Z") for pid in left)
	job = run.job()
	assert (job["status"], job["leaked_processes"]) == ("completed", 3)
	assert "3 left behind" in done.stderr
	assert {row["pid"] for row in run.processes("ended IS NULL")} == set(left)
	shown = [p for p in json.loads(run.proctor("report", "--json").stdout)["costly_processes"] if p["pid"] in left]
	assert len(shown) == 3
	for process in shown:  # no end will report it
		assert process["peak_rss_mb"] > 0 and process["cpu_seconds"] != 0  # less than a tick is missing
		assert process["quality"]["cpu_seconds"] == ("missing" if process["cpu_seconds"] is None else "sampled")
		assert {process["quality"][key] for key in ("peak_rss_mb", "read_bytes", "written_bytes")} == {"sampled"}


@pytest.mark.parametrize("tier", TIERS)
def test_no_peak_is_after_the_end(run, left, tier):
	leave_pids(run(WAYS, "leave", 30, options=["--tier", tier, "--interval", "5s"]).stdout, left)
	job = run.job()
	assert 0 < job["peak_at_seconds"] <= job["duration_seconds"]


LARGE = "import time; block = bytearray(100 << 20); open('ready', 'w').write('yes'); time.sleep(120)"


@pytest.mark.parametrize("tier", TIERS)
def test_a_leftover_process_can_be_the_largest(run, left, tier, tmp_path):
	script = 'setsid "$0" -c "$1" >/dev/null 2>&1 & echo $!; read line <ready; sleep 0.01'
	os.mkfifo(tmp_path / "ready")
	done = run("sh", "-c", script, sys.executable, LARGE, options=["--tier", tier], cwd=tmp_path)
	left.append(int(done.stdout))
	job = run.job()
	assert job["leaked_processes"] == 1 and job["peak_rss_mb"] > 100
	assert job["hungriest_pid"] == left[0], job


@pytest.mark.parametrize("tier", TIERS)
def test_wait_stays_until_all_have_ended(run, children, left, tier):
	child = children.spawn(run.line(WAYS, "leave", 2, options=["--wait", "--tier", tier]), env=run.env, stdout=subprocess.PIPE, text=True)
	leave_pids(child.stdout.read(), left)
	wait_for(lambda: run.is_recorded() and run.job()["outlived_processes"] == 2)
	assert child.poll() is None and len(left) == 2
	for pid in left:
		os.kill(pid, signal.SIGTERM)
	assert child.wait(timeout=30) == 0
	job = run.job()
	assert (job["outlived_processes"], job["leaked_processes"], job["processes"], job["status"]) == (2, 0, 3, "completed")
	assert run.processes("ended IS NULL") == []


def test_a_signal_ends_the_wait_for_leftovers(run, children, left):
	child = children.spawn(run.line(WAYS, "leave", 2, options=["--wait"]), env=run.env, stdout=subprocess.PIPE, text=True)
	command = leave_pids(child.stdout.read(), left)
	wait_for(lambda: state_of(command) == "")
	child.send_signal(signal.SIGTERM)
	assert child.wait(timeout=30) == 0  # the command had ended well
	assert not gone(left)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("ignoring", [False, True], ids=["willing", "ignoring"])
def test_leftovers_are_ended_when_that_is_wanted(run, left, tier, ignoring):
	options = ["--kill-leftovers", "--tier", tier, "--grace", "0.3s" if ignoring else "60s"]
	began = time.monotonic()
	done = run(WAYS, "leave", 3, *(["deaf"] if ignoring else []), options=options)
	assert time.monotonic() - began < 50
	leave_pids(done.stdout, left)
	assert done.returncode == 0 and len(left) == 3
	assert gone(left)
	job = run.job()
	assert (job["outlived_processes"], job["leaked_processes"]) == (3, 0)
	signo = signal.SIGKILL if ignoring else signal.SIGTERM
	assert {row["pid"]: row["signal"] for row in run.processes() if row["pid"] in left} == dict.fromkeys(left, signo)


def test_jobs_within_a_job_are_listed_by_any_name_of_it(run):
	run(*run.line("true", options=["--name", "inner"]), options=["--name", "outer"])
	outer = run.job("type = 'outer'")["job_id"]
	for name in ("outer", outer, outer[:-2]):
		listed = run.proctor("ls", "--json", "--parent", name)
		assert [job["job_type"] for job in json.loads(listed.stdout)["jobs"]] == ["inner"], listed.stderr
	assert run.proctor("ls", "--parent", "nosuch").returncode == 3
	none = run.proctor("ls", "--parent", "inner")
	assert none.returncode == 0 and "no job was started in job 'inner-" in none.stderr, none.stderr
