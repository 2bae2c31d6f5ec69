# SPDX-License-Identifier: MIT
"""Versions with an older schema and this one at one store, as while a machine is updated: neither harms the other's jobs, and
nothing that either recorded is lost. The older programs are built by scripts/build-previous."""
import contextlib
import csv
import functools
import io
import json
import os
import pwd
import re
import shutil
import signal
import sqlite3
import subprocess
from pathlib import Path

import pytest

from conftest import BINARY, ROOT, TIMEOUT_S, clean_environment, end_all_of, wait_for

PREVIOUS = Path(os.environ.get("PROCTOR_PREVIOUS_DIR", ROOT / "build-test/previous"))
OLDEST, LATEST = (PREVIOUS / ("schema-%d" % schema) / "proctor" for schema in (4, 9))
VIEWS = ("snapshots", "jobs", "sheets", "job_samples", "process_metrics", "process_events", "recorder_events", "host_metrics")
# A job with all that a job may have: sheets, a mark, a phase, samples, processes, an exit status.
RICH = """%(old)s sheet 1/2 --label fetch -- sh -c 'sleep 0.4; exit 3'
%(old)s mark half lines=7
%(old)s phase build -- sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'
%(old)s sheet 2/2 --label check -- sleep 0.3
exit 5"""

pytestmark = pytest.mark.skipif(not (OLDEST.exists() and LATEST.exists()), reason="NOT RUN: no previous version; `make test-previous` builds it from the history")


class Shared:
	"""A state directory, and both programs as one user."""

	def __init__(self, place, user, previous):
		self.place, self.state, self.old, self.new = place, place / "state", place / "old", place / "new"
		self.user = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
		self.env = clean_environment(PROCTOR_STATE_DIR=str(self.state), HOME=str(place))
		# nobody cannot read the build tree
		for source, target in ((previous, self.old), (BINARY, self.new)):
			shutil.copy2(source, target)
			target.chmod(0o755)
		if user is not None:
			os.chown(place, user.pw_uid, user.pw_gid)

	def __call__(self, program, *args, status=0):
		done = subprocess.run([program, *map(str, args)], env=self.env, cwd=self.place, stdin=subprocess.DEVNULL, capture_output=True,
				      text=True, timeout=TIMEOUT_S, check=False, **self.user)
		assert done.returncode == status, done.stderr
		return done

	def spawn(self, children, program, *args):
		return children.spawn([program, *args], env=self.env, cwd=self.place, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
				      text=True, **self.user)

	def sql(self, program, query):
		return json.loads(self(program, "sql", "--json", query).stdout)

	def ids(self, program):
		return sorted(row["job_id"] for row in self.sql(program, "SELECT job_id FROM jobs"))

	def sql_so_far(self, program, query):
		"""No rows while there is no store that this program can read."""
		done = subprocess.run([program, "sql", "--json", query], env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
				      timeout=TIMEOUT_S, check=False, **self.user)
		return json.loads(done.stdout) if done.returncode == 0 else []

	def has_begun(self, program, job_id):
		return self.sql_so_far(program, "SELECT 1 FROM jobs WHERE job_id = '%s' AND started IS NOT NULL" % job_id) != []

	def pragma(self, name, store="proctor.db"):
		with contextlib.closing(sqlite3.connect("file:%s?mode=ro" % (self.state / store), uri=True)) as db:
			return db.execute("PRAGMA " + name).fetchone()[0]

	@functools.cached_property
	def side(self):
		"""What this version calls its side store."""
		found = list(self.state.glob("side-v*"))
		assert len(found) == 1, found
		return found[0]

	def assert_whole(self):
		assert self.pragma("integrity_check") == "ok"
		assert not list(self.state.glob("*corrupt*")) and not list(self.state.glob("side-v*"))
		assert self.sql(self.new, "SELECT 1 FROM recorder WHERE ended IS NULL") == []


@pytest.fixture(params=["own", "nobody"])
def shared(request, tmp_path):
	if request.param == "nobody" and os.geteuid() != 0:
		pytest.skip("NOT RUN: needs root to become nobody")
	yield from share(tmp_path, OLDEST, pwd.getpwnam("nobody") if request.param == "nobody" else None)


@pytest.fixture
def shared_with_latest(tmp_path):
	"""The older program is the last one of the schema before today's."""
	yield from share(tmp_path, LATEST, None)


def share(tmp_path, previous, user):
	# pytest's own directory is closed to others.
	place = Path("/tmp") / ("proctor-previous-%d-%s" % (os.getpid(), tmp_path.name))
	place.mkdir(mode=0o755)
	yield Shared(place, user, previous)
	end_all_of(place / "state")
	shutil.rmtree(place)


