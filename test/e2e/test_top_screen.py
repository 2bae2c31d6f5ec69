# SPDX-License-Identifier: MIT
"""The screen of proctor top in a real terminal: keys in, screen out, by tmux."""
import os
import re
import shlex
import signal
import subprocess

import pytest

from conftest import wait_for
from daemonkit import cold, daemon  # noqa: F401  pylint: disable=unused-import

SHELL = "PS1=ready: exec sh"


class Screen:
	"""A tmux server of its own with one window; it ends with the test, by its pid."""

	def __init__(self, place, env, width, height):
		self.socket, self.env = str(place / "tmux.sock"), env
		self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height), "sh", "-c", SHELL)
		self.server = int(self.tmux("display-message", "-p", "#{pid}"))
		wait_for(lambda: "ready:" in self.text())

	def tmux(self, *args):
		return subprocess.run(["tmux", "-S", self.socket, *args], env={**self.env, "TERM": "xterm-256color"}, check=True,
				      stdout=subprocess.PIPE, text=True, timeout=60).stdout

	def type(self, *keys):
		self.tmux("send-keys", *keys)

	def run(self, *words):
		"""Begins a command at the shell's prompt."""
		self.type(" ".join(map(shlex.quote, map(str, words))), "Enter")

	def text(self):
		return self.tmux("capture-pane", "-p")

	def wait(self, *parts):
		"""The screen, as soon as it matches all of these."""
		def matches():
			text = self.text()
			return all(re.search(part, text, re.M) for part in parts) and text
		try:
			return wait_for(matches)
		except AssertionError:
			raise AssertionError("no %r in\n%s" % (parts, self.text())) from None

	def type_until(self, key, *parts):
		"""The same key, until the screen matches all of these. Every time it must have changed the screen."""
		text = self.text()
		for tried in range(200):
			if all(re.search(part, text, re.M) for part in parts):
				return
			assert tried < 199, "no %r in\n%s" % (parts, text)
			before = text
			self.type(key)
			text = wait_for(lambda: self.text() != before and self.text())

	def resize(self, width, height):
		self.tmux("resize-window", "-x", str(width), "-y", str(height))

	def settings(self):
		"""Of the terminal: what stty knows, whether it is the other screen, whether the mouse is reported."""
		tty = self.tmux("display-message", "-p", "#{pane_tty}").strip()
		return (subprocess.run(["stty", "-F", tty, "-a"], check=True, stdout=subprocess.PIPE, text=True, timeout=60).stdout,
			self.tmux("display-message", "-p", "#{alternate_on} #{mouse_any_flag} #{cursor_flag}"))

	def pid_of(self, name):
		"""The process of that name in the terminal."""
		tty = self.tmux("display-message", "-p", "#{pane_tty}").strip()
		def find():
			for line in subprocess.run(["ps", "-o", "pid=,comm=", "-t", tty], stdout=subprocess.PIPE, text=True, check=False,
						   timeout=60).stdout.splitlines():
				pid, comm = line.split(None, 1)
				if comm == name:
					return int(pid)
			return None
		return wait_for(find)

	def end(self):
		try:
			os.kill(self.server, signal.SIGTERM)
		except ProcessLookupError:
			pass


@pytest.fixture
def screen(proctor, tmp_path):
	"""Without a daemon."""
	proctor.env["PROCTOR_SOCKET"] = str(tmp_path / "no-daemon.sock")
	one = Screen(tmp_path, proctor.env, 80, 24)
	yield one
	one.end()


def start_job(proctor, children):
	"""A job whose second sheet of three is busy."""
	script = "{0} sheet 1/3 --label prepare -- true; {0} sheet 2/3 --label fit -- timeout 300 sh -c 'while :; do :; done'"
	return children.spawn([proctor.binary, "run", "--job-id", "grinder", "--", "sh", "-c", script.format(proctor.binary)], env=proctor.env,
			      stderr=subprocess.DEVNULL)


