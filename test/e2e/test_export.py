# SPDX-License-Identifier: MIT
"""Series of a job in other programs' formats, compared with the store and with the kernel's counters."""
import csv
import io
import json
import os

import pytest

# Uses CPU in itself and in children, and writes to the disk; its last line is what the kernel counted.
WORK = """
import os, resource, subprocess, sys, time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
path = sys.argv[1]
for i in range(4):
    with open(path, "ab") as f:
        f.write(os.urandom(2 << 20)); f.flush(); os.fsync(f.fileno())
    burn(0.15)
    subprocess.run([sys.executable, "-c", "s = sum(range(3000000))"], check=True)
    time.sleep(0.1)
used = sum(getattr(resource.getrusage(who), part) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN) for part in ("ru_utime", "ru_stime"))
written = [int(line.split()[1]) for line in open("/proc/self/io") if line.startswith("write_bytes")][0]
print(used, written)
"""
SAMPLES = ["timestamp", "processes", "rss_mb", "cpu_percent", "used_mb", "charged_mb", "cpu_seconds"]
PROCESSES = ["pid", "ppid", "uid", "sheet_num", "name", "command", "started_at", "ended_at", "exit_code", "signal_num", "cpu_seconds",
	     "cpu_quality", "peak_rss_mb", "peak_rss_quality", "read_bytes", "read_quality", "written_bytes", "written_quality", "max_cpu_pct",
	     "max_cpu_quality", "started_quality"]
EVENTS = ["timestamp", "event_type", "pid", "sheet_num", "exit_code", "signal_num", "name", "count", "inferred", "details"]


def table(ask, *jobs, what):
	done = ask("export", *jobs, "--format", "csv", "--what", what)
	assert done.returncode == 0, done.stderr
	return list(csv.DictReader(io.StringIO(done.stdout)))


def trace_of(ask, *jobs):
	done = ask("export", *jobs, "--format", "chrome-trace")
	assert done.returncode == 0, done.stderr
	return json.loads(done.stdout)["traceEvents"]


def counters_of(events):
	"""{(pid, name): [(seconds, value), …]} in the order of the file."""
	tracks = {}
	for e in events:
		if e["ph"] == "C":
			(value,) = e["args"].values()
			tracks.setdefault((e["pid"], e["name"]), []).append((e["ts"] / 1e6, value))
	return tracks


