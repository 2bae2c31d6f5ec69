# SPDX-License-Identifier: MIT
"""What the stories of `proctor daemon` share: a daemon with a store and a socket of its own, and lines to it as any user.

	def test_a_story(daemon):
		with daemon.line() as line:
			assert line.call("daemon.status")["result"]["kind"] == "daemon"
"""
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from conftest import STORES, Proctor, end_all_of, newest_pid, usual_tier
from door import Line
from runkit import SANITIZERS, wait_for

STOP_S = 20.0  # 5 on a machine that has nothing else to do
EXEC_S = 20.0  # that a process may be in the middle of an exec


@contextlib.contextmanager
def as_user(uid):
	"""What is connected within is connected by this user."""
	if uid is None or uid == os.geteuid():
		yield
		return
	os.setegid(uid)
	os.seteuid(uid)
	try:
		yield
	finally:
		os.seteuid(0)
		os.setegid(0)


class Daemon:
	"""`proctor daemon`, in a place that other users can reach."""

	def __init__(self):
		self.before = newest_pid()
		self.place = Path(tempfile.mkdtemp(prefix="proctor-daemon-", dir=STORES))
		self.place.chmod(0o755)
		self.socket = self.place / "run/daemon.sock"
		self.config = self.place / "proctor.conf"
		self.proctor = Proctor(self.place / "state")
		self.proctor.env["PROCTOR_SOCKET"] = str(self.socket)
		self.config.write_text("[profiler]\ninterval_seconds = 1\n", encoding="utf-8")
		(self.place / "run").mkdir()
		self.log = self.place / "log"
		self.process = None

	def start(self, *options, wait=True, config=True, before=(), **how):
		words = ["daemon", *(["--config", str(self.config)] if config else []), *options]
		env = {**self.proctor.env, **SANITIZERS, **how.pop("env", {})}
		with open(self.log, "ab") as log:
			self.process = subprocess.Popen([*before, self.proctor.binary, *words], env=env, stdin=subprocess.DEVNULL,
							stdout=log, stderr=log, **how)
		if wait:
			self.wait_ready()
			tier = self.result("daemon.status")["tier"]
			assert "--no-bpf" in options or usual_tier() != "bpf" or tier == "tasks-bpf, lifecycle-bpf", "%s: %s" % (tier, self.log_text())
		return self

	def wait_ready(self):
		def has_ticked():
			assert self.process.poll() is None, self.log_text()
			try:
				with self.line() as line:
					return line.call("daemon.top")["result"]
			except OSError:
				return None

		wait_for(has_ticked)

	def wait_ticks(self, count=1):
		"""Until so many more ticks, each of which began after this call, have been taken in."""
		before = self.result("daemon.top")["seq"]
		wait_for(lambda: self.result("daemon.top")["seq"] > before + count)

	def log_text(self):
		return self.log.read_text(encoding="utf-8", errors="replace")

	def line(self, uid=None, **options):
		with as_user(uid):
			return Line(self.socket, **options)

	def call(self, method, uid=None, **params):
		with self.line(uid) as line:
			return line.call(method, **params)

	def result(self, method, uid=None, **params):
		"""A process in the middle of an exec cannot be read: on a busy machine that may take longer than the daemon waits."""
		end = time.monotonic() + EXEC_S
		while True:
			answer = self.call(method, uid, **params)
			if "does not answer" not in str(answer.get("error")) or time.monotonic() > end:
				break
			time.sleep(0.1)
		assert "result" in answer, answer
		return answer["result"]

	def stop(self, signo=signal.SIGTERM):
		"""Its exit status."""
		began = time.monotonic()
		self.process.send_signal(signo)
		status = self.process.wait(timeout=60)
		assert time.monotonic() - began < STOP_S
		return status

	def end(self):
		if self.process and self.process.poll() is None:
			self.process.kill()
			self.process.wait()
		end_all_of(self.proctor.state_dir, self.before)
		shutil.rmtree(self.place)


@pytest.fixture
def cold():
	"""One that was not started yet."""
	one = Daemon()
	yield one
	one.end()


@pytest.fixture
def daemon(cold):
	return cold.start()
