# SPDX-License-Identifier: MIT
"""GPUs, on a machine that has none: the driver's library and nvidia-smi are fake, the rest is real."""
import json
import os
import re
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from conftest import TIERS, wait_for

FAKES = Path(os.environ.get("PROCTOR_BUILD_DIR", "build-test")).resolve() / "test" / "fake"
SMI = Path(__file__).parent.parent / "fake" / "nvidia-smi"
METRICS = {"utilization_pct": 50, "memory_util_pct": 20, "memory_used_mb": 1000.0, "memory_total_mb": 16384.0, "temperature_c": 61,
	   "power_w": 123.45, "sm_clock_mhz": 1410, "mem_clock_mhz": 1215}
IN_CONTAINER = os.readlink("/proc/self/ns/pid") != "pid:[4026531836]"


def nvml(mood="", library="fake-nvml.so"):
	return {"PROCTOR_NVML_PATH": str(FAKES / library), "PROCTOR_FAKE_NVML": mood}


def take(proctor, env=None, *args):
	done = proctor("snapshot", "--json", *args, env=env)
	assert done.returncode == 0, done.stderr
	return json.loads(done.stdout), done.stderr


def gpu_role(proctor, env=None, *args):
	done = proctor("doctor", "--json", *args, env=env)
	assert (done.returncode, done.stderr) == (0, "")
	return [line for line in json.loads(done.stdout)["roles"] if line["role"] == "gpu"][0]


@pytest.mark.skipif(os.path.exists("/dev/nvidiactl"), reason="this machine has a GPU")
def test_without_a_gpu_there_is_an_empty_list_and_no_helper(proctor):
	snapshot, stderr = take(proctor)
	assert (snapshot["gpus"], stderr) == ([], "")
	assert not [p for p in snapshot["processes"] if p["ppid"] == snapshot["daemon_pid"]]
	role = gpu_role(proctor)
	assert (role["state"], role["note"]) == ("absent", "no NVIDIA device found")
	assert "gpu" not in re.sub(r"\n\n.*", "", proctor("snapshot").stdout, flags=re.S)


def test_every_figure_of_every_gpu_is_shown(proctor, children):
	child = children.idle(1)[0]
	snapshot, stderr = take(proctor, nvml("gpus=2 pids=%d:512:37" % child.pid))
	assert stderr == ""
	first, second = snapshot["gpus"]
	assert {key: first[key] for key in METRICS} == METRICS
	assert (first["index"], first["name"], len(first["uuid"])) == (0, "Fake GPU 0", 40)
	assert (second["index"], second["utilization_pct"], second["processes"]) == (1, 51, [])
	(use,) = first["processes"]
	assert (use["memory_used_mb"], use["sm_pct"], use["job_id"]) == (512.0, 37, None)
	(process,) = [p for p in snapshot["processes"] if p["pid"] == child.pid]
	if IN_CONTAINER:
		assert (use["pid"], use["host_pid"]) == (None, child.pid)
	else:
		assert use["pid"] == child.pid
		assert (process["gpu_memory_mb"], process["gpu_sm_pct"]) == (512.0, 37)


def test_a_terminal_gets_a_line_for_each_gpu(proctor):
	done = proctor("snapshot", env=nvml("gpus=2"))
	assert (done.returncode, done.stderr) == (0, "")
	lines = re.findall(r"^  gpu \d .*", done.stdout, re.M)
	assert len(lines) == 2
	assert re.search(r"51 % busy   1000 MiB of 16.0 GiB used|51 % busy   1.0 of 16.0 GiB used", lines[1])
	assert "61 °C" in lines[1] and "123 W" in lines[1] and "Fake GPU 1" in lines[1]


def test_a_lost_gpu_is_listed_and_its_figures_are_null(proctor):
	snapshot, _ = take(proctor, nvml("gpus=2 lost=1 after=2"))
	first, second = snapshot["gpus"]
	assert first["utilization_pct"] == 50
	assert second["name"] == "Fake GPU 1" and all(second[key] is None for key in METRICS)


