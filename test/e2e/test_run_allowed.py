# SPDX-License-Identifier: MIT
"""What a job may use, as the kernel has it: cores by affinity, cpuset and quota, memory by the limit in force, time. As root and as a plain
user, launched and registered."""
import contextlib
import json
import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from conftest import TIERS, wait_for
from daemonkit import cold, daemon  # noqa: F401 pylint: disable=unused-import
from runkit import LOAD, Plain, enter

NOBODY = 65534
LIMIT_MB = 300  # a recorder with sanitizers fits, too
# Two processes that each keep a core busy for as long as CPU time allows.
POOL = """
import multiprocessing, time
def busy(_):
	end = time.process_time() + 0.4
	while time.process_time() < end:
		pass
if __name__ == "__main__":
	with multiprocessing.Pool(2) as pool:
		pool.map(busy, range(2))
"""
MAKEFILE = "all: a b\na b:\n\t%s cpu 1 400\n"


def machine_mb():
	return int(re.search(r"MemTotal: +(\d+) kB", Path("/proc/meminfo").read_text(encoding="utf-8")).group(1)) / 1024


def own_path(controller):
	for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
		_, names, path = line.split(":", 2)
		if controller in names.split(","):
			return path
	pytest.skip("NOT RUN: the %s controller of cgroup v1 is needed" % controller)
	return None


@pytest.fixture
def group_of():
	"""Makes a control group as a batch system does, with these files: group_of("cpu", cpu__cfs_quota_us=150000)."""
	if os.geteuid() != 0:
		pytest.skip("NOT RUN: needs root to make control groups")
	made = []

	def make(controller, **files):
		path = Path("/sys/fs/cgroup/%s%s/slurm-%d/job_77" % (controller, own_path(controller).rstrip("/"), os.getpid()))
		for group in (path.parent, path):
			group.mkdir(exist_ok=True)
			made.append(group)
			if controller == "cpuset":
				(group / "cpuset.mems").write_text((group.parent / "cpuset.mems").read_text(encoding="utf-8"), encoding="utf-8")
				(group / "cpuset.cpus").write_text((group.parent / "cpuset.cpus").read_text(encoding="utf-8"), encoding="utf-8")
		for name, value in files.items():
			(path / name.replace("__", ".")).write_text(str(value), encoding="utf-8")
		return path

	yield make
	for group in reversed(made):
		wait_for(lambda g=group: not (g / "cgroup.procs").read_text(encoding="utf-8"))
		for inner in [path for path in group.iterdir() if path.is_dir()]:  # a recorder that was killed leaves its own
			inner.rmdir()
		group.rmdir()


def name_of(group, controller):
	"""As its hierarchy names it."""
	return str(group)[len("/sys/fs/cgroup/" + controller):]


def allowed(job):
	return {name: job["allowed_" + name] for name in ("memory_mb", "memory_source", "cores", "seconds")}


def shares(run):
	return [row["cpu_percent"] for row in run.sql("SELECT cpu_percent FROM job_samples WHERE cpu_percent IS NOT NULL")]


def integral(run, job):
	"""CPU seconds by the shares of the samples."""
	rows = run.sql("SELECT timestamp, cpu_percent FROM job_samples ORDER BY timestamp")
	before, total = job["started"], 0.0
	for row in rows:
		total += (row["cpu_percent"] or 0) / 100 * (row["timestamp"] - before)
		before = row["timestamp"]
	return total


# ---- cores -------------------------------------------------------------------------------------


def test_without_limits_a_job_may_use_what_the_machine_has(run):
	done = run("true", options=["--summary"])
	assert allowed(run.job()) == {"memory_mb": pytest.approx(machine_mb()), "memory_source": "machine",
				      "cores": len(os.sched_getaffinity(0)), "seconds": None}
	assert " allowed" not in done.stderr and " allowed" not in run.proctor("report").stdout


@pytest.mark.parametrize("tier", TIERS)
def test_cores_are_those_of_the_affinity(run, tier):
	done = run.to_the_end(["taskset", "-c", "0", *run.line("/usr/bin/python3", "-c", POOL, options=["--summary", "--tier", tier])])
	job = run.job()
	assert done.returncode == 0 and job["allowed_cores"] == 1, done.stderr
	assert re.search(r"\d of 1 core busy", done.stderr), done.stderr
	assert job["cpu_seconds"] >= 0.8 and max(shares(run)) <= 100
	assert integral(run, job) == pytest.approx(job["cpu_seconds"], rel=0.03)
	assert "of 1 core busy" in run.proctor("report").stdout
	assert json.loads(run.proctor("report", "--json").stdout)["job"]["allowed_cores"] == 1


