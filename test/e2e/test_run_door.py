# SPDX-License-Identifier: MIT
"""The door of a job that `proctor run` runs: from inside the job to its record and back."""
import json
import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from runkit import SANITIZERS, wait_for

HERE = Path(__file__).parent

# What runs inside the job: talks to its own door and prints what it heard, as JSON.
INSIDE = """
import json, os, subprocess, sys, time
sys.path.insert(0, %r)
from door import Line
sock = "%%s/jobs/%%s/sock" %% (os.environ["PROCTOR_STATE_DIR"], os.environ["PROCTOR_JOB_ID"])
binary = sys.argv[1]
""" % str(HERE)


def run_inside(proctor, program, *options, **more):
	done = proctor("run", *options, "--", sys.executable, "-c", INSIDE + program, proctor.binary, **more)
	assert done.returncode == 0, done.stderr
	return json.loads(done.stdout)


def test_the_command_finds_the_door_open_from_its_first_moment_and_gone_after_its_end(proctor, state_dir):
	status = run_inside(proctor, "print(json.dumps(Line(sock).call('daemon.status')['result']))", "--job-id", "first")
	assert (status["kind"], status["job_id"]) == ("run", "first")
	assert not (state_dir / "jobs/first").exists()


def test_what_a_killed_recorder_left_goes_with_the_next_and_nothing_else(proctor, state_dir, children):
	sleep = ["--", "sleep", "60"]
	dead, alive = (children.spawn([proctor.binary, "run", "--job-id", name, *sleep], env=proctor.env) for name in ("dead", "alive"))
	for name in ("dead", "alive"):
		wait_for((state_dir / "jobs" / name / "sock").exists)
	dead.kill()
	dead.wait()
	jobs = state_dir / "jobs"
	(jobs / "kept").mkdir()
	(jobs / "kept/file").touch()
	(jobs / "young").mkdir()
	(jobs / "link").symlink_to(jobs / "kept")
	for name in ("dead", "alive", "kept"):
		os.utime(jobs / name, (0, 0))
	assert (jobs / "dead/sock").exists()
	assert proctor("run", "--", "true").returncode == 0
	assert sorted(path.name for path in jobs.iterdir()) == ["alive", "kept", "link", "young"]
	assert (jobs / "alive/sock").exists() and (jobs / "kept/file").exists()


def test_sheets_move_the_progress_that_the_door_reports(proctor):
	jobs = run_inside(proctor, """
ends = [subprocess.run([binary, "sheet", *words]).returncode for words in (
	["1/4", "--label", "prepare", "--", "true"], ["sh", "-c", "exit 3"], ["--", "sh", "-c", "kill -9 $$"])]
with Line(sock) as line:
	print(json.dumps([ends, line.call("job.list")["result"]["jobs"]]))
""")
	ends, (job,) = jobs
	assert ends == [0, 3, -9]
	assert [(s["sheet_num"], s["status"], s["exit_code"], s["signal_num"]) for s in job["sheets"]] == [
		(1, "completed", 0, None), (2, "failed", 3, None), (3, "failed", None, 9)]
	assert (job["total_sheets"], job["last_completed_sheet"], job["current_sheet"], job["status"]) == (4, 1, None, "running")


def test_a_number_that_is_used_again_is_the_next_attempt_and_nothing_of_the_first_is_lost(proctor, tmp_path):
	script = "%s sheet 1/1 --label pack -- sh -c 'exit 3'; %s sheet 1 --label again -- true" % (proctor.binary, proctor.binary)
	assert proctor("run", "--job-id", "retry", "--out", tmp_path / "out", "--", "sh", "-c", script).returncode == 0
	report = json.loads(proctor("report", "retry", "--json").stdout)
	assert [(s["sheet_num"], s["label"], s["status"], s["exit_code"]) for s in report["sheets"]] == [(1, "again", "completed", 0)]
	(mark,) = [json.loads(line) for line in proctor("events", "retry", "--kind", "mark", "--json").stdout.splitlines()]
	first = json.loads(mark["details"])
	assert first.pop("seconds") >= 0 and mark["name"] == "sheet.retried" and mark["sheet_num"] == 1
	assert first == {"sheet": 1, "attempt": 1, "label": "pack", "status": "failed", "exit_code": 3}
	assert "ok, attempt 2" in proctor("report", "retry").stdout
	log = [json.loads(line) for line in (tmp_path / "out/run.jsonl").read_text().splitlines()]
	assert [line["data"]["attempt"] for line in log if line.get("event") == "sheet.retried"] == [1]


