# SPDX-License-Identifier: MIT
"""What can be asked of a recorded job: ls, report, events, diff, export."""
import contextlib
import csv
import io
import json
import re
import subprocess
import time

import pytest

from conftest import TIERS, Proctor, running_as_nobody, wait_for

FIGURES = {"cpu_seconds", "peak_rss_mb", "peak_used_mb", "read_bytes", "processes", "failed_processes",
	   "leaked_processes", "recorder_cpu_seconds"}
QUALITIES = {"exact", "at_least", "sampled", "missing", "at_most"}


def run_job(proctor, *options, command, status=0):
	done = proctor("run", *options, "--", *command)
	assert done.returncode == status, done.stderr
	return done


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
	"""Three runs of two types, to be read only: one good, one that failed, one of another type that used sheets."""
	proctor = Proctor(tmp_path_factory.mktemp("jobs") / "state")
	run_job(proctor, "--name", "build", "--job-id", "build-one", "--tag", "team=vision", "--tag", "try=1",
		command=["sh", "-c", "/bin/true; /bin/true; sleep 0.1"])
	run_job(proctor, "--name", "build", "--job-id", "build-two", "--tag", "team=audio",
		command=["sh", "-c", "/bin/true; /bin/false; exit 3"], status=3)
	script = ("$P sheet 1/2 -- sh -c 'sleep 0.2'; $P mark half loss=0.4; $P phase load -- sleep 0.1; "
		  "$P sheet 2/2 -- sh -c 'exit 0'")
	run_job(proctor, "--name", "train", "--job-id", "train-one",
		command=["env", "P=" + proctor.binary, "sh", "-c", script])
	return proctor


def as_json(done):
	assert done.returncode == 0, done.stderr
	return json.loads(done.stdout)


def ids(proctor, *args):
	return [job["job_id"] for job in as_json(proctor("ls", "--json", *args))["jobs"]]


# ---- ls ----------------------------------------------------------------------------------------

def test_ls_lists_the_latest_job_first(jobs):
	done = jobs("ls")
	lines = done.stdout.splitlines()
	assert done.returncode == 0
	assert lines[0].split() == ["JOB", "TYPE", "STARTED", "TOOK", "RESULT", "CPU", "USED", "PROCS", "TAGS", "COMMAND"]
	assert [line.split()[0] for line in lines[1:]] == ["train-one", "build-two", "build-one"]
	assert "exit 3" in lines[2] and " ok " in lines[3] and "today" in lines[1]


def test_ls_finds_by_type_tag_outcome_and_time(jobs):
	assert ids(jobs) == ["train-one", "build-two", "build-one"]
	assert ids(jobs, "--type", "build") == ["build-two", "build-one"]
	assert ids(jobs, "--tag", "team") == ["build-two", "build-one"]
	assert ids(jobs, "--tag", "team=vision") == ["build-one"]
	assert ids(jobs, "--tag", "team=none") == []
	assert ids(jobs, "--outcome", "failed") == ["build-two"]
	assert ids(jobs, "--outcome", "ok") == ["train-one", "build-one"]
	assert ids(jobs, "-n", "1") == ["train-one"]
	assert len(ids(jobs, "--since", "10m ago")) == 3
	assert ids(jobs, "--since", "now") == []
	assert ids(jobs, "--until", "yesterday") == []
	middle = as_json(jobs("ls", "--json"))["jobs"][1]["started_at"]
	assert ids(jobs, "--since", "@%.6f" % (middle + 0.001)) == ["train-one"]


def test_ls_prints_all_of_a_job_as_json(jobs):
	listed = as_json(jobs("ls", "--json", "--type", "build"))
	assert listed["schema"] == 1
	job = listed["jobs"][0]
	assert (job["status"], job["outcome"], job["result"]) == ("failed", "failed", "exit 3")
	assert (job["exit_code"], job["signal_num"]) == (3, None)
	assert job["tags"]["team"] == "audio"
	assert job["job_type_given"] is True
	assert job["duration_seconds"] > 0
	assert set(job["quality"]) == set(job["figures"]) >= FIGURES
	assert set(job["quality"].values()) <= QUALITIES
	for key, quality in job["quality"].items():
		assert (job["figures"][key] is None) == (quality == "missing"), key


