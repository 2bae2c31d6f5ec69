# SPDX-License-Identifier: MIT
"""What holds for every verb: colours, JSON, and that an error ends in what to do next."""
import json
import re

import pytest

from conftest import Proctor

ESCAPE = "\x1b["


@pytest.fixture(scope="module")
def place(tmp_path_factory):
	return tmp_path_factory.mktemp("verbs")


@pytest.fixture(scope="module")
def recorded(place):
	"""A job that went well, and one that failed."""
	proctor = Proctor(place / "state")
	assert proctor("run", "-q", "--job-id", "good", "--name", "kind", "--out", place / "folder", "--", "sh", "-c", "sleep 0.2").returncode == 0
	assert proctor("run", "-q", "--job-id", "bad", "--name", "kind", "--", "sh", "-c", "exit 3").returncode == 3
	return proctor


@pytest.fixture(scope="module")
def stage(place):
	"""A call of each verb that prints something."""
	runs = place / "runs.csv"
	runs.write_text("job_type,started_at,duration_seconds,peak_used_mb\n" + "".join("t,%d,10,100\n" % (1700000000 + 60 * i) for i in range(9)), encoding="ascii")
	return {
		"ls": ["ls"], "report": ["report", "bad"], "why": ["why", "bad"], "events": ["events", "bad"], "diff": ["diff", "good", "bad"],
		"summary": ["summary", place / "folder"], "sql": ["sql", "SELECT job_id FROM jobs"], "rm": ["rm", "--dry-run", "bad"], "insights": ["insights"],
		"import": ["import", runs], "estimate": ["estimate", "t"], "backtest": ["backtest", runs], "snapshot": ["snapshot", "-i", "0.05"],
		"status": ["status", "--socket", "/nonexistent/socket"], "pressure": ["pressure"], "doctor": ["doctor"], "top": ["top", "--once", "--own", "-i", "0.1", "--width", "100", "--height", "30"], "syscalls": ["syscalls", "bad"],
	}


def verbs_of(proctor):
	return [verb for group in json.loads(proctor("describe").stdout)["groups"] for verb in group["verbs"]]


def test_json_is_one_document_with_a_schema_and_never_coloured(recorded, stage):
	proctor = recorded
	with_json = {verb["name"] for verb in verbs_of(proctor) if not verb["instead_of_json"]}
	assert with_json == set(stage)
	for name, call in stage.items():
		done = proctor(*call, "--json", "--color=always", env={"CLICOLOR_FORCE": "1"})
		if name == "syscalls":  # they were not counted
			assert (done.returncode, done.stdout) == (3, ""), done.stdout
			continue
		assert done.returncode in (0, 1, 4), (name, done.stderr)
		assert ESCAPE not in done.stdout, name
		documents = [json.loads(line) for line in done.stdout.splitlines()] if name == "events" else [json.loads(done.stdout)]
		assert documents, name
		for document in documents:
			assert name == "sql" or document["schema"] == 1, name


def test_verbs_without_json_name_what_to_use(proctor):
	for verb in verbs_of(proctor):
		if verb["instead_of_json"]:
			done = proctor(verb["name"], "--json")
			assert done.returncode in (2, 125) and verb["instead_of_json"] in done.stderr, verb["name"]