def begin_old_run(shared, children, gate_path):
	os.mkfifo(gate_path)
	os.chmod(gate_path, 0o666)
	live = shared.spawn(children, shared.old, "run", "--job-id", "old-live", "--", "sh", "-c", "read go <'%s'; echo over; exit 4" % gate_path)
	wait_for(lambda: shared.has_begun(shared.old, "old-live"))
	return live


def open_gate(gate_path):
	with open(gate_path, "w", encoding="utf-8") as gate:
		gate.write("go\n")


def test_a_live_older_run_is_left_alone_and_all_jobs_are_listed_after_it(shared, children):
	stay_beside_a_live_run(shared, children)


def test_a_live_run_of_the_version_before_is_left_alone(shared_with_latest, children):
	stay_beside_a_live_run(shared_with_latest, children)


def stay_beside_a_live_run(shared, children):
	gate = shared.place / "gate"
	shared(shared.old, "run", "-q", "--job-id", "old-done", "--", "true")
	before = shared.pragma("user_version")
	live = begin_old_run(shared, children, gate)
	done = shared(shared.new, "run", "--job-id", "new-1", "--", "sh", "-c", "echo mine; exit 3", status=3)
	assert done.stdout == "mine\n"
	assert "is in use by an older proctor" in done.stderr and str(shared.side) in done.stderr
	shared(shared.new, "run", "-q", "--job-id", "old-done", "--", "true")  # an id that the other file has, too
	assert shared.pragma("user_version") == before
	assert shared.ids(shared.old) == shared.ids(shared.new) == ["old-done", "old-live"]
	open_gate(gate)
	assert live.communicate(timeout=TIMEOUT_S) == ("over\n", "")
	assert live.returncode == 4
	assert shared.pragma("user_version") == before
	done = shared(shared.new, "run", "-q", "--job-id", "new-2", "--", "true")
	assert done.stderr == ""
	assert shared.pragma("user_version") > before
	assert shared.ids(shared.new) == ["new-1", "new-2", "old-done", "old-done.2", "old-live"]
	assert {row["job_id"]: row["exit_code"] for row in shared.sql(shared.new, "SELECT job_id, exit_code FROM jobs")} \
		== {"new-1": 3, "new-2": 0, "old-done": 0, "old-done.2": 0, "old-live": 4}
	shared.assert_whole()


def test_a_live_older_recording_is_left_alone_and_imported_beside_ours(shared, children):
	live = shared.spawn(children, shared.old, "record", "--interval", "0.1")
	stored = "SELECT count(*) AS n FROM snapshots"
	wait_for(lambda: any(row["n"] >= 2 for row in shared.sql_so_far(shared.old, stored)))
	before = shared.pragma("user_version")
	shared(shared.new, "run", "--job-id", "new-1", "--", "sleep", "0.2")
	side = shared.sql(shared.new, stored)[0]["n"]
	wait_for(lambda: shared.sql(shared.old, stored)[0]["n"] > side)  # it goes on
	assert shared.pragma("user_version") == before
	live.terminate()
	_, stderr = live.communicate(timeout=TIMEOUT_S)
	assert live.returncode == 0 and "damaged" not in stderr, stderr
	recorded = shared.sql(shared.old, stored)[0]["n"]
	shared(shared.new, "run", "-q", "--job-id", "new-2", "--", "true")
	assert shared.sql(shared.new, "SELECT count(*) AS n FROM host_metrics WHERE recorder = 1")[0]["n"] == recorded
	assert shared.ids(shared.new) == ["new-1", "new-2"]
	shared.assert_whole()


def test_an_older_run_that_has_only_opened_the_store_is_left_alone(shared, children):
	"""It opens the store, and adds its row a moment later. strace makes that moment long enough for us."""
	shared(shared.old, "run", "-q", "--job-id", "first", "--", "true")
	before, trace = shared.pragma("user_version"), shared.place / "trace"
	lock = shared.state / "write.lock"
	# Its third call on the lock is that of its first transaction: after the lock and the unlock around the opening.
	live = shared.spawn(children, "strace", "-f", "-o", trace, "-P", lock, "-e", "trace=fcntl", "-e", "inject=fcntl:delay_enter=3000000:when=3",
			    shared.old, "run", "-q", "--job-id", "late", "--", "true")
	wait_for(lambda: trace.exists() and "F_UNLCK" in trace.read_text(encoding="utf-8"))
	done = shared(shared.new, "run", "--job-id", "new-1", "--", "true")
	assert live.poll() is None and not shared.has_begun(shared.new, "late"), "the moment was over too soon"
	assert "is in use by an older proctor" in done.stderr
	assert shared.pragma("user_version") == before
	assert live.communicate(timeout=TIMEOUT_S) == ("", "")
	assert live.returncode == 0
	shared(shared.new, "run", "-q", "--job-id", "new-2", "--", "true")
	assert shared.ids(shared.new) == ["first", "late", "new-1", "new-2"]
	shared.assert_whole()