def test_ls_stats_shows_the_spread_of_each_type(runs):
	figures = [job for job in as_json(runs("ls", "--json"))["jobs"] if job["job_type"] == "spin"]
	spin, = as_json(runs("ls", "--stats", "--json", "--type", "spin"))["types"]
	assert (spin["job_type"], spin["jobs"], spin["failed"], spin["running"], spin["lost"]) == ("spin", 6, 1, 0, 0)
	truth = sorted(job["duration_seconds"] for job in figures)
	assert spin["duration_seconds"]["median"] == pytest.approx((truth[2] + truth[3]) / 2, abs=1e-5)
	assert spin["duration_seconds"]["p95"] == spin["duration_seconds"]["max"] == pytest.approx(truth[5], abs=1e-5)
	assert spin["cpu_seconds"]["max"] == pytest.approx(max(job["figures"]["cpu_seconds"] for job in figures), abs=1e-5)
	used = [job["figures"]["peak_used_mb"] for job in figures]
	assert spin["memory_by_largest_process"] == used.count(None)
	largest = max(job["figures"]["peak_used_mb"] or job["figures"]["peak_rss_mb"] for job in figures)
	assert spin["memory_mb"]["max"] == pytest.approx(largest, abs=0.1) and spin["memory_mb"]["jobs"] == 6
	text = runs("ls", "--stats").stdout.splitlines()
	assert text[0].split() == ["TYPE", "JOBS", "FAILED", "MEDIAN", "P95", "MAX"]
	assert text[1].split()[:4] == ["spin", "6", "1", "time"] and text[2].split()[0] == "CPU" and text[3].split()[0] in ("memory", "largest")


def test_ls_stats_obeys_the_filters(jobs):
	types = lambda *args: {t["job_type"]: (t["jobs"], t["failed"]) for t in as_json(jobs("ls", "--stats", "--json", *args))["types"]}
	assert types() == {"train": (1, 0), "build": (2, 1)}
	assert types("--outcome", "ok") == {"train": (1, 0), "build": (1, 0)}
	assert types("--tag", "team=audio") == {"build": (1, 1)}
	assert types("-n", "2") == {"train": (1, 0), "build": (1, 1)}
	assert types("--since", "now") == {}
	done = jobs("ls", "--stats", "--type", "nothing")
	assert (done.returncode, done.stdout) == (0, "") and "no job of the type 'nothing'" in done.stderr


def test_ls_names_the_store_that_has_no_such_job(jobs):
	done = jobs("ls", "--type", "nothing")
	assert (done.returncode, done.stdout) == (0, "")
	assert str(jobs.state_dir) in done.stderr


@pytest.mark.parametrize("args, word", [
	(["--since", "soon"], "not a time"),
	(["--outcome", "great"], "write ok, failed"),
	(["-n", "0"], "--count"),
	(["train"], "proctor report train"),
])
def test_ls_refuses_what_it_does_not_know(proctor, args, word):
	done = proctor("ls", *args)
	assert done.returncode == 2 and word in done.stderr


def test_a_running_job_is_reported_as_running(proctor, children):
	child = children.spawn([proctor.binary, "run", "--job-id", "long", "--", "sleep", "30"], env=proctor.env,
			       stderr=subprocess.DEVNULL)
	wait_for(lambda: proctor("ls", "--outcome", "running").stdout)
	job = as_json(proctor("ls", "--json", "--outcome", "running"))["jobs"][0]
	assert (job["job_id"], job["result"], job["ended_at"], job["duration_seconds"]) == ("long", "running", None, None)
	report = proctor("report", "long")
	assert report.returncode == 0 and "so far" in report.stdout
	child.kill()
	child.wait(timeout=30)
	wait_for(lambda: ids(proctor, "--outcome", "lost") == ["long"])
	assert "end not recorded" in proctor("ls").stdout


# ---- which job ---------------------------------------------------------------------------------

@pytest.mark.parametrize("verb", [["report"], ["events"], ["export", "--format", "jsonl"], ["diff", "last"]])
def test_a_job_that_does_not_exist_is_reported_with_the_store(jobs, verb):
	name = [*verb, "nosuch"]
	done = jobs(*name)
	assert (done.returncode, done.stdout) == (3, "")
	assert "no job 'nosuch'" in done.stderr and str(jobs.state_dir / "proctor.db") in done.stderr