@pytest.mark.needs_root
def test_cores_of_a_plain_user_are_those_of_the_affinity(as_nobody):
	run = Plain(as_nobody, before=["taskset", "-c", "1"])
	done = run("/usr/bin/python3", "-c", POOL)
	job = run.job()
	assert done.returncode == 0 and job["allowed_cores"] == 1, done.stderr
	assert "of 1 core busy" in done.stderr and max(shares(run)) <= 100


@pytest.mark.needs_root
@pytest.mark.parametrize("user", ["root", "nobody"])
def test_cores_are_those_of_the_cpuset(run, as_nobody, group_of, user):
	group = group_of("cpuset", cpuset__cpus="1")
	run = Plain(as_nobody, group) if user == "nobody" else run
	done = run("/usr/bin/python3", "-c", "import os; print(len(os.sched_getaffinity(0)))", **({} if user == "nobody" else {"preexec_fn": enter(group)}))
	assert done.stdout == "1\n" and run.job()["allowed_cores"] == 1, done.stderr


@pytest.mark.needs_root
@pytest.mark.parametrize("tier", TIERS)
def test_cores_are_those_of_the_quota(run, tmp_path, tier):
	(tmp_path / "Makefile").write_text(MAKEFILE % LOAD, encoding="utf-8")
	done = run("make", "-j2", "-C", tmp_path, options=["--cpu", "0.5", "--summary", "--tier", tier])
	job = run.job()
	assert done.returncode == 0 and job["allowed_cores"] == 0.5, done.stderr
	assert re.search(r"0\.\d+ of 0\.5 cores busy", done.stderr), done.stderr
	# The kernel holds the quota in each period of 100 ms, not at each moment.
	assert job["cpu_seconds"] >= 0.8 and max(shares(run)) <= 100 * len(os.sched_getaffinity(0))
	assert job["cpu_seconds"] <= 0.5 * job["duration_seconds"] + 0.1
	assert integral(run, job) == pytest.approx(job["cpu_seconds"], rel=0.02)


@pytest.mark.needs_root
def test_a_job_shorter_than_two_periods_shows_all_that_it_used_of_its_quota(run):
	done = run(LOAD, "cpu", 1, 90, options=["--cpu", "0.5", "--summary"])
	job = run.job()
	assert done.returncode == 0 and job["cpu_seconds_quality"] == "exact"
	assert integral(run, job) == pytest.approx(job["cpu_seconds"], rel=0.01, abs=0.003)
	mean = job["cpu_seconds"] / job["duration_seconds"]
	assert "%.*f of 0.5 cores busy" % (1 if mean >= 0.095 else 2, mean) in done.stderr, (mean, done.stderr)


@pytest.mark.needs_root
@pytest.mark.parametrize("user", ["root", "nobody"])
def test_cores_are_those_of_the_quota_of_a_group_around_it(run, as_nobody, group_of, user):
	group = group_of("cpu", cpu__cfs_period_us=100000, cpu__cfs_quota_us=150000)
	if user == "nobody":
		plain = Plain(as_nobody, group)
		assert plain("true").returncode == 0 and plain.job()["allowed_cores"] == 1.5
		return
	done = run(LOAD, "cpu", 1, 50, options=["--summary"], preexec_fn=enter(group))
	assert done.returncode == 0 and "of 1.5 cores busy" in done.stderr, done.stderr
	assert run.job()["allowed_cores"] == 1.5
	assert run("true", options=["--cpu", "1", "--name", "less"], preexec_fn=enter(group)).returncode == 0
	assert run.job("type = 'less'")["allowed_cores"] == 1
	assert run("true", options=["--cpu", "2", "--name", "more"], preexec_fn=enter(group)).returncode == 0
	assert run.job("type = 'more'")["allowed_cores"] == 1.5


WIDEN = "import os, time\nos.sched_setaffinity(0, range(os.cpu_count()))\n" + POOL.replace("0.4", "1.2")


def test_a_job_that_takes_more_cores_than_it_began_with_is_shown_with_them(run):
	"""Affinity is no limit: a program may change it."""
	done = run.to_the_end(["taskset", "-c", "0", *run.line("/usr/bin/python3", "-c", WIDEN)])
	job = run.job()
	assert done.returncode == 0 and job["allowed_cores"] == 1, done.stderr
	if job["cpu_seconds"] > 1.5 * job["duration_seconds"]:  # else others kept the machine busy
		assert max(shares(run)) > 110
	assert integral(run, job) == pytest.approx(job["cpu_seconds"], rel=0.03)


