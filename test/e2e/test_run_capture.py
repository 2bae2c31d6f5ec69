# SPDX-License-Identifier: MIT
"""`run --capture`: stdout and stderr are also in the run folder, and the command does not notice."""
import hashlib
import os
import shlex
import signal
import subprocess
import sys

import pytest

from conftest import TIERS
from runkit import wait_for
from terminal import Terminal

BOTH = "echo out; echo err >&2"


@pytest.fixture
def captured(run, tmp_path):
	"""Runs a shell script with --capture; returns what came through and what the folder has."""
	folder = tmp_path / "folder"

	def go(*command, options=(), **more):
		done = run(*command, options=["--out", folder, "--capture", *options], **more)
		return done, (folder / "stdout.log").read_bytes(), (folder / "stderr.log").read_bytes()

	go.folder = folder
	return go


def test_both_streams_are_in_the_folder_and_pass_through(captured):
	done, out, err = captured("sh", "-c", BOTH)
	assert (done.returncode, done.stdout, done.stderr) == (0, "out\n", "err\n")
	assert (out, err) == (b"out\n", b"err\n")


def test_a_plain_user_captures_too(as_nobody):
	folder = as_nobody.place / "folder"
	done = as_nobody("run", "--out", str(folder), "--capture", "--", "sh", "-c", BOTH)
	assert (done.returncode, done.stdout, done.stderr) == (0, "out\n", "err\n")
	assert ((folder / "stdout.log").read_text(), (folder / "stderr.log").read_text()) == ("out\n", "err\n")


def test_capture_needs_a_folder(run):
	done = run("echo", "out", options=["--capture"])
	assert (done.returncode, done.stdout) == (125, "") and "--capture needs --out DIR" in done.stderr


def test_status_and_partial_lines_are_kept(captured):
	done, out, err = captured("sh", "-c", "printf half; printf other >&2; exit 7")
	assert (done.returncode, done.stdout, done.stderr) == (7, "half", "other")
	assert (out, err) == (b"half", b"other")


def test_a_command_that_cannot_be_run_leaves_empty_logs(captured):
	done, out, err = captured("/no/such/program")
	assert done.returncode == 127 and (out, err) == (b"", b"")


def test_a_hundred_megabytes_of_binary_data_arrive_byte_by_byte(run, tmp_path):
	program = "import os, sys; data = os.urandom(1 << 20); [sys.stdout.buffer.write(data) for _ in range(100)]"
	copy = tmp_path / "copy"
	with open(copy, "wb") as out:
		done = run(sys.executable, "-c", program, options=["--out", tmp_path / "folder", "--capture"], stdout=out)
	assert done.returncode == 0
	digests = {hashlib.sha256(path.read_bytes()).hexdigest() for path in (copy, tmp_path / "folder/stdout.log")}
	assert len(digests) == 1 and copy.stat().st_size == 100 << 20


def test_a_second_run_keeps_the_logs_of_the_first(captured):
	captured("echo", "first")
	_, out, _ = captured("echo", "second")
	assert out == b"second\n" and (captured.folder / "run.1/stdout.log").read_bytes() == b"first\n"


def test_a_reader_that_leaves_ends_the_command_as_without_us(run, tmp_path):
	line = " ".join(run.line("yes", options=["--out", tmp_path / "folder", "--capture"]))
	done = run.bare("bash", "-c", line + " | head -1; echo ${PIPESTATUS[0]}")
	assert done.stdout == "y\n%d\n" % (128 + signal.SIGPIPE)


