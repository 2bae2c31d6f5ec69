# SPDX-License-Identifier: MIT
"""`proctor run` beside a daemon: the job is shown and published there, stored once, and never harmed."""
import contextlib
import json
import os
import resource
import signal
import subprocess
import time

import pytest

from conftest import read_store
from daemonkit import cold, daemon  # noqa: F401 pylint: disable=unused-import
from runkit import SANITIZERS, state_of, store_locked, wait_for


def start_run(daemon, *command, options=(), env=None):
	return subprocess.Popen([daemon.proctor.binary, "run", *options, "--", *command], stdin=subprocess.DEVNULL,
				stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**daemon.proctor.env, **SANITIZERS, **(env or {})})


def job_of(daemon, job_id):
	return next((job for job in daemon.result("job.list")["jobs"] if job["job_id"] == job_id), None)


def sql(daemon, text, state_dir=None):
	return read_store(state_dir or daemon.proctor.state_dir, text)


def test_a_job_is_shown_with_its_progress_and_its_end(daemon, gate):
	inside = "%s sheet 1/3 --label one -- true; %s mark epoch n=1; read go <%s; /bin/true; exit 5" % (daemon.proctor.binary, daemon.proctor.binary, gate)
	with daemon.line() as ear:
		ear.call("bus.subscribe", job_id="seen")
		run = start_run(daemon, "sh", "-c", inside, options=("--job-id", "seen", "--tag", "a=b"))
		heard = set()
		while not {"job.started", "sheet.started", "sheet.completed", "job.mark"} <= heard:
			heard.add(ear.read()["params"]["event"])
		job = job_of(daemon, "seen")
		assert (job["status"], job["total_sheets"], job["last_completed_sheet"], job["tags"]["a"]) == ("running", 3, 1, "b")
		top = daemon.result("daemon.top")
		assert top["running_jobs"] == 1 or daemon.result("daemon.status")["running_jobs"] == 1
		gate.open()
		_, err = run.communicate(timeout=60)
		assert run.returncode == 5 and err == ""
		while not {"job.failed", "process.spawn"} <= heard:  # a process may be born before the daemon knows of the job
			event = ear.read()["params"]
			heard.add(event["event"])
			if event["event"] == "job.failed":
				end = event["data"]
	assert end["exit_code"] == 5 and end["stored"] is True  # as its recorder reported
	job, = sql(daemon, "SELECT status, ended FROM jobs WHERE job_id = 'seen'")
	assert job["status"] == "failed" and abs(job_of(daemon, "seen")["ended_at"] - job["ended"]) < 0.001
	assert job_of(daemon, "seen")["exit_code"] == 5


@pytest.mark.parametrize("options, command, limit, result", [
	(("--mem", "60M"), "read go <GATE; exec python3 -c 'x = bytes(1 << 30) + b\"x\"'", 60, "out of memory (own limit 60.0 MiB)"),
	(("--time", "1"), "read go <GATE; sleep 60", None, "time limit of 1.0s"),
	((), "read go <GATE; kill -9 $$", None, "SIGKILL from itself"),
])
def test_limits_and_the_reason_of_the_end_are_those_of_its_recorder(daemon, gate, options, command, limit, result):
	run = start_run(daemon, "sh", "-c", command.replace("GATE", str(gate)), options=("--job-id", "why", *options))
	job = wait_for(lambda: job_of(daemon, "why"))
	if limit:
		assert (job["allowed_memory_mb"], job["allowed_memory_source"]) == (limit, "own")
	gate.open()
	run.communicate(timeout=60)
	wait_for(lambda: job_of(daemon, "why")["status"] == "failed")
	wait_for(lambda: job_of(daemon, "why")["result"] == result)
	daemon.wait_ticks()
	assert job_of(daemon, "why")["result"] == result  # also after later snapshots


def test_processes_of_a_sheet_are_known_as_such(daemon):
	"""The recorder reports the sheet while its command starts: the daemon may see that first."""
	binary = daemon.proctor.binary
	inner = "sh -c 'echo $PROCTOR_SHEET $$; sleep 60; exit 0' & echo $PROCTOR_SHEET $$; wait"
	steps = 'for i in $(seq 1 15); do %s sheet $i -- sh -c "$INNER" & done; wait' % binary
	run = start_run(daemon, "sh", "-c", steps, options=("--job-id", "steps", "--kill-leftovers"), env={"INNER": inner})
	lines = [run.stdout.readline().split() for _ in range(30)]
	sheets = {int(pid): int(num) for num, pid in lines}
	daemon.wait_ticks()
	seen = {p["pid"]: p["sheet_num"] for p in daemon.result("daemon.top")["processes"]}
	run.terminate()
	run.communicate(timeout=60)
	assert len(sheets) == 30 and {pid: seen.get(pid) for pid in sheets} == sheets


def test_a_sheet_whose_wrapper_is_killed_has_failed_for_all_subscribers(daemon):
	inside = "%s sheet 1/2 -- sleep 60 & echo $!; sleep 60" % daemon.proctor.binary
	with daemon.line() as ear:
		ear.call("bus.subscribe", job_id="cut", filter="sheet.")
		run = start_run(daemon, "sh", "-c", inside, options=("--job-id", "cut", "--kill-leftovers"))
		pid = int(run.stdout.readline())
		assert ear.read()["params"]["event"] == "sheet.started"
		os.kill(pid, signal.SIGKILL)
		failed = ear.read()["params"]
		run.terminate()
		run.communicate(timeout=60)
	assert (failed["event"], failed["data"]["sheet_num"]) == ("sheet.failed", 1)
	assert (failed["data"]["pid"], failed["data"]["signal_num"], failed["data"]["status"]) == (pid, 9, "failed")