def test_a_missing_store_is_reported(proctor):
	for verb in (["ls"], ["report"], ["events"], ["diff", "a", "b"], ["export", "--format", "csv"]):
		done = proctor(*verb)
		assert (done.returncode, done.stdout) == (3, ""), verb
		assert "no store at" in done.stderr
	assert not proctor.state_dir.exists()


def test_a_store_without_jobs_is_reported(proctor):
	recorder = proctor("record", "--interval", "1", "--for", "1")
	assert recorder.returncode == 0, recorder.stderr
	done = proctor("report")
	assert done.returncode == 3 and "no job in" in done.stderr


@pytest.mark.parametrize("verb", [["report"], ["events"], ["export", "--format", "jsonl"], ["diff", "last"], ["ls", "--parent"]])
def test_a_name_that_fits_several_is_refused_with_a_list_of_them(jobs, verb):
	done = jobs(*verb, "one")
	assert (done.returncode, done.stdout) == (1, "")
	lines = done.stderr.splitlines()
	assert "'one' could be any of 2 jobs" in lines[0]
	assert [line.split()[0] for line in lines[1:]] == ["JOB", "train-one", "build-one"]
	assert all("today" in line and line.endswith(" ok") for line in lines[2:])


def test_a_long_list_of_what_fits_is_cut(proctor):
	for n in range(12):
		run_job(proctor, "--job-id", "part-%d-x" % n, command=["true"])
	done = proctor("report", "x")
	assert done.returncode == 1 and "any of 12 jobs" in done.stderr
	lines = done.stderr.splitlines()
	assert [line.split()[0] for line in lines[2:12]] == ["part-%d-x" % n for n in range(11, 1, -1)]
	assert lines[12:] == ["  and 2 more"]


def test_jobs_are_found_by_id_type_beginning_and_place(jobs):
	found = lambda name: as_json(jobs("report", name, "--json"))["job_id"]
	assert found("build-one") == "build-one"
	assert found("build") == "build-two"
	assert found("build~1") == "build-one"
	assert found("train-o") == "train-one"
	assert found("tra") == "train-one"
	assert found("bui~1") == "build-one"
	assert found("d-tw") == "build-two"
	assert found("bui…wo") == "build-two"
	assert found("last") == "train-one"
	assert as_json(jobs("report", "--json"))["job_id"] == "train-one"


# ---- report ------------------------------------------------------------------------------------

def test_a_report_has_sheets_marks_and_the_quality_of_each_figure(jobs):
	done = jobs("report", "train")
	assert done.returncode == 0, done.stderr
	for part in ("Totals", "CPU", "Memory", "I/O", "Processes", "Recorder", "Watched by", "Sheets", "Programs",
		     "Most costly processes", "Marks and phases"):
		assert part in done.stdout, part
	totals = done.stdout.split("Totals\n")[1].split("\n\n")[0].splitlines()
	for line in totals:
		if not line.startswith(("  Watched", "  Limits")):
			assert line.endswith(("exact", "at least", "missing", " s")), line
	sheets = done.stdout.split("Sheets\n")[1].split("\n\n")[0].splitlines()[1:]
	assert len(sheets) == 2
	for line in sheets:
		assert re.search(r"B  +(-|~[\d.]+ %|\d+)  ", line), line  # a column without figures is left out
	assert "half" in done.stdout and "load" in done.stdout and '{"loss":0.4}' in done.stdout


def test_a_report_as_json_has_the_keys_of_the_profile(jobs):
	report = as_json(jobs("report", "train", "--json"))
	assert {"schema", "job_id", "peak_rss_mb", "total_cpu_seconds", "process_spawn_count", "unique_pid_count",
		"syscall_hotspots", "sheet_metrics", "quality"} <= set(report)
	assert set(report["sheet_metrics"]) == {"1", "2"}
	assert set(report["sheet_metrics"]["1"]) == {"peak_rss_mb", "max_cpu_pct"}
	assert report["quality"]["total_cpu_seconds"] == report["quality"]["cpu_seconds"]
	assert report["total_cpu_seconds"] == report["job"]["figures"]["cpu_seconds"]
	assert report["process_spawn_count"] == report["job"]["figures"]["processes"]
	assert [sheet["sheet_num"] for sheet in report["sheets"]] == [1, 2]
	assert [mark["name"] for mark in report["marks"]] == ["half", "load"]
	assert report["has_data"] is True


