# SPDX-License-Identifier: MIT
"""Limits of a job: held, reported as hit when they were, and refused before the start where they can't be held."""
import json
import re
import time

import pytest

from conftest import TIERS
from runkit import LOAD, WAYS, state_of, wait_for


def hit(run):
	"""Which limits the only job met."""
	names = run.job()["limits_hit"]
	return set(names.split()) if names else set()


# ---- time --------------------------------------------------------------------------------------


@pytest.mark.parametrize("tier", TIERS)
def test_time_ends_a_command_that_listens_at_once(run, tier):
	begin = time.monotonic()
	done = run("sleep", 30, options=["--time", "0.3s", "--summary", "--tier", tier])
	assert done.returncode == -15 and time.monotonic() - begin < 5
	job = run.job()
	assert hit(run) == {"time"} and job["result"] == "limit"
	assert 0.3 <= job["duration_seconds"] < 3
	assert "FAILED after" in done.stderr and "time limit of 300ms" in done.stderr, done.stderr


@pytest.mark.parametrize("tier", TIERS)
def test_time_ends_a_child_that_ignores_sigterm(run, tier):
	begin = time.monotonic()
	done = run("sh", "-c", "trap '' TERM; (sleep 30; echo never) & sleep 30; wait; exit 3",
		   options=["--time", "0.3s", "--grace", "0.5s", "--summary", "--tier", tier])
	took = time.monotonic() - begin
	assert done.returncode == -9, done.stderr
	assert 0.7 < took < 6, took
	assert done.stdout == "" and hit(run) == {"time"}
	job = run.job()
	assert (job["signal_num"], job["result"], job["leaked_processes"]) == (9, "limit", 0)


@pytest.mark.parametrize("tier", TIERS)
def test_the_time_limit_ends_a_stopped_process(run, tier):
	done = run("sh", "-c", "setsid sh -c 'kill -STOP $$; sleep 30' & sleep 30", options=["--time", "0.5s", "--grace", "15s", "--tier", tier])
	assert done.returncode == -15 and hit(run) == {"time"}
	assert 0.5 <= run.job()["duration_seconds"] < 10  # it heard SIGTERM: nobody waited for the grace


@pytest.mark.parametrize("trap, end", [("", -15), ("trap '' TERM; ", -9)], ids=["listening", "ignoring"])
def test_time_holds_while_the_command_has_stopped_us(run, children, trap, end):
	story = trap + "while :; do kill -STOP $$; done"
	launcher = children.spawn(run.line("sh", "-c", story, options=["--time", "0.6s", "--grace", "0.4s"]), env=run.env)
	wait_for(lambda: state_of(launcher.pid) == "T")
	assert launcher.wait(timeout=20) == end
	assert hit(run) == {"time"} and 0.6 <= run.job()["duration_seconds"] < 10


@pytest.mark.parametrize("ignoring", [[], ["deaf"]], ids=["listening", "ignoring"])
@pytest.mark.parametrize("tier", TIERS)
def test_time_holds_while_leftovers_are_waited_for(run, tier, ignoring):
	begin = time.monotonic()
	done = run(WAYS, "leave", 2, *ignoring, options=["--wait", "--time", "2s", "--grace", "0.4s", "--summary", "--tier", tier])
	took = time.monotonic() - begin
	assert done.returncode == 0, done.stderr  # the command's own, which had ended well
	assert 1.9 < took < 10, took
	assert hit(run) == {"time"}
	assert (run.job()["outlived_processes"], run.job()["leaked_processes"]) in ((2, 0), (None, 0))


def test_a_job_within_a_job_that_its_limit_killed_is_reported_as_killed(run):
	inner = run.line("sh", "-c", "trap '' TERM; sleep 30; sleep 30", options=["--job-id", "inner"])
	done = run(*inner, options=["--job-id", "outer", "--time", "1s", "--grace", "0.5s"])
	assert done.returncode == -9, done.stderr
	listed = {job["job_id"]: job for job in json.loads(run.proctor("ls", "--json").stdout)["jobs"]}
	assert (listed["inner"]["parent_job_id"], listed["inner"]["result"]) == ("outer", "killed with its parent job (time limit)")
	assert "time limit" in listed["outer"]["result"]


