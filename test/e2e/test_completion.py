# SPDX-License-Identifier: MIT
"""What may stand at the cursor: `proctor complete` itself, and bash, zsh and fish with our scripts, for real."""
import os
import re
import sqlite3
import subprocess
import time

import pytest

from conftest import BINARY, ROOT, clean_environment, wait_for
from terminal import Terminal

SCRIPTS = ROOT / "packaging/completions"
ODD = "odd.job+1@x"  # characters that an id may have beside letters and digits


@pytest.fixture
def jobs(proctor):
	"""Some to complete; the newest last."""
	for job, kind in (("first-1", "align"), (ODD, "sort")):
		assert proctor("run", "-q", "--job-id", job, "--name", kind, "true").returncode == 0
	return proctor


def complete(proctor, *words, **options):
	"""The candidates without their descriptions; what the shell is asked for begins with a colon."""
	done = proctor("complete", "--", *words, **options)
	assert (done.returncode, done.stderr) == (0, "")
	return [":" + line[1:] if line.startswith("\t") else line.split("\t")[0] for line in done.stdout.splitlines()]


def verbs_of(proctor):
	return re.findall(r"^  ([a-z]+) ", proctor("--help").stdout.split("\noptions of")[0], re.M)


def test_verbs_are_those_of_the_help(proctor):
	assert complete(proctor, "") == [*verbs_of(proctor), "help"]
	assert complete(proctor, "st") == ["status"]
	assert complete(proctor, "help", "") == [*verbs_of(proctor), "fields"]
	for words in ([], ["frobnicate", ""], ["help", "ls", ""], ["gpu-helper", ""], ["complete", ""], ["--frobnicate", "r"]):
		assert not set(complete(proctor, *words)) - set(verbs_of(proctor)), words


def test_options_are_those_of_the_help_of_each_verb(proctor):
	for verb in verbs_of(proctor):
		named = re.findall(r"^  (?:-\w,|   ) (--[\w-]+)", proctor(verb, "--help").stdout, re.M)
		assert complete(proctor, verb, "-") == named, verb
		assert not [word for word in complete(proctor, verb, "--", "-") if word.startswith("-")], verb


@pytest.mark.parametrize("words, found", [
	(["--color", "a"], ["auto", "always"]),
	(["--color=n"], ["--color=never"]),
	(["--state-dir", ""], [":dirs"]),
	(["ls", "--outcome", "o"], ["ok", "oom"]),
	(["run", "--tier", ""], ["bpf", "connector", "proc"]),
	(["run", "-o", ""], [":dirs"]),
	(["run", "--mem", ""], []),
	(["run", "--flight-recorder", "x"], [":command 2"]),
	(["export", "--what", "p"], ["processes", "process-samples"]),
	(["export", "-o", ""], [":files"]),
	(["export", "-oab"], [":files"]),
	(["events", "--kind", "exit,oo"], ["exit,oom"]),
	(["events", "--kind=exit,oo"], ["--kind=exit,oom"]),
	(["pressure", "--wait", ""], ["none", "low", "medium", "high", "critical"]),
	(["estimate", "--last-exit", "oom_own"], ["oom_own_limit"]),
	(["trace", ""], [":pids"]),
	(["import", ""], [":files"]),
	(["summary", ""], [":dirs"]),
	(["run", "pyth"], [":command 1"]),
	(["run", "--mem", "8G", "-q", "--", "pyth"], [":command 5"]),
	(["run", "tar", "--help", "-"], [":command 1"]),
	(["sheet", "2/3", "--label", "a b", "ec"], [":command 4"]),
	(["phase", "load", "rows=3", "--", "ec"], [":command 4"]),
	(["phase", ""], []),
	(["mark", ""], []),
])
def test_values_and_words_by_their_kind(proctor, words, found):
	assert complete(proctor, *words) == found


@pytest.mark.tier()
def test_every_choice_that_is_offered_is_accepted(proctor):
	for verb, option in (("backtest", "policy"), ("estimate", "policy"), ("snapshot", "sort"), ("run", "tier"), ("ls", "outcome"), ("ls", "color"),
			     ("export", "format"), ("pressure", "wait"), ("events", "kind"), ("estimate", "last-exit")):
		choices = complete(proctor, verb, "--" + option, "")
		assert choices, (verb, option)
		for choice in choices:
			words = {"run": ["true"], "snapshot": ["-i", "0.05"], "pressure": ["--timeout", "0.1"], "estimate": ["x"], "backtest": ["/nonexistent"]}.get(verb, [])
			done = proctor(verb, "--" + option, choice, *words)
			assert done.returncode not in (2, 125), (verb, option, choice, done.stderr)