def test_a_report_as_json_has_the_quality_of_each_figure(jobs):
	report = as_json(jobs("report", "train", "--json"))
	quality = report["quality"]
	profile = {"peak_rss_mb", "total_cpu_seconds", "process_spawn_count", "unique_pid_count", "syscall_hotspots"}
	assert profile | {"sheet_metrics"} | set(report["job"]["figures"]) == set(quality)
	assert {quality[key] for key in profile} <= QUALITIES
	assert {num: set(sheet) for num, sheet in quality["sheet_metrics"].items()} == \
		{num: set(sheet) for num, sheet in report["sheet_metrics"].items()}
	assert report["sheets"] and report["programs"] and report["costly_processes"]
	for one in report["sheets"] + report["programs"] + report["costly_processes"]:
		for key in ("cpu_seconds", "peak_rss_mb", "max_cpu_pct", "read_bytes", "written_bytes"):
			assert key not in one or (one[key] is None) == (one["quality"][key] == "missing"), (key, one)
	for one in report["sheets"] + report["costly_processes"]:
		assert one["quality"]["max_cpu_pct"] in ("sampled", "missing")


def test_a_report_names_the_processes_that_failed(jobs):
	done = jobs("report", "build-two")
	assert "FAILED: exit 3" in done.stdout.splitlines()[0]
	notes = as_json(jobs("report", "build-two", "--json"))["notes"]
	assert ("exit 1", "false") in [(n["what"], n["text"]) for n in notes]


@pytest.mark.needs_root
def test_a_kill_in_a_sheet_is_reported_once(proctor, tmp_path):
	run_job(proctor, "--out", tmp_path / "out", command=["sh", "-c", "$0 sheet 2 -- sh -c 'kill -9 $$'; $0 phase x -- sh -c 'kill $$'; true",
							     proctor.binary])
	events = lines_of(proctor("events", "--json", "--kind", "kill,signal"))
	sent = [(e["event_type"], e["process_name"]) for e in events if e["event_type"] == "kill" or e["signal_num"] == 15]
	assert sorted(one for one in sent if not one[1].startswith("proctor")) == [("kill", "sh"), ("signal", "sh")], events
	log = [json.loads(line) for line in (tmp_path / "out/run.jsonl").read_text().splitlines()]
	assert [line["data"]["comm"] for line in log if line.get("event") == "process.kill"] == ["sh"]


@pytest.mark.needs_root
def test_a_report_names_the_killed_process_and_the_sender(proctor):
	run_job(proctor, command=["sh", "-c", "sleep 30 & sleep 0.2; kill -9 $!; wait; exit 0"])
	report = as_json(proctor("report", "--json"))
	killed = [n for n in report["notes"] if n["what"] == "SIGKILL"]
	assert len(killed) == 1 and killed[0]["text"].startswith("to sleep, sent by sh"), report["notes"]
	assert report["job"]["figures"]["signalled_processes"] == 1


def test_a_report_names_what_was_left_behind(proctor):
	run_job(proctor, command=["sh", "-c", "sleep 5 >/dev/null 2>&1 & exit 0"])
	done = proctor("report")
	assert "1 left behind" in done.stdout
	assert "left behind  " in done.stdout and "sleep" in done.stdout


@pytest.mark.parametrize("args", [["ls"], ["ls", "--stats"], ["report", "train"], ["events", "train"], ["diff", "build~1", "build"]])
@pytest.mark.parametrize("columns", [40, 60, 80])
def test_narrow_terminals_get_lines_that_fit(jobs, args, columns):
	done = jobs(*args, env={"COLUMNS": str(columns)})
	assert done.returncode == 0
	assert max(map(len, done.stdout.splitlines())) <= columns, done.stdout