def test_it_shows_the_job_that_eats_the_machine_and_its_step(proctor, children, screen):
	start_job(proctor, children)
	screen.run(proctor.binary, "top")
	text = screen.wait(r"grinder  2/3 fit", r"^F1 help", r"sheet 2 fit began", r"grinder .* 1 of 3 sheets done")
	lines = text.splitlines()
	assert "own sampling" in lines[0]
	assert "grinder" in lines[4] and "33%" in lines[4]  # the first row
	assert max(map(len, lines)) <= 80
	screen.type("F1")
	screen.wait("proctor top: keys", "Time travel")
	screen.type("Escape")
	screen.wait("grinder  2/3 fit")
	screen.type("q")
	screen.wait("ready:$")


def test_it_survives_any_size(proctor, screen):
	screen.run(proctor.binary, "top")
	screen.wait("in no job")
	for width, height in ((1, 1), (2, 2), (300, 80), (40, 10), (80, 24)):
		screen.resize(width, height)
		wait_for(lambda w=width, h=height: screen.tmux("display-message", "-p", "#{pane_width} #{pane_height}").split() == [str(w), str(h)])
	screen.wait("in no job", "^F1 help")
	screen.type("q")
	screen.wait("ready:$")


@pytest.mark.parametrize("how", ["q", "F10", "C-c", signal.SIGTERM, signal.SIGHUP, signal.SIGABRT, signal.SIGSEGV])
def test_the_terminal_is_as_it_was_however_it_ends(proctor, screen, how):
	before = screen.settings()
	screen.run(proctor.binary, "top")
	screen.wait("in no job")
	assert screen.settings() != before
	if isinstance(how, str):
		screen.type(how)
	else:
		os.kill(screen.pid_of("proctor-top"), how)
	wait_for(lambda: screen.settings() == before)
	screen.type("echo still-$((40 + 2))", "Enter")
	screen.wait("still-42")


@pytest.mark.parametrize("term", ["dumb", "no-such-terminal"])
def test_a_terminal_that_cannot_place_text_is_refused_with_a_remedy(proctor, screen, term):
	before = screen.settings()
	screen.type("TERM=%s %s top" % (term, proctor.binary), "Enter")
	screen.wait("terminal type '%s' is not known or cannot" % term)
	screen.wait("ready:$")
	assert screen.settings() == before


def test_it_can_be_stopped_and_continued(proctor, screen):
	before = screen.settings()
	screen.type("set -m", "Enter")
	screen.run(proctor.binary, "top")
	screen.wait("in no job")
	screen.type("C-z")
	wait_for(lambda: screen.settings()[1] == before[1])
	screen.type("clear; fg", "Enter")
	screen.wait("in no job", "^F1 help")
	screen.type("q")
	wait_for(lambda: screen.settings()[1] == before[1])


def test_help_lists_the_keys_and_can_be_left(proctor, screen):
	screen.run(proctor.binary, "top")
	screen.wait("in no job")
	screen.type("F1")
	screen.wait("^proctor top: keys", "^   F1 h \\?             this page", "^   arrows k j PgUp PgDn Home End    move", "^Esc back")
	screen.type("PgDn")
	screen.wait("^ Time travel: ", r"^   Left Right         one sample back, ahead; \[ \] ten", "^   Esc                back to now")
	screen.type("Escape")
	screen.wait("in no job", "^F1 help")
	screen.type("q")
	screen.wait("ready:$")


def test_sorting_filtering_and_finding(proctor, children, screen):
	worker = children.spawn(["sleep", "300.0625"])
	screen.run(proctor.binary, "top")
	screen.wait("in no job")
	screen.type("\\")
	screen.wait("show only rows with")
	screen.type("300.0625", "Enter")
	screen.wait(r"sleep 300\.0625 +%d" % worker.pid, "1 in no job")
	screen.type("M")
	screen.wait("MEM▾")
	screen.type("F6")
	screen.wait("sort by age", "sort by threads", "sort by open files")
	screen.type("Down", "Down", "Down", "Down", "Down", "Enter")
	screen.wait("AGE▾")
	screen.type("Escape")
	screen.wait(r"\d\d+ in no job")
	screen.type("/", "300.0625", "Enter")
	screen.wait(r"^ pid %d " % worker.pid)
	screen.type("q")


def contrast(one, other):
	"""Of two colours (r, g, b), as WCAG 2 has it: 3 is the least for graphics, 4.5 for small text."""
	def luminance(color):
		return sum(weight * (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4)
			   for weight, part in zip((0.2126, 0.7152, 0.0722), (value / 255 for value in color)))
	light, dark = sorted((luminance(one), luminance(other)), reverse=True)
	return (light + 0.05) / (dark + 0.05)


