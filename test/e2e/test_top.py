# SPDX-License-Identifier: MIT
"""proctor top: text and JSON without a screen, and the screen in a terminal."""
import json
import os
import subprocess

import pytest

from conftest import running_as_nobody, wait_for


@pytest.fixture
def alone(proctor, tmp_path):
	"""Without a daemon, whatever runs on this machine."""
	proctor.env["PROCTOR_SOCKET"] = str(tmp_path / "no-daemon.sock")
	return proctor


def start_job(proctor, children, gate, *script):
	"""A job in its second sheet, until the gate opens."""
	job = children.spawn([proctor.binary, "run", "--job-id", "eater", "--", "sh", "-c",
			      "%s sheet 1/3 --label prepare -- true; %s sheet 2/3 --label fit -- sh -c '%s read go <%s'" %
			      (proctor.binary, proctor.binary, "; ".join([*script, ""]), gate)], env=proctor.env, stderr=subprocess.DEVNULL)
	wait_for(lambda: (proctor.state_dir / "jobs/eater/sock").exists())
	return job


def top(proctor, *args):
	done = proctor("top", *args)
	assert (done.returncode, done.stderr) == (0, ""), done.stderr
	return done.stdout


def test_one_screen_shows_the_job_its_step_and_the_sampler(alone, children, gate):
	start_job(alone, children, gate)
	def screen():
		text = top(alone, "--once", "--width", "120", "--height", "40")
		return "2/3 fit" in text and text
	lines = wait_for(screen).splitlines()
	assert "own sampling" in lines[0]
	assert len(lines) == 40
	assert "eater" in lines[4] and "33%" in lines[4]
	assert any("sheet 2 fit began" in line for line in lines)
	gate.open()


@pytest.mark.parametrize("width,height", [(40, 10), (300, 80), (1, 1)])
def test_one_screen_fits_any_size(alone, width, height):
	lines = top(alone, "--once", "--width", width, "--height", height).split("\n")
	assert len(lines) == height + 1
	assert max(map(len, lines)) <= width


def test_json_has_a_snapshot_a_line_with_jobs(alone, children, gate):
	start_job(alone, children, gate)
	stream = children.spawn([alone.binary, "top", "--json", "--interval", "0.2"], env=alone.env, stdout=subprocess.PIPE, text=True)
	seen = wait_for(lambda: any(job["job_id"] == "eater" for job in json.loads(stream.stdout.readline())["job_progress"]), step=0)
	assert seen
	stream.terminate()
	stream.wait(timeout=60)
	gate.open()


def test_json_of_one_job_has_only_that(alone, children, gate):
	start_job(alone, children, gate)
	def snapshot():
		return json.loads(top(alone, "--json", "--once", "--job", "eater"))
	found = wait_for(lambda: (s := snapshot())["processes"] and s)
	assert {p["job_id"] for p in found["processes"]} == {"eater"}
	gate.open()


def test_the_past_is_one_document(alone):
	assert alone("record", "--interval", "0.1", "--for", "1").returncode == 0
	past = json.loads(top(alone, "--history", "1h", "--json"))
	assert past["duration_seconds"] == 3600
	assert past["snapshot_count"] == len(past["snapshots"]) >= 2
	assert past["event_count"] == len(past["events"])
	assert past["snapshots"][0]["processes"]
	screen = top(alone, "--history", "1h", "--once", "--width", "100", "--height", "24")
	assert "recorded" in screen.splitlines()[0] and "in no job" in screen


def test_without_a_terminal_it_explains_what_to_do(alone):
	done = alone("top")
	assert done.returncode == 2
	assert "--once" in done.stderr and "--json" in done.stderr
	done = alone("top", "--history", "1h", "--once")
	assert done.returncode == 1 and done.stderr.startswith("proctor: ")


def test_the_host_ends_with_its_reader(alone, children):
	stream = children.spawn([alone.binary, "top", "--json", "--interval", "0.2"], env=alone.env, stdout=subprocess.PIPE, text=True)
	host = json.loads(stream.stdout.readline())["daemon_pid"]
	stream.kill()
	stream.wait(timeout=60)
	wait_for(lambda: not os.path.exists("/proc/%d" % host))


def test_a_plain_user_samples_too():
	with running_as_nobody() as nobody:
		done = nobody("top", "--once", "--own", "--width", "100", "--height", "24")
		assert done.returncode == 0, done.stderr
		assert "own sampling" in done.stdout.splitlines()[0] and "in no job" in done.stdout


def test_only_the_screen_loads_ncurses(alone):
	needed = subprocess.run(["readelf", "-d", alone.binary], check=True, stdout=subprocess.PIPE, text=True).stdout
	assert "NEEDED" in needed and "ncurses" not in needed and "tinfo" not in needed