def check_series(ask, done):
	"""CPU and I/O over time add up to what the job, and the kernel, counted."""
	assert done.returncode == 0, done.stderr
	used, written = (float(word) for word in done.stdout.split())
	job = json.loads(ask("report", "work", "--json").stdout)["job"]
	total = job["figures"]["cpu_seconds"]
	assert total == pytest.approx(used, rel=0.1, abs=0.05)
	rows = table(ask, "work", what="samples")
	times = [job["started_at"]] + [float(row["timestamp"]) for row in rows]
	assert times == sorted(times)
	spread = sum((b - a) * float(row["cpu_percent"] or 0) / 100 for a, b, row in zip(times, times[1:], rows))
	assert spread == pytest.approx(total, rel=0.01, abs=0.002)
	assert float(rows[-1]["cpu_seconds"]) == pytest.approx(total, rel=1e-6)
	(cores,) = [track for (pid, name), track in counters_of(trace_of(ask, "work")).items() if pid == 1 and name == "CPU (cores)"]
	assert sum((b[0] - a[0]) * a[1] for a, b in zip(cores, cores[1:])) == pytest.approx(total, rel=0.01, abs=0.002)
	assert cores[0][0] == 0 and cores[-1][1] == 0
	series = [int(row["written_bytes"]) for row in rows if row["written_bytes"]]
	assert series == sorted(series) and written <= series[-1] < written + (4 << 20)
	assert series[len(series) // 3] < series[-1]  # it grows with time, and is not there at the end only


def test_the_series_of_a_job_add_up_to_the_kernels_counters(run, tmp_path):
	done = run("/usr/bin/python3", "-c", WORK, tmp_path / "data", options=["--job-id", "work", "--interval", "0.1"])
	check_series(run.proctor, done)


@pytest.mark.needs_root
def test_the_series_of_a_plain_users_job_add_up_too(as_nobody):
	done = as_nobody("run", "--job-id", "work", "--interval", "0.1", "--", "/usr/bin/python3", "-c", WORK, "data")
	check_series(as_nobody, done)


@pytest.mark.needs_root
def test_the_cpu_of_a_plain_users_short_jobs_adds_up(as_nobody):
	"""Their counters lag by clock ticks and by children that were not waited for yet, which shows in the last milliseconds."""
	awk = "awk 'BEGIN { for (i = 0; i < 600000; i++) x += i }'"
	for work in (awk, "seq 8 | xargs -P2 -I{} %s" % awk, "seq 200000 | sort -n | %s" % awk, "for i in 1 2 3; do %s; done" % awk):
		assert as_nobody("run", "--job-id", "brief", "--", "sh", "-c", work).returncode == 0
		job = json.loads(as_nobody("report", "brief", "--json").stdout)["job"]
		rows = table(as_nobody, job["job_id"], what="samples")
		if not rows:  # it was shorter than the first tick
			continue
		times = [job["started_at"]] + [float(row["timestamp"]) for row in rows]
		spread = sum((b - a) * float(row["cpu_percent"] or 0) / 100 for a, b, row in zip(times, times[1:], rows))
		assert spread == pytest.approx(job["figures"]["cpu_seconds"], rel=0.01, abs=0.001), (work, rows)
		assert max(float(row["cpu_percent"] or 0) for row in rows) <= 100 * os.cpu_count()


@pytest.mark.needs_root
def test_one_busy_thread_of_a_plain_user_never_shows_more_than_a_core(as_nobody):
	busy = "import time\nwhile time.process_time() < 0.35: pass"
	for _ in range(6):
		assert as_nobody("run", "--job-id", "one", "--", "/usr/bin/python3", "-c", busy).returncode == 0
		job = json.loads(as_nobody("report", "one", "--json").stdout)["job"]
		rows = table(as_nobody, job["job_id"], what="samples")
		times = [job["started_at"]] + [float(row["timestamp"]) for row in rows]
		spread = sum((b - a) * float(row["cpu_percent"] or 0) / 100 for a, b, row in zip(times, times[1:], rows))
		assert spread == pytest.approx(job["figures"]["cpu_seconds"], rel=0.01), rows
		assert rows and max(float(row["cpu_percent"] or 0) for row in rows) <= 101, rows


@pytest.mark.needs_root
def test_cpu_of_short_children_stands_where_it_was_used_without_a_control_group(as_nobody):
	done = as_nobody("run", "--job-id", "short", "--interval", "0.1", "--", "sh", "-c",
			 "for i in $(seq 80); do awk 'BEGIN { for (i = 0; i < 600000; i++) x += i }'; done")
	assert done.returncode == 0, done.stderr
	rows = table(as_nobody, "short", what="samples")
	total, half = float(rows[-1]["cpu_seconds"]), rows[len(rows) // 2]
	share = float(half["elapsed"]) / float(rows[-1]["elapsed"])
	assert abs(float(half["cpu_seconds"]) / total - share) < 0.3
	assert max(float(row["cpu_percent"] or 0) for row in rows) < 100 * os.cpu_count() + 1


def test_samples_of_processes_are_those_of_the_store(run, tmp_path):
	run("sh", "-c", "/usr/bin/python3 -c '%s' %s; true" % (WORK.replace("'", '"'), tmp_path / "data"), options=["--job-id", "work", "--interval", "0.1"])
	rows = table(run.proctor, "work", what="process-samples")
	stored = run.sql("SELECT s.timestamp, p.pid, p.start_ticks, p.cpu_percent, p.rss_mb, p.threads FROM process_metrics p"
			 " JOIN snapshots s ON s.id = p.snapshot_id WHERE p.job_id = 'work' ORDER BY s.id, p.pid")
	key = lambda row: (round(float(row["timestamp"]), 5), int(row["pid"]), int(row["start_ticks"]))  # pylint: disable=unnecessary-lambda-assignment
	kept = {key(row): row for row in stored}
	assert len(rows) == len(kept) > 10 and {key(row) for row in rows} == set(kept)
	for row in rows:
		for name in ("cpu_percent", "rss_mb", "threads"):
			assert (row[name] == "") == (kept[key(row)][name] is None)
			assert row[name] == "" or float(row[name]) == pytest.approx(kept[key(row)][name], abs=0.01)
	python = [row for row in rows if row["name"].startswith("python")]
	assert any(float(row["pss_mb"] or 0) > 1 for row in python)
	main = [row for row in rows if row["pid"] == python[0]["pid"]]
	assert max(int(row["written_bytes"] or 0) for row in main) >= 4 << 20
	lines = [json.loads(line) for line in run.proctor("export", "work", "--format", "jsonl").stdout.splitlines()]
	assert len([line for line in lines if line["type"] == "process_sample"]) == len(rows)


def test_columns_that_were_there_keep_their_place(run):
	run("sleep", "0.3", options=["--job-id", "one", "--interval", "0.1"])
	for what, before in (("samples", SAMPLES), ("processes", PROCESSES), ("events", EVENTS)):
		head = run.proctor("export", "one", "--format", "csv", "--what", what).stdout.splitlines()[0].split(",")
		assert head[:len(before)] == before and head[-2:] == ["job_id", "elapsed"], what
	for row in table(run.proctor, "one", what="events"):
		assert row["job_id"] == "one" and 0 <= float(row["elapsed"]) < 30


def test_jobs_are_rows_with_all_figures(run):
	run("sleep", "0.1", options=["--job-id", "one", "--name", "kind"])
	run("sh", "-c", "exit 3", options=["--job-id", "two"])
	rows = table(run.proctor, "one", "two", what="jobs")
	assert [(row["job_id"], row["outcome"], row["exit_code"], row["signal_num"]) for row in rows] == [("one", "ok", "0", ""), ("two", "failed", "3", "")]
	assert rows[0]["job_type"] == "kind" and float(rows[0]["duration_seconds"]) >= 0.1
	for row in rows:
		job = json.loads(run.proctor("report", row["job_id"], "--json").stdout)["job"]
		for key, value in job["figures"].items():
			assert (row[key] == "") == (value is None), key
			assert value is None or float(row[key]) == pytest.approx(value, abs=0.001), key
		assert (row["cpu_quality"], row["processes_quality"]) == (job["quality"]["cpu_seconds"], job["quality"]["processes"])
		assert (row["gpus_used"], row["gpus_used_quality"]) == ("", "missing") or "gpus_used" in job["figures"]


def test_several_jobs_stand_in_one_export(run):
	run("sleep", "0.4", options=["--job-id", "one", "--interval", "0.1"])
	run("sleep", "0.4", options=["--job-id", "two", "--interval", "0.1"])
	for what in ("samples", "processes", "events", "process-samples", "jobs"):
		rows = table(run.proctor, "two", "one", "two", what=what)
		ids = [row["job_id"] for row in rows]
		assert set(ids) == {"one", "two"} and ids == sorted(ids, reverse=True), what
		assert len(rows) == len(table(run.proctor, "one", what=what)) + len(table(run.proctor, "two", what=what))
		assert all(float(row["elapsed"]) < 30 for row in rows if row.get("elapsed"))
	lines = [json.loads(line) for line in run.proctor("export", "one", "two", "--format", "jsonl").stdout.splitlines()]
	assert [line["job_id"] for line in lines if line["type"] == "job"] == ["one", "two"]
	assert {line["job_id"] for line in lines} == {"one", "two"}
	events = trace_of(run.proctor, "two", "one")
	jobs = {e["args"]["name"]: e["pid"] for e in events if e["name"] == "process_name" and e["args"]["name"].startswith("job ")}
	assert set(jobs) == {"job one", "job two"} and len(set(jobs.values())) == 2
	first = {name: min(e["ts"] for e in events if e["pid"] == pid and e["ph"] == "X") for name, pid in jobs.items()}
	assert first["job one"] == 0 < 400000 <= first["job two"]
	assert run.proctor("export", "one", "three", "--format", "csv").returncode == 3


def test_jobs_are_selected_as_for_ls(run):
	for job, tag in (("one", "a"), ("two", "b"), ("three", "a")):
		run("sleep", "0.1", options=["--job-id", job, "--name", "kind", "--tag", "team=" + tag])
	run("true", options=["--job-id", "other", "--name", "else"])
	assert [row["job_id"] for row in table(run.proctor, "--type", "kind", what="processes")] == ["one", "two", "three"]
	assert [row["job_id"] for row in table(run.proctor, "--tag", "team=a", what="processes")] == ["one", "three"]
	assert run.proctor("export", "--type", "none", "--format", "csv").returncode == 3
	assert run.proctor("export", "one", "--type", "kind", "--format", "csv").returncode == 2
	assert run.proctor("export", "--outcome", "good", "--format", "csv").returncode == 2


def test_counters_of_a_trace_are_in_the_order_of_time_and_have_names_and_units(run, tmp_path):
	run("/usr/bin/python3", "-c", WORK, tmp_path / "data", options=["--job-id", "work", "--interval", "0.1"])
	events = trace_of(run.proctor, "work")
	named = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
	tracks = counters_of(events)
	assert {pid for pid, _ in tracks} <= set(named)
	for (pid, name), track in tracks.items():
		assert [at for at, _ in track] == sorted(at for at, _ in track), (pid, name)
		assert name == "processes" or name.split("(")[1] in ("MiB)", "cores)", "MiB/s)"), name
		assert all(value >= 0 for _, value in track)
	assert {name for pid, name in tracks if pid == 1} == {
		"memory used (MiB)", "memory charged (MiB)", "CPU (cores)", "I/O read (MiB/s)", "I/O written (MiB/s)", "processes"}
	main = [pid for pid, name in named.items() if name.startswith("python")][0]
	assert {name for pid, name in tracks if pid == main} >= {"CPU (cores)", "RSS (MiB)", "PSS (MiB)", "I/O written (MiB/s)"}
	assert tracks[(main, "RSS (MiB)")][-1][1] == 0  # it ends with its process
