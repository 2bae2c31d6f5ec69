# SPDX-License-Identifier: MIT
"""What is wrong with GPUs of NVIDIA (throttling, memory errors, XIDs), and GPUs that are divided (MIG). The driver is fake."""
import json
import re
import subprocess

import pytest

from conftest import read_store_so_far, wait_for
from test_gpu import FAKES, IN_CONTAINER, SMI, gpu_role, nvml, take


class Faults:
	"""What the fake driver reports: GPU, throttle reasons, corrected and uncorrected errors, XID; and which processes are where."""

	def __init__(self, place):
		self.state, self.use = place / "state.gpu", place / "use"
		self.use.write_text("")
		self.set("0 0 5 0 0")

	def set(self, *lines):
		new = self.state.with_suffix(".new")
		new.write_text("".join(line + "\n" for line in lines))
		new.rename(self.state)

	def env(self, mood=""):
		return nvml("state=%s use=%s %s" % (self.state, self.use, mood))


@pytest.fixture
def faults(tmp_path):
	return Faults(tmp_path)


def test_a_snapshot_has_reasons_for_throttling_and_counts_of_errors(proctor, faults):
	faults.set("0 45 5 1 0")
	snapshot, _ = take(proctor, faults.env())
	(gpu,) = snapshot["gpus"]
	assert (gpu["throttle"], gpu["ecc_corrected"], gpu["ecc_uncorrected"]) == (["power_cap", "hw_thermal"], 5, 1)


def test_a_card_that_reports_none_of_it_has_none(proctor):
	for library in ("fake-nvml.so", "fake-nvml-old.so"):
		snapshot, _ = take(proctor, nvml(library=library))
		assert not {"throttle", "ecc_corrected", "ecc_uncorrected", "parent_index"} & set(snapshot["gpus"][0])


def test_nvidia_smi_reports_them_where_it_can(proctor):
	snapshot, _ = take(proctor, {**nvml("init=18"), "PROCTOR_NVIDIA_SMI": str(SMI)})
	first, second = snapshot["gpus"]
	assert (first["throttle"], first["ecc_corrected"], first["power_w"]) == (["power_cap", "hw_thermal"], 7, 123.45)
	assert "ecc_uncorrected" not in first and "throttle" not in second
	assert second["name"] == "Fake GPU, 1"
	snapshot, _ = take(proctor, {**nvml("init=18"), "PROCTOR_NVIDIA_SMI": str(SMI), "PROCTOR_FAKE_SMI": "old"})
	assert (snapshot["gpus"][0]["power_w"], "throttle" in snapshot["gpus"][0]) == (123.45, False)


# Puts itself on the GPU and waits for a file.
ON_GPU = """
import os, sys, time
use, marker = sys.argv[1:]
with open(use + ".new", "w") as f:
    f.write("0 %d 512 37\\n" % os.getpid())
os.rename(use + ".new", use)
end = time.monotonic() + 60
while not os.path.exists(marker) and time.monotonic() < end:
    time.sleep(0.02)
"""


def events_so_far(proctor):
	return read_store_so_far(proctor.state_dir, "SELECT * FROM event WHERE name IN ('xid', 'ecc', 'throttle', 'throttle_end')")


def run_with_faults(proctor, children, faults, tmp_path, env):
	"""A job on GPU 0, which has an XID, an uncorrectable error and is throttled meanwhile; GPU 1 has an XID, too."""
	marker = tmp_path / "end"
	job = children.spawn([proctor.binary, "run", "--job-id", "train", "--interval", "0.1", "--", "/usr/bin/python3", "-c", ON_GPU, faults.use,
			      marker], env={**proctor.env, **env}, stderr=subprocess.PIPE)
	wait_for(lambda: read_store_so_far(proctor.state_dir, "SELECT 1 FROM gpu_processes") or IN_CONTAINER and
		 read_store_so_far(proctor.state_dir, "SELECT 1 FROM snapshots WHERE gpu_count > 0 LIMIT 3 OFFSET 3"))
	faults.set("0 4 5 2 79", "1 0 0 0 13")
	wait_for(lambda: {"xid", "ecc", "throttle"} <= {row["name"] for row in events_so_far(proctor)})
	marker.write_text("")
	assert job.wait(timeout=60) == 0, job.stderr.read()