def test_colours_are_asked_for_and_refused_alike(recorded, stage):
	proctor = recorded
	for name, call in stage.items():
		always = proctor(*call, "--color=always").stdout
		forced = proctor(*call, env={"CLICOLOR_FORCE": "1"}).stdout
		assert (ESCAPE in always) == (ESCAPE in forced), name
		for env, options in (({}, []), ({"NO_COLOR": "1"}, []), ({"CLICOLOR_FORCE": "1"}, ["--color=never"]), ({"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, [])):
			assert ESCAPE not in proctor(*call, *options, env=env).stdout, (name, env, options)
	coloured = [name for name, call in stage.items() if ESCAPE in proctor(*call, "--color=always").stdout]
	assert {"ls", "report", "why", "diff", "snapshot", "doctor"} <= set(coloured)


def test_a_wrong_color_is_refused_by_every_verb(proctor):
	for verb in verbs_of(proctor):
		done = proctor(verb["name"], "--color", "sometimes", "x")
		assert done.returncode in (2, 125) and "write auto, always or never" in done.stderr, verb["name"]


NEXT = re.compile(r"see: |add --|proctor [a-z]+|--help|--[a-z-]+ (DIR|FILE)|write \w|name a|choose |check its |list them: |start one: |man proctor|did you mean|absolute path|what there is: |try fewer|chmod|is written")


@pytest.mark.parametrize("status, args", [
	(3, ["report", "nosuch"]), (3, ["why", "nosuch"]), (3, ["events", "nosuch"]), (3, ["diff", "nosuch", "bad"]), (3, ["export", "nosuch", "--format", "csv"]),
	(3, ["rm", "nosuch"]), (3, ["syscalls", "nosuch"]), (3, ["syscalls", "4194303"]), (3, ["trace", "4194303"]), (3, ["estimate", "nosuch"]),
	(0, ["ls", "--type", "nosuch"]), (0, ["ls", "--tag", "no=such"]), (0, ["rm", "--type", "nosuch"]), (3, ["export", "--type", "nosuch", "--format", "csv"]),
	(1, ["sql", "SELEC"]), (1, ["sql", "SELECT * FROM nosuch"]), (1, ["sql", "SELECT nosuch FROM jobs"]), (1, ["sql", "DELETE FROM jobs"]),
	(3, ["import", "/nonexistent"]), (1, ["import", "/etc"]), (1, ["import", "/etc/passwd"]), (3, ["backtest", "/nonexistent"]), (1, ["backtest", "/etc/passwd"]),
	(3, ["summary", "/nonexistent"]), (1, ["summary", "/etc"]), (4, ["status", "--socket", "/nonexistent"]), (4, ["pressure", "--socket", "/nonexistent"]),
	(3, ["mark", "x"]), (127, ["run", "-q", "/nonexistent"]), (127, ["run", "-q", "nosuchcommand"]), (126, ["run", "-q", "/etc/passwd"]), (125, ["run", "--pid", "4194303"]),
	(1, ["daemon", "--socket", "relative"]), (1, ["record", "--state-dir", "/proc/x", "--for", "1"]), (1, ["export", "--format", "csv", "-o", "/nonexistent/x"]),
	(2, ["--config", "/nonexistent", "ls"]), (2, ["--config", "/etc/hostname", "record"]), (2, ["ls", "--outcome", "nosuch"]), (2, ["snapshot", "--sort", "nosuch"]),
	(2, ["report", "--nosuch"]), (2, ["nosuch"]), (2, ["pressure", "--wait", "nosuch"]), (2, ["estimate"]), (2, ["diff"]), (2, ["sql"]), (2, ["trace"]),
	(125, ["run"]), (125, ["run", "--mem", "soon", "true"]), (2, ["mark"]), (2, ["events", "--kind", "nosuch"]),
	(3, ["top", "--once", "--job", "absent"]), (4, ["top", "--once", "--socket", "/nonexistent"]), (3, ["top", "--once", "--history", "1ms"]), (2, ["top"]), (2, ["top", "--interval", "0"]),
], ids=lambda value: " ".join(value) if isinstance(value, list) else None)
def test_an_error_ends_in_what_to_do_next(recorded, status, args):
	done = recorded(*args)
	assert (done.returncode, done.stdout) == (status, ""), done.stderr
	assert NEXT.search(done.stderr.splitlines()[-1]), done.stderr


def test_without_a_store_every_reader_explains_how_to_begin(proctor):
	for args in (["ls"], ["report"], ["why"], ["events"], ["diff", "a", "b"], ["export", "--format", "csv"], ["rm", "a"], ["insights"], ["sql", "SELECT 1"]):
		done = proctor(*args, env={"HOME": "/nonexistent"})
		assert done.returncode == 3 and re.search(r"--state-dir /|proctor run -- COMMAND", done.stderr.splitlines()[-1]), (args, done.stderr)
