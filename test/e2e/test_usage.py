# SPDX-License-Identifier: MIT
"""The command line itself: help, version, wrong usage, where output goes, colours."""
import json
import os
import pty
import re
import subprocess

import pytest

from conftest import BINARY

VERBS = [verb["name"] for group in json.loads(subprocess.run([BINARY, "describe"], stdout=subprocess.PIPE, check=True).stdout)["groups"] for verb in group["verbs"]]


def one_line(text):
	return text.count("\n") == 1 and text.endswith("\n")


def test_help_goes_to_stdout_and_is_a_success(proctor):
	for args in (["--help"], ["-h"], ["help"]):
		done = proctor(*args)
		assert (done.returncode, done.stderr) == (0, "")
		assert done.stdout.startswith("proctor: ")
		for verb in VERBS:
			assert re.search(r"^  %s +\w" % verb, done.stdout, re.M)


def test_help_about_what_there_is_not_is_wrong_usage(proctor):
	for word, hint in (("reprt", "did you mean 'report'?"), ("frobnicate", "is not a verb"), ("complete", "is not a verb"), ("gpu-helper", "is not a verb")):
		done = proctor("help", word)
		assert (done.returncode, done.stdout) == (2, "") and one_line(done.stderr) and hint in done.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(proctor, verb):
	done = proctor(verb, "--help")
	assert (done.returncode, done.stderr) == (0, "")
	assert done.stdout.startswith("proctor %s: " % verb)
	assert "usage: proctor %s" % verb in done.stdout
	assert "--state-dir DIR" in done.stdout
	assert max(map(len, done.stdout.splitlines())) <= 80
	options, _, end = done.stdout.split("options:\n")[1].partition("\n\n")
	assert {len(re.match(r"  (-\w,|   ) --[\w-]+( \S+)? +| {26}", line)[0]) for line in options.splitlines()} == {26}
	assert re.fullmatch(r"example: .*proctor %s\b.*\nmore: man proctor-%s\n" % (verb, verb), end)
	assert proctor("help", verb).stdout == done.stdout


def test_version_names_what_was_built_in(proctor):
	done = proctor("--version")
	assert (done.returncode, done.stderr) == (0, "")
	assert re.match(r"proctor \d+\.\d+\.\d+\n", done.stdout)
	assert re.search(r"BPF (yes|no), SQLite 3\.", done.stdout)


def test_version_is_there_for_programs_too(proctor):
	answer = json.loads(proctor("--version", "--json").stdout)
	assert answer["schema"] == 1 and isinstance(answer["bpf"], bool)
	assert re.fullmatch(r"\d+\.\d+\.\d+.*", answer["version"]) and answer["sqlite_version"].startswith("3.")
	assert json.loads(proctor("--json", "--version").stdout) == answer


def test_help_lists_which_verbs_know_no_json(proctor):
	line = re.search(r"^ +--json (.*\n(?: {26}.*\n)*)", proctor("--help").stdout, re.M)[1]
	for verb in VERBS:
		refuses = "      --json" not in proctor(verb, "--help").stdout.split("options:")[1]
		assert (re.search(r"\b%s\b" % verb, line) is not None) == refuses


def test_without_a_verb_it_lists_the_verbs_in_groups_as_wrong_usage(proctor):
	done = proctor()
	assert (done.returncode, done.stdout) == (2, "")
	groups = re.findall(r"^(\S.*):\n((?:  \S.*\n)+)", done.stderr, re.M)
	assert [title for title, _ in groups] == ["run and record", "look back", "learn", "live", "inside a job", "the machine"]
	listed = [line.split()[0] for _, lines in groups for line in lines.splitlines()]
	assert sorted(listed) == sorted(VERBS)
	assert "proctor help VERB" in done.stderr
	assert max(map(len, done.stderr.splitlines())) <= 80


def letters_of(proctor, verb):
	"""The short options of a verb: letter, long name, and what the value is called."""
	return re.findall(r"^  -(\w), --([\w-]+)(?: ([A-Z][\w=…,\[\]]*))?  ", proctor(verb, "--help").stdout, re.M)


SAME = {"top": "count", "out": "output"}  # two names for one meaning: how many are shown, where it is written


def test_a_short_option_means_the_same_in_every_verb(proctor):
	meanings = {}
	for verb in VERBS:
		for letter, name, value in letters_of(proctor, verb):
			meanings.setdefault(letter, {}).setdefault((SAME.get(name, name), bool(value)), []).append(verb)
	assert set(meanings) >= set("hinoqtw")
	assert {letter: found for letter, found in meanings.items() if len(found) > 1} == {}


