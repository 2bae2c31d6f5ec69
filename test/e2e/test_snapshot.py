# SPDX-License-Identifier: MIT
"""`proctor snapshot` against what /proc, psutil and the children themselves report."""
import json
import os
import re
import time

import psutil
import pytest

from runkit import state_of, wait_for

PROCESS_KEYS = {"pid", "ppid", "command", "state", "cpu_percent", "rss_mb", "vms_mb", "threads", "open_fds", "age_seconds", "job_id",
		"sheet_num", "syscall_counts", "syscall_time_pct"}
SNAPSHOT_KEYS = {"timestamp", "daemon_pid", "system_memory_total_mb", "system_memory_available_mb", "system_memory_used_mb",
		 "daemon_rss_mb", "load_avg_1", "load_avg_5", "load_avg_15", "processes", "gpus", "pressure_level", "running_jobs",
		 "active_sheets", "zombie_count", "zombie_pids", "job_progress", "conductor_uptime_seconds"}
TIERS = [[], ["--no-bpf"]]


def no_duplicates(pairs):
	keys = [key for key, _ in pairs]
	assert len(keys) == len(set(keys)), keys
	return dict(pairs)


def take(run, *args):
	done = run("snapshot", "--json", *args)
	assert (done.returncode, done.stderr) == (0, "")
	return json.loads(done.stdout, object_pairs_hook=no_duplicates, parse_constant=pytest.fail)


def find(snapshot, pid):
	(process,) = [p for p in snapshot["processes"] if p["pid"] == pid]
	return process


@pytest.mark.parametrize("tier", TIERS)
def test_json_has_the_keys_of_the_records(proctor, tier):
	snapshot = take(proctor, *tier)
	assert SNAPSHOT_KEYS <= snapshot.keys()
	assert len(snapshot["processes"]) > 3
	for process in snapshot["processes"]:
		assert PROCESS_KEYS <= process.keys()


@pytest.mark.parametrize("tier", TIERS)
def test_the_machine_is_what_proc_shows(proctor, tier):
	before, load, memory = time.time(), os.getloadavg()[0], psutil.virtual_memory()
	snapshot = take(proctor, *tier)
	assert before <= snapshot["timestamp"] <= time.time()
	assert 0.499 <= snapshot["interval_seconds"] <= time.time() - before
	assert snapshot["system_memory_total_mb"] == pytest.approx(memory.total / 2**20, abs=0.001)
	assert snapshot["system_memory_available_mb"] == pytest.approx(memory.available / 2**20, rel=0.1)
	assert snapshot["system_memory_used_mb"] == pytest.approx(
		snapshot["system_memory_total_mb"] - snapshot["system_memory_available_mb"], abs=0.01)
	assert 0 <= snapshot["cpu_percent"] <= 100
	assert 0.5 < snapshot["daemon_rss_mb"] < 100
	assert min(load, os.getloadavg()[0]) - 1 <= snapshot["load_avg_1"] <= max(load, os.getloadavg()[0]) + 1
	with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
		assert snapshot["boot_id"] == f.read().strip()


@pytest.mark.parametrize("tier", TIERS)
def test_every_process_is_there(proctor, children, tier):
	started = {child.pid for child in children.idle(40)}
	before = set(psutil.pids())
	snapshot = take(proctor, *tier)
	seen = [p["pid"] for p in snapshot["processes"]]
	assert seen == sorted(set(seen))
	assert started <= set(seen)
	# Others come and go; whoever lived before and lives after was there in between.
	assert (before & set(psutil.pids())) - set(seen) <= {1}