def test_nvidia_smi_plays_where_the_library_does_not(proctor):
	env = {**nvml("init=18"), "PROCTOR_NVIDIA_SMI": str(SMI)}
	snapshot, stderr = take(proctor, env)
	assert "probe 'nvml' gives way to nvidia-smi: NVML: init: Driver/library version mismatch (18)" in stderr
	assert {key: snapshot["gpus"][0][key] for key in METRICS} == METRICS
	role = gpu_role(proctor, env)
	assert (role["state"], role["source"]) == ("degraded", "nvidia-smi")
	assert "version mismatch" in role["note"]


@pytest.mark.parametrize("mood, library, why", [
	("init=18", "fake-nvml.so", "Driver/library version mismatch"),
	("", "fake-nvml-empty.so", "has no nvmlInit_v2"),
	("", "not-there.so", "not a file"),
])
def test_without_any_gpu_source_the_reasons_are_reported(proctor, mood, library, why):
	env = {**nvml(mood, library), "PROCTOR_NVIDIA_SMI": str(SMI), "PROCTOR_FAKE_SMI": "mismatch"}
	snapshot, stderr = take(proctor, env)
	assert snapshot["gpus"] == [] and why in stderr
	role = gpu_role(proctor, env)
	assert role["state"] == "absent"
	assert why in role["note"] and "nvidia-smi: Failed to initialize NVML" in role["note"]


@pytest.mark.parametrize("mood", ["hang=init", "hang=power", "abort=init"])
def test_a_library_that_hangs_or_aborts_harms_nobody(proctor, mood):
	start = time.monotonic()
	snapshot, _ = take(proctor, {**nvml(mood), "PROCTOR_NVIDIA_SMI": "/nowhere"})
	assert time.monotonic() - start < 20
	assert snapshot["gpus"] == [] and snapshot["processes"]


def test_they_can_be_switched_off(proctor, tmp_path):
	config = tmp_path / "off.conf"
	config.write_text("[profiler]\ngpu_enabled = no\n")
	snapshot, _ = take(proctor, nvml("gpus=2"), "--config", config)
	assert snapshot["gpus"] == []
	role = gpu_role(proctor, nvml("gpus=2"), "--config", config)
	assert (role["state"], role["note"]) == ("absent", "switched off")


def test_they_can_be_insisted_on(proctor, tmp_path):
	config = tmp_path / "on.conf"
	config.write_text("[profiler]\ngpu_enabled = yes\n")
	role = gpu_role(proctor, None, "--config", config)
	if role["state"] == "absent":
		assert "libnvidia-ml.so.1" in role["note"] or "NVML" in role["note"]


def lines_of(state_dir):
	try:
		return [json.loads(line) for line in (state_dir / "monitor.jsonl").read_text().splitlines()]
	except (FileNotFoundError, ValueError):
		return []