def rgb_of(number):
	"""A colour of the cube in the 256 of a terminal."""
	return [(number - 16) // step % 6 * 40 + (55 if (number - 16) // step % 6 else 0) for step in (36, 6, 1)]


@pytest.mark.parametrize("term, colors", [("tmux-256color", 256), ("screen", 8), ("vt100", 0)])
def test_its_colors_are_those_of_the_terminal_and_can_be_read_on_white_and_on_black(proctor, children, screen, term, colors):
	start_job(proctor, children)
	screen.run("env", "TERM=" + term, proctor.binary, "top")
	screen.wait("grinder  2/3 fit")
	codes = re.findall(r"\x1b\[([\d;]*)m", screen.tmux("capture-pane", "-p", "-e"))
	cube = {int(number) for code in codes for number in re.findall(r"\b38;5;(\d+)", code)}
	basic = {part for code in codes for part in code.split(";") if "38;5" not in code and re.fullmatch("3[1-7]", part)}
	assert (bool(cube), bool(basic)) == (colors == 256, colors == 8), codes
	assert all(min(contrast(rgb_of(number), (0, 0, 0)), contrast(rgb_of(number), (255, 255, 255))) >= 3.5 for number in cube), cube
	screen.type("q")


def test_a_click_selects_a_row(proctor, children, screen):
	workers = [children.spawn(["sleep", "300.%d" % (625 + i)]) for i in range(3)]
	screen.run("env", "TERM=xterm", proctor.binary, "top")
	screen.wait("in no job")
	screen.type("\\", "sleep 300.62", "Enter")
	lines = screen.wait("3 in no job", *(r"sleep 300\.%d" % (625 + i) for i in range(3))).splitlines()
	for worker in (workers[2], workers[0]):
		row = next(number for number, line in enumerate(lines, 1) if " %d " % worker.pid in line)
		screen.type("-l", "\x1b[<0;10;{0}M\x1b[<0;10;{0}m".format(row))  # as a terminal reports a click
		screen.wait(r"^ pid %d " % worker.pid)
	screen.type("q")


def test_a_process_is_killed_only_after_a_question(proctor, children, screen):
	worker = children.spawn(["sleep", "300.125"])
	screen.run(proctor.binary, "top")
	screen.wait("in no job")
	screen.type("/", "300.125", "Enter")
	screen.wait(r"^ pid %d " % worker.pid)
	screen.type("F9")
	screen.wait(r"Send SIGTERM to sleep 300.125 \(pid %d\)\?" % worker.pid)
	screen.type("n")
	screen.wait("nothing was sent")
	assert worker.poll() is None
	screen.type("F9", "Tab")
	screen.wait("Send SIGKILL to")
	screen.type("y")
	screen.wait("SIGKILL was sent to 1 process$")
	assert worker.wait(timeout=60) == -signal.SIGKILL
	screen.type("q")


def test_hostile_names_are_shown_and_not_obeyed(proctor, children, screen, tmp_path):
	program = tmp_path / "evil\x1b[2J\x1b]0;owned\x07\n日本\u202e"
	program.symlink_to("/bin/sleep")
	children.spawn([str(program), "301"])
	screen.run(proctor.binary, "top")
	screen.wait("in no job")
	screen.type("\\", "evil", "Enter")
	text = screen.wait(r"evil\\x1b\[2J", "1 in no job")
	assert text.startswith("proctor top")
	assert "owned" not in screen.tmux("display-message", "-p", "#{pane_title}")
	screen.type("q")


def test_a_daemon_that_ends_is_waited_for(daemon, tmp_path):
	one = Screen(tmp_path, daemon.proctor.env, 100, 30)
	try:
		one.run(daemon.proctor.binary, "top", "--socket", daemon.socket)
		one.wait(r"^proctor top .* daemon every", "in no job")
		daemon.stop()
		one.wait(r"^proctor top .* the daemon is gone; trying again")
		daemon.start()
		one.wait(r"^proctor top .* daemon every")
		one.type("q")
		one.wait("ready:$")
	finally:
		one.end()


def test_time_travel_over_what_was_recorded(proctor, children, screen):
	recorder = children.spawn([proctor.binary, "record", "--interval", "0.2"], env=proctor.env, stderr=subprocess.DEVNULL)
	failed = proctor("run", "--job-id", "short", "--", "sh", "-c", "%s sheet 1 --label fit -- sleep 1; exit 3" % proctor.binary)
	assert failed.returncode == 3
	assert proctor("run", "--job-id", "well", "--", "true").returncode == 0  # another row that could be selected
	ended = proctor.sql("SELECT max(ended) AS ended FROM jobs")[0]["ended"]
	wait_for(lambda: proctor.sql("SELECT count(*) AS n FROM snapshots WHERE timestamp > %f" % ended)[0]["n"] > 3)
	recorder.terminate()
	recorder.wait(timeout=60)
	screen.run(proctor.binary, "top", "--history", "1h")
	text = screen.wait(r"^proctor top .* recorded, (\d+) of \1", "events up to then", "^waiting for cpu", r"^[ ▸]+short .*FAILED exit 3", r"^ +well +ok")
	last = int(re.search(r"recorded, (\d+)", text).group(1))
	screen.type("Left", "Left")
	screen.wait("recorded, %d of %d" % (last - 2, last))
	screen.type("q")
	screen.wait("ready:$")
	screen.run(proctor.binary, "top", "--history", "1h", "--job", "short")  # others on the machine may have trouble, too
	screen.wait("events up to then")
	screen.type("g", "1h ago", "Enter")
	screen.wait("recorded, 1 of")
	screen.type_until("n", r"job +short +FAILED: exit 3", r"^ short +FAILED exit 3 after")
	screen.type_until("Left", r"▾ short  1/1 fit", r"^ +sleep 1", "sheet 1 fit began")  # its own recorder knows that it is the job's
	screen.type("p")
	screen.type("Escape")
	screen.wait("own sampling every")
	screen.type("q")
	screen.wait("ready:$")


def test_the_past_shows_no_process_before_it_was_born(proctor, children, screen, gate, tmp_path):
	assert proctor("run", "--quiet", "--", "true").returncode == 0  # there is a store
	later = children.spawn([proctor.binary, "run", "--job-id", "later", "--interval", "0.05", "--", "sh", "-c", "read go <%s; : >%s; sleep 300.25" % (gate, tmp_path / "through")],
			       env=proctor.env, stderr=subprocess.DEVNULL)
	wait_for(lambda: proctor.sql("SELECT 1 FROM job_samples WHERE job_id = 'later'"))
	later.send_signal(signal.SIGSTOP)  # its recorder samples next when there is a sleep
	assert proctor("run", "--job-id", "between", "--interval", "0.05", "--", "sleep", "0.5").returncode == 0
	gate.open()
	wait_for((tmp_path / "through").exists)
	later.send_signal(signal.SIGCONT)
	wait_for(lambda: proctor.sql("SELECT 1 FROM job_samples WHERE job_id = 'later' AND processes > 1"))
	screen.run(proctor.binary, "top", "--history", "1h")
	screen.wait("events up to then", "^ +sleep 300.25")
	screen.type_until("Left", r"between +running", r"^ +sh -c read go")
	assert not re.search("^ +sleep 300.25", screen.text(), re.M), screen.text()
	screen.type("q")
	screen.wait("ready:$")


def test_why_of_a_job_is_read_in_the_screen(proctor, children, screen):
	start_job(proctor, children)
	screen.run(proctor.binary, "top")
	screen.wait(r"grinder  2/3 fit")
	screen.type("w")
	screen.wait("^proctor why grinder", "running")
	screen.type("Escape", "q")
	screen.wait("ready:$")


def test_a_process_is_traced_in_the_same_terminal(proctor, children, screen):
	worker = children.spawn(["sh", "-c", "while :; do sleep 0.2; done", "traced-one"])
	screen.run(proctor.binary, "top")
	screen.wait("in no job")
	screen.type("/", "traced-one", "Enter")
	screen.wait(r"^ pid %d " % worker.pid)
	screen.type("x")
	screen.wait("wait4|clone|vfork")
	screen.type("C-c")
	screen.wait("press Enter to go back")
	screen.type("Enter")
	screen.wait(r"^ pid %d " % worker.pid, "^F1 help")
	screen.type("q")
	screen.wait("ready:$")