def test_one_job_has_one_recorder(daemon, gate):
	"""The same store: what run writes, the daemon does not write again."""
	run = start_run(daemon, "sh", "-c", "sleep 60.25 & read go <%s; kill $!" % gate, options=("--job-id", "once"))
	wait_for(lambda: job_of(daemon, "once"))
	wait_for(lambda: any(p["job_id"] == "once" for p in daemon.result("daemon.top")["processes"]))
	daemon.wait_ticks()
	gate.open()
	run.communicate(timeout=60)
	daemon.stop()
	kinds = sql(daemon, "SELECT r.kind, count(*) AS n FROM process p JOIN recorder r ON r.id = p.recorder JOIN job j ON j.id = p.job WHERE j.job_id = 'once' GROUP BY 1")
	assert [row["kind"] for row in kinds] == ["run"], kinds
	lives = sql(daemon, "SELECT count(*) AS n FROM process WHERE command = 'sleep 60.25'")
	assert lives == [{"n": 1}]
	assert len(sql(daemon, "SELECT * FROM jobs WHERE job_id = 'once'")) == 1


def test_a_daemon_that_dies_and_comes_back_costs_nothing_and_is_informed_again(daemon, gate):
	inside = "%s sheet 1/2 -- true; %s sheet 2/2 -- sh -c 'read go <%s'; echo done" % (daemon.proctor.binary, daemon.proctor.binary, gate)
	run = start_run(daemon, "sh", "-c", inside, options=("--job-id", "lives"))
	wait_for(lambda: (job_of(daemon, "lives") or {}).get("current_sheet") == 2)
	daemon.process.kill()
	daemon.process.wait()
	daemon.start()
	job = wait_for(lambda: (job := job_of(daemon, "lives")) and job["current_sheet"] == 2 and job)
	assert (job["status"], job["last_completed_sheet"], job["total_sheets"]) == ("running", 1, 2)
	gate.open()
	out, err = run.communicate(timeout=60)
	assert (run.returncode, out, err) == (0, "done\n", "")
	assert wait_for(lambda: job_of(daemon, "lives")["status"] == "completed")


def test_a_daemon_that_hangs_holds_up_nobody(daemon):
	daemon.process.send_signal(signal.SIGSTOP)
	began = time.monotonic()
	# Another store: it may have been stopped in the midst of writing, and the end of a job waits for that a while.
	elsewhere = {"PROCTOR_STATE_DIR": str(daemon.place / "elsewhere")}
	runs = [start_run(daemon, "sh", "-c", "sleep 0.2; exit 4", env=elsewhere) for _ in range(4)]
	for run in runs:
		assert run.wait(timeout=60) == 4
		run.communicate()
	assert time.monotonic() - began < 20
	daemon.process.send_signal(signal.SIGCONT)


@pytest.mark.parametrize("store", ["shared", "elsewhere"])
def test_a_recorder_that_is_killed_leaves_a_job_that_is_lost(daemon, store):
	env = {"PROCTOR_STATE_DIR": str(daemon.place / "elsewhere")} if store == "elsewhere" else None
	run = start_run(daemon, "sleep", "60", options=("--job-id", "orphan"), env=env)
	wait_for(lambda: job_of(daemon, "orphan"))
	with daemon.line() as ear:
		ear.call("bus.subscribe", filter="job.")
		run.kill()
		run.wait()
		end = next(event for event in iter(lambda: ear.read()["params"], None) if event["event"] != "job.started")  # that is published once it is stored
		assert (end["event"], end["data"]["stored"]) == ("job.lost", True if env else None)  # the daemon stores the end of a job that it stores
	assert job_of(daemon, "orphan")["status"] == "lost"
	run.stdout.close()
	run.stderr.close()


def test_only_its_recorder_speaks_for_a_job(daemon):
	run = start_run(daemon, "sleep", "30", options=("--job-id", "mine"))
	wait_for(lambda: job_of(daemon, "mine"))
	for method, params in (("job.end", {}), ("sheet.started", {}), ("job.mark", {"name": "x"})):
		assert daemon.call(method, job_id="mine", **params)["error"]["data"]["code"] == "conflict"
	assert job_of(daemon, "mine")["status"] == "running"
	run.terminate()
	run.communicate(timeout=60)


def test_without_a_daemon_nothing_is_printed(cold):
	done = cold.proctor("run", "--", "true")
	assert (done.returncode, done.stderr) == (0, "")


def test_the_door_reports_what_is_recorded(cold):
	program = ("import os,sys,json,time\nsys.path.insert(0, %r)\nfrom door import Line\ntime.sleep(1)\n"
		   "line = Line('%%s/jobs/%%s/sock' %% (os.environ['PROCTOR_STATE_DIR'], os.environ['PROCTOR_JOB_ID']))\n"
		   "print(json.dumps([line.call('job.report'), line.call('job.profile')]))") % os.path.dirname(__file__)
	done = cold.proctor("run", "--job-id", "asks", "--", "/usr/bin/python3", "-c", program)
	report, profile = json.loads(done.stdout)
	assert report["result"]["job_id"] == "asks" and profile["result"]["job_id"] == "asks"


NOBODY = 65534


def stored(daemon, command):
	"""Samples and the job of this command in the daemon's store, whoever wrote them."""
	return sql(daemon, "SELECT count(DISTINCT m.snapshot_id) AS samples, max(m.job_id) AS job, max(p.recorder) AS recorder"
		   " FROM process p JOIN recorder r ON r.id = p.recorder JOIN process_metrics m ON m.pid = p.pid"
		   " WHERE p.command = '%s' AND r.kind = 'daemon'" % command)[0]


@pytest.mark.needs_root
@pytest.mark.parametrize("claim", ["none", "of our store"])
@pytest.mark.parametrize("uid", [0, NOBODY])
def test_a_call_hides_no_process(daemon, children, uid, claim):
	"""No recorder is behind it: what it reports of our store is no proof, not even root's."""
	worker = children.spawn(["sleep", "61.5"], user=uid)
	place = os.stat(daemon.proctor.state_dir / "proctor.db")
	claims = {"store_device": place.st_dev, "store_inode": place.st_ino} if claim != "none" else {}
	with daemon.line(uid) as line:
		answer = line.call("job.start", job_id="hidden", pid=worker.pid, has_recorder=True, **claims)["result"]
		assert answer["stored"] is True
		wait_for(lambda: stored(daemon, "sleep 61.5")["samples"] >= 2)
	assert wait_for(lambda: stored(daemon, "sleep 61.5")["job"]) == "hidden"
	assert wait_for(lambda: sql(daemon, "SELECT status, uid FROM jobs WHERE job_id = 'hidden'") == [{"status": "lost", "uid": uid}])


