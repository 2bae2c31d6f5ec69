# SPDX-License-Identifier: MIT
"""The figures of a job are true, also where it ends otherwise than most."""
import json
import os
import re
import signal
import subprocess

import pytest

from conftest import TIERS, read_store_so_far
from runkit import LOAD, WAYS, command_of, wait_for


def report(run, job="last"):
	done = run.proctor("report", job, "--json")
	assert done.returncode == 0, done.stderr
	return json.loads(done.stdout)


# ---- what was waited for, or ended by us -------------------------------------------------------

@pytest.mark.parametrize("tier", TIERS)
def test_a_job_that_is_waited_for_lasts_until_the_last_of_it_ends(run, tier):
	late = "while kill -0 $$; do :; done; sleep 0.7"  # $$ is the command
	done = run("sh", "-c", "(%s) >/dev/null 2>&1 & sleep 0.2" % late, options=["--wait", "--summary", "--tier", tier])
	job, shown = run.job(), report(run)
	assert done.returncode == 0 and job["status"] == "completed"
	assert 0.2 <= job["command_seconds"] <= job["duration_seconds"] - 0.65
	assert job["cpu_seconds"] <= job["duration_seconds"] * os.cpu_count()
	assert job["ended"] - job["started"] == pytest.approx(job["duration_seconds"], abs=0.01)
	assert (job["outlived_processes"] >= 1, job["leaked_processes"]) == (True, 0)
	assert "(command " in done.stderr and " ended after the command, none left behind" in done.stderr
	assert [n for n in shown["notes"] if n["what"] == "left behind"] == []


def test_the_peak_lies_within_the_time_that_a_job_took(run):
	run("sh", "-c", "(sleep 0.5; %s mem 60 900; exit 0) >/dev/null 2>&1 & sleep 0.1" % LOAD, options=["--wait"])
	job = run.job()
	assert 0.3 < job["peak_at_seconds"] <= job["duration_seconds"]


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("ignoring", [[], ["deaf"]])
def test_what_we_ended_is_not_called_left_behind(run, ignoring, tier):
	options = ["--kill-leftovers", "--grace", "0.3s", "--summary", "--tier", tier]
	done = run(WAYS, "leave", 3, *ignoring, options=options)
	job = run.job()
	assert done.returncode == 0
	assert (job["outlived_processes"], job["leaked_processes"]) == (3, 0)
	assert "3 ended after the command, none left behind" in done.stderr


@pytest.mark.parametrize("tier", TIERS)
def test_a_tree_that_its_time_limit_ended_is_not_called_left_behind(run, tier):
	done = run("sh", "-c", "(trap '' TERM; sleep 30; sleep 30) & sleep 30 & sleep 30",
		   options=["--time", "0.4s", "--grace", "0.4s", "--summary", "--tier", tier])
	job, shown = run.job(), report(run)
	assert (job["leaked_processes"], job["outlived_processes"]) == (0, None)
	assert job["limits_hit"] == "time" and job["result"] == "limit"
	assert "none left behind" in done.stderr and "ended after" not in done.stderr
	assert [n for n in shown["notes"] if n["what"] == "left behind"] == []


def test_leftover_processes_are_still_reported(run):
	done = run("sh", "-c", "sleep 5 >/dev/null 2>&1 & sleep 0.1", options=["--summary"])
	job = run.job()
	assert (job["outlived_processes"], job["leaked_processes"]) == (1, 1)
	assert job["duration_seconds"] == job["command_seconds"]
	assert ", 1 left behind" in done.stderr and "(command" not in done.stderr


# ---- a plain user ------------------------------------------------------------------------------

# A child that nobody waits for: what it took is reported by no source, only sampled. It lets itself be seen at the end.
NOT_WAITING = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
r, w = os.pipe()
if os.fork() == 0:
	while time.process_time() < 0.5:
		pass
	time.sleep(0.5)
	os._exit(0)
os.close(w)
os.read(r, 1)
time.sleep(0.3)
"""


@pytest.mark.tier("proc")
def test_at_least_is_not_less_than_what_was_seen(as_nobody):
	done = as_nobody("run", "--tier", "proc", "--interval", "0.05", "--", "/usr/bin/python3", "-c", NOT_WAITING)
	assert done.returncode == 0, done.stderr
	shown = json.loads(as_nobody("report", "--json").stdout)
	cpu, quality = shown["total_cpu_seconds"], shown["quality"]["total_cpu_seconds"]
	seen = sum(p["cpu_seconds"] or 0 for p in shown["costly_processes"])
	assert quality in ("at_least", "exact")
	assert 0.45 <= cpu < 0.9, shown["costly_processes"]
	assert cpu >= seen - 0.021


CROWD = """
import os, time
for _ in range(200):
	try:
		if os.fork() == 0:
			time.sleep(9)
			os._exit(0)
	except BlockingIOError:
		break
