# SPDX-License-Identifier: MIT
"""A machine that swaps, for real: swap space on a loop device, and a control group that is smaller than what its processes use."""
import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import wait_for
from runkit import enter

pytestmark = pytest.mark.needs_root

GROUP_MIB, EACH_MIB, PROCESSES, SPACE_MIB = 48, 9, 24, 384
THRASH_S = 15  # how long tasks wait for memory before it is reported
# Each child uses all of its memory again and again, until the marker is there.
USE = """
import os, sys
marker, processes, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for _ in range(processes):
	if os.fork() == 0:
		data = bytearray(size)
		while not os.path.exists(marker):
			for i in range(size >> 12):
				at = i * 97 * 4096 % size  # in no order that the kernel could read ahead
				data[at] = (data[at] + 1) & 255
		os._exit(0)
for _ in range(processes):
	os.wait()
"""


def call(*command):
	return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@contextlib.contextmanager
def swap_space(path):
	"""On a loop device, because not every file system takes a swap file."""
	path.write_bytes(bytes(SPACE_MIB << 20))
	device = call("losetup", "--find", "--show", "--direct-io=on", str(path))
	try:
		call("mkswap", device)
		call("swapon", device)
		try:
			yield
		finally:
			call("swapoff", device)
	finally:
		call("losetup", "--detach", device)


@contextlib.contextmanager
def small_group():
	own = [line.split(":", 2)[2].strip() for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
	       if "memory" in line.split(":")[1].split(",")]
	if not own:
		pytest.skip("NOT RUN: needs the memory controller of cgroup v1")
	group = Path("/sys/fs/cgroup/memory%s/swap-test-%d" % (own[0], os.getpid()))
	group.mkdir()
	try:
		(group / "memory.limit_in_bytes").write_text(str(GROUP_MIB << 20), encoding="utf-8")
		yield group
	finally:
		group.rmdir()


@pytest.fixture
def thrashing(tmp_path, children):
	"""Processes outside every job, which thrash; what they did is over when their marker is there."""
	marker = tmp_path / "end"
	with small_group() as group, swap_space(tmp_path / "space"):
		busy = children.spawn([sys.executable, "-c", USE, str(marker), str(PROCESSES), str(EACH_MIB << 20)], preexec_fn=enter(group))
		try:
			yield marker
		finally:
			marker.touch()
			busy.wait(timeout=30)


def test_a_machine_that_swaps_all_the_time_is_an_anomaly_of_the_machine(run, thrashing, children):
	job = children.spawn(run.line("sh", "-c", 'while [ ! -e "$0" ]; do sleep 0.2; done', thrashing, options=["--summary"]), env=run.env,
			     stderr=subprocess.PIPE, text=True)
	found = "SELECT * FROM anomalies WHERE anomaly_type = 'swap_thrash'"
	wait_for(lambda: run.is_recorded() and run.sql(found))
	thrashing.touch()
	_, stderr = job.communicate(timeout=20)
	(row,) = run.sql(found)
	assert job.returncode == 0, stderr
	assert (row["severity"], row["job_id"], row["pid"], row["threshold"]) == ("high", None, None, 30)
	assert 30 <= row["metric_value"] <= row["peak"] <= 100
	assert "swapping: tasks wait for memory" in row["description"] and "are in swap space" in row["description"]
	report = json.loads(run.proctor("report", "last", "--json").stdout)
	assert row["description"] in [item["description"] for item in report["anomalies"]]
	assert row["timestamp"] - report["job"]["started_at"] >= THRASH_S - 1
	assert "swapping: tasks wait for memory" in run.proctor("report", "last").stdout
