# SPDX-License-Identifier: MIT
"""What a sheet used: opened inside a program, or around a command; as root and as a plain user; with `run` and with a daemon.
The truth is what the program itself reads of getrusage."""
import json
import re
import shutil
import subprocess

import pytest

from conftest import ROOT
from daemonkit import cold, daemon  # noqa: F401 pylint: disable=unused-import
from runkit import BURN

CLIENT = ROOT / "clients/python/proctor.py"

# Burns CPU time and holds memory in each of three sheets, and between them, and prints what getrusage returned for each.
THREE = BURN + """
import json, os, sys
sys.path.insert(0, sys.argv[1])
import proctor

def faults():
	return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

truth = {}
with proctor.connect() as p:
	burn(0.15)
	held = bytearray(250 << 20)
	del held
	for num, seconds, mib in ((1, 0.3, 60), (2, 0.5, 20), (3, 0.15, 300)):
		began, before = cpu(), faults()
		with p.sheet(num):
			held = bytearray(mib << 20)
			burn(seconds)
			del held
			truth[num] = [cpu() - began, mib, faults() - before]
		burn(0.1)
print(json.dumps(truth))
"""


@pytest.fixture(params=["root", "nobody"])
def job(request):
	"""Runs a Python program as a job, and returns what it printed, its sheets, and SQL."""
	runner = request.getfixturevalue("run" if request.param == "root" else "as_nobody")
	place = request.getfixturevalue("tmp_path") if request.param == "root" else runner.place
	shutil.copy(CLIENT, place)
	proctor = runner.proctor if request.param == "root" else runner

	class Job:
		user, place = request.param, None
		binary = str(runner.proctor.binary if request.param == "root" else runner.place / "proctor")

		def __call__(self, *command, options=("--interval", "0.05"), code=0):
			done = proctor("run", *options, "--", *map(str, command))
			assert done.returncode == code, done.stderr
			return done.stdout

		def python(self, text, *args):
			return json.loads(self("/usr/bin/python3", "-c", text, place, *args))

		def report(self):
			return json.loads(proctor("report", "--json").stdout)

		def sheets(self):
			return {s["sheet_num"]: s for s in self.report()["sheets"]}

		def sql(self, query):
			return proctor.sql(query)

		def screen(self):
			return proctor("report").stdout

	Job.place = place
	return Job()


def test_sheets_of_one_program_have_what_it_used_and_was_sampled_in_each(job):
	truth = job.python(THREE)
	sheets = job.sheets()
	for num, (cpu, mib, faults) in truth.items():
		sheet = sheets[int(num)]
		assert sheet["cpu_seconds"] == pytest.approx(cpu, abs=0.03), sheet
		assert sheet["quality"]["cpu_seconds"] == "exact"
		assert mib <= sheet["peak_rss_mb"] <= mib + 40, sheet
		assert sheet["quality"]["peak_rss_mb"] == "sampled"
		assert sheet["minor_faults"] == pytest.approx(faults, rel=0.1, abs=200), sheet
		assert sheet["read_bytes"] is not None and sheet["written_bytes"] is not None
		assert sheet["max_cpu_pct"] <= 130 and sheet["processes"] == 1 and sheet["missing_reason"] is None
	metrics = job.report()["sheet_metrics"]
	assert [round(metrics[n]["peak_rss_mb"] / 10) for n in "123"] == [round(sheets[n]["peak_rss_mb"] / 10) for n in (1, 2, 3)]
	rows = job.sql("SELECT sheet_num, cpu_seconds, cpu_seconds_quality FROM sheets ORDER BY 1")
	assert [(r["sheet_num"], r["cpu_seconds_quality"]) for r in rows] == [(1, "exact"), (2, "exact"), (3, "exact")]
	rows = job.sql("SELECT DISTINCT coalesce(m.sheet_num, 0) AS sheet, s.timestamp BETWEEN t.started AND t.ended AS inside"
		       " FROM process_metrics m JOIN snapshots s ON s.id = m.snapshot_id LEFT JOIN sheets t ON t.sheet_num = m.sheet_num"
		       " WHERE m.command LIKE '%python3%' ORDER BY 1")
	assert {r["sheet"] for r in rows} == {0, 1, 2, 3}
	assert all(r["inside"] == 1 for r in rows if r["sheet"])