def test_short_options_can_be_joined_and_values_attached(proctor):
	for args in (["-an5", "-i0.05"], ["-a", "-n", "5", "-i", "0.05"], ["--all", "--top=5", "--interval", "50ms"]):
		done = proctor("snapshot", "--json", *args)
		assert done.returncode == 0, done.stderr
	done = proctor("run", "-qw", "--", "echo", "-qw", "--help")
	assert (done.returncode, done.stdout, done.stderr) == (0, "-qw --help\n", "")
	done = proctor("run", "-qtk=v", "echo", "-n", "--", "-x")
	assert (done.returncode, done.stdout, done.stderr) == (0, "-- -x", "")


@pytest.mark.parametrize("args, words", [
	(["snapsht"], ["'snapsht'", "did you mean 'snapshot'"]),
	(["frobnicate"], ["'frobnicate' is not a verb", "proctor --help"]),
	(["evil\x1b[31m\nverb"], ["evil\\x1b[31m\\nverb"]),
	(["--frobnicate"], ["--frobnicate"]),
	(["snapshot", "--intervall", "1"], ["--intervall", "did you mean --interval?", "proctor snapshot --help"]),
	(["snapshot", "--interval"], ["--interval needs a value"]),
	(["snapshot", "--interval", "99999999999999d"], ["--interval '99999999999999d' is too large"]),
	(["sheet", "1000001", "true"], ["'1000001'", "the highest is 1000000"]),
	(["sheet", "4/3", "true"], ["'4/3'", "it is larger than the total"]),
	(["snapshot", "--interval", "soon"], ["'soon'", "not a time", "1h30m or 1:30:00"]),
	(["snapshot", "-ax"], ["unknown option '-x' in '-ax'"]),
	(["export", "-f", "csv"], ["unknown option '-f'", "did you mean --format?"]),
	(["snapshot", "--interval", "0"], ["0.05s to 1h"]),
	(["snapshot", "--interval", "2h"], ["0.05s to 1h"]),
	(["snapshot", "--sort", "name"], ["'name'", "share, cpu, rss or pid"]),
	(["snapshot", "--top", "-1"], ["'-1'", "not a whole number"]),
	(["snapshot", "--json=yes"], ["--json takes no value"]),
	(["export", "--json"], ["--json is not for this verb", "--format jsonl"]),
	(["sheet", "--json", "true"], ["--json is not for this verb", "report --json"]),
	(["events", "--kind", "exit,bogus"], ["'bogus' is none of", "spawn, exit, signal", "clock_step", "anomaly"]),
	(["ls", "--state-dir", ""], ["--state-dir is empty"]),
	(["snapshot", "extra"], ["takes options only"]),
	(["snapshot", "--color", "sometimes"], ["auto, always or never"]),
	(["doctor", "--", "--json"], ["takes options only"]),
])
def test_wrong_usage_is_status_2_with_one_line_and_one_hint(proctor, args, words):
	done = proctor(*args)
	assert (done.returncode, done.stdout) == (2, "")
	assert one_line(done.stderr) and done.stderr.startswith("proctor: ")
	for word in words:
		assert word in done.stderr
	assert "--help" in done.stderr


def test_a_limit_that_is_too_large_is_called_so(proctor):
	for option, value in (("--mem", "999999999999G"), ("--time", "99999999999999d")):
		done = proctor("run", option, value, "true")
		assert done.returncode == 125 and "%s '%s' is too large" % (option, value) in done.stderr


def test_two_dashes_are_the_value_of_an_option_that_needs_one_and_end_nothing(proctor):
	assert proctor("run", "-q", "true").returncode == 0
	done = proctor("ls", "--type", "--", "--json")
	assert done.returncode == 0, done.stderr
	assert json.loads(done.stdout)["jobs"] == []
	done = proctor("ls", "--type", "--", "--", "--json")
	assert done.returncode == 2 and "takes options only" in done.stderr


def test_common_options_may_stand_before_and_behind_the_verb(proctor):
	for args in (["--json", "snapshot", "-i", "0.05"], ["snapshot", "-i0.05", "--json"], ["snapshot", "--interval=0.05", "--json"]):
		done = proctor(*args)
		assert done.returncode == 0, done.stderr
		assert done.stdout.startswith("{")


def run_into_closed_pipe(proctor, *args):
	"""Starts it with a stdout that nobody reads."""
	reader, writer = os.pipe()
	os.close(reader)
	try:
		return subprocess.run([proctor.binary, *args], env=proctor.env, stdout=writer, stderr=subprocess.PIPE,
				      stdin=subprocess.DEVNULL, timeout=60, check=False, text=True)
	finally:
		os.close(writer)


@pytest.mark.parametrize("args", [["--help"], ["snapshot", "--all"], ["snapshot", "--json"], ["doctor"]])
def test_a_closed_pipe_is_status_1_without_a_word(proctor, args):
	done = run_into_closed_pipe(proctor, *args)
	assert (done.returncode, done.stderr) == (1, "")


