# SPDX-License-Identifier: MIT
"""What a job took, against what the kernel reported to the job itself: within one per cent in every tier, for root and for a plain user."""
import json
import os
import shutil
import subprocess
import sys

import pytest

from conftest import TIERS, wait_for
from runkit import LOAD, Run

@pytest.fixture(params=[*TIERS, "nobody-connector", "nobody-proc"])
def measure(request, proctor, as_nobody):
	"""measure(ARG…): what `load ARG…` reports of itself, and what was recorded of it."""
	user, _, tier = request.param.rpartition("-")

	def take(*args, options=()):
		if user:
			load = shutil.copy2(LOAD, as_nobody.place / "load")
			done, reader = as_nobody("run", "--tier", tier, *options, "--", load, *args), proctor
			reader.state_dir = as_nobody.state_dir
			reader.env = {**reader.env, "PROCTOR_STATE_DIR": str(as_nobody.state_dir)}
		else:
			done, reader = proctor("run", "--tier", tier, *options, "--", LOAD, *args), proctor
		assert done.returncode == 0, done.stderr
		job = Run(reader).job()
		assert job["tier"].startswith(TIERS[tier]), job["tier"]
		return int(done.stdout), job

	return take


@pytest.mark.needs_root
@pytest.mark.tier()  # measure() checks it
def test_cpu_time_is_that_of_all_its_processes(measure):
	truth_us, job = measure("cpu", 20, 60)
	assert abs(job["cpu_seconds"] * 1e6 / truth_us - 1) < 0.01, (truth_us, job["cpu_seconds"], job["cpu_seconds_quality"])
	assert job["cpu_seconds_quality"] in (("exact",) if "cgroup" in job["tier"] else ("at_least", "exact"))


@pytest.mark.needs_root
@pytest.mark.parametrize("interval", [[], ["--interval", "5s"], ["--interval", "0.05s"]], ids=["default", "5s", "0.05s"])
@pytest.mark.tier()
def test_a_peak_of_twenty_milliseconds_is_not_missed(measure, interval):
	truth_kib, job = measure("mem", 200, 20, options=interval)
	assert truth_kib > 200 * 1024
	assert abs(job["peak_rss_mb"] * 1024 / truth_kib - 1) < 0.01, (truth_kib, job["peak_rss_mb"], job["peak_rss_mb_quality"])


LARGE_PARENT = """
import os, sys, time
block = bytearray(150 << 20)
block[::4096] = b"x" * len(block[::4096])
if os.fork() == 0:
	time.sleep(0.4)  # it is sampled with the pages of its parent
	os.execvp(sys.argv[2], sys.argv[2:])
time.sleep(float(sys.argv[1]))  # until then it is not reaped
os.wait()
"""


@pytest.mark.needs_root
@pytest.mark.parametrize("reaped_after_s, command", [("0", ["sleep", "0.5"]), ("0", ["true"]), ("0.8", ["true"])], ids=["sleep", "true", "zombie"])
@pytest.mark.parametrize("way", [*TIERS, "nobody-connector", "nobody-proc"])
@pytest.mark.tier()
def test_a_program_does_not_inherit_the_peak_of_what_ran_before_it(proctor, as_nobody, way, reaped_after_s, command):
	user, _, tier = way.rpartition("-")
	call = as_nobody if user else proctor
	done = call("run", "--tier", tier, "--", "/usr/bin/python3", "-c", LARGE_PARENT, reaped_after_s, *command)
	assert done.returncode == 0, done.stderr
	rows = json.loads(call("sql", "--json", "SELECT comm, max_rss_kib, peak_rss_kib, final FROM process WHERE job IS NOT NULL").stdout)
	peaks = [(row["comm"], max(row["peak_rss_kib"] or 0, row["max_rss_kib"] or 0) >> 10) for row in rows]
	# One that is seen in the middle of its exec has the old name, and the new memory.
	assert max(peak for name, peak in peaks if name == "python3") > 150, rows
	assert all(peak < 30 for name, peak in peaks if name == command[0]), rows
	shown = json.loads(call("report", "--json").stdout)
	assert all((p["peak_rss_mb"] or 0) < 30 for p in shown["costly_processes"] if p["name"] == command[0])


def test_a_job_of_one_tick_has_the_time_without_ticks_as_its_interval(run):
	def run_once():
		run("sleep", "0.07")
		return run.sql("SELECT j.* FROM jobs j JOIN job_samples s USING (job_id)"
			       " GROUP BY job_id HAVING count(snapshot_id) = 1")

	once = wait_for(run_once)  # a busy machine takes so long that there are two ticks
	for job in once:
		assert 0.03 < job["interval_seconds"] <= job["duration_seconds"]


@pytest.mark.needs_root
@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("script, options", [("sleep 0.4 & sleep 0.4; wait", []), ("sleep 0.4 &", ["--wait"]),
                                             ("sleep 60 & sleep 0.4", ["--kill-leftovers"]), ("sleep 60", ["--time", "0.4s"])],
                         ids=["plain", "wait", "kill-leftovers", "time"])
def test_the_time_after_the_last_tick_counts_as_an_interval(run, tier, script, options):
	run("sh", "-c", script + " >/dev/null 2>&1", options=["--tier", tier, "--interval", "5s", *options])
	job = run.job()
	assert 0.2 < job["interval_seconds"] <= job["duration_seconds"]