@pytest.mark.parametrize("uid", [None, 65534])
def test_sheets_of_a_registered_program_have_what_it_used_in_each(daemon, uid):  # pylint: disable=redefined-outer-name
	program = THREE.replace('burn(0.15)', 'job = p.job_start("three", job_id="three", pid=os.getpid())').replace("p.sheet(num)", "p.sheet(num, job_id=job)")
	program = program.replace("print(json", 'p = proctor.connect(); p.job_end("three"); print(json')
	shutil.copy(CLIENT, daemon.place)
	done = subprocess.run(["/usr/bin/python3", "-c", program, daemon.place], env=daemon.proctor.env, capture_output=True, text=True, timeout=120,
			      check=False, **({"user": uid, "group": uid, "extra_groups": []} if uid else {}))
	assert done.returncode == 0, done.stderr
	rows = daemon.proctor.sql("SELECT * FROM sheets WHERE job_id = 'three' ORDER BY sheet_num")
	for row, (cpu, mib, _) in zip(rows, json.loads(done.stdout).values(), strict=True):
		assert row["cpu_seconds"] == pytest.approx(cpu, abs=0.03) and row["cpu_seconds_quality"] == "exact", row
		assert row["peak_rss_mb"] <= mib + 40 and row["peak_rss_mb_quality"] == "sampled", row
		assert row["read_bytes"] is not None and row["processes"] == 1


OVERLAP = """
import json, sys
sys.path.insert(0, sys.argv[1])
import proctor
with proctor.connect() as p:
	p.sheet_start(1)
	p.sheet_start(2)
	p.sheet_end(1)
	p.sheet_end(2)
	with p.sheet(3):
		pass
print("{}")
"""


def test_sheets_that_overlap_in_one_process_have_a_reason_instead_of_figures(job):
	job.python(OVERLAP)
	sheets = job.sheets()
	for num in (1, 2):
		assert sheets[num]["cpu_seconds"] is None and sheets[num]["peak_rss_mb"] is None
		assert set(sheets[num]["quality"].values()) == {"missing"}
		assert sheets[num]["missing_reason"] == "it overlaps another sheet of the same process"
	assert sheets[3]["quality"]["cpu_seconds"] == "exact" and sheets[3]["missing_reason"] is None
	assert job.sql("SELECT missing_reason FROM sheets WHERE sheet_num = 2")[0]["missing_reason"] == sheets[2]["missing_reason"]
	assert "overlaps another sheet" in job.screen()


CHILDREN = """
import subprocess, sys
sys.path.insert(0, sys.argv[1])
import proctor
with proctor.connect() as p:
	for num in (1, 2):
		with p.sheet(num):
			subprocess.run(["/usr/bin/python3", "-c", "import time\\nwhile time.process_time() < %f: pass" % (0.2 * num)], check=True)
print("{}")
"""


def test_children_belong_to_the_sheet_in_which_they_were_born(job):
	job.python(CHILDREN)
	for num, sheet in job.sheets().items():
		assert sheet["processes"] == 2 and sheet["quality"]["read_bytes"] == "at_least"
		if job.user == "root":
			assert sheet["cpu_seconds"] == pytest.approx(0.2 * num, abs=0.1), sheet
			assert sheet["quality"]["cpu_seconds"] == "exact"
		else:  # the end of a child is not reported with its CPU time
			assert sheet["cpu_seconds"] <= 0.2 * num + 0.1 and sheet["quality"]["cpu_seconds"] == "at_least"


# ---- `proctor sheet` ---------------------------------------------------------------------------

# As GNU time does it: runs the command, and prints what getrusage returns for it, as seconds of CPU and MiB of the largest process.
TIME = """
import json, resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(json.dumps([sum(u.ru_utime + u.ru_stime for u in both), max(u.ru_maxrss for u in both) / 1024]))
"""
POOL = """
import multiprocessing
def work(n):
	held = bytearray(n << 20)
	for i in range(n * 60000): pass
with multiprocessing.Pool(3) as pool:
	pool.map(work, [20, 70, 140])
	pool.close()
	pool.join()
"""
XARGS = "seq 12 | xargs -P3 -I% sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'"
MAKE = "all: a b c\na b c:\n\t@i=0; while [ $$i -lt 100000 ]; do i=$$((i+1)); done\n.PHONY: all a b c\n"


@pytest.mark.parametrize("command", [["/usr/bin/python3", "-c", POOL], ["sh", "-c", XARGS],
				     ["sh", "-c", "printf '%s' \"$0\" | make -s -j2 -f -", MAKE]], ids=["pool", "xargs", "make"])