def test_a_sheet_that_is_open_is_not_opened_by_another(proctor):
	answer = run_inside(proctor, """
first = subprocess.Popen([binary, "sheet", "1", "--", "sh", "-c", "echo; sleep 1; exit 4"], stdout=subprocess.PIPE)
first.stdout.readline()
second = subprocess.run([binary, "sheet", "1", "--", "true"], capture_output=True, text=True)
print(json.dumps([second.returncode, second.stderr, first.wait()]))
""", "--job-id", "both")
	assert (answer[0], answer[2]) == (0, 4) and "without a sheet" in answer[1], answer
	assert answer[1].startswith("proctor: warning: job 'both' refuses: sheet 1 is open already, by process "), answer
	report = json.loads(proctor("report", "both", "--json").stdout)
	assert [(s["status"], s["exit_code"]) for s in report["sheets"]] == [("failed", 4)]


def test_a_job_whose_state_directory_is_gone_is_not_reported_as_ended(proctor, state_dir):
	answer = run_inside(proctor, """
import shutil
while os.path.exists(os.environ["PROCTOR_STATE_DIR"]):  # a recorder that begins a new store meanwhile makes it again
	shutil.rmtree(os.environ["PROCTOR_STATE_DIR"], ignore_errors=True)
mark = subprocess.run([binary, "mark", "x"], capture_output=True, text=True)
print(json.dumps([mark.returncode, mark.stderr]))
""", "--job-id", "bare")
	assert answer == [3, "proctor: job 'bare': no door at %s/jobs/bare/sock: the job has ended, or its state directory was removed\n"
			% state_dir]


def test_a_process_of_a_sheet_is_shown_as_one(proctor):
	found = run_inside(proctor, """
sheet = subprocess.Popen([binary, "sheet", "2", "--", "sh", "-c", "sleep 20 & echo $!; wait"], stdout=subprocess.PIPE, text=True)
pid = int(sheet.stdout.readline())
end = time.monotonic() + 30
mine = []
with Line(sock) as line:
	while not mine and time.monotonic() < end:
		top = line.call("daemon.top")["result"]
		mine = [p for p in (top or {}).get("processes", []) if p["pid"] == pid]
		time.sleep(0.05)
	context = line.call("context.get", pid=pid)["result"]
sheet.terminate()
sheet.wait()
os.kill(pid, 9)
print(json.dumps([mine, context]))
""", "--interval", "0.1", "--job-id", "with-sheet")
	(process,), context = found
	assert (process["job_id"], process["sheet_num"]) == ("with-sheet", 2)
	assert context["rss_mb"] > 0 and context["anomalies_active"] == []


def test_events_show_the_processes_of_the_job(proctor):
	events = run_inside(proctor, """
subprocess.run(["true"])
end = time.monotonic() + 30
seen = []
with Line(sock) as line:
	while "exit" not in [e["event_type"] for e in seen] and time.monotonic() < end:
		seen = line.call("daemon.events", limit=200)["result"]["events"]
		time.sleep(0.05)
print(json.dumps(seen))
""", "--interval", "0.1", "--job-id", "lively")
	assert {"spawn", "exit"} <= {e["event_type"] for e in events}
	assert {e["job_id"] for e in events} == {"lively"}


def test_a_job_in_a_job_has_a_door_of_its_own(proctor):
	ids = run_inside(proctor, """
inner = subprocess.run([binary, "run", "--job-id", "inner", "--", binary, "sheet", "--", "sh", "-c", "echo $PROCTOR_JOB_ID $PROCTOR_SHEET"],
	stdout=subprocess.PIPE, text=True)
with Line(sock) as line:
	print(json.dumps([inner.stdout.split(), line.call("job.list")["result"]["jobs"][0]["sheets"]]))
""", "--job-id", "outer")
	assert ids == [["inner", "1"], []]