def announce_late(daemon, children, before, uid=None):
	"""A job whose recorder announces it when three of its processes have ended; its row, once it is over."""
	began = time.time()
	command = children.spawn(["sh", "-c", "/bin/true; /bin/true; sh -c 'while [ $((i += 1)) -le 20000 ]; do :; done; :'; echo; read go"], stdin=subprocess.PIPE,
			   stdout=subprocess.PIPE, user=uid)
	assert command.stdout.readline() == b"\n"
	before()
	with daemon.line(uid) as line:
		assert "result" in line.call("job.start", job_id="late", pid=command.pid, has_recorder=True, started_at=began)
		command.communicate(b"go\n", timeout=60)
		assert "result" in line.call("job.end", job_id="late", exit_code=0)
	query = "SELECT processes, processes_quality, exited_processes, cpu_seconds, cpu_seconds_quality FROM jobs WHERE status = 'completed'"
	wait_for(lambda: sql(daemon, query))
	# On a busy machine the end of its last process may be read after the end of the job was stored.
	wait_for(lambda: sql(daemon, query)[0]["exited_processes"] == sql(daemon, query)[0]["processes"])
	return sql(daemon, query)[0]


@pytest.mark.parametrize("uid", [None, NOBODY])
def test_processes_that_ended_before_the_job_was_announced_count(cold, children, uid):
	cold.config.write_text("[profiler]\ninterval_seconds = 60\n", encoding="utf-8")
	cold.start()
	before = resource.getrusage(resource.RUSAGE_CHILDREN)
	job = announce_late(cold, children, lambda: None, uid)
	after = resource.getrusage(resource.RUSAGE_CHILDREN)
	used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
	assert (job["processes"], job["processes_quality"], job["exited_processes"]) == (4, "exact", 4)
	assert job["cpu_seconds_quality"] == "exact" and abs(job["cpu_seconds"] - used) <= 0.002 + 0.02 * used
	names = sql(cold, "SELECT count(*) AS n FROM process p JOIN job j ON j.id = p.job WHERE j.job_id = 'late'")
	assert names == [{"n": 4}]


def test_a_job_that_was_announced_after_a_tick_has_lower_bounds(daemon, children):
	job = announce_late(daemon, children, daemon.wait_ticks)
	assert job["processes"] >= 1 and (job["processes_quality"], job["cpu_seconds_quality"]) == ("at_least", "at_least")


@pytest.mark.needs_root
def test_short_runs_of_a_user_are_counted_exactly_or_not_called_so(daemon, as_nobody):
	for _ in range(10):
		done = as_nobody("run", "-q", "--name", "short", "--", "sh", "-c", "/bin/true; /bin/true; /bin/true; sleep 0.05; :",
				 env={"PROCTOR_SOCKET": str(daemon.socket)})
		assert done.returncode == 0, done.stderr
	jobs = wait_for(lambda: (lambda rows: len(rows) == 10 and rows)(sql(
		daemon, "SELECT processes, processes_quality AS quality FROM jobs WHERE type = 'short' AND status = 'completed'")))
	assert all(job["processes"] == 5 for job in jobs if job["quality"] == "exact"), [job for job in jobs if job["processes"] != 5]
	assert sum(job["quality"] == "exact" for job in jobs) >= 5, jobs


@pytest.mark.needs_root
def test_what_a_user_records_elsewhere_is_in_the_daemons_store_too(daemon, as_nobody):
	done = as_nobody("run", "--job-id", "both", "--", "sh", "-c", "sleep 2.125; exit 3", env={"PROCTOR_SOCKET": str(daemon.socket)})
	assert done.returncode == 3, done.stderr
	job, = wait_for(lambda: sql(daemon, "SELECT status, exit_code, uid, processes FROM jobs WHERE job_id = 'both' AND status != 'running'"))
	assert (job["status"], job["exit_code"], job["uid"]) == ("failed", 3, NOBODY) and job["processes"] >= 2
	assert stored(daemon, "sleep 2.125")["job"] == "both"
	assert sql(daemon, "SELECT job_id FROM jobs", as_nobody.state_dir) == [{"job_id": "both"}]


def test_a_recorder_that_is_killed_leaves_its_processes_to_the_daemon(daemon, gate):
	run = start_run(daemon, "sh", "-c", "sleep 62.5 & echo $!; read go <%s" % gate, options=("--job-id", "left"))
	wait_for(lambda: job_of(daemon, "left"))
	pid = int(run.stdout.readline())
	daemon.wait_ticks(2)
	assert stored(daemon, "sleep 62.5")["samples"] == 0
	run.kill()
	run.wait()
	if os.path.exists("/proc/%d" % pid):
		wait_for(lambda: stored(daemon, "sleep 62.5")["samples"] or not os.path.exists("/proc/%d" % pid))
		os.kill(pid, signal.SIGKILL)
	assert sql(daemon, "SELECT job_id FROM jobs WHERE job_id = 'left'") == [{"job_id": "left"}]
	run.stdout.close()
	run.stderr.close()