def record(proctor, children, env):
	return children.spawn([proctor.binary, "record", "--interval", "0.2"], env={**proctor.env, **env},
			      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def helpers_of(pid):
	return [p for p in psutil.Process(pid).children(recursive=True) if "gpu-helper" in p.cmdline()]


def test_a_recording_has_gpus_and_one_helper_that_ends_with_it(proctor, children, state_dir):
	recorder = record(proctor, children, nvml("gpus=1"))
	wait_for(lambda: [s for s in lines_of(state_dir) if s["gpus"] and s["gpus"][0]["power_w"] == 123.45])
	(helper,) = helpers_of(recorder.pid)
	assert os.getsid(helper.pid) == helper.ppid() != os.getsid(recorder.pid)
	recorder.kill()
	recorder.wait()
	wait_for(lambda: not helper.is_running() or helper.status() == psutil.STATUS_ZOMBIE)


def test_a_recording_goes_on_at_its_pace_while_the_library_hangs(proctor, children, state_dir):
	"""The GPU stays named, its figures go and come back with a new helper, and no tick is late."""
	recorder = record(proctor, children, nvml("hang=power after=4"))

	def has_come_back():
		known = [s["gpus"][0]["power_w"] is not None for s in lines_of(state_dir) if s["gpus"]]
		text = "".join("+" if k else "-" for k in known)
		return re.search(r"\+-+\+", text)

	wait_for(has_come_back, 30)
	recorder.terminate()
	recorder.wait()
	snapshots = lines_of(state_dir)
	late = [b["timestamp"] - a["timestamp"] for a, b in zip(snapshots, snapshots[1:])]
	assert sorted(late)[len(late) // 2] < 0.4
	assert all(s["gpus"][0]["name"] == "Fake GPU 0" for s in snapshots[-5:])
	assert b"no answer" not in recorder.stderr.read()  # it recovered: an event, not a warning


def test_a_recording_reports_once_that_it_gave_up(proctor, children, state_dir):
	recorder = record(proctor, children, {**nvml("init=18"), "PROCTOR_NVIDIA_SMI": str(SMI), "PROCTOR_FAKE_SMI": "mismatch"})
	wait_for(lambda: len(lines_of(state_dir)) > 15, 30)
	recorder.terminate()
	recorder.wait()
	stderr = recorder.stderr.read().decode()
	assert stderr.count("gives way to nvidia-smi") == 1
	assert stderr.count("probe 'nvidia-smi'") == 1
	assert len(lines_of(state_dir)) > 15


def ask(proctor, query):
	return [list(row.values()) for row in proctor.sql(query)]


def run_job(proctor, *args, env):
	done = proctor("run", "--interval", "0.1", *args, env=env)
	assert done.returncode == 0, done.stderr
	return ask(proctor, "SELECT pid, command FROM process ORDER BY id")


@pytest.mark.needs_root
@pytest.mark.parametrize("tier", TIERS)
def test_a_job_has_gpus_in_its_record_and_no_helper(proctor, tier):
	"""Whichever source reports processes: the helper is not the job's."""
	processes = run_job(proctor, "--tier", tier, "--", "sh", "-c", "sleep 2; true", env=nvml("gpus=2"))
	assert len(processes) == 2
	(row,) = ask(proctor, "SELECT gpu_utilization_pct, gpu_memory_used_mb, gpu_temperature FROM snapshots WHERE gpu_count = 2"
			      " AND gpu_utilization_pct NOT LIKE '%null%' ORDER BY id DESC LIMIT 1")
	assert row == ["[50,51]", "[1000.0,1000.0]", "[61,61]"]
	(row,) = ask(proctor, "SELECT name, power_w FROM gpu_metrics WHERE gpu_index = 1 AND power_w IS NOT NULL"
			      " ORDER BY snapshot_id DESC LIMIT 1")
	assert row == ["Fake GPU 1", 123.45]


@pytest.mark.tier("proc")
def test_a_helper_that_aborts_is_nobodys_process(proctor):
	"""The launcher takes every child that ends; this one is not among them."""
	processes = run_job(proctor, "--tier", "proc", "--", "sleep", "2", env=nvml("abort=power after=3"))
	assert len(processes) == 1
	details = [row[0] for row in ask(proctor, "SELECT details FROM recorder_events WHERE event_type = 'probe'")]
	assert any("ended by signal 6" in text for text in details)


def test_waiting_for_what_a_job_left_does_not_wait_for_the_helper(proctor):
	start = time.monotonic()
	run_job(proctor, "--wait", "--", "sh", "-c", "sleep 1.5 & sleep 0.5", env=nvml())
	assert 1.4 < time.monotonic() - start < 15


def test_the_helper_is_not_for_users(proctor):
	assert "gpu-helper" not in proctor("--help").stdout
	done = proctor("gpu-helper")
	assert (done.returncode, done.stdout, done.stderr) == (2, "", "")
	assert proctor("gpu-helper", "nvml").returncode == 1


@pytest.mark.needs_root
def test_nobody_sees_gpus_too(as_nobody):
	library = as_nobody.place / "fake.so"
	library.write_bytes((FAKES / "fake-nvml.so").read_bytes())
	library.chmod(0o755)
	done = as_nobody("snapshot", "--json", env={"PROCTOR_NVML_PATH": str(library)})
	assert done.returncode == 0, done.stderr
	assert json.loads(done.stdout)["gpus"][0]["power_w"] == 123.45