def test_head_takes_what_it_wants(proctor):
	done = subprocess.run(["/bin/bash", "-c", "\"$0\" snapshot --all | head -1", proctor.binary], env=proctor.env,
			      capture_output=True, text=True, timeout=60, check=False)
	assert (done.returncode, done.stderr) == (0, "")
	assert one_line(done.stdout)


def test_a_full_disk_behind_stdout_is_reported(proctor):
	with open("/dev/full", "w", encoding="ascii") as full:
		done = subprocess.run([proctor.binary, "--help"], env=proctor.env, stdout=full, stderr=subprocess.PIPE, timeout=60,
				      check=False, text=True)
	assert done.returncode == 1
	assert done.stderr == "proctor: write to stdout: No space left on device\n"


def test_closed_standard_files_are_not_mistaken_for_others(proctor):
	script = '"$0" snapshot --json <&- >&-'
	done = subprocess.run(["/bin/sh", "-c", script, proctor.binary], env=proctor.env, stderr=subprocess.PIPE, text=True, timeout=60,
			      check=False)
	assert (done.returncode, done.stderr) == (1, "proctor: write to stdout: Bad file descriptor\n")
	done = subprocess.run(["/bin/sh", "-c", '"$0" snapshot --json <&- 2>&-', proctor.binary], env=proctor.env, stdout=subprocess.PIPE,
			      text=True, timeout=60, check=False)
	assert done.returncode == 0 and done.stdout.startswith("{")


def test_a_word_of_any_length_is_no_harm(proctor):
	for args in (["x" * 100000], ["snapshot", "--" + "x" * 100000], ["snapshot", "--sort", "x" * 100000], ["--config", "x" * 100000, "doctor"]):
		done = proctor(*args)
		assert (done.returncode, done.stdout) == (2, "")
		assert one_line(done.stderr) and len(done.stderr) < 1000


def run_on_terminal(proctor, *args, env=None):
	"""What it prints to a terminal of 80 columns."""
	leader, follower = pty.openpty()
	subprocess.run(["stty", "cols", "80", "rows", "24"], stdin=follower, check=True)
	base = {k: v for k, v in proctor.env.items() if k not in ("NO_COLOR", "CLICOLOR_FORCE", "COLUMNS")}
	child = subprocess.Popen([proctor.binary, *args], env={**base, "TERM": "xterm-256color", **(env or {})},
				 stdin=subprocess.DEVNULL, stdout=follower, stderr=subprocess.PIPE)
	os.close(follower)
	output = b""
	try:
		while chunk := os.read(leader, 65536):
			output += chunk
	except OSError:  # the terminal's way to report that no writer is left
		pass
	os.close(leader)
	assert child.wait(timeout=60) == 0, child.stderr.read()
	child.stderr.close()
	return output.decode()


def test_a_terminal_gets_colours_and_lines_that_fit(proctor):
	text = run_on_terminal(proctor, "snapshot")
	assert "\x1b[" in text
	plain = re.sub(r"\x1b\[\d*m", "", text)
	assert "\x1b" not in plain
	assert max(len(line.rstrip("\r")) for line in plain.split("\n")) <= 80


@pytest.mark.parametrize("env, args, colours", [
	({"NO_COLOR": "1"}, [], False),
	({"NO_COLOR": ""}, [], True),
	({"TERM": "dumb"}, [], False),
	({"NO_COLOR": "1"}, ["--color=always"], True),
	({}, ["--color=never"], False),
])
def test_colours_on_a_terminal_can_be_refused(proctor, env, args, colours):
	assert ("\x1b[" in run_on_terminal(proctor, "doctor", *args, env=env)) == colours


def test_a_pipe_gets_no_colours_unless_it_is_asked_for(proctor):
	assert "\x1b" not in proctor("doctor").stdout
	assert "\x1b[" in proctor("doctor", env={"CLICOLOR_FORCE": "1"}).stdout
	assert "\x1b[" in proctor("doctor", "--color", "always").stdout
	assert "\x1b" not in proctor("doctor", "--json", "--color", "always").stdout


@pytest.mark.parametrize("columns", [70, 80, 140])
def test_tables_in_a_pipe_are_as_wide_as_columns_demands(proctor, columns):
	assert proctor("run", "--job-id", "wide", "--", "sh", "-c", ": %s; sh -c 'exit 3'; exit 0" % ("word " * 60)).returncode == 0
	for args in (["ls"], ["report", "wide"], ["events", "wide"], ["diff", "wide", "wide"], ["snapshot"], ["sql", "SELECT * FROM jobs"]):
		lines = proctor(*args, env={"COLUMNS": str(columns)}).stdout.splitlines()
		assert max(map(len, lines)) <= columns, args
		assert max(map(len, proctor(*args, env={"COLUMNS": "0"}).stdout.splitlines())) >= max(map(len, lines))
	done = proctor("run", "--summary", "true", env={"COLUMNS": str(columns)})
	assert max(map(len, done.stderr.splitlines())) <= columns