@pytest.mark.needs_root
def test_the_owner_finds_a_job_that_only_the_daemon_has(daemon, as_nobody, children):
	worker = children.spawn(["sleep", "63.5"], user=NOBODY)
	env = {"PROCTOR_SOCKET": str(daemon.socket)}
	assert daemon.result("job.start", NOBODY, job_id="kept", pid=worker.pid)["stored"] is True
	daemon.result("job.start", job_id="roots", pid=children.spawn(["sleep", "63.6"]).pid)
	text = as_nobody("ls", env=env)  # nobody has no store at all
	assert (text.returncode, text.stderr) == (0, "") and "from the daemon at %s\n" % daemon.socket in text.stdout
	assert "kept" in text.stdout and "roots" not in text.stdout
	assert as_nobody("run", "--job-id", "own", "--", "true", env=env).returncode == 0
	jobs = json.loads(as_nobody("ls", "--json", env=env).stdout)["jobs"]  # own is in both stores, and listed once
	assert [(job["job_id"], job.get("source")) for job in jobs] == [("own", None), ("kept", str(daemon.socket))]
	report = as_nobody("report", "kept", env=env)
	assert report.returncode == 0 and report.stdout.startswith("from the daemon at %s\n" % daemon.socket) and "kept" in report.stdout
	assert json.loads(as_nobody("report", "kept", "--json", env=env).stdout)["source"] == str(daemon.socket)
	markdown = as_nobody("report", "kept", "--markdown", env=env)
	assert (markdown.returncode, markdown.stderr) == (0, "") and markdown.stdout.startswith("### kept\n") and "| CPU |" in markdown.stdout
	missing = as_nobody("report", "roots", env=env)
	assert missing.returncode == 3 and "no job 'roots'" in missing.stderr


@pytest.mark.needs_root
def test_names_and_filters_reach_jobs_that_only_the_daemon_has(daemon, as_nobody, children, tmp_path):
	env = {"PROCTOR_SOCKET": str(daemon.socket)}
	first = {"job_id": "etl-11aa", "job_type": "etl.py", "tags": {"team": "a"}}
	for params in (first, {"job_id": "etl-22bb", "job_type": "etl.py"}, {"job_id": "inner", "parent_job_id": "etl-22bb"}):
		worker = children.spawn(["sleep", "63.7"], user=NOBODY)
		daemon.result("job.start", NOBODY, pid=worker.pid, **params)
	daemon.result("job.end", NOBODY, job_id="etl-11aa", exit_code=1)
	assert as_nobody("run", "--job-id", "own-33cc", "--", "sleep", "0.5", env=env).returncode == 0
	found = lambda *name: json.loads(as_nobody("report", *name, "--json", env=env).stdout)["job_id"]
	assert [found("etl"), found("etl.py~1"), found("l-11"), found("own"), found("33cc")] == \
		["etl-22bb", "etl-11aa", "etl-11aa", "own-33cc", "own-33cc"]
	assert [found(), found("last"), found("last~1"), found("last~2")] == ["own-33cc"] * 2 + ["etl-22bb", "etl-11aa"]
	several = as_nobody("report", "-", "--json", env=env)
	assert several.returncode == 1
	assert [line.split()[0] for line in several.stderr.splitlines()[2:]] == ["own-33cc", "etl-22bb", "etl-11aa"]
	listed = lambda *options: [job["job_id"] for job in json.loads(as_nobody("ls", "--json", *options, env=env).stdout)["jobs"]]
	assert "1970" not in as_nobody("ls", env=env).stdout
	assert listed("--tag", "team") == listed("--tag", "team=a") == listed("--outcome", "failed") == ["etl-11aa"]
	assert listed("--tag", "team=b") == [] and listed("--type", "etl.py") == ["etl-22bb", "etl-11aa"]
	assert listed("--parent", "etl") == ["inner"] and listed("--since", "1h ago", "--outcome", "ok") == ["own-33cc"]
	stats = json.loads(as_nobody("ls", "--stats", "--json", "--type", "etl.py", env=env).stdout)["types"]
	assert [(t["job_type"], t["jobs"], t["failed"], t["running"]) for t in stats] == [("etl.py", 2, 1, 1)]
	for verb in (["events"], ["export", "--format", "csv"]):
		done = as_nobody(*verb, "etl-11", env=env)
		assert done.returncode == 1 and "only in the daemon's store" in done.stderr and "proctor report etl-11aa" in done.stderr
	# --state-dir means that store and no other.
	done = as_nobody("report", "etl", "--state-dir", as_nobody.state_dir, env=env)
	assert done.returncode == 3 and "no job 'etl'" in done.stderr
	assert found("65534:etl") == "etl-22bb"
	# Root reads that store itself, with everybody's jobs.
	daemon.result("job.start", job_id="etl-44dd", job_type="etl.py", pid=children.spawn(["sleep", "63.8"]).pid)
	roots = lambda *words: json.loads(daemon.proctor(*words, "--json").stdout)
	assert [roots("report", name)["job_id"] for name in ("etl", "nobody:etl", "nobody:etl~1", "nobody:11", "nobody:last")] == \
		["etl-44dd", "etl-22bb", "etl-11aa", "etl-11aa", "own-33cc"]
	# … and learns how, if another store is asked.
	for verb in (["events"], ["rm"]):
		done = daemon.proctor(*verb, "etl-44", env={"PROCTOR_STATE_DIR": str(tmp_path), "PROCTOR_SOCKET": str(daemon.socket)})
		assert done.returncode == 1 and "only in the daemon's store" in done.stderr and "--state-dir" in done.stderr, done.stderr
	assert roots("diff", "nobody:etl~1", "nobody:22b")["a"]["job_id"] == "etl-11aa"
	several = daemon.proctor("events", "etl-")
	assert several.returncode == 1
	assert [line.split()[0] for line in several.stderr.splitlines()[2:]] == ["etl-44dd", "nobody:etl-22bb", "nobody:etl-11aa"]


def test_a_daemon_that_hangs_does_not_hold_up_a_list_for_long(cold, tmp_path):
	cold.start()
	env = {"PROCTOR_STATE_DIR": str(tmp_path)}
	assert cold.proctor("run", "--job-id", "own-1", "--", "true", env=env).returncode == 0
	cold.process.send_signal(signal.SIGSTOP)
	try:
		for verb in (["ls"], ["ls", "--tag", "x"], ["report", "own"]):
			began = time.monotonic()
			done = cold.proctor(*verb, env=env)
			assert time.monotonic() - began < 2.5  # 0.5, and what a busy machine adds
			assert done.returncode == 0 and "does not answer within 0.5 s; its jobs are left out" in done.stderr
		assert "own-1" in cold.proctor("ls", env=env).stdout
	finally:
		cold.process.send_signal(signal.SIGCONT)