# ---- memory ------------------------------------------------------------------------------------


@pytest.mark.needs_root
def test_memory_is_that_of_its_own_limit(run):
	done = run(LOAD, "mem", 300, 300, options=["--mem", "1G", "--summary"])
	job = run.job()
	assert done.returncode == 0 and allowed(job)["memory_mb"] == 1024 and job["allowed_memory_source"] == "own", done.stderr
	share = re.search(r" MiB used at \S+, (\d+) % of 1\.0 GiB allowed \(own limit\)", done.stderr)
	assert share and int(share.group(1)) == round(job["peak_used_mb"] / 10.24), done.stderr
	assert "%s %% of 1.0 GiB allowed (own limit)" % share.group(1) in run.proctor("report").stdout
	lines = run.proctor("ls").stdout.splitlines()
	assert "  OF LIMIT  " in lines[0] and "  ~%s %%  " % share.group(1) in lines[1], lines
	assert json.loads(run.proctor("ls", "--json").stdout)["jobs"][0]["allowed_memory_mb"] == 1024


def test_ls_has_no_column_for_limits_where_there_are_none(run):
	assert run("true").returncode == 0 and "OF LIMIT" not in run.proctor("ls").stdout


@pytest.mark.needs_root
def test_diff_shows_what_was_allowed_where_it_differs(run):
	for memory in ("1G", "512M"):
		assert run("true", options=["--mem", memory, "--cpu", "0.5", "--name", "true"]).returncode == 0
	done = run.proctor("diff", "true~1", "true")
	assert re.search(r"mem limit +1\.0 GiB +512 MiB +0\.50", done.stdout) and "core limit" not in done.stdout, done.stdout
	figures = json.loads(run.proctor("diff", "true~1", "true", "--json").stdout)["figures"]
	assert (figures["allowed_memory_mb"]["a"], figures["allowed_memory_mb"]["b"], figures["allowed_cores"]["b"]) == (1024, 512, 0.5)


@pytest.mark.needs_root
@pytest.mark.parametrize("user", ["root", "nobody"])
def test_memory_is_that_of_the_lowest_limit_around_it(run, as_nobody, group_of, user):
	group = group_of("memory", memory__limit_in_bytes=LIMIT_MB << 20)
	(group.parent / "memory.limit_in_bytes").write_text(str(4096 << 20), encoding="utf-8")
	run = Plain(as_nobody, group) if user == "nobody" else run
	done = run("/usr/bin/python3", "-c", "import time; a = bytearray(60 << 20); time.sleep(0.3)", options=["--summary"],
		   **({} if user == "nobody" else {"preexec_fn": enter(group)}))
	job = run.job()
	assert done.returncode == 0 and job["allowed_memory_mb"] == LIMIT_MB, done.stderr
	assert job["allowed_memory_source"] == name_of(group, "memory")
	flat = " ".join(done.stderr.split())
	assert re.search(r"\d %% of 300 MiB allowed \(limit of …/%s/job_77\)" % group.parent.name, flat), done.stderr


@pytest.mark.needs_root
def test_a_higher_limit_of_its_own_is_not_the_one_in_force(run, group_of):
	group = group_of("memory", memory__limit_in_bytes=LIMIT_MB << 20)
	assert run("true", options=["--mem", "2G", "--name", "more"], preexec_fn=enter(group)).returncode == 0
	assert run("true", options=["--mem", "100M", "--name", "less"], preexec_fn=enter(group)).returncode == 0
	jobs = {job["type"]: (job["allowed_memory_mb"], job["allowed_memory_source"]) for job in run.jobs()}
	assert jobs == {"more": (LIMIT_MB, name_of(group, "memory")), "less": (100, "own")}


# ---- time --------------------------------------------------------------------------------------


def test_time_is_that_of_its_limit(run):
	done = run("sh", "-c", "exit 3", options=["--time", "2h", "--summary"])
	assert run.job()["allowed_seconds"] == 7200
	assert re.search(r"FAILED after \S+ of 2h 00m allowed: exit 3", done.stderr), done.stderr
	assert re.search(r"\(\S+ of 2h 00m allowed\)", run.proctor("report").stdout)