def test_a_job_that_is_in_time_is_not_reported_to_have_met_its_limit(run):
	assert run("sh", "-c", "exit 4", options=["--time", "20s"]).returncode == 4
	assert hit(run) == set() and run.job()["result"] == "failed"
	assert run.job()["limit_time_seconds"] == 20


# ---- what cannot be a limit --------------------------------------------------------------------


@pytest.mark.parametrize("value, meant", [("1024", "--mem 1024M?"), ("8", "--mem 8G?"), ("100K", "1M or more")])
def test_a_memory_limit_without_its_unit_is_refused_with_the_one_that_was_meant(proctor, value, meant):
	done = proctor("run", "--mem", value, "--", "true")
	assert done.returncode == 125 and "too small" in done.stderr and meant in done.stderr


@pytest.mark.parametrize("text, seconds", [("1h30m", 5400), ("1:30:00", 5400), ("90", 90), ("90s", 90), ("1d", 86400), ("1-02:00:00", 93600)])
def test_a_time_limit_may_be_written_as_humans_and_slurm_write_it(run, text, seconds):
	assert run("true", options=["--time", text]).returncode == 0
	assert run.job()["limit_time_seconds"] == seconds


@pytest.mark.parametrize("option, value", [("--time", "0"), ("--time", "0s"), ("--mem", "0"), ("--cpu", "0"), ("--cpu", "0.0"), ("--pids", "0")])
def test_a_limit_of_nothing_is_refused(run, option, value):
	done = run("echo", "out", options=[option, value])
	assert (done.returncode, done.stdout) == (125, "")
	assert option in done.stderr and not run.is_recorded()


def test_last_is_no_id_for_a_job(run):
	done = run("echo", "out", options=["--job-id", "last"])
	assert (done.returncode, done.stdout) == (125, "")
	assert "last" in done.stderr and not run.is_recorded()


@pytest.mark.needs_root
@pytest.mark.parametrize("option, value", [("--mem", "100M"), ("--cpu", "1")])
def test_a_limit_that_cannot_be_held_is_refused_before_the_start(as_nobody, option, value):
	done = as_nobody("run", option, value, "--", "echo", "out")
	assert (done.returncode, done.stdout) == (125, "")
	assert option in done.stderr and "systemd-run" in done.stderr, done.stderr


# ---- memory, CPU, processes --------------------------------------------------------------------


@pytest.mark.needs_root
@pytest.mark.parametrize("tier", TIERS)
def test_memory_that_hits_the_limit_is_reported_as_our_own(run, tier):
	done = run(LOAD, "mem", 200, 100, options=["--mem", "50M", "--summary", "--tier", tier])
	assert done.returncode == -9, done.stderr
	job = run.job()
	assert hit(run) == {"mem"} and job["result"] == "oom" and job["oom_kills"] == 1
	assert "out of memory (own limit 50.0 MiB)" in done.stderr, done.stderr
	report = run.proctor("report").stdout
	assert "out of memory (own limit 50.0 MiB)" in report


@pytest.mark.needs_root
@pytest.mark.parametrize("outer, inner, met", [("50M", "90M", "outer"), ("90M", "50M", "inner")])
def test_the_limit_that_was_met_is_reported_also_for_a_job_within_a_job(run, outer, inner, met):
	run(*run.line(LOAD, "mem", 200, 100, options=["--mem", inner, "--name", "inner"]), options=["--mem", outer, "--name", "outer"])
	jobs = {job["type"]: job for job in run.jobs()}
	assert {name: (job["limits_hit"], job["oom_kills"]) for name, job in jobs.items()} == {
		name: ("mem" if name == met else "", 1) for name in ("outer", "inner")}
	if met == "outer":
		assert "out of memory (limit 50.0 MiB of job %s)" % jobs["outer"]["job_id"] in run.proctor("report", "inner").stdout
		assert "out of memory (own limit 50.0 MiB)" in run.proctor("report", "outer").stdout


