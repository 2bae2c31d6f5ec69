# SPDX-License-Identifier: MIT
"""`proctor sql`: questions to the store, by people and programs, and what it refuses."""
import csv
import io
import json
import os
import sqlite3
import subprocess
import time

import pytest

from conftest import Proctor, wait_for

ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"


def stored(proctor):
	"""How many snapshots."""
	done = proctor("sql", "--json", "SELECT count(*) AS n FROM snapshots")
	return json.loads(done.stdout)[0]["n"] if done.returncode == 0 else 0


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
	"""A store with a few snapshots, to be read only."""
	proctor = Proctor(tmp_path_factory.mktemp("recorded") / "state")
	with subprocess.Popen([proctor.binary, "record", "--interval", "0.1"], env=proctor.env, stderr=subprocess.DEVNULL) as recorder:
		try:
			wait_for(lambda: stored(proctor) >= 3)
		finally:
			recorder.terminate()
	assert recorder.returncode == 0
	return proctor


def ask(run, *args, **options):
	"""The answer, however long it takes: on a machine that stalls the default of 5 s may be too short for any query."""
	done = run("sql", "--limit-seconds", "60", *args, **options)
	assert (done.returncode, done.stderr) == (0, ""), done.stderr
	return done.stdout


def test_the_three_formats_hold_the_same(recorded):
	query = "SELECT pid, command, rss_mb, job_id FROM process_metrics WHERE snapshot_id = 2 ORDER BY pid LIMIT 50"
	rows = json.loads(ask(recorded, "--json", query))
	assert len(rows) == 50
	assert list(rows[0]) == ["pid", "command", "rss_mb", "job_id"]
	assert rows[0]["job_id"] is None
	table = list(csv.DictReader(io.StringIO(ask(recorded, "--csv", query))))
	assert [int(row["pid"]) for row in table] == [row["pid"] for row in rows]
	assert [row["command"] for row in table] == [row["command"] for row in rows]
	assert all(row["job_id"] == "" for row in table)
	lines = ask(recorded, query).splitlines()
	assert lines[0].split() == ["pid", "command", "rss_mb", "job_id"]
	assert [int(line.split()[0]) for line in lines[1:]] == [row["pid"] for row in rows]
	assert all(line.split()[-1] == "-" for line in lines[1:])


def test_it_answers_what_sqlite_itself_would(recorded):
	query = "SELECT id, timestamp, load_avg_1, daemon_pid FROM snapshots ORDER BY id"
	with sqlite3.connect("file:%s?mode=ro" % (recorded.state_dir / "proctor.db"), uri=True) as db:
		truth = db.execute(query).fetchall()
	assert [tuple(row.values()) for row in json.loads(ask(recorded, "--json", query))] == truth
	assert len(truth) >= 3


def test_options_may_follow_the_query_and_queries_come_from_stdin(recorded):
	assert json.loads(ask(recorded, "SELECT 7 AS x", "--json")) == [{"x": 7}]
	done = subprocess.run([recorded.binary, "sql", "--json", "-"], env=recorded.env, input="SELECT 1 AS a,\n 2 AS b;\n-- end\n",
			      capture_output=True, text=True, timeout=60, check=False)
	assert (done.returncode, done.stderr) == (0, "")
	assert json.loads(done.stdout) == [{"a": 1, "b": 2}]


def test_odd_values_are_shown_and_safe(recorded):
	query = "SELECT NULL n, '' e, x'00ff' b, 9223372036854775807 i, 0.1 r, char(27) || '[2J' || char(10) t, 'a' || char(0) || 'b' z"
	(row,) = json.loads(ask(recorded, "--json", query))
	assert (row["n"], row["e"], row["b"], row["i"], row["r"], row["t"]) == (None, "", "00ff", 2**63 - 1, 0.1, "\x1b[2J\n")
	text = ask(recorded, query)
	assert "\x1b" not in text and r"\x1b[2J\n" in text
	tricks = "SELECT char(27) || '[2J' || char(155) || 'x' || char(8238) || char(917505) AS \"a" + "\u202e" + "\""
	assert json.loads(ask(recorded, "--json", tricks)) == [{"a\u202e": "\x1b[2J\x9bx\u202e\U000e0001"}]
	assert all(ask(recorded, how, tricks).isascii() and "\x1b" not in ask(recorded, how, tricks) for how in ("--json", "--csv"))
	assert json.loads(ask(recorded, "--json", "SELECT 1 AS a WHERE 0")) == []
	assert ask(recorded, "--csv", "SELECT 1 AS a WHERE 0") == "a\n"