@pytest.mark.needs_root
def test_root_sees_everybodys_jobs_and_their_totals(daemon, as_nobody):
	for n in range(2):
		done = as_nobody("run", "--", "/usr/bin/python3", "-c", "import time\nend = time.process_time() + 0.2\nwhile time.process_time() < end: pass",
				 env={"PROCTOR_SOCKET": str(daemon.socket)})
		assert done.returncode == 0, done.stderr
	assert daemon.proctor("run", "--", "true").returncode == 0
	wait_for(lambda: sql(daemon, "SELECT count(*) AS n FROM jobs WHERE status = 'completed'") == [{"n": 3}])
	users = {user["user"]: user for user in json.loads(daemon.proctor("ls", "--all-users", "--json").stdout)["users"]}
	assert (users["nobody"]["jobs"], users["root"]["jobs"]) == (2, 1)
	truth, = sql(daemon, "SELECT sum(cpu_seconds) AS cpu, max(coalesce(peak_used_mb, peak_rss_mb)) AS peak FROM jobs WHERE uid = 65534")
	assert abs(users["nobody"]["cpu_hours"] * 3600 - truth["cpu"]) < 0.01 and truth["cpu"] > 0.39
	assert users["nobody"]["peak_mb"] >= truth["peak"] - 0.1
	text = daemon.proctor("ls", "--all-users", "-n", "1").stdout
	assert "CPU HOURS" in text and "nobody" in text
	assert as_nobody("ls", "--all-users").returncode == 2


@pytest.mark.needs_root
def test_totals_of_users_have_the_jobs_of_the_daemons_store_too(daemon, as_nobody, tmp_path):
	"""Each once, however many are listed."""
	env = {"PROCTOR_STATE_DIR": str(tmp_path / "own")}  # of root, beside the daemon's
	for n in range(3):
		assert as_nobody("run", "--job-id", "n%d" % n, "--", "true", env={"PROCTOR_SOCKET": str(daemon.socket)}).returncode == 0
	assert daemon.proctor("run", "--job-id", "both", "--", "true", env=env).returncode == 0
	wait_for(lambda: sql(daemon, "SELECT count(*) AS n FROM jobs WHERE status = 'completed'") == [{"n": 4}])
	users = json.loads(daemon.proctor("ls", "--all-users", "--json", "-n", "1", env=env).stdout)["users"]
	assert {user["user"]: user["jobs"] for user in users} == {"nobody": 3, "root": 1}


@pytest.mark.needs_root
def test_status_lists_running_jobs_and_why_it_is_full(daemon, as_nobody, children):
	worker = children.spawn(["timeout", "60", "sh", "-c", "while :; do :; done"], user=NOBODY)
	daemon.result("job.start", NOBODY, job_id="busy", pid=worker.pid)
	job = wait_for(lambda: [job for job in daemon.result("daemon.status")["jobs"] if (job["cpu_percent"] or 0) > 10])[0]
	assert (job["job_id"], job["uid"]) == ("busy", NOBODY) and 0 < job["age_seconds"] < 60 and job["used_mb"] > 0
	text = daemon.proctor("status").stdout
	assert "running jobs" in text and "busy" in text and "nobody" in text
	daemon.config.write_text("[profiler]\ninterval_seconds = 1\n[limits]\nmax_processes = 10\n")
	daemon.process.send_signal(signal.SIGHUP)
	wait_for(lambda: "of max_processes (10) is in use" in (daemon.result("daemon.status")["pressure_reason"] or ""))
	assert "critical: " in daemon.proctor("status").stdout
	status = json.loads(daemon.proctor("status", "--json").stdout)["status"]
	assert status["store"]["wal_bytes"] > 0 and status["store"]["jsonl_bytes"] > 0


# 100 MiB, and three processes that share them.
SHARED = """
import os, time
a = b"x" * (100 << 20)
for _ in range(2):
	if os.fork() == 0:
		break
time.sleep(60)
"""


@pytest.mark.needs_root
@pytest.mark.parametrize("way", ["registered", "run"])
def test_status_counts_memory_that_processes_share_once(daemon, children, way):
	"""A run by root writes into the daemon's own store."""
	if way == "registered":
		worker = children.python(SHARED)
		daemon.result("job.start", job_id="shared", pid=worker.pid)
	else:
		children.spawn([daemon.proctor.binary, "run", "--job-id", "shared", "--", "/usr/bin/python3", "-c", SHARED], env={**daemon.proctor.env, **SANITIZERS})
	used = wait_for(lambda: [job["used_mb"] for job in daemon.result("daemon.status")["jobs"] if (job["used_mb"] or 0) > 95])[0]
	daemon.wait_ticks(2)
	job, = daemon.result("daemon.status")["jobs"]
	assert 100 <= job["used_mb"] <= 115 and used <= 115 and job["cpu_percent"] is not None, job
	assert "USED" in daemon.proctor("status").stdout


@pytest.fixture(params=["root", "nobody"])
def runner(request, cold):
	"""`proctor run`, as root or a plain user, into a store that is not the daemon's."""
	if request.param == "nobody":
		as_nobody = request.getfixturevalue("as_nobody")
		env = {**as_nobody.env, "PROCTOR_SOCKET": str(cold.socket)}
		before = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", str(as_nobody.place / "proctor")]
	else:
		env = {**cold.proctor.env, "PROCTOR_STATE_DIR": str(cold.place / "elsewhere")}
		before = [cold.proctor.binary]
	uid = NOBODY if request.param == "nobody" else 0
	runner = lambda *words, **how: subprocess.Popen([*before, "run", *words], env={**env, **SANITIZERS}, cwd="/", stdin=subprocess.DEVNULL, **how)
	runner.uid, runner.binary, runner.env = uid, before[-1], env
	return runner