def test_text_from_outside_does_not_speak_to_the_terminal(proctor):
	evil = "evil\x1b]0;x\x07\u009b31m\u202e"
	run_job(proctor, "--job-id", "e1", "--tag", "k=" + evil, command=["sh", "-c", "exit 0", evil])
	for args in (["ls"], ["report"], ["events"], ["diff", "e1", "e1"], ["--color=never", "report"]):
		out = proctor(*args).stdout
		assert not [c for c in out if ord(c) < 32 and c != "\n" or 127 <= ord(c) < 160 or c == "\u202e"], args
	assert as_json(proctor("ls", "--json"))["jobs"][0]["tags"]["k"] == evil


def test_secrets_do_not_reach_any_output(proctor):
	run_job(proctor, command=["sh", "-c", "exit 0", "--password=hunter2secret"])
	for args in (["report"], ["report", "--json"], ["ls", "--json"], ["events"], ["export", "--format", "jsonl"],
		     ["export", "--format", "csv"], ["export", "--format", "chrome-trace"]):
		done = proctor(*args)
		assert done.returncode == 0 and "hunter2secret" not in done.stdout, args


@pytest.mark.parametrize("tier", TIERS)
def test_a_long_command_line_shows_where_it_was_cut(proctor, tier):
	done = proctor("run", "--job-id", "long", "--name", "long", "--tier", tier, "--", "/bin/sh", "-c", "sleep 0.3; exit 0", "x" * 600)
	assert done.returncode == 0, done.stderr
	job = as_json(proctor("ls", "--json"))["jobs"][0]
	assert job["command"].endswith("xxx…") and len(job["command"].encode()) <= 500
	assert "xxx…" in proctor("report").stdout
	processes = [json.loads(line) for line in proctor("export", "--format", "jsonl").stdout.splitlines()]
	assert [p for p in processes if p["type"] == "process" and p["command"].endswith("xxx…")]
	execs = [json.loads(line) for line in proctor("events", "--json", "--kind", "exec").stdout.splitlines()]
	assert not execs or execs[0]["details"].endswith("xxx…")


def test_a_secret_that_was_cut_off_leaves_the_sign_too(proctor):
	run_job(proctor, command=["sh", "-c", "exit 0", "--password=" + "s" * 600, "tail"])
	execs = [json.loads(line) for line in proctor("events", "--json", "--kind", "exec").stdout.splitlines()]
	assert not execs or execs[0]["details"].endswith("…")


def test_all_of_a_mark_is_kept(proctor):
	words = ["%s=%s" % (chr(97 + i), "w " * 1000) for i in range(5)]
	run_job(proctor, command=[proctor.binary, "mark", "big", *words])
	mark = json.loads(proctor("events", "--json", "--kind", "mark").stdout)
	assert {key: len(value.rstrip()) for key, value in json.loads(mark["details"]).items()} == {key: 1999 for key in "abcde"}


# ---- events ------------------------------------------------------------------------------------

def lines_of(done):
	assert done.returncode == 0, done.stderr
	return [json.loads(line) for line in done.stdout.splitlines()]


def test_events_come_in_the_order_of_time(jobs):
	events = lines_of(jobs("events", "train", "--json"))
	times = [e["timestamp"] for e in events]
	assert times == sorted(times)
	assert {"spawn", "exit", "mark", "phase"} <= {e["event_type"] for e in events}
	mark = [e for e in events if e["event_type"] == "mark"][0]
	assert (mark["name"], json.loads(mark["details"])) == ("half", {"loss": 0.4})
	assert all(e["offset_seconds"] > -1 for e in events)
	ended = [e for e in events if e["event_type"] == "exit"]
	assert all(e["process_name"] for e in ended)


def test_events_can_be_chosen_by_kind_and_number(jobs):
	assert {e["event_type"] for e in lines_of(jobs("events", "--json", "--kind", "mark,phase"))} == {"mark", "phase"}
	assert len(lines_of(jobs("events", "--json", "-n", "3"))) == 3
	assert jobs("events", "-n", "3").stdout.count("\n") == 4  # and the head
	bad = jobs("events", "--kind", "mark,nonsense")
	assert bad.returncode == 2 and "'nonsense'" in bad.stderr


# ---- diff --------------------------------------------------------------------------------------

