# SPDX-License-Identifier: MIT
"""Where `proctor run` is measured: a directory on a real disk with a copy of every program, for root and for the user nobody (who may
have no access to the build tree), and a control group that is owned by nobody."""
import json
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import measure

DISK = "/var/tmp"  # survives a reboot, so it is on a disk, and every user may write there
PROGRAMS = ("proctor", "bench/storm", "bench/peak", "bench/work", "bench/spawn")
NOBODY = pwd.getpwnam("nobody")
PATIENCE_S = 1800


def unified():
	"""Where the v2 control groups are, or None."""
	for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines():
		_, where, kind, options = line.split()[:4]
		if kind == "cgroup2" and "rw" in options.split(","):
			return Path(where)
	return None


def is_on_disk(path):
	kind = subprocess.run(["stat", "-f", "-c", "%T", str(path)], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
	return kind not in ("tmpfs", "ramfs")


class Group:
	"""A v2 group that was given to nobody, for the length of a `with`."""

	def __enter__(self):
		self.path = unified() / ("bench-proctor-%d" % os.getpid())  # not proctor-…: launchers remove such groups when they are empty
		self.path.mkdir()
		for name in ("", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control"):
			os.chown(self.path / name, NOBODY.pw_uid, NOBODY.pw_gid)
		return self

	def __exit__(self, *ignored):
		self.path.rmdir()

	def join(self):
		"""In the child: only root may move a process in here, so it becomes nobody afterwards."""
		(self.path / "cgroup.procs").write_text(str(os.getpid()), encoding="utf-8")
		os.setgroups([])
		os.setgid(NOBODY.pw_gid)
		os.setuid(NOBODY.pw_uid)


class Stage:
	"""Runs commands in turn, as root or as nobody; returns what was recorded of the last job."""

	def __init__(self, build):
		self.build = Path(build)

	def __enter__(self):
		self.place = Path(tempfile.mkdtemp(prefix="proctor-bench-", dir=DISK))
		self.place.chmod(0o755)
		for program in PROGRAMS:
			shutil.copy2(self.build / program, self.place)
		shutil.copy2(measure.HERE / "turns.py", self.place)
		for who in ("root", "nobody"):
			(self.place / who / "work").mkdir(parents=True)
			(self.place / who / "state").mkdir(mode=0o700)
			for path in (self.place / who).rglob("*"):
				os.chown(path, *((NOBODY.pw_uid, NOBODY.pw_gid) if who == "nobody" else (0, 0)))
		return self

	def __exit__(self, *ignored):
		shutil.rmtree(self.place)

	def program(self, name):
		return str(self.place / name)

	def state(self, who):
		return str(self.place / who / "state")

	def watched(self, who, command, *options):
		"""The command below `proctor run`."""
		return [self.program("proctor"), "run", "--quiet", "--state-dir", self.state(who), *options, "--", *command]

	def report(self, who, job):
		"""The record of a job, as `proctor report --json` prints it. TYPE~1 is the one before the latest of its type."""
		return measure.run_json([self.program("proctor"), "report", job, "--json", "--state-dir", self.state(who)], **self.options(who))

	def options(self, who, group=None):
		"""For subprocess: the user, the home directory, an empty working directory, the control group."""
		kept = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "PROCTOR_"))}
		options = {"cwd": self.place / who / "work", "env": {**kept, "HOME": str(self.place / who)}}
		if group:
			options["preexec_fn"] = group.join
		elif who == "nobody":
			options.update(user=NOBODY.pw_uid, group=NOBODY.pw_gid, extra_groups=[])
		return options

	def turns(self, who, commands, rounds, warm_up=0, group=None):
		"""{name: its runs}; see turns.py."""
		plan = {"commands": commands, "rounds": rounds, "warm_up": warm_up}
		done = subprocess.run([measure.PYTHON, self.program("turns.py")], input=json.dumps(plan), stdout=subprocess.PIPE, text=True,
				      check=True, timeout=PATIENCE_S, **self.options(who, group))
		runs = json.loads(done.stdout)
		for name, each in runs.items():
			if any(run["status"] for run in each):
				raise RuntimeError("%s failed: %s" % (name, each))
		return runs