@pytest.mark.parametrize("query, words", [
	("SELECT * FORM snapshots", ['near "FORM"', "at character 10"]),
	("SELECT nope FROM snapshots", ["no such column: nope", "at character 8"]),
	("SELECT * FROM nowhere", ["no such table"]),
	("", ["no statement"]),
	("SELECT 1; SELECT 2", ["one statement"]),
	("DELETE FROM snapshot", ["only reads"]),
	("DROP TABLE snapshot", ["only reads"]),
	("ATTACH '/tmp/x.db' AS x", ["only reads"]),
	("PRAGMA journal_mode=DELETE", ["only reads"]),
	("SELECT load_extension('x')", [""]),
	("SELECT writefile('/tmp/x', 'x')", ["writefile"]),
])
def test_what_is_not_a_question_is_refused(recorded, query, words):
	before = (recorded.state_dir / "proctor.db").read_bytes()
	done = recorded("sql", query)
	assert (done.returncode, done.stdout) == (1, "")
	assert done.stderr.startswith("proctor: ") and done.stderr.count("\n") == 1
	for word in words:
		assert word in done.stderr
	assert (recorded.state_dir / "proctor.db").read_bytes() == before


def test_a_query_ends_when_its_time_is_over(recorded):
	start = time.monotonic()
	done = recorded("sql", "--limit-seconds", "0.3", ENDLESS)
	assert (done.returncode, done.stdout) == (1, "")
	assert done.stderr == "proctor: the query took too long; allow it more time with --limit-seconds S\n"
	assert 0.25 < time.monotonic() - start < 30


def test_a_single_call_of_a_function_ends_when_its_time_is_over(recorded):
	start = time.monotonic()
	done = recorded("sql", "--limit-seconds", "0.3", "SELECT instr(zeroblob(32000000), zeroblob(16000000) || 'x')")
	assert (done.returncode, done.stdout, done.stderr) == (1, "", "proctor: the query took too long; allow it more time with --limit-seconds S\n")
	assert time.monotonic() - start < 30


def test_a_reader_that_waits_does_not_use_up_the_time_of_the_query(recorded):
	"""As `less` does, until its user goes on."""
	many = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 50000) SELECT x, 'row ' || x AS name FROM c"
	with subprocess.Popen([recorded.binary, "sql", "--limit-seconds", "2", "--csv", many], env=recorded.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
			      text=True) as query:
		time.sleep(3)
		answer = query.stdout.read()
		assert (answer.count("\n"), query.stderr.read(), query.wait()) == (50001, "", 0)


@pytest.mark.parametrize("args, word", [
	([], "no query"),
	(["SELECT 1", "SELECT 2"], "in quotes"),
	(["--csv", "--json", "SELECT 1"], "exclude each other"),
	(["--limit-seconds", "0", "SELECT 1"], "above 0"),
])
def test_wrong_usage_is_status_2(proctor, args, word):
	done = proctor("sql", *args)
	assert (done.returncode, done.stdout) == (2, "")
	assert word in done.stderr


def test_without_a_store_it_reports_where_it_searched(proctor, tmp_path):
	done = proctor("sql", "SELECT 1")
	assert (done.returncode, done.stdout) == (3, "")
	assert "no store at '%s/proctor.db'" % proctor.state_dir in done.stderr
	assert not proctor.state_dir.exists()


def test_a_large_answer_flows_and_may_be_cut_off_by_its_reader(recorded):
	many = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 300000) SELECT x, 'row ' || x AS name FROM c"
	assert ask(recorded, "--limit-seconds", "60", "--csv", many).count("\n") == 300001
	done = subprocess.run(["/bin/sh", "-c", '"$0" sql --csv "$1" | head -2', recorded.binary, many], env=recorded.env,
			      capture_output=True, text=True, timeout=60, check=False)
	assert (done.stdout, done.stderr) == ("x,name\n1,row 1\n", "")


def test_a_table_has_a_ceiling_and_reports_it(recorded):
	many = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 1200000) SELECT x FROM c"
	done = recorded("sql", "--limit-seconds", "60", many)
	assert done.returncode == 1
	assert "only the first" in done.stderr and "--csv" in done.stderr


def test_a_file_that_is_not_ours_is_refused_and_left_alone(proctor):
	proctor.state_dir.mkdir()
	path = proctor.state_dir / "proctor.db"
	for content in (os.urandom(8192), b"", b"hello"):
		path.write_bytes(content)
		done = proctor("sql", "SELECT 1")
		assert done.returncode in (1, 3) and done.stdout == ""
		assert str(path) in done.stderr
		assert path.read_bytes() == content


def test_recording_goes_on_while_questions_are_asked(proctor, children):
	children.spawn([proctor.binary, "record", "--interval", "0.1"], env=proctor.env, stderr=subprocess.DEVNULL)
	wait_for(lambda: stored(proctor) >= 2)
	question = children.spawn([proctor.binary, "sql", "--limit-seconds", "60", ENDLESS], env=proctor.env, stderr=subprocess.DEVNULL)
	before = stored(proctor)
	wait_for(lambda: stored(proctor) >= before + 5)
	assert question.poll() is None