FIGURES = ("cpu_seconds", "peak_used_mb", "peak_rss_mb", "processes", "failed_processes")


@pytest.mark.needs_root
def test_a_job_that_is_over_before_the_daemon_reads_of_it_is_known_there(daemon, runner):
	"""With what its recorder reported, and without figures: nothing of it was seen."""
	daemon.process.send_signal(signal.SIGSTOP)
	try:
		assert runner("--job-id", "brief", "--time", "90", "--", "sh", "-c", "exit 3").wait(timeout=60) == 3
	finally:
		daemon.process.send_signal(signal.SIGCONT)
	job = wait_for(lambda: (job := job_of(daemon, "brief")) and job["status"] != "running" and job)
	assert (job["status"], job["exit_code"], job["uid"], job["command"], job["allowed_seconds"]) == ("failed", 3, runner.uid, "sh -c exit 3", 90)
	ended = "SELECT %s, status, ended - started AS took FROM jobs WHERE job_id = 'brief' AND ended IS NOT NULL" % ", ".join(FIGURES)
	row, = wait_for(lambda: sql(daemon, ended))
	assert row["status"] == "failed" and 0 < row["took"] < 30 and [row[name] for name in FIGURES] == [None] * len(FIGURES)


@pytest.fixture
def stoppable(cold):
	"""A daemon that reads nothing of what happens within `with stoppable.stopped()`."""
	@contextlib.contextmanager
	def stopped():
		with store_locked(cold.proctor.state_dir):  # it is not stopped in the midst of writing
			cold.process.send_signal(signal.SIGSTOP)
			wait_for(lambda: state_of(cold.process.pid) == "T")
		try:
			yield
		finally:
			cold.process.send_signal(signal.SIGCONT)

	cold.config.write_text("[profiler]\ninterval_seconds = 30\n", encoding="utf-8")
	cold.start()
	wait_for(lambda: cold.result("daemon.status")["store"]["snapshots"])
	cold.stopped = stopped
	return cold


@pytest.mark.parametrize("boxed", [False, True], ids=["on the host", "in a container"])
def test_a_job_of_the_daemons_own_store_is_stored_once_however_short(stoppable, boxed):
	"""Its recorder has ended, too, when the daemon reads of it."""
	before = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"] if boxed else []
	with stoppable.stopped():
		subprocess.run([*before, stoppable.proctor.binary, "run", "--job-id", "brief", "--", "true"], env={**stoppable.proctor.env, **SANITIZERS}, check=True,
			       stdin=subprocess.DEVNULL, timeout=60)
	wait_for(lambda: any(job["status"] == "completed" for job in stoppable.result("job.list")["jobs"]))
	assert [job["job_id"] for job in stoppable.result("job.list")["jobs"]] == ["brief"]
	stoppable.stop()
	assert sql(stoppable, "SELECT job_id FROM jobs") == [{"job_id": "brief"}]


def test_a_job_whose_recorder_is_about_to_end_is_stored_once(stoppable, children):
	"""The end of the recording is stored, and both the recorder and the process it watched still exist, when the daemon reads of it."""
	worker = children.spawn(["sleep", "75.5"])
	with stoppable.stopped():
		run = children.spawn([stoppable.proctor.binary, "run", "--job-id", "ending", "--pid", str(worker.pid)], env={**stoppable.proctor.env, **SANITIZERS})
		wait_for(lambda: sql(stoppable, "SELECT 1 FROM jobs WHERE job_id = 'ending'"))
		run.send_signal(signal.SIGINT)
		wait_for(lambda: state_of(run.pid) == "Z")
	wait_for(lambda: any(job["status"] != "running" for job in stoppable.result("job.list")["jobs"]))
	stoppable.stop()
	assert sql(stoppable, "SELECT job_id FROM jobs") == [{"job_id": "ending"}]