@pytest.mark.needs_root
@pytest.mark.parametrize("tier", TIERS)
def test_a_tick_after_the_end_makes_no_interval_longer_than_the_job(run, tier):
	for _ in range(5):
		run("sh", "-c", "sleep 2 >/dev/null 2>&1 &", options=["--tier", tier])  # it ends before the first tick, and what it left is sampled
	for job in run.sql("SELECT * FROM jobs"):
		assert 0 < job["interval_seconds"] <= job["duration_seconds"]


SPAWN = """
import os
block = bytearray(100 << 20)
os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
"""
REPLACED = """
import os
block = bytearray(100 << 20)
os.execv("/bin/true", ["true"])
"""
# From here on the memory of a process is still there when its end is reported.
KEEPS_MEMORY = (6, 16)
KERNEL = tuple(int(part) for part in os.uname().release.split(".")[:2])


@pytest.mark.needs_root
@pytest.mark.skipif(KERNEL < KEEPS_MEMORY, reason="this kernel reports only the mark that a child has from its parent")
def test_the_peak_of_a_child_is_not_that_of_its_large_parent(run):
	run(sys.executable, "-c", SPAWN, options=["--tier", "bpf"])
	peaks = {row["comm"]: row["peak_rss_kib"] / 1024 for row in run.processes()}
	assert peaks["true"] < 50 < 100 < max(peaks.values()), peaks
	assert run.job()["peak_rss_mb"] > 100


@pytest.mark.needs_root
@pytest.mark.parametrize("tier", TIERS)
def test_the_peak_of_a_program_that_became_a_small_one_is_not_lost(run, tier):
	run(sys.executable, "-c", REPLACED, options=["--tier", tier])
	assert run.job()["peak_rss_mb"] > 100


GROWN = """
import mmap, os, sys
block = bytearray(b"x") * (100 << 20)
pid = os.fork()
if pid == 0:
	grown = mmap.mmap(-1, 100 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
	for at in range(0, len(grown), 4096):
		grown[at] = 1
	os.execv("/bin/true", ["true"])
os.waitpid(pid, 0)
"""


@pytest.mark.needs_root
@pytest.mark.parametrize("tier", TIERS)
def test_the_peak_of_a_copy_that_grew_before_it_became_a_small_program_is_not_lost(run, tier):
	run(sys.executable, "-c", GROWN, options=["--tier", tier, "--interval", "5s"])
	job = run.job()
	assert job["peak_rss_mb"] > 200, (job["peak_rss_mb"], job["peak_rss_mb_quality"])
	assert job["peak_rss_mb_quality"] == "at_least"


# A large parent and small programs, each of which prints its own mark in KiB before it ends. The second shell becomes its program.
SMALL = "import re; print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1], flush=True)"
LARGE = """
import os, subprocess, sys
block = bytearray(b"x") * (200 << 20)
small = [sys.executable, "-S", "-c", sys.argv[1]]
subprocess.run(small, check=True)
subprocess.run(["/bin/bash", "-c", 'exec "$@"', "bash", *small], check=True)
subprocess.run(["/usr/bin/xargs", "-I{}", *small], input=b"x", check=True)
pid = os.fork()
if pid == 0:
	os.execv("/bin/bash", ["bash", "-c", 'exec "$@"', "bash", *small])
os.waitpid(pid, 0)
"""


@pytest.mark.needs_root
@pytest.mark.tier("bpf")
def test_the_peak_of_a_small_program_is_its_own_however_large_its_parent_was(run):
	done = run(sys.executable, "-S", "-c", LARGE, SMALL)
	truth = [int(line) / 1024 for line in done.stdout.split()]
	shown = json.loads(run.proctor("report", "--json").stdout)
	lines = [json.loads(line) for line in run.proctor("export", "--format", "jsonl").stdout.splitlines()]
	peaks = [(p["peak_rss_mb"], p["quality"]["peak_rss_mb"]) for p in lines if p["type"] == "process"]
	assert len(truth) == 4 and max(truth) < 100
	large = [peak for peak, _ in peaks if peak > 100]
	assert len(large) == 1, peaks
	if KERNEL >= KEEPS_MEMORY:
		assert {quality for _, quality in peaks} == {"exact"}
		assert max(peak for peak, _ in peaks if peak < 100) == pytest.approx(max(truth), rel=0.1)
	assert shown["job"]["hungriest_command"].startswith("python") and shown["job"]["figures"]["peak_rss_mb"] == pytest.approx(large[0], rel=0.01)


@pytest.mark.needs_root
def test_a_small_command_does_not_have_the_peak_of_its_recorder_exactly(as_nobody):
	"""Without BPF, wait4 reports what the command had as a copy of the recorder."""
	truth = subprocess.run(["/usr/bin/time", "-f", "%M", "/bin/true"], check=True, capture_output=True, text=True).stderr
	def between_ticks():
		assert as_nobody("run", "--", "/bin/true").returncode == 0
		return as_nobody.sql("SELECT * FROM jobs WHERE NOT EXISTS (SELECT 1 FROM job_samples s WHERE s.job_id = jobs.job_id)")
	job = wait_for(between_ticks)[0]  # on a busy machine a tick may fall into it
	assert job["peak_rss_mb_quality"] == "at_most" and job["peak_rss_mb"] * 1024 >= int(truth), (job, truth)