def test_an_older_program_runs_its_job_unrecorded_and_leaves_a_newer_store_alone(shared):
	shared(shared.new, "run", "-q", "--job-id", "new-1", "--", "true")
	before = shared(shared.new, "export", "new-1", "--format", "jsonl").stdout
	dump = shared.sql(shared.new, "SELECT * FROM recorder")
	done = shared(shared.old, "run", "--job-id", "old-1", "--", "sh", "-c", "cat; echo out; echo err >&2; exit 7", status=7)
	assert done.stdout == "out\n"
	lines = done.stderr.splitlines()
	assert lines[0] == "err" and len(lines) == 2
	assert "the record of this job is not stored" in lines[1] and "was written by a newer proctor" in lines[1]
	assert "newer proctor" in shared(shared.old, "ls", status=1).stderr
	assert shared(shared.new, "export", "new-1", "--format", "jsonl").stdout == before
	assert shared.sql(shared.new, "SELECT * FROM recorder") == dump
	assert shared.ids(shared.new) == ["new-1"]
	shared.assert_whole()


def without_given_up(value):
	"""Without the figure that no later version has, a sum of resident memory; and an unknown number of sheets is null, not 0."""
	if isinstance(value, dict):
		return {key: without_given_up(member) if key != "total_sheets" else member or None for key, member in value.items()
			if not key.startswith("peak_total_mb")}
	return [without_given_up(member) for member in value] if isinstance(value, list) else value


def rounded(value):
	"""Versions differ in the last digits of numbers that binary fractions cannot hold: 30.1, 30.099999999999998. MiB had three decimals."""
	if isinstance(value, dict):
		return {key: int(member * 1000 + 0.5) / 1000 if key.endswith("_mb") and isinstance(member, float) else rounded(member) for key, member in value.items()}
	if isinstance(value, list):
		return [rounded(member) for member in value]
	if isinstance(value, str) and re.fullmatch(r"-?[0-9]+\.[0-9]+", value):
		value = float(value)
	return round(value, 9) if isinstance(value, float) else value


def without_zero_cpu(record):
	"""A process that used no CPU time was not sampled while it did: later versions show it as missing."""
	if "cpu_seconds" not in record or "pid" not in record or float(record["cpu_seconds"] or 0) > 0:
		return record
	rest = {key: value for key, value in record.items() if key not in ("cpu_seconds", "cpu_quality")}
	return {**rest, "quality": {key: value for key, value in record["quality"].items() if key != "cpu_seconds"}} if "quality" in rest else rest


def exports(shared, program, job_id):
	lines = shared(program, "export", job_id, "--format", "jsonl").stdout.splitlines()
	tables = {what: shared(program, "export", job_id, "--format", "csv", "--what", what).stdout for what in ("processes", "samples", "events")}
	records = [json.loads(line) for line in lines]
	return rounded({"jsonl": [without_zero_cpu(record) for record in records if record["type"] not in ("process_sample", "gpu_sample")],
		**{what: [without_zero_cpu(row) for row in csv.DictReader(io.StringIO(text))] for what, text in tables.items()}})


def without_news(now, before):
	"""Without the keys that the older version did not have."""
	if isinstance(now, dict) and isinstance(before, dict):
		return {key: without_news(value, before[key]) for key, value in now.items() if key in before}
	if isinstance(now, list) and isinstance(before, list) and len(now) == len(before):
		return [without_news(*pair) for pair in zip(now, before)]
	return now


def rows_of(shared, program, columns=None):
	"""All rows of all views, in the columns that the older version has."""
	rows = {}
	for view in VIEWS:
		found = shared.sql(program, "SELECT * FROM %s" % view)
		kept = columns[view] if columns else list(without_given_up(found[0]) if found else [])
		rows[view] = sorted(json.dumps(rounded(without_given_up({name: row[name] for name in kept}))) for row in found)
	return rows