@pytest.mark.parametrize("command", ["proctor", "that runs later"])
def test_a_command_that_is_proctor_or_not_yet_started_is_a_job(daemon, children, command):
	"""A recorder announces its job before the command runs: until then its process is called proctor, too."""
	if command == "proctor":
		inner = [daemon.proctor.binary, "run", "--job-id", "inner", "--", "sleep", "74.5"]
		run = start_run(daemon, *inner, options=("--job-id", "outer", "--kill-leftovers"))
		assert wait_for(lambda: job_of(daemon, "inner")) and job_of(daemon, "outer")["status"] == "running"
		run.terminate()
		run.communicate(timeout=60)
		return
	late = "import ctypes,os,sys\nctypes.CDLL(None).prctl(15, b'proctor')\nprint(flush=True)\nsys.stdin.readline()\nos.execlp('sleep', 'sleep', '74.5')"
	worker = children.python(late, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
	worker.stdout.readline()
	with daemon.line() as line:
		assert line.call("job.start", job_id="late", pid=worker.pid, has_recorder=True)["result"]["status"] == "running"
		worker.stdin.write("\n")
		worker.stdin.flush()
		wait_for(lambda: [p["command"] for p in daemon.result("daemon.top")["processes"] if p["job_id"] == "late"] == ["sleep 74.5"])


@pytest.mark.needs_root
@pytest.mark.parametrize("daemon_comes", ["while it runs", "just before its end"])
def test_marks_of_before_the_daemon_came_reach_it_in_order(cold, runner, daemon_comes):
	gate = cold.place / "gate"
	os.mkfifo(gate)
	os.chmod(gate, 0o666)
	steps = "P=%s; $P mark one n=1; $P phase load -- true; $P mark two; echo marked; read go <%s; $P mark three" % (runner.binary, gate)
	run = runner("--job-id", "early", "--", "sh", "-c", steps, stdout=subprocess.PIPE, text=True)
	assert run.stdout.readline() == "marked\n"
	reported = time.time()
	cold.start()
	if daemon_comes == "while it runs":
		wait_for(lambda: job_of(cold, "early"))
	with open(gate, "w", encoding="ascii"):
		pass
	run.communicate(timeout=60)
	assert run.returncode == 0
	wait_for(lambda: (job_of(cold, "early") or {}).get("status") == "completed")
	cold.stop()
	rows = sql(cold, "SELECT name, timestamp FROM recorder_events WHERE job_id = 'early' AND event_type IN ('mark', 'phase') ORDER BY timestamp, id")
	assert [row["name"] for row in rows] == ["one", "load", "two", "three"]
	assert all(row["timestamp"] <= reported for row in rows[:3])


@pytest.mark.needs_root
def test_a_watched_process_is_a_job_at_the_daemon_too(daemon, runner, children):
	"""… with what it used since then only."""
	burn = "import time,sys\nend = time.process_time() + 1\nwhile time.process_time() < end: pass\nprint('burnt', flush=True)\nsys.stdin.readline()"
	worker = children.python(burn, user=runner.uid, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
	assert worker.stdout.readline() == "burnt\n"
	run = runner("--job-id", "watched", "--pid", str(worker.pid))
	job = wait_for(lambda: job_of(daemon, "watched"))
	assert (job["status"], job["uid"]) == ("running", runner.uid) and "burnt" in job["command"]
	daemon.wait_ticks(2)
	assert wait_for(lambda: any(p["job_id"] == "watched" and p["pid"] == worker.pid for p in daemon.result("daemon.top")["processes"]))
	worker.stdin.write("\n")
	worker.stdin.flush()
	assert worker.wait(timeout=60) == 0
	run.wait(timeout=60)
	status = wait_for(lambda: (job := job_of(daemon, "watched"))["status"] != "running" and job["status"])
	row = wait_for(lambda: next(iter(sql(daemon, "SELECT status, cpu_seconds FROM jobs WHERE job_id = 'watched' AND status <> 'running'")), None))
	own, = sql(daemon, "SELECT status, cpu_seconds FROM jobs WHERE job_id = 'watched'", runner.env["PROCTOR_STATE_DIR"])
	assert status == row["status"] == own["status"] and row["cpu_seconds"] < 0.5, (row, own)


NESTED = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]


@pytest.mark.needs_root
@pytest.mark.parametrize("wrapper", [[], ["$PROCTOR", "sheet", "--"]], ids=["directly", "in a sheet"])
def test_a_job_of_another_user_inside_a_job_is_part_of_it(daemon, as_nobody, wrapper):
	"""As su and sudo start them: proven by the processes, in the user's own store, and in the daemon's."""
	inner = " ".join([*wrapper, *NESTED, "env", "PROCTOR_STATE_DIR=%s" % as_nobody.state_dir, str(as_nobody.place / "proctor"),
			  "run", "-q", "--job-id", "inner", "--", "sleep", "0.3"])
	done = daemon.proctor("run", "-q", "--job-id", "outer", "--", "sh", "-c", "cd %s; %s" % (as_nobody.place, inner))
	assert done.returncode == 0, done.stderr
	own, = json.loads(as_nobody("ls", "--json", "--state-dir", as_nobody.state_dir).stdout)["jobs"]
	assert (own["job_id"], own["parent_job_id"], own["parent_uid"]) == ("inner", "outer", 0)
	assert "part of   job root:outer" in as_nobody("report", "inner", "--state-dir", as_nobody.state_dir).stdout
	row, = wait_for(lambda: sql(daemon, "SELECT uid, parent, parent_uid, recorded_as FROM jobs WHERE job_id = 'inner' AND status = 'completed'"))
	assert row == {"uid": NOBODY, "parent": "outer", "parent_uid": 0, "recorded_as": "inner"}
	listed = json.loads(daemon.proctor("ls", "--json", "--parent", "outer").stdout)["jobs"]
	assert [(job["job_id"], job["uid"], job["parent_uid"]) for job in listed] == [("inner", NOBODY, 0)]
	outermost = json.loads(daemon.proctor("report", "last", "--json").stdout)
	assert outermost["job_id"] == "outer"
	mine = [as_nobody("ls", "--json", "--parent", "root:outer", *where) for where in [("--state-dir", as_nobody.state_dir), ()]]
	assert [[job["job_id"] for job in json.loads(done.stdout)["jobs"]] for done in mine] == [["inner"]] * 2, [done.stderr for done in mine]
	env = {"PROCTOR_STATE_DIR": str(as_nobody.place / "none"), "PROCTOR_SOCKET": str(daemon.socket)}
	elsewhere = as_nobody("ls", "--json", "--parent", "root:outer", env=env)
	assert [job["job_id"] for job in json.loads(elsewhere.stdout)["jobs"]] == ["inner"]  # from the daemon
	assert "part of   job root:outer\n" in as_nobody("report", "inner", env=env).stdout  # for its reader, not for the daemon's user
	unknown = as_nobody("ls", "--parent", "root:other")
	assert unknown.returncode == 3 and "no job 'root:other'" in unknown.stderr, unknown


@pytest.mark.needs_root
@pytest.mark.parametrize("signo", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_goes_on_as_the_same_job_when_the_daemon_is_started_again(daemon, as_nobody, children, tmp_path, signo):
	gate = as_nobody.place / "gate"
	program = [*NESTED, "env", "PROCTOR_STATE_DIR=%s" % as_nobody.state_dir, "PROCTOR_SOCKET=%s" % daemon.socket, str(as_nobody.place / "proctor"),
		   "run", "-q", "--job-id", "long", "--", "sh", "-c", "while [ ! -e gate ]; do sleep 0.1; done"]
	run = children.spawn(program, cwd=as_nobody.place, env=as_nobody.env)
	wait_for(lambda: sql(daemon, "SELECT 1 FROM jobs WHERE job_id = 'long'"))
	daemon.wait_ticks()
	daemon.stop(signo)
	daemon.start()
	daemon.wait_ticks(3)  # by then its recorder is connected again
	gate.touch()
	assert run.wait(timeout=60) == 0
	wait_for(lambda: sql(daemon, "SELECT 1 FROM jobs WHERE status = 'completed'"))
	assert [(row["job_id"], row["uid"]) for row in sql(daemon, "SELECT job_id, uid FROM jobs")] == [("long", NOBODY)]


@pytest.mark.needs_root
@pytest.mark.parametrize("name", ["outer", "root:outer"])
def test_the_job_of_another_user_is_not_a_parent_by_name_alone(daemon, as_nobody, name):
	outer = start_run(daemon, "sleep", "30", options=("-q", "--job-id", "outer"))
	wait_for(lambda: sql(daemon, "SELECT 1 FROM jobs WHERE job_id = 'outer'"))
	done = as_nobody("run", "-q", "--job-id", "liar", "--", "sleep", "0.3", env={"PROCTOR_SOCKET": str(daemon.socket), "PROCTOR_JOB_ID": name})
	assert done.returncode == 0, done.stderr
	row, = wait_for(lambda: sql(daemon, "SELECT parent, parent_uid FROM jobs WHERE job_id = 'liar' AND status = 'completed'"))
	parent = (name, NOBODY) if name == "outer" else (None, None)  # no id has a colon
	assert (row["parent"], row["parent_uid"]) == parent
	own, = json.loads(as_nobody("ls", "--json").stdout)["jobs"]
	assert (own["parent_job_id"], own["parent_uid"]) == parent
	theirs = as_nobody("report", "liar", env={"PROCTOR_STATE_DIR": str(as_nobody.place / "none"), "PROCTOR_SOCKET": str(daemon.socket)})
	for shown, words in ((daemon.proctor("report", "%d:liar" % NOBODY).stdout, "part of   job nobody:outer\n"), (theirs.stdout, "part of   job outer\n")):
		assert words in shown if name == "outer" else "part of " not in shown, shown
	assert not json.loads(daemon.proctor("ls", "--json", "--parent", "outer").stdout)["jobs"]
	outer.terminate()
	outer.communicate(timeout=60)


@pytest.mark.needs_root
def test_a_run_that_the_daemon_stored_by_another_id_is_listed_once(daemon, as_nobody):
	with_daemon = {"PROCTOR_SOCKET": str(daemon.socket)}
	for number in range(2):
		done = as_nobody("run", "-q", "--job-id", "nightly", "--", "sleep", "0.1", env=with_daemon)
		assert done.returncode == 0, done.stderr
		wait_for(lambda: sql(daemon, "SELECT 1 FROM jobs WHERE job_id LIKE 'nightly%'"))
		if number == 0:
			assert as_nobody("rm", "nightly", env=with_daemon).returncode == 0
	wait_for(lambda: len(sql(daemon, "SELECT 1 FROM jobs WHERE job_id LIKE 'nightly%'")) == 2)
	listed = json.loads(as_nobody("ls", "--json", env=with_daemon).stdout)["jobs"]
	assert [(job["job_id"], "source" in job) for job in listed] == [("nightly", False), ("nightly", True)]  # the first one is in the daemon's only
	assert len({job["recording"] for job in listed}) == 2
	rows = sql(daemon, "SELECT job_id, recorded_as FROM jobs ORDER BY started")
	assert [(row["job_id"], row["recorded_as"]) for row in rows] == [("nightly", "nightly"), ("nightly.2", "nightly")]


@pytest.mark.needs_root
def test_a_run_of_the_same_id_in_another_store_is_no_copy(daemon, as_nobody, children):
	def call(store, *args):
		done = as_nobody(*args, env={"PROCTOR_SOCKET": str(daemon.socket), "PROCTOR_STATE_DIR": str(as_nobody.place / store)})
		assert done.returncode == 0, done.stderr
		return done

	listed = lambda store: [(job["job_id"], job["recording"]) for job in json.loads(call(store, "ls", "--json").stdout)["jobs"]]
	for number, store in enumerate(("one", "two"), start=1):
		call(store, "run", "-q", "--job-id", "nightly", "--", "sleep", "0.1")
		wait_for(lambda: len(sql(daemon, "SELECT 1 FROM jobs WHERE status = 'completed'")) == number)
	copies = [(row["job_id"], row["recording"]) for row in sql(daemon, "SELECT job_id, recording FROM jobs ORDER BY started")]
	assert [name for name, _ in copies] == ["nightly", "nightly.2"] and len({name for _, name in copies}) == 2
	assert listed("one") == [copies[0], copies[1]] and listed("two") == [("nightly", copies[1][1]), copies[0]]
	line, = call("two", "rm", "nightly").stderr.splitlines()
	assert "the daemon has a copy of job 'nightly.2'" in line
	worker = children.spawn(["sleep", "63.8"], user=NOBODY)
	daemon.result("job.end", NOBODY, job_id=daemon.result("job.start", NOBODY, pid=worker.pid, job_id="registered")["job_id"])
	call("one", "run", "-q", "--job-id", "registered", "--", "true")
	assert sorted(name for name, _ in listed("one")).count("registered") >= 2  # the daemon's is another job


@pytest.mark.needs_root
def test_a_job_that_only_the_daemon_has_is_listed_whatever_runs_at_the_same_time(daemon, as_nobody, children):
	"""Same user, type and moment, and yet two jobs: only one of them has a recorder of its own."""
	with_daemon = {"PROCTOR_SOCKET": str(daemon.socket)}
	as_nobody("run", "-q", "--job-id", "own", "--name", "twin", "--", "sleep", "0.1", env=with_daemon)
	own, = json.loads(as_nobody("ls", "--json", env=with_daemon).stdout)["jobs"]
	worker = children.spawn(["sleep", "63.9"], user=NOBODY)
	daemon.result("job.start", NOBODY, pid=worker.pid, job_id="other", job_type="twin", started_at=own["started_at"])
	listed = json.loads(as_nobody("ls", "--json", env=with_daemon).stdout)["jobs"]
	assert sorted(job["job_id"] for job in listed) == ["other", "own"]
