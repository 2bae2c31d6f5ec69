# SPDX-License-Identifier: MIT
"""`proctor run` at a terminal: job control, interrupts, full screens, as if it were not there."""
import os
import signal
import sys
import time

import pytest

from runkit import SIGNALS, children_of, state_of, wait_for
from terminal import COLUMNS, ROWS, Terminal

SHELL = ["bash", "--norc", "--noprofile", "--noediting", "-i"]
SCREEN = """
import curses, sys
def main(w):
    w.addstr(0, 0, "%dx%d" % w.getmaxyx()); w.refresh()
    while True:
        key = w.getch()
        if key == ord("q"): return
        if key == curses.KEY_RESIZE: w.addstr(1, 0, "now %dx%d" % w.getmaxyx()); w.refresh()
curses.wrapper(main)
"""


@pytest.fixture
def shell(run, tmp_path):
	"""An interactive shell in which `p` is `proctor run -q --`."""
	with Terminal(SHELL, run.env, cwd=tmp_path) as tty:
		tty.expect(r"READY\$ ")
		assert tty.ask("alias p='%s -q --'; ulimit -c 0" % " ".join(run.line()[:-1])) == ""
		tty.run = run
		yield tty


def launcher_of(tty):
	"""The job in front, and its command."""
	launcher = wait_for(lambda: children_of(tty.pid, "proctor"))[0]
	command = wait_for(lambda: children_of(launcher))[0]
	return launcher, command


@pytest.mark.parametrize("key,signo", [("\x03", signal.SIGINT), ("\x1c", signal.SIGQUIT)])
def test_keys_that_end_the_command_end_us_alike(shell, key, signo):
	shell.type("p sleep 60\n")
	launcher_of(shell)
	shell.type(key)
	shell.expect(r"READY\$ ")
	assert shell.ask("echo $?") == str(128 + signo)
	assert shell.run.job()["signal_num"] == signo


def test_a_key_is_one_signal(shell):
	shell.type("p %s %d\n" % (SIGNALS, signal.SIGTERM))
	shell.expect("ready")
	launcher, _ = launcher_of(shell)
	for key, signo in (("\x03", signal.SIGINT), ("\x1c", signal.SIGQUIT), ("\x1a", signal.SIGTSTP), ("\x03", signal.SIGINT)):
		shell.type(key)
		shell.expect(r"(?<!\d)%d -?\d+ 0\r\n" % signo)
	shell.resize(30, 90)
	shell.expect(r"(?<!\d)%d -?\d+ 0\r\n" % signal.SIGWINCH)
	os.kill(launcher, signal.SIGTERM)
	assert shell.expect(r"((?s:.*?))%d -?\d+ 0\r\nREADY\$ " % signal.SIGTERM).group(1) == ""


def test_ctrl_z_and_fg_and_bg_work_as_without_us(shell):
	shell.type("p sh -c 'echo here; read x; echo got $x; sleep 60'\n")
	shell.expect("here\r\n")
	launcher, command = launcher_of(shell)
	for _ in range(2):
		shell.type("\x1a")
		shell.expect(r"\[1\]\+  Stopped")
		shell.expect(r"READY\$ ")
		assert (state_of(launcher), state_of(command)) == ("T", "T")
		shell.type("fg\n")
		wait_for(lambda: state_of(launcher) == state_of(command) == "S")
	shell.type("word\n")
	shell.expect("got word\r\n")
	wait_for(lambda: children_of(command, "sleep"))  # a shell that is stopped while it makes one stays half-way, bare too
	shell.type("\x1a")
	shell.expect(r"\[1\]\+  Stopped")
	shell.expect(r"READY\$ ")
	assert shell.ask("bg").endswith("&")
	wait_for(lambda: state_of(launcher) == state_of(command) == "S")
	assert "Running" in shell.ask("jobs")
	shell.type("kill %1; wait %1; echo = $?\n")
	shell.expect("= %d\r\n" % (128 + signal.SIGTERM))


def test_a_background_job_that_reads_stops_until_it_is_in_front(shell):
	shell.type("p cat &\n")
	shell.expect(r"\[1\] \d+")
	launcher, command = launcher_of(shell)
	wait_for(lambda: (state_of(launcher), state_of(command)) == ("T", "T"))
	shell.expect(r"READY\$ ")
	wait_for(lambda: "Stopped" in shell.ask("jobs"))  # the shell continues only processes that it knows to be stopped
	shell.type("fg\n")
	shell.expect("cat\r\n")
	shell.type("line\n\x04")
	shell.expect("line\r\nline\r\n")
	shell.expect(r"READY\$ ")
	assert shell.ask("echo $?") == "0"


