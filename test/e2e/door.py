# SPDX-License-Identifier: MIT
"""A job that answers its door, and a plain client of it."""
import json
import os
import socket
import subprocess
from pathlib import Path

HOST = Path(os.environ.get("PROCTOR_BUILD_DIR", "build-test")) / "test/door_host"


class Line:
	"""A connection that sends bytes and reads lines."""

	def __init__(self, path, timeout=30.0):
		self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
		# An address has room for 107 bytes: a longer path goes by way of its directory.
		folder = os.open(Path(path).parent, os.O_PATH)
		try:
			self.socket.connect("/proc/self/fd/%d/%s" % (folder, Path(path).name))
		finally:
			os.close(folder)
		self.socket.settimeout(timeout)  # only now: a full queue is waited for
		self.file = self.socket.makefile("rb")
		self.last_id = 0

	def send(self, data):
		self.socket.sendall(data if isinstance(data, bytes) else data.encode())

	def read(self):
		"""The next answer; None at the end."""
		line = self.file.readline()
		return json.loads(line) if line else None

	def call(self, method, **params):
		self.last_id += 1
		self.send(json.dumps({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}) + "\n")
		answer = self.read()
		assert answer["id"] == self.last_id and answer["jsonrpc"] == "2.0"
		return answer

	def close(self):
		self.file.close()
		self.socket.close()

	def __enter__(self):
		return self

	def __exit__(self, *_):
		self.close()


class Job:
	"""A running door_host, and what was reported to it."""

	def __init__(self, state_dir, job_id="train-1", snapshot=True, **options):
		self.job_id = job_id
		self.state_dir = Path(state_dir)
		self.socket = self.state_dir / "jobs" / job_id / "sock"
		self.state_dir.mkdir(parents=True, exist_ok=True)
		env = {**os.environ, **({"HOST_SNAPSHOT": "1"} if snapshot else {})}
		self.process = subprocess.Popen([str(HOST), str(self.socket.parent)], stdout=subprocess.PIPE, text=True,
						env=env, **options)
		assert self.heard() == "ready"

	def __enter__(self):
		return self

	def __exit__(self, *_):
		self.end()

	def heard(self):
		"""The next thing that was reported to it."""
		return self.process.stdout.readline().rstrip("\n")

	def line(self):
		return Line(self.socket)

	def env(self):
		return {"PROCTOR_JOB_ID": self.job_id, "PROCTOR_STATE_DIR": str(self.state_dir)}

	def end(self):
		"""What was reported to it and not asked about. A second end does nothing."""
		if self.process.stdout.closed:
			return []
		self.process.terminate()
		rest = self.process.stdout.read()
		self.process.stdout.close()
		status = self.process.wait(timeout=60)
		assert status == 0, status
		return rest.splitlines()
