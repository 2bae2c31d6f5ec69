# SPDX-License-Identifier: MIT
"""Configuration files: which count, and what is refused how."""
import json
import os
import subprocess

import pytest


@pytest.fixture
def config(tmp_path):
	def write(text, name="proctor.conf"):
		path = tmp_path / name
		path.parent.mkdir(parents=True, exist_ok=True)
		path.write_bytes(text if isinstance(text, bytes) else text.encode())
		return path

	return write


@pytest.mark.parametrize("text, problems", [
	("[profiler]\ninterval_seconds = 0.5\n", ["2: [profiler] interval_seconds: out of range; it must be at least 1"]),
	("[profiler]\ninterval_seconds = nan\n", ["2: [profiler] interval_seconds: 'nan': not a time"]),
	("[profiler]\nintervall_seconds = 5\n", ["2: [profiler] intervall_seconds: unknown key; did you mean interval_seconds?"]),
	("[profilr]\nenabled = 1\n", ["1: [profilr]: unknown section"]),
	("\n\n[profiler]\ngpu_enabled = maybe\nstorage_path = here\n",
	 ["4: [profiler] gpu_enabled: 'maybe': write auto, true or false", "5: [profiler] storage_path: 'here': not an absolute path"]),
	("[limits]\nmax_processes = 99999999999999999999\n", ["2: [limits] max_processes: '99999999999999999999': not a whole number"]),
	("[limits]\nmax_processes\n", ["2: max_processes: no '='"]),
	("[limits]\nmax_processes = 5\nmax_processes = 5\n", ["3: [limits] max_processes: given twice in this file"]),
	(b"[limits]\nmax_processes = \x1b[31m\xff\n", ["2: [limits] max_processes: '\\x1b[31m\\xff': not a whole number"]),
	(b"\x7fELF\0\0", ["1: a NUL byte; this is not a text file"]),
])
@pytest.mark.parametrize("verb", ["snapshot", "doctor"])
def test_a_wrong_file_is_refused_with_line_key_and_reason(proctor, config, verb, text, problems):
	path = config(text)
	done = proctor(verb, "--config", path)
	assert (done.returncode, done.stdout) == (2, "")
	lines = done.stderr.splitlines()
	assert len(lines) == len(problems)
	for line, problem in zip(lines, problems):
		assert line.startswith("proctor: %s:%s" % (path, problem))


def test_many_problems_are_reported_up_to_a_ceiling(proctor, config):
	done = proctor("doctor", "--config", config("[profiler]\n" + "nope = 1\n" * 100))
	assert done.returncode == 2
	assert len(done.stderr.splitlines()) == 21
	assert "80 more" in done.stderr


def test_a_file_that_is_named_must_exist(proctor, tmp_path):
	done = proctor("doctor", "--config", tmp_path / "none.conf")
	assert done.returncode == 2
	assert done.stderr == "proctor: %s/none.conf: open: No such file or directory; name another with --config FILE\n" % tmp_path


def test_a_directory_is_no_file(proctor, tmp_path):
	done = proctor("doctor", "--config", tmp_path)
	assert done.returncode == 2
	assert "Is a directory" in done.stderr


def test_doctor_lists_which_files_were_read(proctor, config, tmp_path):
	config("[limits]\nmax_processes = 100\r\n", "etc/proctor.conf")
	config("[limits]\nmax_processes = 200\n", "etc/conf.d/10.conf")
	config("nonsense", "etc/conf.d/10.conf.bak")
	done = proctor("doctor", env={"CONFIGURATION_DIRECTORY": str(tmp_path / "etc")})
	assert (done.returncode, done.stderr) == (0, "")
	assert "  %s/etc/proctor.conf\n  %s/etc/conf.d/10.conf\n" % (tmp_path, tmp_path) in done.stdout


def test_a_named_file_replaces_all_others(proctor, config, tmp_path):
	config("nonsense", "etc/proctor.conf")
	mine = config("[limits]\nmax_processes = 100\n", "mine.conf")
	done = proctor("doctor", "--config", mine, env={"CONFIGURATION_DIRECTORY": str(tmp_path / "etc")})
	assert (done.returncode, done.stderr) == (0, "")
	assert str(mine) in done.stdout