def test_diff_sets_two_jobs_side_by_side(jobs):
	done = jobs("diff", "build~1", "build")
	assert done.returncode == 0
	verdict, blank, head = done.stdout.splitlines()[:3]
	assert verdict.startswith("exit 3 instead of ok; ") and not blank and head.split() == ["build-one", "build-two", "ratio"]
	assert "exit 3" in done.stdout and "false" in done.stdout
	diff = as_json(jobs("diff", "build-one", "build-two", "--json"))
	assert (diff["a"]["job_id"], diff["b"]["outcome"]) == ("build-one", "failed")
	took = diff["figures"]["duration_seconds"]
	assert took["ratio"] == pytest.approx(took["b"] / took["a"], rel=0.01)
	programs = {p["name"]: p["processes"] for p in diff["programs"]}
	assert (programs["false"]["a"], programs["false"]["b"]) == (0, 1)
	for pair in diff["figures"].values():
		if "missing" in pair["quality"]:
			assert pair["ratio"] is None


def test_diff_needs_two_jobs(jobs):
	assert jobs("diff", "build").returncode == 2


SPIN = "import time; end = time.process_time() + float('%s')\nwhile time.process_time() < end: pass"


@pytest.fixture(scope="module", params=["root", "nobody"])
def runs(request, tmp_path_factory):
	"""Four good runs of one type, a failed one, and one that takes much more CPU and memory; to be read only."""
	with contextlib.ExitStack() as stack:
		proctor = Proctor(tmp_path_factory.mktemp("runs") / "state") if request.param == "root" else stack.enter_context(running_as_nobody())
		make_runs(proctor)
		yield proctor


def make_runs(proctor):
	for n, cpu in enumerate(("0.2", "0.3", "0.25", "0.2")):
		run_job(proctor, "--name", "spin", "--job-id", "spin-%d" % n, command=["/usr/bin/python3", "-c", SPIN % cpu])
	run_job(proctor, "--name", "spin", "--job-id", "spin-bad", command=["sh", "-c", "exit 9"], status=9)
	slow = "kept = bytearray(128 << 20)\n" + SPIN % "1.2"
	run_job(proctor, "--name", "spin", "--job-id", "spin-slow", command=["/usr/bin/python3", "-c", slow])


def test_diff_begins_with_a_verdict(runs):
	cpu = as_json(runs("diff", "spin-0", "spin-slow", "--json"))["figures"]["cpu_seconds"]["quality"] == ["exact", "exact"]
	verdict = runs("diff", "spin-0", "spin-slow").stdout.splitlines()[0]
	assert re.match(r"\d.*× slower; .*\d× more %smemory" % ("CPU.*; .*× more " if cpu else ""), verdict), verdict
	verdict = runs("diff", "spin-slow", "spin-0").stdout.splitlines()[0]
	assert re.match(r"\d.*× faster; .*\d× less %smemory" % ("CPU.*; .*× less " if cpu else ""), verdict), verdict
	same = runs("diff", "spin-0", "spin-0")
	assert same.stdout.splitlines()[0].endswith(" unchanged")
	assert not [line for line in same.stdout.splitlines() if line.split()[1:] in (["0", "0", "same"], ["-", "-", "-"])]
	assert as_json(runs("diff", "spin-slow", "spin-0", "--json"))["verdict"] == verdict


def test_diff_compares_with_the_median_of_recent_runs(runs):
	done = runs("diff", "spin-slow", "--against", "3")
	assert done.returncode == 0, done.stderr
	lines = done.stdout.splitlines()
	assert "slower" in lines[0] and lines[1] == "compared with the median of 3 successful runs of spin"
	assert lines[3].split() == ["median", "of", "3", "spin-slow", "ratio"]
	diff = as_json(runs("diff", "--against", "10", "--json"))  # the last job, by default
	assert (diff["median_of"], diff["a"]["job_id"], diff["b"]["job_id"]) == (4, None, "spin-slow")
	single = lambda job: as_json(runs("report", job, "--json"))["job"]
	used = sorted(single("spin-%d" % n)["figures"]["cpu_seconds"] for n in range(4))
	assert diff["figures"]["cpu_seconds"]["a"] == pytest.approx((used[1] + used[2]) / 2, abs=1e-5)
	took = sorted(single("spin-%d" % n)["duration_seconds"] for n in range(4))
	assert diff["figures"]["duration_seconds"]["a"] == pytest.approx((took[1] + took[2]) / 2, abs=1e-5)
	assert "there are no more" in runs("diff", "--against", "10").stdout
	assert as_json(runs("diff", "spin-0", "--against", "100", "--json"))["median_of"] == 4  # itself is not among them