def test_many_sheets_side_by_side_get_numbers_of_their_own(proctor):
	numbers = run_inside(proctor, """
sheets = [subprocess.Popen([binary, "sheet", "--", "sh", "-c", "echo $PROCTOR_SHEET"], stdout=subprocess.PIPE, text=True)
	for _ in range(12)]
print(json.dumps([s.communicate()[0].strip() for s in sheets]))
""")
	# On a machine that is far too busy some may find no answer in time, and run without a number.
	found = [int(n) for n in numbers if n]
	assert len(numbers) == 12 and len(set(found)) == len(found) and set(found) <= set(range(1, 13))


def test_marks_and_phases_reach_the_run_log(proctor, tmp_path):
	run_inside(proctor, """
subprocess.run([binary, "mark", "epoch", "n=1", "loss=0.5"], check=True)
subprocess.run([binary, "phase", "load", "rows=7", "--", "sleep", "0.1"], check=True)
print("0")
""", "--out", tmp_path / "out")
	lines = [json.loads(line) for line in (tmp_path / "out/run.jsonl").read_text(encoding="utf-8").splitlines()]
	marks = [line for line in lines if line.get("event") == "epoch"]
	phases = [line for line in lines if line["type"] == "phase"]
	assert [m["data"] for m in marks] == [{"n": 1, "loss": 0.5}]
	assert [p["name"] for p in phases] == ["load"] and 0.1 <= phases[0]["seconds"] < 5


def test_a_state_directory_that_cannot_hold_a_door_costs_the_door_only(proctor, state_dir):
	state_dir.mkdir()
	(state_dir / "jobs").write_text("in the way")
	done = proctor("run", "--", proctor.binary, "sheet", "--", "sh", "-c", "echo ran; exit 5")
	assert (done.returncode, done.stdout) == (5, "ran\n")
	assert "door" in done.stderr


def test_a_plain_user_has_a_door_too(as_nobody):
	done = as_nobody("run", "--job-id", "mine", "--", as_nobody.place / "proctor", "sheet", "3/3", "--", "sh", "-c", "echo $PROCTOR_SHEET")
	assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr
	assert not (as_nobody.state_dir / "jobs/mine").exists()


# Larger by 561 MiB once it is no longer young, so that this is a spike; then it ends, at its largest.
SPIKE = "import os, time; time.sleep(2.5); held = bytearray(561 << 20); time.sleep(0.7); os.kill(os.getpid(), 15)"


def test_the_end_of_a_sheet_describes_its_command(proctor):
	heard = run_inside(proctor, """
with Line(sock) as ear:
	ear.call("bus.subscribe", filter="sheet.")
	sheet = subprocess.Popen([binary, "sheet", "4", "--", "/usr/bin/python3", "-c", %r])
	print(json.dumps([sheet.pid, [ear.read()["params"] for _ in range(2)]]))
	sheet.wait()
""" % SPIKE, "--interval", "0.1")
	pid, (began, ended) = heard
	assert [e["event"] for e in (began, ended)] == ["sheet.started", "sheet.failed"]
	for event in (began, ended):
		assert (event["data"]["sheet_num"], event["data"]["pid"]) == (4, pid)
		assert "context" not in event["data"]
	assert (began["data"]["exit_code"], began["data"]["signal_num"]) == (None, None)
	assert (ended["data"]["exit_code"], ended["data"]["signal_num"]) == (None, 15)
	context = ended["data"]["resource_context"]
	assert 561 <= context["rss_mb"] <= 620 and context["anomalies_active"] == ["memory_spike"], context


def test_a_subscriber_receives_sheets_and_processes_in_order(proctor):
	heard = run_inside(proctor, """
heard = []
with Line(sock) as line:
	line.call("bus.subscribe")
	subprocess.run([binary, "sheet", "1/2", "--label", "prepare", "--", "true"])
	while not {"process.exit", "sheet.completed"} <= {e["event"] for e in heard}:
		heard.append(line.read()["params"])
print(json.dumps(heard))
""")
	assert [e["seq"] - heard[0]["seq"] for e in heard] == list(range(len(heard)))
	sheets = [e for e in heard if e["event"].startswith("sheet.")]
	assert [e["event"] for e in sheets] == ["sheet.started", "sheet.completed"]
	assert sheets[0]["data"]["label"] == "prepare" and "rss_mb" in sheets[0]["data"]["resource_context"]
	assert {e["job_id"] for e in heard} == {sheets[0]["job_id"]}