WORKER = """
import sys, threading, time
ballast = bytearray(64 << 20)
ballast[::4096] = b"x" * len(ballast[::4096])
files = [open("/dev/null") for _ in range(20)]
for _ in range(3):
	threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("tier", TIERS)
def test_the_figures_of_a_process_are_right(proctor, children, tier):
	child = children.python(WORKER, "an argument", stdout=-1)
	assert child.stdout.readline() == b"ready\n"
	wait_for(lambda: state_of(child.pid) == "S")
	truth, before = psutil.Process(child.pid), time.time()
	process = find(take(proctor, *tier), child.pid)
	assert process["ppid"] == os.getpid()
	assert process["state"] == "S"
	assert process["threads"] == 4
	assert process["open_fds"] == truth.num_fds()
	assert process["rss_mb"] == pytest.approx(truth.memory_info().rss / 2**20, abs=0.5)
	assert process["rss_mb"] > 64
	assert process["vms_mb"] == pytest.approx(truth.memory_info().vms / 2**20, abs=0.001)
	assert before - 1 < truth.create_time() + process["age_seconds"] < time.time() + 1
	assert process["uid"] == os.geteuid()
	assert process["command"].endswith("an argument")
	assert process["job_id"] is None and process["sheet_num"] is None


@pytest.mark.parametrize("tier", TIERS)
def test_cpu_use_is_measured_over_the_interval(proctor, children, tier):
	busy, idle = children.busy(), children.idle(1)[0]
	shell = psutil.Process(busy.pid).children
	while not shell():
		time.sleep(0.01)
	pid = shell()[0].pid
	before, start = psutil.Process(pid).cpu_times(), time.monotonic()
	snapshot = take(proctor, "--interval", "1", *tier)
	after, elapsed = psutil.Process(pid).cpu_times(), time.monotonic() - start
	used = after.user + after.system - before.user - before.system
	seen = find(snapshot, pid)["cpu_percent"] / 100 * snapshot["interval_seconds"]
	assert snapshot["interval_seconds"] >= 0.999
	assert used - (elapsed - snapshot["interval_seconds"]) - 0.1 < seen < used + 0.1
	assert find(snapshot, idle.pid)["cpu_percent"] < 1


def test_a_zombie_has_its_state_and_no_memory(proctor, children):
	child = children.python("import os, time\nif os.fork() == 0: os._exit(7)\nprint('ready', flush=True)\ntime.sleep(60)", stdout=-1)
	assert child.stdout.readline() == b"ready\n"
	zombie = psutil.Process(child.pid).children()[0].pid
	wait_for(lambda: state_of(zombie) == "Z")
	for tier in TIERS:
		process = find(take(proctor, *tier), zombie)
		assert (process["state"], process["ppid"]) == ("Z", child.pid)
		assert process["rss_mb"] in (None, 0.0)


def table_of(text):
	"""The rows of the table as dicts by column."""
	lines = text.split("\n\n")[1].splitlines()
	head = lines[0].split()
	return head, [dict(zip(head, line.split(None, len(head) - 1))) for line in lines[1:]]


def test_a_terminal_gets_a_table(proctor, children):
	children.busy()
	children.idle(20)
	done = proctor("snapshot")
	assert (done.returncode, done.stderr) == (0, "")
	assert not re.search(r"[ \t]$", done.stdout, re.M)
	for label in ("cpu", "memory", "stalls", "limits", "processes"):
		assert re.search(r"^  %s +\S" % label, done.stdout, re.M)
	head, rows = table_of(done.stdout)
	assert head[:4] == ["PID", "USER", "CPU%", "RSS"] and head[-2:] == ["AGE", "COMMAND"]
	assert len(rows) == 20
	assert re.search(r"^20 of [\d,]+ processes", done.stdout, re.M)


def test_the_table_can_be_sorted_and_cut(proctor, children):
	children.busy()
	_, by_pid = table_of(proctor("snapshot", "--sort", "pid", "--all").stdout)
	pids = [int(row["PID"]) for row in by_pid]
	assert pids == sorted(pids) and os.getpid() in pids
	_, by_cpu = table_of(proctor("snapshot", "--sort=cpu", "--top", "5").stdout)
	used = [0 if row["CPU%"].startswith("<") else float(row["CPU%"]) for row in by_cpu]  # <0.1 where the machine is idle
	assert len(used) == 5 and used == sorted(used, reverse=True) and used[0] > 1
	_, none = table_of(proctor("snapshot", "--top", "0").stdout)
	assert none == []


@pytest.mark.needs_root
def test_nobody_sees_holes_where_access_is_denied(as_nobody, children):
	child = children.idle(1)[0]
	process = find(take(as_nobody), child.pid)
	assert process["rss_mb"] > 0 and process["threads"] == 1
	# Newer kernels show everybody the number of open files, as the size of the directory.
	assert process["open_fds"] in (None, psutil.Process(child.pid).num_fds())
	assert "read_bytes" not in process
	done = as_nobody("snapshot", "--all", env={"COLUMNS": "200"})
	assert (done.returncode, done.stderr) == (0, "")
	head, rows = table_of(done.stdout)
	(row,) = [row for row in rows if row["PID"] == str(child.pid)]
	assert "READ/s" not in head or row["READ/s"] == "-"
