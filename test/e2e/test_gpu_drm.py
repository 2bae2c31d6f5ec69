# SPDX-License-Identifier: MIT
"""GPUs of AMD and Intel, on a machine that has none: /sys/class, /dev/dri and the fdinfo of a process are frozen trees, mounted in a namespace of
its own. The rest is real."""
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import read_store_so_far, sanitizers, wait_for
from test_gpu import METRICS, nvml

pytestmark = pytest.mark.needs_root
FROZEN = Path(__file__).parent.parent / "fixtures" / "gpu" / "sys" / "class" / "drm"

# Arguments: the place with class/, then a command.
IN_NAMESPACE = """
set -e
mount --make-rprivate /
mount --bind "$0/class" /sys/class
mkdir -p "$0/dev"
mount -t tmpfs -o mode=755 none "$0/dev"
for name in null zero full random urandom tty; do : > "$0/dev/$name"; mount --bind "/dev/$name" "$0/dev/$name"; done
mkdir "$0/dev/dri"
: > "$0/dev/dri/renderD129"
mount --rbind "$0/dev" /dev
exec "$@"
"""

# Holds the device, with 64 MiB and a GPU that is half busy, until a file is there. It and a child of its have the same client.
ON_GPU = """
import os, subprocess, sys, time
place, marker = sys.argv[1:]
fd = os.open("/dev/dri/renderD129", os.O_RDONLY)
def write(busy_ns):
    with open("%s/new" % place, "w") as f:
        f.write("pos:\\t0\\ndrm-driver:\\tamdgpu\\ndrm-client-id:\\t8\\ndrm-pdev:\\t0000:0b:00.0\\ndrm-memory-vram:\\t65536 KiB\\n"
                "drm-memory-gtt:\\t4096 KiB\\ndrm-engine-gfx:\\t%d ns\\n" % busy_ns)
    os.rename("%s/new" % place, "%s/%d" % (place, fd))
write(0)
child = subprocess.Popen(["sleep", "60"], pass_fds=[fd])
for pid in (os.getpid(), child.pid):
    subprocess.run(["mount", "--bind", place, "/proc/%d/fdinfo" % pid], check=True)
begin = time.monotonic()
while not os.path.exists(marker) and time.monotonic() - begin < 60:
    write(int((time.monotonic() - begin) * 5e8))
    time.sleep(0.01)
child.kill()
child.wait()
"""


class Machine:
	"""Proctor on a machine with these cards."""

	def __init__(self, proctor, place):
		self.proctor, self.place = proctor, place

	def has(self, *cards):
		for card in cards:
			shutil.copytree(FROZEN / card, self.place / "class" / "drm" / card, symlinks=True)

	def line(self, *args):
		return ["unshare", "-m", "sh", "-c", IN_NAMESPACE, str(self.place), self.proctor.binary, *map(str, args)]

	def __call__(self, *args, env=None):
		done = subprocess.run(self.line(*args), env={**sanitizers(args[:1]), **self.proctor.env, **(env or {})}, stdin=subprocess.DEVNULL,
				      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
		assert done.returncode == 0, done.stderr
		return done.stdout

	def gpus(self, env=None):
		return json.loads(self("snapshot", "--json", env=env))["gpus"]

	def role(self, env=None):
		return [role for role in json.loads(self("doctor", "--json", env=env))["roles"] if role["role"] == "drm"][0]


@pytest.fixture
def machine(proctor, tmp_path):
	return Machine(proctor, tmp_path)


def test_a_snapshot_has_every_figure_of_an_amd_gpu(machine):
	machine.has("card1", "card1-HDMI-A-1")
	(gpu,) = machine.gpus()
	assert {key: gpu[key] for key in METRICS} == {
		"utilization_pct": 37, "memory_util_pct": 12, "memory_used_mb": 1024.0, "memory_total_mb": 16368.0, "temperature_c": 61, "power_w": 123.45,
		"sm_clock_mhz": 2250, "mem_clock_mhz": 1000}
	assert (gpu["index"], gpu["name"], gpu["bus"], gpu["processes"]) == (0, "AMD Radeon PRO W6800", "0000:0b:00.0", [])
	assert "at_least" not in gpu and "throttle" not in gpu
	line = re.search(r"^  gpu 0 .*", machine("snapshot"), re.M)[0]
	assert "37 % busy" in line and "61 °C" in line and "Radeon" in line


def test_doctor_names_the_gpus_and_what_they_lack(machine):
	machine.has("card1", "card2")
	role = machine.role()
	assert (role["state"], role["source"]) == ("works", "DRM")
	assert "2 GPUs (amdgpu, xe)" in role["note"]
	assert "not in sysfs of xe: utilization_pct, " in role["note"] and "sysfs of amdgpu" not in role["note"]


def test_vendors_side_by_side_have_indexes_of_their_own(machine):
	"""NVIDIA's are the driver's numbers, whether its library answers or not."""
	machine.has("card0", "card1")
	gpus = machine.gpus(env=nvml("gpus=2"))
	assert [(g["index"], g["name"]) for g in gpus] == [(0, "Fake GPU 0"), (1, "Fake GPU 1"), (64, "Intel 8086:9a49"), (65, "AMD Radeon PRO W6800")]
	gpus = machine.gpus(env={**nvml("init=18"), "PROCTOR_NVIDIA_SMI": "/nowhere"})
	assert [g["index"] for g in gpus] == [64, 65]
	assert [g["index"] for g in machine.gpus()] == [0, 1]


def test_they_can_be_switched_off(machine, tmp_path):
	machine.has("card1")
	config = tmp_path / "off.conf"
	config.write_text("[profiler]\ngpu_enabled = no\n")
	assert json.loads(machine("snapshot", "--json", "--config", config))["gpus"] == []


def test_a_job_has_what_it_did_on_an_amd_gpu(machine, children, tmp_path):
	"""A client that a child inherited counts once."""
	machine.has("card1")
	(tmp_path / "fdinfo").mkdir()
	marker = tmp_path / "end"
	job = children.spawn(machine.line("run", "--job-id", "amd", "--interval", "0.1", "--", "/usr/bin/python3", "-c", ON_GPU, tmp_path / "fdinfo",
					  marker), env=machine.proctor.env)
	wait_for(lambda: len(read_store_so_far(machine.proctor.state_dir, "SELECT 1 FROM job_samples WHERE gpu_sm_pct > 0")) >= 5)
	marker.write_text("")
	assert job.wait(timeout=60) == 0
	figures = json.loads(machine.proctor("report", "amd", "--json").stdout)["job"]["figures"]
	assert (figures["gpus_used"], figures["peak_gpu_memory_mb"], figures["peak_gpu_device_mb"]) == (1, 64.0, 1024.0)
	shares = sorted(row["gpu_sm_pct"] for row in machine.proctor.sql("SELECT gpu_sm_pct FROM job_samples WHERE gpu_sm_pct > 0"))
	assert 30 <= shares[len(shares) // 2] <= 70
	(row,) = machine.proctor.sql("SELECT DISTINCT name, uuid, gpu_index FROM gpu_metrics")
	assert tuple(row.values()) == ("AMD Radeon PRO W6800", "AMD-5a1c35e8c0ffee00", 0)


def test_without_one_there_is_no_helper(proctor):
	role = [role for role in json.loads(proctor("doctor", "--json").stdout)["roles"] if role["role"] == "drm"][0]
	if not Path("/sys/class/drm").exists():
		assert (role["state"], role["note"]) == ("absent", "no GPU of AMD, Intel or another vendor found")