def test_a_subscriber_may_ask_for_some_and_for_what_is_past(proctor):
	named, late, all_there_is, stray = run_inside(proctor, """
with Line(sock) as line, Line(sock) as other, Line(sock) as third, Line(sock) as fourth, Line(sock) as fifth:
	line.call("bus.subscribe", filter="app.")
	for n in range(3):
		other.call("bus.publish", event="app.epoch", data={"n": n})
		other.call("bus.publish", event="other.thing")
	named = [line.read()["params"] for n in range(3)]
	third.call("bus.subscribe", since_seq=named[1]["seq"], filter="app.")
	late = [third.read()["params"]["seq"] for n in range(2)]
	fourth.call("bus.subscribe", since_seq=0, filter="app.")
	all_there_is = [fourth.read()["params"]["seq"] for n in range(3)]
	fifth.call("bus.subscribe", since_seq=7, filter="app.")
	stray = [fifth.read(), fifth.read()]
print(json.dumps([named, late, all_there_is, stray]))
""")
	assert [event["data"] for event in named] == [{"n": 0}, {"n": 1}, {"n": 2}]
	seqs = [event["seq"] for event in named]
	assert late == seqs[1:] and all_there_is == seqs
	assert stray[0]["method"] == "bus.lagged" and stray[0]["params"]["lost"] is None
	assert stray[1]["params"]["seq"] == seqs[0]


def test_names_of_ours_cannot_be_published_by_others(proctor):
	answer = run_inside(proctor, """
with Line(sock) as line:
	print(json.dumps(line.call("bus.publish", event="process.exit", data={})))
""")
	assert answer["error"]["data"]["code"] == "permission_denied"


def test_the_door_reports_the_pressure_of_the_machine(proctor):
	pressure, admitted = run_inside(proctor, """
end = time.monotonic() + 30
with Line(sock) as line:
	answer = line.call("pressure.get")
	while "error" in answer and time.monotonic() < end:
		time.sleep(0.05)
		answer = line.call("pressure.get")
	print(json.dumps([answer["result"], line.call("admit", what="sheet")["result"]]))
""")
	assert pressure["level"] in ("none", "low", "medium", "high", "critical")
	assert (pressure["reason"] is None) == (pressure["level"] == "none")
	assert admitted["allowed"] == (admitted["pressure_level"] != "critical")


# What runs in a user namespace, where this directory may not be readable.
ASK = """
import json, os, socket
s = socket.socket(socket.AF_UNIX)
s.connect("%s/jobs/%s/sock" % (os.environ["PROCTOR_STATE_DIR"], os.environ["PROCTOR_JOB_ID"]))
lines = s.makefile("rw")
def call(method, **params):
	print(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}), file=lines, flush=True)
	while "id" not in (answer := json.loads(lines.readline())):
		heard.append(answer["params"])
	return answer
heard = []
answers = [call("bus.subscribe", job_id="boxed"), call("job.mark", job_id="boxed", name="ready")]
while not heard:
	heard.append(json.loads(lines.readline())["params"])
print(json.dumps([[("result" in a) or a for a in answers], heard]))
"""


@pytest.mark.tier()  # what there is within
@pytest.mark.parametrize("named", [False, True], ids=["by default", "by id"])
def test_a_job_in_a_user_namespace_is_its_own(as_nobody, named):
	script = ASK if named else ASK.replace('job_id="boxed", ', "").replace('job_id="boxed"', "")
	nobody = pwd.getpwnam("nobody")
	done = subprocess.run(["unshare", "--user", "--map-root-user", as_nobody.place / "proctor", "run", "--job-id", "boxed", "--", "/usr/bin/python3", "-c", script],
			      env={**as_nobody.env, **SANITIZERS}, cwd=as_nobody.place, user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[], text=True,
			      capture_output=True, check=False, timeout=60)
	assert done.returncode == 0, done.stderr
	answered, heard = json.loads(done.stdout)
	assert answered == [True] * 2
	assert len(heard) == 1 and "ready" in json.dumps(heard)