def test_what_happens_to_its_gpu_is_an_event_of_the_job(proctor, children, faults, tmp_path):
	run_with_faults(proctor, children, faults, tmp_path, faults.env("gpus=2"))
	rows = proctor.sql("SELECT j.job_id AS job, e.details AS details FROM event e LEFT JOIN job j ON j.id = e.job WHERE e.name = 'xid' ORDER BY e.details")
	if IN_CONTAINER:  # the driver's pids are not ours: whose GPU it is stays unknown
		assert [row["job"] for row in rows] == [None, None]
		return
	assert [row["job"] for row in rows] == ["train"]  # it does not use the second
	events = [json.loads(line) for line in proctor("events", "train", "--json").stdout.splitlines()]
	mine = {e["name"]: e["details"] for e in events if e["event_type"] == "gpu"}
	assert mine["xid"] == "GPU 0 (Fake GPU 0): XID 79, fallen off the bus"
	assert mine["ecc"] == "GPU 0 (Fake GPU 0): 2 uncorrectable memory errors (ECC)"
	assert mine["throttle"] == "GPU 0 (Fake GPU 0): throttled: power limit"
	text = proctor("events", "train").stdout
	assert "XID 79, fallen off the bus" in text
	report = proctor("report", "train").stdout
	assert "XID 79, fallen off the bus" in report and "throttled: power limit" in report


def test_a_gpu_that_is_lost_and_found_again_is_one_event_each(proctor, children, faults, tmp_path):
	marker, lost = tmp_path / "end", tmp_path / "lost"
	job = children.spawn([proctor.binary, "run", "--job-id", "train", "--interval", "0.1", "--", "/usr/bin/python3", "-c", ON_GPU, faults.use,
			      marker], env={**proctor.env, **faults.env("gpus=2 lost=0 while=%s" % lost)}, stderr=subprocess.PIPE)

	def rows(condition):
		return len(read_store_so_far(proctor.state_dir, "SELECT 1 FROM gpu_metrics WHERE gpu_index = 0 AND " + condition))

	wait_for(lambda: rows("power_w IS NOT NULL") >= 5)
	lost.write_text("")
	wait_for(lambda: rows("power_w IS NULL") >= 8)
	lost.unlink()
	seen = rows("power_w IS NOT NULL")
	wait_for(lambda: rows("power_w IS NOT NULL") >= seen + 3)
	marker.write_text("")
	assert job.wait(timeout=60) == 0, job.stderr.read()
	events = proctor.sql("SELECT e.name AS name, e.details AS details, e.count AS ns, j.job_id AS job FROM event e LEFT JOIN job j ON j.id = e.job"
			     " WHERE e.name IN ('lost', 'lost_end') ORDER BY e.id")
	assert [row["name"] for row in events] == ["lost", "lost_end"]
	assert events[0]["details"] == "GPU 0 (Fake GPU 0): does not answer any more"
	assert events[1]["details"].startswith("GPU 0 (Fake GPU 0): answers again, after ") and events[1]["ns"] > 5e8
	if not IN_CONTAINER:
		assert events[0]["job"] == "train" and "does not answer any more" in proctor("report", "train").stdout
		# Of the time in which it did not answer, no energy is known.
		assert re.search(r"^ +GPU 0 .*at least [0-9.]+ .?Wh", proctor("report", "train", env={"COLUMNS": "200"}).stdout, re.M)


def test_events_of_a_driver_that_hangs_there_harm_nobody(proctor, faults):
	snapshot, _ = take(proctor, {**faults.env("hang=events"), "PROCTOR_NVIDIA_SMI": "/nowhere"})
	assert snapshot["gpus"] == [] and snapshot["processes"]


def test_parts_of_a_gpu_are_devices_that_name_their_parent(proctor, children):
	first, second = children.idle(2)
	snapshot, _ = take(proctor, nvml("gpus=2 parts=2 pids=%d:512:37,%d:100:5" % (first.pid, second.pid)))
	gpus = snapshot["gpus"]
	assert [(g["index"], g.get("parent_index")) for g in gpus] == [(0, None), (100, 0), (101, 0), (1, None), (200, 1), (201, 1)]
	whole, one, two = gpus[:3]
	assert (whole["power_w"], whole["utilization_pct"], whole["processes"]) == (123.45, None, [])
	assert (one["name"], one["uuid"]) == ("Fake GPU MIG 1g.5gb 0", "MIG-00000000-0000-0000-0000-000000000010")
	assert (one["memory_used_mb"], one["memory_total_mb"]) == (100.0, 4864.0)
	assert one["utilization_pct"] is one["power_w"] is one["temperature_c"] is None  # not zero
	assert [use["memory_used_mb"] for use in one["processes"] + two["processes"]] == [512.0, 100.0]
	assert one["processes"][0]["sm_pct"] is None
	assert len({g["uuid"] for g in gpus[:3]}) == 3


def test_a_driver_from_before_parts_and_events_works(proctor):
	assert (FAKES / "fake-nvml-old.so").exists()
	role = gpu_role(proctor, nvml("gpus=1 parts=2", "fake-nvml-old.so"))
	assert role["state"] == "works" and role["note"].startswith("1 GPU,")