@pytest.mark.needs_root
def test_memory_below_the_limit_is_left_alone(run):
	done = run(LOAD, "mem", 50, 10, options=["--mem", "200M", "--summary"])
	assert done.returncode == 0 and hit(run) == set(), done.stderr
	assert run.job()["result"] == "ok"


@pytest.mark.needs_root
@pytest.mark.parametrize("tier", TIERS)
def test_cpu_is_throttled_and_reported(run, tier):
	# So little that it is less than its share of a busy machine.
	done = run(LOAD, "cpu", 2, 40, options=["--cpu", "0.04", "--summary", "--tier", tier])
	assert done.returncode == 0, done.stderr
	job = run.job()
	assert hit(run) == {"cpu"} and job["result"] == "ok"
	assert job["duration_seconds"] > 1.2  # 0.08 s of CPU time at a 25th of a core, but for what one period may run over
	assert job["cpu_throttled_seconds"] > 0.5
	assert re.search(r"\n  limit   held back by its limit of 0.04 cores for ", done.stderr), done.stderr


@pytest.mark.needs_root
def test_a_command_that_was_held_back_and_failed_did_not_fail_of_it(run):
	assert run("sh", "-c", "%s cpu 1 30; exit 3" % LOAD, options=["--cpu", "0.04"]).returncode == 3
	assert hit(run) == {"cpu"} and run.job()["result"] == "failed"
	listed, = json.loads(run.proctor("ls", "--json").stdout)["jobs"]
	assert listed["outcome"] == "failed"


FORKS = """
import os, sys, time
n = 0
try:
	while n < 60:
		if os.fork() == 0:
			time.sleep(20)
			os._exit(0)
		n += 1
except OSError as e:
	print(n, e.errno)
	sys.stdout.flush()
os._exit(3)
"""


@pytest.mark.needs_root
@pytest.mark.parametrize("tier", TIERS)
def test_processes_are_limited_by_the_group(run, tier):
	done = run("/usr/bin/python3", "-c", FORKS, options=["--pids", "20", "--kill-leftovers", "--grace", "0.2s", "--tier", tier])
	assert (done.returncode, done.stdout) == (3, "19 11\n"), done.stderr  # itself is the twentieth
	assert hit(run) == {"pids"} and run.job()["result"] == "limit"


BURST = """
import os, time
for _ in range(60):
	try:
		if os.fork() == 0:
			time.sleep(0.3)
			os._exit(0)
	except BlockingIOError:
		break
try:
	while True:
		os.wait()
except ChildProcessError:
	os._exit(3)
"""


@pytest.mark.needs_root
def test_a_short_job_that_met_the_limit_of_its_user_reports_it(as_somebody):
	done = as_somebody("run", "--job-id", "burst", "--interval", "5", "--pids", "40", "--", "/usr/bin/python3", "-S", "-c", BURST)
	assert done.returncode == 3, done.stderr
	job = json.loads(as_somebody("ls", "--json").stdout)["jobs"][0]
	if "pids" in job["limits"]:
		pytest.skip("NOT RUN: nobody has a control group that holds it")
	assert job["limits_hit"] == ["user_pids"] and job["outcome"] == "limit"
	events = [json.loads(line) for line in as_somebody("events", "--kind", "limit", "--json").stdout.splitlines()]
	assert [(e["name"], e["count"]) for e in events] == [("pids", 40)]
	assert as_somebody("run", "--interval", "5", "--pids", "400", "--", "/usr/bin/python3", "-S", "-c", BURST).returncode == 3
	assert json.loads(as_somebody("ls", "--json").stdout)["jobs"][0]["limits_hit"] == []


@pytest.mark.needs_root
def test_processes_are_limited_without_a_group_too(as_somebody):
	done = as_somebody("run", "--pids", "40", "--kill-leftovers", "--grace", "0.2s", "--", "/usr/bin/python3", "-c", FORKS)
	n, error = map(int, done.stdout.split())
	assert done.returncode == 3 and error == 11 and n < 40, done.stderr  # others of this user count too