def test_the_store_of_the_older_program_reads_the_same_once_migrated(shared):
	shared(shared.old, "run", "--job-id", "rich", "--name", "rich", "--tag", "team=a", "--interval", "0.1", "--", "sh", "-c",
	       RICH % {"old": shared.old}, status=5)
	shared(shared.old, "run", "--job-id", "plain", "--", "sh", "-c", "true & wait")
	shared(shared.old, "run", "--job-id", "limited", "--time", "0.3", "--grace", "0.1", "--", "sleep", "30", status=-signal.SIGTERM)
	jobs = shared.ids(shared.old)
	old_exports = {job: without_given_up(exports(shared, shared.old, job)) for job in jobs}
	old_rows = rows_of(shared, shared.old)
	assert all(old_rows[view] for view in VIEWS), {view: len(rows) for view, rows in old_rows.items()}
	columns = {view: list(json.loads(rows[0])) for view, rows in old_rows.items()}
	before = shared.pragma("user_version")
	# A reader takes it as it is; a recorder migrates it.
	assert rows_of(shared, shared.new, columns) == old_rows
	assert shared.pragma("user_version") == before
	shared(shared.new, "run", "-q", "--job-id", "new-1", "--", "true")
	assert shared.pragma("user_version") > before
	assert shared.ids(shared.new) == sorted([*jobs, "new-1"])
	for job in jobs:
		assert without_news(exports(shared, shared.new, job), old_exports[job]) == old_exports[job]
	for view, rows in rows_of(shared, shared.new, columns).items():
		assert set(old_rows[view]) <= set(rows), view
	shared.assert_whole()


def test_the_hint_of_a_run_finds_its_record_in_the_side_store(shared, children):
	gate = shared.place / "gate"
	shared(shared.old, "run", "-q", "--job-id", "old-done", "--", "true")
	live = begin_old_run(shared, children, gate)
	done = shared(shared.new, "run", "--summary", "--job-id", "new-1", "--", "true")
	hint = [line.split()[1:] for line in done.stderr.splitlines() if line.split()[:1] == ["more"]]
	assert hint == [["proctor", "report", "new-1", "--state-dir", str(shared.side)]], done.stderr
	assert "until it can be imported" in done.stderr
	assert "new-1" in shared(shared.new, *hint[0][1:]).stdout
	open_gate(gate)
	live.communicate(timeout=TIMEOUT_S)


# What a job has in the store, without the ids of rows, which an import moves.
OF_JOB = (
	"SELECT * FROM jobs WHERE job_id = 'rich'",
	"SELECT * FROM sheets WHERE job_id = 'rich' ORDER BY sheet_num",
	"SELECT timestamp, pid, event_type, exit_code, signal_num, sheet_num, details FROM process_events WHERE job_id = 'rich' ORDER BY timestamp, pid, event_type",
	"SELECT timestamp, event_type, name, details, count, sheet_num FROM recorder_events WHERE job_id = 'rich' ORDER BY timestamp",
	"SELECT p.pid, p.ppid, p.sheet, p.started, p.ended, p.exit_code, p.comm, p.command, p.cpu_time_us FROM process p JOIN job j ON j.id = p.job"
	" WHERE j.job_id = 'rich' ORDER BY p.started, p.pid",
	"SELECT s.timestamp, m.pid, m.rss_mb, m.cpu_percent FROM process_metrics m JOIN snapshots s ON s.id = m.snapshot_id WHERE m.job_id = 'rich'"
	" ORDER BY s.timestamp, m.pid",
)
PATTERN = "INSERT INTO pattern(uid, type, job_type, subject, description, confidence, support, first_seen, last_seen)" \
	" VALUES(0, 'RESOURCE_ANOMALY', 'rich', 'stall', 'it stalls', 0.5, 9, 1, 2)"


def test_what_the_version_before_records_beside_a_newer_store_is_imported_whole(shared_with_latest):
	shared = shared_with_latest
	shared(shared.new, "run", "-q", "--job-id", "new-1", "--", "true")
	newer = shared.pragma("user_version")
	done = shared(shared.old, "run", "--job-id", "rich", "--interval", "0.1", "--", "sh", "-c", RICH % {"old": shared.old}, status=5)
	assert "was written by a newer proctor" in done.stderr and str(shared.side) in done.stderr
	assert shared.pragma("user_version") == newer and shared.side.name == "side-v9"
	assert shared.ids(shared.new) == ["new-1"]
	with contextlib.closing(sqlite3.connect(shared.side / "proctor.db")) as db, db:
		before = [db.execute(query).fetchall() for query in OF_JOB[1:]]
		names = [column[0] for column in db.execute(OF_JOB[0]).description]
		job = db.execute(OF_JOB[0]).fetchone()
		assert all(before) and job
		db.execute(PATTERN)
	shared(shared.new, "run", "-q", "--job-id", "new-2", "--", "true")
	assert shared.ids(shared.new) == ["new-1", "new-2", "rich"]
	now = shared.sql(shared.new, OF_JOB[0])[0]
	assert {name: now[name] for name in names if name != "recorder"} == {name: value for name, value in zip(names, job) if name != "recorder"}
	for query, rows in zip(OF_JOB[1:], before):
		assert [tuple(row.values())[:len(rows[0])] for row in shared.sql(shared.new, query)] == rows, query
	assert [row["description"] for row in shared.sql(shared.new, "SELECT description FROM patterns")] == ["it stalls"]
	shared.assert_whole()