@pytest.mark.needs_root
def test_root_does_not_follow_a_users_files(proctor, config, tmp_path):
	config("nonsense", "home/.config/proctor/proctor.conf")
	config("nonsense", "xdg/proctor/proctor.conf")
	done = proctor("doctor", env={"HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": str(tmp_path / "xdg")})
	assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.needs_root
def test_a_user_has_private_files(as_nobody):
	path = as_nobody.place / ".config/proctor/proctor.conf"
	path.parent.mkdir(parents=True)
	path.write_text("[limits]\nmax_processes = many\n")
	done = as_nobody("doctor")
	assert done.returncode == 1
	assert "%s:2: [limits] max_processes: 'many': not a whole number" % path in done.stdout
	path.chmod(0o600)
	done = as_nobody("doctor")
	assert done.returncode == 0
	assert done.stderr == "proctor: warning: '%s' cannot be read by this user; it is skipped\n" % path
	assert "not readable by this user: ignored" in done.stdout


def test_a_fifo_among_the_drop_ins_does_not_hang_us(proctor, tmp_path):
	(tmp_path / "conf.d").mkdir()
	os.mkfifo(tmp_path / "conf.d/a.conf")
	done = proctor("doctor", env={"CONFIGURATION_DIRECTORY": str(tmp_path)})
	assert done.returncode == 1
	assert "a.conf: not a regular file" in done.stdout


def test_a_fifo_that_is_named_does_not_hang_us(proctor, tmp_path):
	os.mkfifo(tmp_path / "fifo")
	done = proctor("doctor", "--config", tmp_path / "fifo")
	assert "fifo: read: Connection timed out" in done.stdout + done.stderr
	done = subprocess.run(["bash", "-c", '"$0" doctor --config <(sleep 0.2; printf "[profiler]\\ninterval_seconds = often\\n")', proctor.binary],
			      env=proctor.env, capture_output=True, text=True, timeout=60, check=False)
	assert "interval_seconds: 'often': not a time" in done.stdout + done.stderr


BROKEN = "[profiler]\ninterval_seconds = often\n"
FAULT = "proctor.conf:2: [profiler] interval_seconds: 'often': not a time"


@pytest.mark.parametrize("user", ["root", "nobody"])
def test_a_typo_in_the_machines_file_does_not_stop_verbs_that_only_read(request, user):
	if user == "root":
		run, place = request.getfixturevalue("proctor"), request.getfixturevalue("tmp_path")
	else:
		run = request.getfixturevalue("as_nobody")
		place = run.place
	assert run("run", "--job-id", "one", "true").returncode == 0
	(place / "etc").mkdir()
	(place / "etc/proctor.conf").write_text(BROKEN)
	env = {"CONFIGURATION_DIRECTORY": str(place / "etc")}
	for verb in (["ls"], ["report", "one"], ["events", "one"], ["export", "one", "--format", "csv"], ["diff", "one", "one"], ["pressure"],
		     ["sql", "SELECT count(*) FROM jobs"], ["snapshot", "--interval", "0.05s"]):
		done = run(*verb, env=env)
		assert done.returncode == 0 and done.stdout, (verb, done.stderr)
		assert "warning: " in done.stderr and FAULT in done.stderr and len(done.stderr.splitlines()) == 1, (verb, done.stderr)


def test_doctor_shows_the_fault_in_a_file_it_found(proctor, config, tmp_path):
	config(BROKEN + "nope = 1\n", "etc/proctor.conf")
	env = {"CONFIGURATION_DIRECTORY": str(tmp_path / "etc")}
	done = proctor("doctor", env=env)
	assert (done.returncode, done.stderr) == (1, "")
	assert FAULT in done.stdout and "nope: unknown key" in done.stdout
	report = json.loads(proctor("doctor", "--json", env=env).stdout)
	assert FAULT in report["configuration_problems"][0] and len(report["configuration_problems"]) == 2


def test_recorders_of_the_machine_refuse_a_wrong_file_that_was_found(proctor, config, tmp_path):
	config(BROKEN, "etc/proctor.conf")
	for verb in (["record", "--for", "0.1s"], ["daemon"]):
		done = proctor(*verb, env={"CONFIGURATION_DIRECTORY": str(tmp_path / "etc")})
		assert done.returncode == 2 and FAULT in done.stderr