def test_modes_of_the_terminal_are_left_alone(shell):
	before = shell.ask("stty -g")
	assert shell.ask("p stty -g") == before
	assert shell.ask("stty -g") == before
	assert shell.ask("p stty -echo; stty -a | grep -o '[-]*echo '") == "-echo"
	shell.type("stty echo\n")


def test_a_full_screen_has_the_size_and_the_keys(shell):
	before = shell.ask("stty -g")
	shell.type("p %s -c '%s'\n" % (sys.executable, SCREEN))
	shell.expect("%dx%d" % (ROWS, COLUMNS))
	_, command = launcher_of(shell)
	wait_for(lambda: state_of(command) == "S")  # ncurses checks for a new size before it waits for a key, not in between
	shell.resize(ROWS + 1, COLUMNS + 1)
	shell.expect("now")
	shell.expect("%dx%d" % (ROWS + 1, COLUMNS + 1))
	wait_for(lambda: state_of(command) == "S")
	shell.type("\x1a")
	shell.expect(r"\[1\]\+  Stopped")
	shell.expect(r"READY\$ ")
	shell.type("fg\n")
	shell.expect(r"\x1b\[\?1049h")  # the screen is its own again
	shell.type("q")
	shell.expect(r"READY\$ ")
	assert shell.ask("stty -g") == before


def test_an_interactive_shell_runs_as_a_command(shell):
	shell.type("p bash --norc --noprofile --noediting -i\n")
	shell.expect(r"READY\$ ")
	shell.type("sleep 60\n")
	wait_for(lambda: any(children_of(pid, "sleep") for pid in children_of(launcher_of(shell)[0])))
	shell.type("\x1a")
	shell.expect(r"\[1\]\+  Stopped")
	shell.type("fg\n")
	wait_for(lambda: any(state_of(sleep) == "S" for pid in children_of(launcher_of(shell)[0]) for sleep in children_of(pid, "sleep")))
	shell.type("\x03")
	shell.expect(r"\^C\r\nREADY\$ ")
	shell.type("exit 7\n")
	shell.expect(r"exit\r\n")
	shell.expect(r"READY\$ ")
	assert shell.ask("echo $?") == "7"
	assert shell.run.job()["exit_code"] == 7


def test_the_end_is_summed_up_on_a_terminal(run, tmp_path):
	with Terminal(run.line("sh", "-c", "echo out; exit 3", options=["--name", "shown"]), run.env, cwd=tmp_path) as tty:
		tty.expect("out\r\n")
		tty.expect("proctor  shown   FAILED .*exit 3")
		tty.expect("proctor why shown-")
		assert tty.wait() == 3


def test_the_sum_at_the_end_can_be_turned_off(run, tmp_path):
	line = " ".join(run.line("echo", "out"))
	with Terminal(["sh", "-c", "PROCTOR_SUMMARY=0 %s; echo over" % line], run.env, cwd=tmp_path) as tty:
		tty.expect("^out\r\nover\r\n")


def hung_up(run, line, out):
	"""The signals that a command got when its terminal went away."""
	with Terminal(["sh", "-c", 'exec "$@" >%s' % out, "sh", *line], run.env) as tty:
		wait_for(lambda: out.exists() and "ready" in out.read_text())
		tty.hang_up()
		wait_for(lambda: all("\n%d " % signo in out.read_text() for signo in (signal.SIGHUP, signal.SIGCONT)))
		os.kill(tty.pid, signal.SIGTERM)
		assert tty.wait() == 0
	return sorted(text.split()[0] for text in out.read_text().splitlines()[1:])


def test_the_end_begins_a_line_also_behind_the_key_that_brought_it(run, tmp_path):
	with Terminal(run.line("sleep", "60", options=["--name", "shown"]), run.env, cwd=tmp_path) as tty:
		wait_for(lambda: children_of(tty.pid))
		time.sleep(0.2)
		tty.type("\x03")
		tty.expect(r"^\^C\r\nproctor  shown   FAILED .*SIGINT")
		assert tty.wait() == -signal.SIGINT


def test_a_terminal_that_goes_away_is_handled_as_without_us(run, tmp_path):
	command = [SIGNALS, int(signal.SIGTERM)]
	bare = hung_up(run, command, tmp_path / "bare")
	assert hung_up(run, run.line(*command), tmp_path / "ours") == bare