def test_jobs_are_offered_newest_first_and_then_types(jobs):
	assert complete(jobs, "report", "") == ["last", ODD, "first-1", "sort", "align"]
	assert complete(jobs, "report", "--json", "fi") == ["first-1"]
	assert complete(jobs, "diff", ODD, "fi") == ["first-1"]
	assert complete(jobs, "ls", "--parent=f") == ["--parent=first-1"]
	assert complete(jobs, "ls", "--type", "") == complete(jobs, "run", "--name", "") == complete(jobs, "estimate", "") == ["sort", "align"]
	assert complete(jobs, "syscalls", "l")[0] == "last" and ":pids" in complete(jobs, "syscalls", "l")
	described = jobs("complete", "--", "report", "fi").stdout
	assert re.fullmatch(r"first-1\talign, .* ago\n", described)


def test_the_store_that_the_command_line_names_is_read(jobs, tmp_path):
	elsewhere = {"PROCTOR_STATE_DIR": str(tmp_path / "nothing")}
	assert complete(jobs, "report", "", env=elsewhere) == []
	for words in (["--state-dir", jobs.state_dir, "report"], ["report", "--state-dir=%s" % jobs.state_dir]):
		assert complete(jobs, *words, "fi", env=elsewhere) == ["first-1"]


def test_as_nobody_one_completes_own_jobs(as_nobody):
	assert as_nobody("run", "-q", "--job-id", "mine", "true").returncode == 0
	assert as_nobody("complete", "--", "report", "mi").stdout.startswith("mine\t")


def test_whatever_is_wrong_it_is_silent(jobs, tmp_path):
	broken = tmp_path / "broken.conf"
	broken.write_text("[nonsense\nx\n", encoding="ascii")
	assert complete(jobs, "--config", broken, "report", "") == []
	(tmp_path / "proctor").mkdir()
	(tmp_path / "proctor/proctor.conf").write_text("[profiler]\ninterval_seconds = soon\n", encoding="ascii")
	assert "first-1" in complete(jobs, "report", "", env={"CONFIGURATION_DIRECTORY": str(tmp_path / "proctor")})
	database = jobs.state_dir / "proctor.db"
	for damage in (b"", b"not a database" * 1000, database.read_bytes()[:5000]):
		place = tmp_path / "damaged"
		place.mkdir(exist_ok=True)
		(place / "proctor.db").write_bytes(damage)
		assert complete(jobs, "report", "", env={"PROCTOR_STATE_DIR": str(place)}) == []
	assert complete(jobs, "report", "", env={"HOME": "relative", "PROCTOR_STATE_DIR": "/proc/nonexistent"}) == []
	assert complete(jobs, "x" * 100000) == complete(jobs, "report", "\x1b[31m\n") == []


def test_ten_thousand_jobs_take_no_longer(jobs):
	with sqlite3.connect(jobs.state_dir / "proctor.db") as db:
		db.executemany("INSERT INTO job (job_id, type, status, started, uid) SELECT ?, type, status, started, uid FROM job WHERE job_id = 'first-1'",
			       [("many-%d" % i,) for i in range(10000)])
	began = time.monotonic()
	found = wait_for(lambda: (lambda names: len(names) >= 100 and names)(complete(jobs, "report", "")))  # it gives up early on a busy machine
	assert len(found) <= 250
	assert time.monotonic() - began < 20  # bounded; bench measures


# ---- shells --------------------------------------------------------------------------------------


@pytest.fixture
def shell_env(jobs, tmp_path):
	"""proctor is in PATH, with a home of its own."""
	binaries = tmp_path / "bin"
	binaries.mkdir()
	(binaries / "proctor").symlink_to(os.path.abspath(BINARY))
	return clean_environment(PATH="%s:%s" % (binaries, os.environ["PATH"]), PROCTOR_STATE_DIR=str(jobs.state_dir), HOME=str(tmp_path),
				 ASAN_OPTIONS="detect_leaks=0", TERM="dumb")


