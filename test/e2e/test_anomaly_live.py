# SPDX-License-Identifier: MIT
"""What goes wrong in a job is found, reported once, and shown in every view."""
import json
import re
import subprocess
import sys

import pytest

from conftest import TIERS
from runkit import wait_for

PYTHON = sys.executable
GROW = """
import time
def take(mib):
	block = bytearray(mib << 20)
	block[::4096] = bytes([1]) * len(block[::4096])
	return block
first = take(80)
time.sleep(3.5)
second = take(220)
time.sleep(1)
"""
ZOMBIE = """
import os, time
if os.fork() == 0:
	os._exit(0)
time.sleep(5)
"""
FILES = """
import os, resource, time
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
held = [os.dup(1) for _ in range(58)]
time.sleep(3)
"""
# A child that computes until its stdin ends; with "leave" its parent ends, and the one above waits in its place.
BUSY = """
import os, select, sys, time
if os.fork() == 0:
	if os.fork() == 0:
		if os.geteuid() == 0:
			os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))  # it has its share on a busy machine, too
		while not select.select([0], [], [], 0)[0]:
			pass
		os._exit(0)
	if sys.argv[1] == "leave":
		time.sleep(0.3)
	else:
		os.wait()
	os._exit(0)
os.wait()
select.select([0], [], [])
"""
RUNAWAY_S, RUNAWAY_PERCENT = 2, 50


def python(text, *words):
	return [PYTHON, "-c", text, *words]


def anomalies(run):
	"""As the view, the report and the events show them: the same in all three."""
	rows = run.sql("SELECT * FROM anomalies ORDER BY timestamp")
	report = json.loads(run.proctor("report", "last", "--json").stdout)
	events = run.proctor("events", "last", "--kind", "anomaly", "--json").stdout.splitlines()
	assert [a["description"] for a in report["anomalies"]] == [row["description"] for row in rows]
	assert [json.loads(line)["name"] for line in events].count("") == 0
	assert len(events) == 2 * len(rows)
	return rows


def the_one(run, kind):
	rows = [row for row in anomalies(run) if row["anomaly_type"] != "memory_pressure"]
	assert [row["anomaly_type"] for row in rows] == [kind]
	assert rows[0]["job_id"] == run.job()["job_id"]
	assert rows[0]["pid"] in [p["pid"] for p in run.processes()]
	assert rows[0]["timestamp"] <= rows[0]["ended"]
	assert rows[0]["peak"] >= rows[0]["metric_value"] >= rows[0]["threshold"]
	return rows[0]


def report_line(run):
	text = run.proctor("report", "last").stdout
	return next((line for line in text.splitlines() if re.match(r" +\+\S+ +anomaly ", line)), None)


def test_a_process_that_grows_is_a_memory_spike(run, tmp_path):
	done = run(*python(GROW), options=["--summary", "--out", tmp_path / "out"])
	spike = the_one(run, "memory_spike")
	assert spike["severity"] == "critical"
	assert 280 < spike["peak"] < 350
	# That a program loads its data is no headline: its events and JSON have it.
	assert "memory spike" not in done.stderr and "memory spike" not in run.proctor("report").stdout
	assert "memory spike: python" in run.proctor("events", "--kind", "anomaly").stdout
	log = [json.loads(line) for line in (tmp_path / "out/run.jsonl").read_text(encoding="utf-8").splitlines()]
	published = [line["data"] for line in log if line.get("event") == "monitor.anomaly"]
	assert [data["ended"] is None for data in published] == [True, False]


@pytest.mark.parametrize("tier", TIERS)
def test_a_child_that_nobody_reaps_is_a_zombie(run, tier):
	done = run(*python(ZOMBIE), options=["--summary", "--tier", tier])
	zombie = the_one(run, "zombie")
	assert zombie["severity"] == "high"
	assert 3 <= zombie["metric_value"] < 5
	assert "zombie: python" in done.stderr and "zombie: python" in report_line(run)
	assert (run.job()["processes"], run.job()["leaked_processes"]) == (2, 0)


@pytest.mark.parametrize("interval", [[], ["--interval", "0.5"]], ids=["growing", "0.5s"])
def test_files_near_the_own_limit_are_reported(run, interval):
	done = run(*python(FILES), options=["--summary", *interval])
	files = the_one(run, "fd_exhaustion")
	assert (files["severity"], files["threshold"]) == ("high", 58)
	assert "of the 64 it may open" in done.stderr and "of the 64 it may open" in report_line(run)


@pytest.mark.parametrize("way, kinds", [("stay", []), ("leave", ["runaway_process"])])
def test_what_computes_is_a_runaway_only_when_it_was_left(run, children, tmp_path, way, kinds):
	config = tmp_path / "proctor.conf"
	config.write_text("[anomaly]\nrunaway_duration_seconds = %d\nrunaway_cpu_threshold = %d\n" % (RUNAWAY_S, RUNAWAY_PERCENT), encoding="utf-8")
	job = children.spawn(run.line(*python(BUSY, way), options=["--summary", "--config", config]), env=run.env, stdin=subprocess.PIPE,
			     stderr=subprocess.PIPE, text=True)
	wait_for(run.is_recorded)
	if kinds:
		wait_for(lambda: run.sql("SELECT 1 FROM anomalies WHERE anomaly_type = 'runaway_process'"))
	else:
		wait_for(lambda: run.sql("SELECT 1 FROM job_samples GROUP BY job_id HAVING max(timestamp) - min(timestamp) > %d" % (RUNAWAY_S + 2)))
	_, stderr = job.communicate(timeout=30)
	rows = [row for row in anomalies(run) if row["anomaly_type"] != "memory_pressure"]
	assert job.returncode == 0
	assert [row["anomaly_type"] for row in rows] == kinds
	if kinds:
		assert rows[0]["severity"] == "critical" and rows[0]["threshold"] == RUNAWAY_PERCENT
		assert "its parent is gone" in stderr


def test_an_ordinary_job_has_none(run):
	done = run("sh", "-c", "sleep 0.3", options=["--summary"])
	assert anomalies(run) == [] and "note" not in done.stderr


def test_a_job_whose_recorder_is_killed_has_its_anomaly(run):
	"""It was reported when it began, and ends with the recorder."""
	proc = subprocess.Popen(run.line(*python(FILES.replace("time.sleep(2)", "time.sleep(20)")), options=["--interval", "0.2"]),
				env=run.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
	try:
		wait_for(lambda: run.is_recorded() and run.sql("SELECT 1 FROM anomalies"))
	finally:
		proc.kill()
		proc.wait()
	run("true")
	rows = run.sql("SELECT * FROM anomalies")
	assert len(rows) == 1 and rows[0]["ended"] >= rows[0]["timestamp"]