def test_diff_against_nothing_is_an_error(jobs):
	done = jobs("diff", "train", "--against", "5")
	assert (done.returncode, done.stdout) == (3, "") and "no other successful run of 'train'" in done.stderr
	for args in (["--against", "0"], ["--against", "101"], ["--against", "x"], ["a", "b", "--against", "3"]):
		assert jobs("diff", *args).returncode == 2, args


@pytest.mark.parametrize("conditions, status, reasons", [
	(["cpu>1.5x"], 1, ["failed: cpu>1.5x (CPU "]),
	(["cpu>100x"], 0, []),
	(["cpu>+50%", "time<0.5x", "memory>2x"], 1, ["failed: cpu>+50% (CPU ", "failed: memory>2x (memory used "]),
	(["cpu>100x,time>1s,procs>5"], 1, ["failed: time>1s (time "]),
	(["memory > 100M", "largest process<10M"], 1, ["failed: memory > 100M (memory used "]),
	(["procs>50", "time>1h"], 0, []),
])
def test_diff_ends_with_a_status_for_ci(runs, conditions, status, reasons):
	for form in (["spin-0", "spin-slow"], ["spin-slow", "--against", "4"]):
		options = [word for condition in conditions for word in ("--fail-if", condition)]
		done = runs("diff", *form, *options)
		assert done.returncode == status, (done.stdout, done.stderr)
		lines = done.stderr.splitlines()
		assert len(lines) == len(reasons) and all(words in line for words, line in zip(reasons, lines)), done.stderr
		assert "slower" in done.stdout.splitlines()[0]
		answer = runs("diff", *form, *options, "--json")
		assert answer.returncode == status
		assert [c["condition"] for c in json.loads(answer.stdout)["conditions"] if c["met"] is not False] == [line.split("failed: ")[1].split(" (")[0] for line in lines]


def test_a_condition_that_cannot_be_decided_fails(proctor, children):
	run_job(proctor, "--job-id", "done", command=["true"])
	child = children.spawn([proctor.binary, "run", "--job-id", "long", "--", "sleep", "30"], env=proctor.env, stderr=subprocess.DEVNULL)
	wait_for(lambda: proctor("ls", "--outcome", "running").stdout)
	done = proctor("diff", "done", "long", "--fail-if", "time>100x")
	assert done.returncode == 1 and "failed: time>100x (time is not known of long)" in done.stderr
	child.kill()


@pytest.mark.parametrize("condition, word", [
	("cpu", "write cpu>1.2x"), ("speed>1.2x", "'speed' is no figure; write time, cpu"), ("cpu>20%", "write +20%"),
	("cpu>10", "write 10s"), ("memory>500", "write 500M"), ("cpu>1x,", "no > or <"), ("", "no > or <"),
])
def test_a_condition_that_is_wrong_is_refused_with_a_remedy(jobs, condition, word):
	done = jobs("diff", "build~1", "build", "--fail-if", condition)
	assert (done.returncode, done.stdout) == (2, "") and "--fail-if" in done.stderr and word in done.stderr


# ---- export ------------------------------------------------------------------------------------

def test_jsonl_holds_everything_typed(jobs):
	records = lines_of(jobs("export", "train", "--format", "jsonl"))
	types = [r["type"] for r in records]
	assert types[0] == "job" and types.count("job") == 1 and types.count("sheet") == 2
	assert set(types) == {"job", "sheet", "process", "event", "sample", "process_sample"}
	assert types.count("process") == records[0]["figures"]["processes"]
	assert all(r["job_id"] == "train-one" for r in records)