time.sleep(1)
os._exit(0)
"""


def test_a_limit_that_counts_all_of_a_user_is_reported_as_such(as_somebody):
	def report_of(limit, command):
		done = as_somebody("run", "--summary", "--kill-leftovers", "--pids", str(limit), "--", *command)
		return done, json.loads(as_somebody("report", "--json").stdout)["job"]

	done, job = report_of(1000, ["true"])
	if "pids" in job["limits"]:
		pytest.skip("NOT RUN: nobody has a control group that holds it")
	assert (job["limits"], job["limits_hit"]) == ({"user_pids": 1000}, [])
	assert "1,000 tasks of the whole user (held by RLIMIT_NPROC" in done.stderr
	done, job = report_of(60, ["/usr/bin/python3", "-c", CROWD])
	assert done.returncode == 0 and job["limits_hit"] == ["user_pids"]
	assert "met its limit of 60 tasks of the whole user" in done.stderr
	assert "(met) (held by RLIMIT_NPROC" in " ".join(as_somebody("report").stdout.split())


@pytest.mark.needs_root
def test_a_limit_of_tasks_that_was_met_is_reported_for_a_good_job(run):
	done = run("/usr/bin/python3", "-c", CROWD, options=["--summary", "--kill-leftovers", "--pids", "20"])
	assert done.returncode == 0, done.stderr
	assert run.job()["limits_hit"] == "pids"
	assert "met its limit of 20 tasks" in done.stderr


# ---- while it runs, and when nobody could write its end ------------------------------------------

# Small at first; works when asked to, and prints what the kernel counts of it: seconds, peak in MiB, bytes written.
GROW = """
import os, sys, time
print(flush=True)
sys.stdin.readline()
held = bytearray(b"x") * (100 << 20)
while time.process_time() < 0.4:
	pass
with open(sys.argv[1], "wb") as to:
	to.write(memoryview(held)[:4 << 20])
	os.fsync(to.fileno())