def test_time_that_ran_out_is_the_result_and_no_more(run):
	done = run("sleep", 30, options=["--time", "0.3s", "--summary"])
	assert run.job()["allowed_seconds"] == 0.3 and "allowed" not in done.stderr, done.stderr


def test_time_is_what_slurm_has_left_for_it(run):
	end = int(time.time()) + 3600
	assert run("true", options=["--time", "2h"], env={**run.env, "SLURM_JOB_END_TIME": str(end)}).returncode == 0
	job = run.job()
	assert end - job["started"] - 2 < job["allowed_seconds"] <= end - job["started"] + 2


# ---- jobs that are registered with a daemon ----------------------------------------------------


@contextlib.contextmanager
def waiting(*line, **how):
	"""The line, up to the end of the block."""
	process = subprocess.Popen([*line, "sh", "-c", "echo; read line"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **how)
	process.stdout.readline()
	yield process
	process.communicate(b"\n", timeout=20)


def ended_report(daemon, job_id):
	"""As text, once its end is stored. Not even its start may be: a slow disk is not waited for."""
	def text():
		answer = daemon.call("job.report", job_id=job_id)
		return "result" in answer and "running" not in answer["result"]["text"] and answer["result"]["text"]

	return wait_for(text)


def listed(daemon, job_id):
	return [job for job in daemon.result("job.list")["jobs"] if job["job_id"] == job_id][0]


@pytest.mark.needs_root
def test_a_registered_job_is_allowed_what_its_process_is(daemon, group_of):
	group = group_of("memory", memory__limit_in_bytes=LIMIT_MB << 20)
	truth = {"memory_mb": LIMIT_MB, "memory_source": name_of(group, "memory"), "cores": 1, "seconds": None}
	with waiting("taskset", "-c", "0", preexec_fn=enter(group)) as process:
		daemon.result("job.start", job_id="worker", pid=process.pid)
		assert allowed(listed(daemon, "worker")) == truth
	assert "of 1 core busy" in ended_report(daemon, "worker")
	recorded = [job for job in daemon.result("job.list", recorded=10)["jobs"] if job["job_id"] == "worker"]
	assert allowed(recorded[0]) == truth


def test_a_process_that_is_watched_is_allowed_what_it_is_and_not_what_we_are(run):
	with waiting("taskset", "-c", "0") as process:
		watcher = subprocess.Popen([run.proctor.binary, "run", "--job-id", "w", "--pid", str(process.pid)],
					   env={**run.env, "SLURM_JOB_END_TIME": str(int(time.time()) + 60)}, stdin=subprocess.DEVNULL)
		wait_for(run.is_recorded)
	assert watcher.wait(timeout=30) in (0, 1)
	assert (run.job()["allowed_cores"], run.job()["allowed_seconds"]) == (1, None)


@pytest.mark.needs_root
def test_address_space_that_is_limited_is_reported(daemon):
	with waiting("prlimit", "--as=%d" % (700 << 20)) as process:
		daemon.result("job.start", job_id="worker", pid=process.pid)
		assert allowed(listed(daemon, "worker"))["memory_source"] == "ulimit" and listed(daemon, "worker")["allowed_memory_mb"] == 700
	assert "700 MiB allowed to each process (ulimit -v)" in " ".join(ended_report(daemon, "worker").split())


@pytest.mark.needs_root
def test_a_job_without_a_process_is_allowed_what_its_first_one_is(daemon):
	with waiting("taskset", "-c", "1") as process, daemon.line() as line:
		assert "result" in line.call("job.start", job_id="conducted")
		assert allowed(listed(daemon, "conducted")) == {"memory_mb": None, "memory_source": None, "cores": None, "seconds": None}
		assert "result" in line.call("sheet.started", job_id="conducted", sheet_num=1, pid=process.pid)
		assert allowed(listed(daemon, "conducted"))["cores"] == 1
		line.call("job.end", job_id="conducted")


@pytest.mark.needs_root
def test_what_was_allowed_at_the_start_outlives_a_restart_of_the_daemon(daemon):
	with waiting("taskset", "-c", "0") as process:
		daemon.result("job.start", job_id="worker", pid=process.pid)
		daemon.wait_ticks()
		subprocess.run(["taskset", "-p", "-c", "0-1", str(process.pid)], check=True, capture_output=True)
		daemon.stop()
		daemon.start()
		assert wait_for(lambda: listed(daemon, "worker"))["allowed_cores"] == 1
