# SPDX-License-Identifier: MIT
"""`run --on-anomaly`: a command for each anomaly that begins, which neither the job nor its record notices."""
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import wait_for

PYTHON = sys.executable
# It opens almost all the files that it may, until a file exists: an anomaly, or one in each of so many processes.
FILES = """
import os, resource, sys, time
def hold(path):
	while not os.path.exists(path):
		time.sleep(0.02)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
held = [os.dup(0) for _ in range(58)]
children = []
for _ in range(int(sys.argv[2])):
	pid = os.fork()
	if pid == 0:
		hold(sys.argv[1])
		os._exit(0)
	children.append(pid)
hold(sys.argv[1])
for pid in children:
	os.waitpid(pid, 0)
sys.exit(int(sys.argv[3]))
"""


def job(path, children=0, status=0):
	return [PYTHON, "-c", FILES, str(path), str(children), str(status)]


def options(command):
	return ["--interval", "0.1", "--on-anomaly", command]


def is_alive(pid):
	try:
		return Path("/proc/%d/stat" % pid).read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"
	except (FileNotFoundError, ProcessLookupError):
		return False


def written(path):
	"""What a hook has written there, once it has."""
	wait_for(lambda: path.exists() and path.read_text(encoding="utf-8").endswith("\n"))
	return path.read_text(encoding="utf-8")


@pytest.fixture(params=["root", "nobody"])
def either(request, run, tmp_path):
	"""`run` for a command, as root and as a plain user; where it may write; and its store."""
	if request.param == "root":
		return (lambda *command, options=(): run(*command, options=options)), tmp_path, run.sql
	as_nobody = request.getfixturevalue("as_nobody")

	def go(*command, options=()):
		return as_nobody("run", *options, "--", *command)
	return go, as_nobody.place, as_nobody.sql


def test_a_hook_gets_the_finding_and_is_not_in_the_figures(either):
	go, place, sql = either
	done = place / "done"
	hook = "cat > %s/finding; { id -u; echo ${PROCTOR_JOB_ID-none}; cat /proc/self/cgroup; } > %s/where; " % (place, place)
	hook += "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; touch %s" % done
	end = go(*job(done, status=3), options=options(hook))
	assert (end.returncode, end.stdout) == (3, "")
	assert "on-anomaly" not in end.stderr
	finding = json.loads(written(place / "finding"))
	(row,) = sql("SELECT * FROM anomalies WHERE anomaly_type = 'fd_exhaustion'")
	(record,) = sql("SELECT * FROM jobs")
	assert (finding["anomaly_type"], finding["severity"], finding["job_id"]) == ("fd_exhaustion", "high", record["job_id"])
	assert finding["pid"] == row["pid"] and finding["ended"] is None
	uid, of_job, *groups = written(place / "where").splitlines()
	assert int(uid) == (0 if place.owner() == "root" else place.stat().st_uid)
	assert of_job == "none" and all(record["job_id"] not in group for group in groups)
	assert (record["processes"], record["leaked_processes"]) == (1, 0)
	assert [p["pid"] for p in sql("SELECT pid FROM process WHERE job IS NOT NULL")] == [row["pid"]]


def test_a_hook_that_hangs_is_killed_with_all_that_it_started(run, tmp_path):
	done = tmp_path / "done"
	hook = "setsid sh -c 'echo $$ > %s/away; exec sleep 1000' & echo $$ > %s/self; sleep 1000" % (tmp_path, tmp_path)
	proc = subprocess.Popen(run.line(*job(done), options=options(hook)), env=run.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
	try:
		began = time.monotonic()
		pids = [int(written(tmp_path / name)) for name in ("away", "self")]
		assert all(map(is_alive, pids))
		wait_for(lambda: not any(map(is_alive, pids)))
		assert time.monotonic() - began > 8
	finally:
		done.touch()
		_, stderr = proc.communicate(timeout=60)
	assert proc.returncode == 0
	assert "on-anomaly failed: it was not over after 10 s" in stderr


def test_the_end_of_the_job_does_not_wait_for_the_hook(run, tmp_path):
	"""What waits is passed on all the same, one at a time; and nobody waits for the hook's own copy of stderr."""
	done, order = tmp_path / "done", tmp_path / "order"
	# The job goes on for a second, until all three processes have been seen.
	hook = "echo begin >> %s; sleep 1; touch %s; cat > /dev/null; echo end >> %s" % (order, done, order)
	end = run(*job(done, children=2), options=options(hook))
	assert end.returncode == 0
	assert order.read_text(encoding="utf-8").split().count("end") < 3
	wait_for(lambda: order.read_text(encoding="utf-8").split().count("end") == 3)
	assert order.read_text(encoding="utf-8").split() == ["begin", "end"] * 3


@pytest.mark.parametrize("hook, reason", [("/nonexistent/hook", "exit status 127 (sh: "), ("echo no room >&2; exit 4", "exit status 4 (no room)"),
					  ("kill -9 $$", "it was killed by signal 9")])
def test_a_hook_that_fails_is_reported_once(run, tmp_path, hook, reason):
	done, count = tmp_path / "done", tmp_path / "count"
	children = 3
	hook = "echo x >> %s; [ $(wc -l < %s) -gt %d ] && touch %s; %s" % (count, count, children, done, hook)
	end = run(*job(done, children=children, status=5), options=options(hook))
	assert end.returncode == 5
	assert end.stderr.count("on-anomaly") == 1 and reason in end.stderr
	quiet = run(*job(done), options=["--quiet", *options(hook)])
	assert (quiet.returncode, quiet.stderr) == (0, "")


def test_more_than_can_wait_are_counted(run, tmp_path):
	done, count = tmp_path / "done", tmp_path / "count"
	proc = subprocess.Popen(run.line(*job(done, children=29), options=options("echo x >> %s; sleep 2" % count)), env=run.env, stdin=subprocess.DEVNULL,
				stderr=subprocess.PIPE, text=True)
	try:
		wait_for(lambda: run.is_recorded() and len(run.sql("SELECT 1 FROM anomalies WHERE anomaly_type = 'fd_exhaustion'")) == 30)
	finally:
		done.touch()
		_, stderr = proc.communicate(timeout=60)
	dropped = int(stderr.split("was not run for ")[1].split(" ")[0])
	assert proc.returncode == 0 and 8 <= dropped <= 14 and "too many waited" in stderr


def test_a_hook_of_a_process_that_ran_before(run, children, tmp_path):
	done, finding = tmp_path / "done", tmp_path / "finding"
	program = children.spawn(job(done), stdin=subprocess.DEVNULL)
	proc = subprocess.Popen([run.proctor.binary, "run", "--pid", str(program.pid), *options("cat > %s" % finding)], env=run.env, stdin=subprocess.DEVNULL)
	try:
		assert json.loads(written(finding))["pid"] == program.pid
	finally:
		done.touch()
		proc.wait(timeout=60)


def test_other_verbs_run_no_hooks(run):
	for verb in ("daemon", "record"):
		end = subprocess.run([run.proctor.binary, verb, "--on-anomaly", "true"], env=run.env, capture_output=True, text=True, check=False)
		assert end.returncode == 2 and "on-anomaly" in end.stderr