def test_a_command_in_a_sheet_has_what_wait4_returned(job, command):
	cpu, peak = json.loads(job(job.binary, "sheet", "1", "--", "/usr/bin/python3", "-c", TIME, *command))
	sheet = job.sheets()[1]
	assert sheet["quality"]["cpu_seconds"] == "exact", sheet
	assert cpu <= sheet["cpu_seconds"] + 0.001 and sheet["cpu_seconds"] <= cpu + 0.1, (cpu, sheet)
	assert sheet["minor_faults"] > 100 and sheet["quality"]["minor_faults"] == "exact"
	if peak > 100:  # more than proctor itself
		assert sheet["peak_rss_mb"] == pytest.approx(peak, abs=1.1) and sheet["quality"]["peak_rss_mb"] == "exact"


def test_what_outlives_the_command_of_a_sheet_makes_it_at_least(job):
	job("sh", "-c", "%s sheet 1 -- sh -c 'sleep 1 >/dev/null 2>&1 & true'" % job.binary, options=["--wait"])
	sheet = job.sheets()[1]
	if job.user == "nobody":
		assert sheet["quality"]["cpu_seconds"] == "at_least", sheet
	assert sheet["cpu_seconds"] is not None


def test_the_peak_of_a_tiny_command_is_not_that_of_proctor(job):
	job("sh", "-c", "%s sheet 1 -- true" % job.binary)
	sheet = job.sheets()[1]
	assert sheet["quality"]["peak_rss_mb"] in (("exact", "sampled") if job.user == "root" else ("at_most", "sampled")), sheet


# Short children in two sheets; in the third those end that were born before it. Prints RUSAGE_CHILDREN of each.
SHORT_CHILDREN = """
import json, resource, subprocess, sys
sys.path.insert(0, sys.argv[1])
import proctor

def waited():
	used = resource.getrusage(resource.RUSAGE_CHILDREN)
	return used.ru_utime + used.ru_stime

AWK = ["awk", "BEGIN { for (i = 0; i < 1000000; i++) n += i }"]
truth = {}
with proctor.connect() as p:
	for num, command in ((1, AWK), (2, ["sh", "-c", "seq 10 | xargs -n 1 awk 'BEGIN { for (i = 0; i < 500000; i++) n += i }'"])):
		began = waited()
		with p.sheet(num):
			for i in range(10 if num == 1 else 1):
				subprocess.run(command, check=True)
		truth[num] = waited() - began
	older = [subprocess.Popen(AWK) for i in range(3)]
	with p.sheet(3):
		for child in older:
			child.wait()
print(json.dumps(truth))
"""


def test_a_sheet_has_the_cpu_time_of_short_children_that_it_waited_for(job):
	truth = job.python(SHORT_CHILDREN)
	sheets = job.sheets()
	for num, seconds in truth.items():
		sheet = sheets[int(num)]
		slack = 0.01 if job.user == "root" else 0.06  # of ticks
		assert seconds - slack < sheet["cpu_seconds"] < seconds + 0.1, (job.user, num, seconds, sheet)
	assert sheets[3]["cpu_seconds"] < 0.1, sheets[3]  # those were born before it


@pytest.mark.parametrize("code, status, result", [(0, "lost", "not closed"), (3, "failed", "failed")])
def test_a_sheet_that_is_left_open_fails_only_with_its_program(job, code, status, result):
	job("/usr/bin/python3", "-c", "import sys\nsys.path.insert(0, '%s')\nimport proctor\n"
	    "proctor.connect().sheet_start(1, label='halfway')\nsys.exit(%d)" % (job.place, code), code=code)
	assert job.sheets()[1]["status"] == status
	assert any("halfway" in line and result in line for line in job.screen().splitlines()), job.screen()


@pytest.mark.needs_root
@pytest.mark.tier()  # it asks for the lowest
def test_processes_of_a_sheet_that_were_sampled_are_a_lower_bound(as_nobody):
	done = as_nobody("run", "--tier", "looks", "--job-id", "s", "--", "sh", "-c", '"$PROCTOR" sheet 1 -- /bin/true')  # its name until 0.1
	assert done.returncode == 0, done.stderr
	report = as_nobody("report", "s").stdout
	assert re.search(r" (≥|>=)\d+ +ok$", report, re.MULTILINE), report