io = dict(line.split(": ") for line in open("/proc/self/io"))
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(time.process_time(), int(status["VmHWM"].split()[0]) / 1024, int(io["write_bytes"]), flush=True)
sys.stdin.readline()
"""


def shown_of(ask, pid):
	"""One process in report, export and SQL: seconds, MiB, bytes written."""
	reported = json.loads(ask("report", "last", "--json").stdout)["costly_processes"]
	lines = [json.loads(line) for line in ask("export", "--format", "jsonl").stdout.splitlines()]
	stored = json.loads(ask("sql", "--json", "SELECT * FROM processes WHERE pid = %d" % pid).stdout)
	rows = [p for p in reported if p["pid"] == pid] + [p for p in lines if p["type"] == "process" and p["pid"] == pid] + stored
	return [[row[key] or 0 for key in ("cpu_seconds", "peak_rss_mb", "written_bytes")] for row in rows]


def check_grown_process(ask, launcher, tier):
	launcher.stdout.readline()
	pid = command_of(launcher)
	wait_for(lambda: read_store_so_far(ask.state_dir, "SELECT pid FROM process_metrics WHERE pid = %d LIMIT 1" % pid))
	launcher.stdin.write("\n")
	launcher.stdin.flush()
	truth = list(map(float, launcher.stdout.readline().split()))

	def is_right():
		rows = shown_of(ask, pid)
		return len(rows) == 3 and all(n >= 0.95 * t for row in rows for n, t in zip(row, truth))

	wait_for(is_right, seconds=5)
	os.killpg(launcher.pid, signal.SIGKILL)
	launcher.wait()
	assert is_right(), (shown_of(ask, pid), truth)  # by a reader
	assert json.loads(ask("report", "last", "--json").stdout)["job"]["figures"]["written_bytes"] >= 0.95 * truth[2]
	assert ask("run", "--tier", tier, "true").returncode == 0  # writes down that the job is lost
	lost = shown_of(ask, pid)
	assert all(n >= 0.95 * t for n, t in zip(lost[-1], truth)), (lost, truth)


@pytest.mark.parametrize("tier", TIERS)
def test_the_figures_of_a_running_and_of_a_killed_job_are_those_of_the_last_tick(run, children, tmp_path, tier):
	launcher = children.spawn(run.line("/usr/bin/python3", "-c", GROW, tmp_path / "file", options=["--tier", tier]), env=run.env, text=True,
				  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
	check_grown_process(run.proctor, launcher, tier)


def test_the_figures_of_a_plain_users_killed_job_are_those_of_the_last_tick(as_nobody, children):
	line = [as_nobody.place / "proctor", "run", "--", "/usr/bin/python3", "-c", GROW, as_nobody.place / "file"]
	launcher = children.spawn(line, env=as_nobody.env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
				  user="nobody", group="nogroup", extra_groups=[], cwd=as_nobody.place)
	check_grown_process(as_nobody, launcher, "connector")


# ---- when it happened --------------------------------------------------------------------------

@pytest.mark.parametrize("tier", TIERS)
def test_nothing_of_a_job_begins_before_it_or_before_its_parent(run, tier):
	run("sh", "-c", "sleep 0.2; sh -c 'sleep 0.2; sh -c \"sleep 0.2\"'; sleep 0.1", options=["--tier", tier])
	lines = [json.loads(line) for line in run.proctor("export", "--format", "jsonl").stdout.splitlines()]
	job = [line for line in lines if line["type"] == "job"][0]
	processes = {p["pid"]: p for p in lines if p["type"] == "process"}
	for p in processes.values():
		assert job["started_at"] <= p["started_at"] <= (p["ended_at"] or 1e12)
		if p["ppid"] in processes:
			assert processes[p["ppid"]]["started_at"] <= p["started_at"]
		if tier != "proc":
			assert p["quality"]["started_at"] == "exact"
	command = min(processes.values(), key=lambda p: p["started_at"])
	assert command["started_at"] - job["started_at"] < 0.001 and command["quality"]["started_at"] == "exact"
	spawns = [e for e in lines if e["type"] == "event" and e["event_type"] == "spawn"]
	assert spawns and all(e["timestamp"] >= job["started_at"] for e in spawns)


@pytest.mark.parametrize("tier", TIERS)
def test_the_slices_of_each_track_of_a_trace_follow_each_other(run, tier):
	run("sh", "-c", "for i in $(seq 30); do sleep 0.01 & done; wait; sleep 0.1", options=["--tier", tier])
	trace = json.loads(run.proctor("export", "--format", "chrome-trace").stdout)
	tracks, starts = {}, {}
	for e in trace["traceEvents"]:
		if e["ph"] != "X":
			continue
		assert e["ts"] >= tracks.get(e["tid"], 0)
		tracks[e["tid"]] = e["ts"] + e["dur"]
		if e["cat"] == "process":
			assert e["ts"] >= starts.get(e["args"]["ppid"], 0)
			starts[e["tid"]] = e["ts"]
	assert len(tracks) >= 2


def test_the_run_log_and_the_timeline_are_in_the_order_of_time(run, tmp_path):
	# A phase reports how long it took when it has ended, and the report takes a moment on a busy machine.
	long = "$P phase long -- sh -c 'sleep 0.5; $P mark inner'"
	script = "for i in 1 2 3; do $P mark before; $P sheet $i -- $P mark within; done; %s; $P mark after" % long
	done = run("env", "P=" + run.proctor.binary, "sh", "-c", script, options=["--out", tmp_path / "out"])
	assert done.returncode == 0, done.stderr
	lines = [json.loads(line) for line in (tmp_path / "out" / "run.jsonl").read_text(encoding="utf-8").splitlines()]
	times = [line["ts"] for line in lines]
	assert times == sorted(times) and len(times) >= 16
	section = run.proctor("report").stdout.split("Marks and phases\n")[1].split("\n\n")[0]
	offsets = [float(line.split()[0].strip("+s")) for line in section.splitlines()]
	names = [line.split()[1] for line in section.splitlines()]
	assert offsets == sorted(offsets) and names.index("long") < names.index("inner")


def test_a_sheet_whose_opener_was_killed_ends_in_the_run_log_when_it_did(run, tmp_path):
	script = "$P sheet 1 -- sleep 1 & sleep 0.4; kill -9 $!; $P mark after; sleep 0.6; exit 0"
	run("env", "P=" + run.proctor.binary, "sh", "-c", script, options=["--out", tmp_path / "out", "--interval", "5s"])
	lines = [json.loads(line) for line in (tmp_path / "out" / "run.jsonl").read_text(encoding="utf-8").splitlines()]
	events = [line["event"] for line in lines]
	assert events.index("sheet.failed") < events.index("after"), lines
	assert [line["ts"] for line in lines] == sorted(line["ts"] for line in lines)
	sheet = report(run)["sheets"][0]
	assert (sheet["status"], sheet["signal_num"]) == ("failed", 9)


def test_a_sheet_that_no_tick_saw_working_has_no_cpu_share(run):
	run("env", "P=" + run.proctor.binary, "sh", "-c", "$P sheet 1 -- true; sleep 0.5; $P sheet 2 -- true; sleep 0.4; exit 0",
	    options=["--interval", "1s"])
	shown = report(run)
	assert [s["max_cpu_pct"] for s in shown["sheets"] if s["max_cpu_pct"] == 0] == []
	assert [m["max_cpu_pct"] for m in shown["sheet_metrics"].values() if m["max_cpu_pct"] == 0] == []


def test_a_process_that_every_tick_saw_asleep_has_no_cpu_share(run):
	run("env", "P=" + run.proctor.binary, "sh", "-c", "$P sheet 1 -- sh -c 'sleep 0.6 & true'; sleep 0.6", options=["--interval", "0.05s"])
	shown = report(run)
	assert len(shown["costly_processes"]) >= 4, shown
	assert [p for p in shown["sheets"] + shown["costly_processes"] if p["max_cpu_pct"] == 0] == []


# ---- as it is shown -----------------------------------------------------------------------------

def test_a_lost_job_lasted_at_least_until_its_last_sign_of_life(run, children):
	launcher = children.spawn(run.line("sleep", "60", options=["--job-id", "victim"]), env=run.env)
	wait_for(lambda: run.sql("SELECT 1 FROM job_samples") if run.is_recorded() else None)
	command = command_of(launcher)
	launcher.kill()
	launcher.wait()
	os.kill(command, signal.SIGKILL)
	row = run.proctor("ls").stdout.splitlines()[1]
	assert "end not recorded" in row and " ≥" in row.split("end not")[0]
	assert "(at least " in run.proctor("report").stdout
	run("true", options=["--job-id", "next"])  # the next recorder marks it as ended
	row = [line for line in run.proctor("ls").stdout.splitlines() if line.startswith("victim")][0]
	assert " ≥" in row.split("end not")[0]


def test_csv_holds_no_byte_that_a_terminal_obeys(run):
	run("sh", "-c", "exit 0", "evil\x1b]0;x\x07\n\u009b31m")
	out = run.proctor("export", "--format", "csv").stdout
	assert "evil\\x1b]0;x\\x07" in out
	assert not [c for c in out if ord(c) < 32 and c != "\n" or 127 <= ord(c) < 160]


@pytest.mark.parametrize("args, word", [
	(["--tag", ""], "write a key"),
	(["--tag", "=x"], "write a key"),
	(["--type", ""], "write a job type"),
	(["trai"], "proctor ls --type trai"),
])
def test_ls_shows_what_to_write(run, args, word):
	done = run.proctor("ls", *args)
	assert done.returncode == 2 and word in done.stderr


def test_ls_reports_that_a_type_is_written_in_full(run):
	run("true", options=["--name", "train", "--tag", "a=b"])
	done = run.proctor("ls", "--type", "trai")
	assert (done.returncode, done.stdout) == (0, "") and "no job of the type 'trai'" in done.stderr
	assert "no job with the tag 'a=c'" in run.proctor("ls", "--tag", "a=c").stderr


def test_a_report_names_its_order_and_counts_one_as_one(run):
	programs = " ".join("cp /bin/true ./p%d; ./p%d;" % (i, i) for i in range(7))
	run("sh", "-c", "cd $(mktemp -d); " + programs)
	out = run.proctor("report").stdout
	assert "by CPU time, then peak memory" in out
	names = len({p["name"] for p in report(run)["programs"]})
	rest = names - 8
	assert "… and %d more name%s\n" % (rest, "" if rest == 1 else "s") in out


def test_the_block_counts_sheets_that_completed_and_those_that_failed(run):
	script = "for n in 1 3; do %s sheet $n/3 -- true; done; %s sheet 2/3 -- false; true" % ((run.proctor.binary,) * 2)
	done = run("sh", "-c", script, options=["--summary"])
	assert re.search(r"\n  sheets  2 of 3 completed, 1 failed\n", done.stderr), done.stderr


def test_no_share_of_cores_is_shown_for_a_time_in_which_leftovers_went_on(run, children):
	done = run("sh", "-c", "timeout 20 sh -c 'while :; do :; done' </dev/null >/dev/null 2>&1 & echo $!", options=["--summary"])
	os.kill(int(done.stdout), signal.SIGTERM)
	assert re.search(r"\n  cpu +\S+ +(exact|at least)\n", done.stderr), done.stderr
	assert "1 left behind" in done.stderr or "2 left behind" in done.stderr


IGNORES = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for n in range(3):
	if os.fork() == 0:
		end = time.process_time() + 0.3
		while time.process_time() < end:
			pass
		os._exit(0)
time.sleep(0.1)
while True:
	try:
		os.wait()
	except ChildProcessError:
		break
"""


def test_the_block_shows_the_total_when_the_split_covers_a_part_only(as_nobody):
	done = as_nobody("run", "--summary", "--", "/usr/bin/python3", "-c", IGNORES)
	assert re.search(r"\n  cpu +\S+ +\S+ of \d+ cores? busy +at least\n", done.stderr), done.stderr
