# SPDX-License-Identifier: MIT
"""A terminal for a test: types, and waits for what appears.

	with Terminal(["bash", "--norc", "-i"], env) as tty:
		tty.type("echo hello\n")
		tty.expect("hello")
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

SECONDS = 20.0
COLOUR = re.compile("\x1b\\[[0-9;]*m")
ROWS, COLUMNS = 24, 80


def set_size(fd, rows, columns):
	fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


class Terminal:
	"""The program leads a session on a terminal of its own."""

	def __init__(self, command, env, cwd=None):
		self.seen = ""
		self.pid, self.fd = pty.fork()
		if self.pid == 0:
			signal.signal(signal.SIGPIPE, signal.SIG_DFL)
			set_size(0, ROWS, COLUMNS)  # from here: no SIGWINCH comes later
			if cwd:
				os.chdir(cwd)
			os.execvpe(command[0], list(map(str, command)), {**env, "TERM": "xterm", "PS1": "READY$ ", "HISTFILE": "/dev/null"})

	def __enter__(self):
		return self

	def __exit__(self, *_):
		self.hang_up()
		if self.pid:  # else its end was taken
			os.kill(self.pid, signal.SIGKILL)
			os.waitpid(self.pid, 0)

	def type(self, text):
		os.write(self.fd, text.encode())

	def expect(self, pattern, seconds=SECONDS):
		"""Waits for it, forgets all up to its end, and returns the match."""
		end = time.monotonic() + seconds
		while True:
			found = re.search(pattern, self.seen)
			if found:
				self.seen = self.seen[found.end():]
				return found
			left = end - time.monotonic()
			assert left > 0, "no %r in %r" % (pattern, self.seen)
			if select.select([self.fd], [], [], left)[0]:
				self.seen += self.read()

	def read(self):
		try:
			return COLOUR.sub("", os.read(self.fd, 4096).decode(errors="replace"))
		except OSError:  # nobody has it open on the other side
			raise AssertionError("it ended after %r" % self.seen) from None

	def ask(self, command):
		"""What the shell prints in answer, up to its next prompt."""
		self.type(command + "\n")
		self.expect(re.escape(command) + "\r\n")
		return self.expect(r"((?s:.*?))READY\$ ").group(1).strip()

	def resize(self, rows, columns):
		set_size(self.fd, rows, columns)

	def hang_up(self):
		if self.fd >= 0:
			os.close(self.fd)
		self.fd = -1

	def wait(self):
		"""The program's end, as Popen has it."""
		_, status = os.waitpid(self.pid, 0)
		self.pid = 0
		return os.waitstatus_to_exitcode(status)