def test_a_background_process_with_the_output_does_not_hold_up_the_end(run, tmp_path, children):
	fifo = tmp_path / "go"
	os.mkfifo(fifo)
	script = "echo first; (read line < %s; echo last; echo end >&2) & exit 3" % fifo
	first = children.spawn(run.line("sh", "-c", script, options=["--out", tmp_path / "folder", "--capture"]), env=run.env,
			       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
	assert first.wait(timeout=20) == 3
	log = tmp_path / "folder/stdout.log"
	assert log.read_text() == "first\n"
	fifo.write_text("go\n")
	assert first.communicate(timeout=20) == ("first\nlast\n", "end\n")  # its reader sees the end when the last writer has gone
	assert log.read_text() == "first\nlast\n" and (tmp_path / "folder/stderr.log").read_text() == "end\n"


def test_a_background_process_that_never_stops_writing_does_not_hold_up_the_end(run, tmp_path, children):
	done = children.spawn(run.line("sh", "-c", "yes & echo $! >&2; sleep 0.2", options=["--out", tmp_path / "folder", "--capture"]), env=run.env,
			      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
	pid = int(done.stderr.readline())
	try:
		assert done.wait(timeout=20) == 0
	finally:
		os.kill(pid, signal.SIGKILL)


def test_a_command_outlives_its_killed_recorder_with_its_output(run, tmp_path, children):
	fifo = tmp_path / "go"
	os.mkfifo(fifo)
	script = "echo first; read line < %s; echo last; echo $? > %s/status" % (fifo, tmp_path)
	recorder = children.spawn(run.line("sh", "-c", script, options=["--out", tmp_path / "folder", "--capture"]), env=run.env,
				  stdout=subprocess.PIPE, text=True)
	assert recorder.stdout.readline() == "first\n"
	recorder.kill()
	recorder.wait(timeout=20)
	fifo.write_text("go\n")
	assert recorder.stdout.read() == "last\n"
	wait_for(lambda: (tmp_path / "status").exists())
	assert (tmp_path / "status").read_text() == "0\n"
	assert (tmp_path / "folder/stdout.log").read_text() == "first\nlast\n"


def test_a_full_disk_costs_the_end_of_the_log_and_not_the_command(run, tmp_path):
	place = tmp_path / "small"
	place.mkdir()
	line = run.line("sh", "-c", "head -c 3000000 /dev/zero; echo done >&2", options=["--out", place / "folder", "--capture"])
	script = 'mount -t tmpfs -o size=1m none "$0" && "$@" | wc -c; stat -c %s "$0/folder/stdout.log"'
	done = run.bare("unshare", "-m", "sh", "-c", script, place, *line)
	sent, kept = map(int, done.stdout.split())
	assert sent == 3000000 and 0 < kept < 1 << 20
	assert "done\n" in done.stderr and "folder/stdout.log' lacks the last %d bytes: No space left on device" % (sent - kept) in done.stderr


def test_one_slow_reader_does_not_hold_up_the_other_stream(run, tmp_path, children):
	script = "(head -c 300000 /dev/zero) & sleep 0.1; echo now >&2; wait"
	job = children.spawn(run.line("sh", "-c", script, options=["--out", tmp_path / "folder", "--capture"]), env=run.env,
			     stdout=subprocess.PIPE, stderr=subprocess.PIPE)
	assert job.stderr.readline() == b"now\n"  # while nobody reads stdout
	assert len(job.stdout.read()) == 300000 and job.wait(timeout=20) == 0


def test_closed_streams_stay_closed(run, tmp_path):
	line = run.line("sh", "-c", "echo out; echo $? > %s/status" % tmp_path, options=["--out", tmp_path / "folder", "--capture"])
	run.bare("sh", "-c", '"$@" >&-', "sh", *line)
	assert (tmp_path / "status").read_text() != "0\n"


# Writes to both in turn, without waiting.
TURNS = "import os\nfor i in range(500): os.write(1, b'out %d\\n' % i); os.write(2, b'err %d\\n' % i)"


def test_streams_that_go_to_one_place_keep_their_order(run, tmp_path):
	done = run(sys.executable, "-c", TURNS, options=["--out", tmp_path / "folder", "--capture"], stderr=subprocess.STDOUT)
	wanted = "".join("out %d\nerr %d\n" % (i, i) for i in range(500))
	assert done.stdout == wanted
	logs = [tmp_path / "folder" / name for name in ("stdout.log", "stderr.log")]
	assert logs[0].read_text() == wanted and logs[0].samefile(logs[1])


def test_streams_that_go_to_one_file_keep_their_order_and_two_files_stay_two(run, tmp_path):
	line = " ".join(map(shlex.quote, run.line(sys.executable, "-c", TURNS, options=["--out", "folder", "--capture"])))
	run.bare("sh", "-c", line + " > both 2>&1", cwd=tmp_path)
	assert (tmp_path / "both").read_bytes() == (tmp_path / "folder/stderr.log").read_bytes()
	assert (tmp_path / "both").read_text() == "".join("out %d\nerr %d\n" % (i, i) for i in range(500))
	for ends in ("> one 2> two", "> /dev/null 2> /dev/null"):
		run.bare("sh", "-c", line + " " + ends, cwd=tmp_path)
		assert (tmp_path / "folder/stdout.log").read_text().count("out") == (tmp_path / "folder/stderr.log").read_text().count("err") == 500
		assert "err" not in (tmp_path / "folder/stdout.log").read_text()


@pytest.mark.parametrize("tier", TIERS)
def test_its_helpers_are_not_part_of_the_job(run, tmp_path, tier):
	assert run("sh", "-c", "sleep 0.3; true", options=["--out", tmp_path / "folder", "--capture", "--tier", tier]).returncode == 0
	assert (run.job()["processes"], run.job()["leaked_processes"]) == (2, 0)


# ---- on a terminal -----------------------------------------------------------------------------


@pytest.fixture
def shell(run, tmp_path):
	"""A shell on a terminal, in which `p` runs with --capture."""
	with Terminal(["bash", "--norc", "--noprofile", "--noediting", "-i"], run.env, cwd=tmp_path) as tty:
		tty.expect(r"READY\$ ")
		assert tty.ask("alias p='%s run -q --out folder --capture --'" % run.proctor.binary) == ""
		yield tty


def test_a_terminal_stays_one_and_passes_bytes_as_they_are(shell, tmp_path):
	assert shell.ask("p sh -c 'test -t 0 && test -t 1 && test -t 2 && echo yes; echo no >&2'") == "yes\r\nno"
	assert (tmp_path / "folder/stdout.log").read_bytes() == b"yes\nno\n"
	assert (tmp_path / "folder/stderr.log").samefile(tmp_path / "folder/stdout.log")


def test_only_the_stream_that_is_a_terminal_stays_one(shell, tmp_path):
	assert shell.ask("p sh -c 'test -t 1; echo $? >&2' > file") == "1"
	assert (tmp_path / "folder/stderr.log").read_bytes() == b"1\n" and (tmp_path / "folder/stdout.log").read_bytes() == b""
	assert shell.ask("p sh -c 'test -t 2; echo $?' 2> file") == "1"


def test_the_window_has_the_size_of_the_real_one_also_when_that_changes(shell):
	program = "import os, signal, time\nsize = lambda *_: os.write(1, b'size %d %d\\n' % os.get_terminal_size(1))\n" \
		"signal.signal(signal.SIGWINCH, size); size()\nwhile True: time.sleep(1)"
	shell.type("p %s -c \"%s\"\n" % (sys.executable, program))
	shell.expect("size 80 24")
	shell.resize(30, 100)
	shell.expect("size 100 30")
	shell.type("\x03")
	shell.expect(r"READY\$ ")


def test_keys_end_stop_and_continue_it(shell, tmp_path):
	shell.type("p sh -c 'echo began; exec sleep 60'\n")  # ^Z during a vfork of the shell would stop its child alone
	shell.expect("began\r\n")
	shell.type("\x1a")
	shell.expect("Stopped")
	shell.expect(r"READY\$ ")
	shell.type("fg\n")
	shell.expect("sleep 60")
	wait_for(lambda: os.tcgetpgrp(shell.fd) != shell.pid)  # bash shows the line first
	shell.type("\x03")
	shell.expect(r"READY\$ ")
	assert shell.ask("echo $?") == str(128 + signal.SIGINT)
	assert (tmp_path / "folder/stdout.log").read_bytes() == b"began\n"


def test_a_large_output_on_a_terminal_is_whole(shell, tmp_path):
	shell.type("p seq 1 20000; echo ended\n")
	shell.expect("20000\r\n", seconds=60)
	shell.expect("ended\r\n")
	assert (tmp_path / "folder/stdout.log").read_text() == "".join("%d\n" % i for i in range(1, 20001))