LINES = [  # typed, and what the shell makes of it
	("proctor snaps", "proctor snapshot "),
	("proctor report fir", "proctor report first-1 "),
	("proctor report odd", "proctor report %s " % ODD),
	("proctor report odd.jo", "proctor report %s " % ODD),
	("proctor run --wait-f", "proctor run --wait-for-room "),
	("proctor ls --outcome fa", "proctor ls --outcome failed "),
	("proctor --color=al", "proctor --color=always "),
	("proctor import tab", "proctor import table\\ one.csv "),
	("proctor import --config=tab", "proctor import --config=table\\ one.csv "),
	("proctor summary some-d", "proctor summary some-directory/"),
	("proctor run --mem 8G -- some-co", "proctor run --mem 8G -- some-command "),
]


@pytest.fixture
def place(tmp_path):
	"""A directory with something to complete in it."""
	here = tmp_path / "here"
	(here / "some-directory").mkdir(parents=True)
	(here / "table one.csv").touch()
	command = tmp_path / "bin/some-command"
	command.parent.mkdir(exist_ok=True)
	command.write_text("#!/bin/sh\n", encoding="ascii")
	command.chmod(0o755)
	return here


def type_lines(tty, lines):
	"""What each line is when the shell has completed it; Ctrl-G appends it to a file and empties it."""
	for count, (typed, full) in enumerate(LINES, 1):
		tty.type(typed + "\t\x07")
		found = wait_for(lambda: lines.exists() and len(lines.read_text(encoding="utf-8").splitlines()) == count and lines.read_text(encoding="utf-8"))
		assert found.splitlines()[-1] == full, (typed, tty.seen)


@pytest.mark.parametrize("helpers", [False, True], ids=["alone", "with-bash-completion"])
def test_bash(shell_env, place, tmp_path, helpers):
	lines, rc = tmp_path / "lines", tmp_path / "rc"
	rc.write_text("%s\nsource %s/proctor.bash\nPS1='READY$ '\n"
		      "keep() { printf '%%s\\n' \"$READLINE_LINE\" >>%s; READLINE_LINE= READLINE_POINT=0; }\nbind -x '\"\\C-g\": keep'\n"
		      % ("source /usr/share/bash-completion/bash_completion" if helpers else "", SCRIPTS, lines), encoding="utf-8")
	with Terminal(["bash", "--rcfile", rc, "--noprofile", "-i"], shell_env, cwd=place) as tty:
		tty.expect(r"READY\$ ")
		type_lines(tty, lines)


def test_zsh(shell_env, place, tmp_path):
	lines = tmp_path / "lines"
	(tmp_path / ".zshrc").write_text("fpath=(%s $fpath)\nautoload -Uz compinit\ncompinit -u -D\nPS1='READY$ '\n"
					 "keep() { print -r -- \"$BUFFER\" >>%s; BUFFER= }\nzle -N keep\nbindkey '^G' keep\n" % (SCRIPTS, lines), encoding="utf-8")
	with Terminal(["zsh", "-d", "-i"], {**shell_env, "ZDOTDIR": str(tmp_path)}, cwd=place) as tty:
		tty.expect(r"READY\$ ")
		type_lines(tty, lines)


def test_fish(shell_env, place):
	for typed, full in LINES:
		script = 'source %s/proctor.fish; complete -C "%s"' % (SCRIPTS, typed)
		done = subprocess.run(["fish", "-N", "-c", script], env=shell_env, cwd=place, capture_output=True, text=True, timeout=60, check=False)
		assert done.returncode == 0, done.stderr
		words = [line.split("\t")[0] for line in done.stdout.splitlines()]
		assert full.strip().split(" ", typed.count(" "))[-1].replace("\\", "") in [word.replace("\\", "") for word in words], (typed, done.stdout, done.stderr)
		assert "Unknown" not in done.stderr


def test_a_shell_is_not_disturbed_where_there_is_no_store(shell_env, place):
	env = {**shell_env, "PROCTOR_STATE_DIR": "/nonexistent"}
	with Terminal(["bash", "--norc", "--noprofile", "-i"], env, cwd=place) as tty:
		tty.expect(r"READY\$ ")
		tty.ask("source %s/proctor.bash" % SCRIPTS)
		tty.type("echo x; proctor report fir\t")
		tty.type("\n")
		assert "complete" not in tty.expect(r"(?s)(.*)no store|(?s:.*)READY").group(0)