def test_csv_has_a_table_of_each_kind(jobs):
	tables = {}
	for what in ("processes", "samples", "events"):
		done = jobs("export", "train", "--format", "csv", "--what", what)
		assert done.returncode == 0, done.stderr
		tables[what] = list(csv.DictReader(io.StringIO(done.stdout)))
		assert tables[what], what
	assert {row["cpu_quality"] for row in tables["processes"]} <= QUALITIES
	for row in tables["processes"]:
		assert row["max_cpu_quality"] == ("sampled" if row["max_cpu_pct"] else "missing")
	assert "sleep" in {row["name"] for row in tables["processes"]}
	assert jobs("export", "train", "--format", "csv").stdout.startswith("pid,ppid,")


def overlaps(slices):
	"""Slices of one track must nest or follow each other."""
	open_ends = []
	for start, end in sorted(slices, key=lambda s: (s[0], -s[1])):
		while open_ends and open_ends[-1] <= start:
			open_ends.pop()
		if open_ends and end > open_ends[-1]:
			return True
		open_ends.append(end)
	return False


def test_a_chrome_trace_keeps_the_rules_of_its_viewers(jobs):
	trace = as_json(jobs("export", "train", "--format", "chrome-trace"))
	events = trace["traceEvents"]
	assert trace["displayTimeUnit"] == "ms" and trace["otherData"]["job_id"] == "train-one"
	for e in events:
		assert e["ph"] in "MXCi" and isinstance(e["name"], str)
		assert isinstance(e["pid"], int) and isinstance(e["tid"], int)
		if e["ph"] != "M":
			assert e["ts"] >= 0
		if e["ph"] == "C":
			assert all(isinstance(v, (int, float)) for v in e["args"].values())
		if e["ph"] == "i":
			assert e["s"] in ("t", "p", "g")
	tracks = {}
	for e in events:
		if e["ph"] == "X":
			assert e["dur"] >= 0
			tracks.setdefault((e["pid"], e["tid"]), []).append((e["ts"], e["ts"] + e["dur"]))
	assert not [track for track, slices in tracks.items() if overlaps(slices)]
	named = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
	assert set(tracks) <= named
	assert [e["args"]["name"] for e in events if e["name"] == "process_name"][0] == "job train-one"
	cats = {e.get("cat") for e in events}
	assert {"process", "sheet", "phase", "mark"} <= cats
	assert {"memory used (MiB)", "CPU (cores)"} <= {e["name"] for e in events if e["ph"] == "C"}
	process = [e for e in events if e.get("cat") == "process" and e["name"] == "sleep"][0]
	assert {"command", "ppid", "exit_code", "cpu_seconds", "peak_rss_mb"} <= set(process["args"])


def test_export_writes_a_file_and_reports_what_it_cannot(jobs, tmp_path):
	target = tmp_path / "trace.json"
	done = jobs("export", "--format", "chrome-trace", "-o", target)
	assert (done.returncode, done.stdout) == (0, "")
	assert json.loads(target.read_text())["traceEvents"]
	done = jobs("export", "--format", "csv", "-o", tmp_path / "no/such/dir")
	assert done.returncode == 1 and "no/such/dir" in done.stderr
	for args in (["--format", "xml"], [], ["--format", "csv", "--what", "all"], ["--format", "jsonl", "--what", "events"]):
		assert jobs("export", *args).returncode == 2, args


def test_a_reader_that_has_seen_enough_ends_the_export_quietly(jobs):
	done = subprocess.run("'%s' export train --format jsonl | head -c 10" % jobs.binary, shell=True, env=jobs.env, text=True,
			      capture_output=True, timeout=60, check=False)
	assert (done.stdout, done.stderr) == ('{"type":"j', "")


# ---- people ------------------------------------------------------------------------------------

@pytest.mark.needs_root
def test_a_plain_user_reads_what_it_recorded(as_nobody):
	done = as_nobody("run", "--name", "mine", "--", "sh", "-c", "/bin/true; exit 3")
	assert done.returncode == 3, done.stderr
	report = as_json(as_nobody("report", "mine", "--json"))
	assert report["user"] == "nobody" and report["result"] == "exit 3"
	assert as_nobody("report").returncode == 0
	assert "mine" in as_nobody("ls").stdout


def test_answers_come_at_once(jobs):
	begin = time.monotonic()
	for args in (["ls"], ["report"], ["events"], ["diff", "build~1", "build"]):
		assert jobs(*args).returncode == 0
	assert time.monotonic() - begin < 20
