# SPDX-License-Identifier: MIT
"""Tags that `run` adds by itself, and what it puts into the environment for scripts."""
import ctypes
import json
import os
import signal
import struct
import subprocess
import time

import pytest

from runkit import SANITIZERS

SLURM = {"SLURM_JOB_ID": "4711", "SLURM_ARRAY_JOB_ID": "4700", "SLURM_ARRAY_TASK_ID": "11", "SLURM_JOB_NAME": "align", "SLURM_JOB_ACCOUNT": "hidden"}
GITHUB = {"GITHUB_ACTIONS": "true", "GITHUB_RUN_ID": "99", "GITHUB_JOB": "test", "GITHUB_SHA": "a" * 40, "GITHUB_REF": "refs/heads/main",
	  "GITHUB_REPOSITORY": "one/two", "GITHUB_TOKEN": "ghs_0123456789abcdef0123456789abcdef0123", "ACTIONS_RUNTIME_TOKEN": "hidden"}
GITLAB = {"GITLAB_CI": "true", "CI_JOB_ID": "5", "CI_PIPELINE_ID": "6", "CI_COMMIT_REF_NAME": "topic", "CI_JOB_TOKEN": "hidden"}


def tags(proctor, *options, env=None, **how):
	done = proctor("run", "--quiet", *options, "--", "true", env=env, **how)
	assert (done.returncode, done.stderr) == (0, "")
	return json.loads(proctor("ls", "--json", "-n", "1").stdout)["jobs"][0]["tags"]


@pytest.fixture
def tree(tmp_path):
	"""A work tree with one commit, and that commit."""
	path = tmp_path / "tree"
	path.mkdir()

	def git(*words):
		env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
		for role in ("AUTHOR", "COMMITTER"):
			env.update({"GIT_%s_NAME" % role: "a", "GIT_%s_EMAIL" % role: "a@b"})
		return subprocess.run(["git", "-c", "init.defaultBranch=main", *words], cwd=path, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()

	git("init", "--quiet")
	git("commit", "--quiet", "--allow-empty", "-m", "one")
	return path, git


def test_a_job_has_the_commit_of_its_directory(proctor, tree):
	path, git = tree
	commit = git("rev-parse", "HEAD")
	assert tags(proctor, cwd=path) == {"git_commit": commit}
	for digits, n in ((commit[:12], 1), (commit[:7], 1), (commit[:6], 0), (commit[1:13], 0)):
		assert len(json.loads(proctor("ls", "--json", "--tag", "git_commit=" + digits).stdout)["jobs"]) == n, digits
	(path / "below").mkdir()
	git("pack-refs", "--all")
	assert tags(proctor, cwd=path / "below") == {"git_commit": commit}
	git("worktree", "add", "--quiet", "../linked", "-b", "topic")
	git("commit", "--quiet", "--allow-empty", "-m", "two")
	assert tags(proctor, cwd=path.parent / "linked") == {"git_commit": commit}
	assert tags(proctor, cwd=path) == {"git_commit": git("rev-parse", "HEAD")}
	assert tags(proctor, cwd="/") == {}


def test_a_plain_users_job_has_them_too(as_nobody):
	assert tags(as_nobody, env=SLURM)["slurm_job_id"] == "4711"


def test_batch_and_ci_ids_become_tags_and_nothing_else_does(proctor):
	assert tags(proctor, env=SLURM, cwd="/") == {"slurm_job_id": "4711", "slurm_array_job_id": "4700", "slurm_array_task_id": "11", "slurm_job_name": "align"}
	assert tags(proctor, env=GITHUB, cwd="/") == {"github_run_id": "99", "github_job": "test", "github_sha": "a" * 40, "github_ref": "refs/heads/main",
					     "github_repository": "one/two"}
	assert tags(proctor, env=GITLAB, cwd="/") == {"gitlab_job_id": "5", "gitlab_pipeline_id": "6", "gitlab_ref": "topic"}
	assert tags(proctor, env={"CI_JOB_ID": "5", "GITHUB_SHA": "a" * 40, "SLURM_PROCID": "0"}, cwd="/") == {}  # not those of such a system
	assert json.loads(proctor("ls", "--json", "--tag", "slurm_job_id=4711").stdout)["jobs"] != []


def test_a_users_tag_of_that_name_wins(proctor, tree):
	path, _ = tree
	assert tags(proctor, "--tag", "git_commit=mine", "--tag", "slurm_job_id=", env=SLURM, cwd=path)["git_commit"] == "mine"
	assert tags(proctor, "--tag", "slurm_job_id=", env={"SLURM_JOB_ID": "1"}, cwd="/") == {"slurm_job_id": ""}


def test_a_key_turns_them_off(proctor, tree, tmp_path):
	path, _ = tree
	conf = tmp_path / "proctor.conf"
	conf.write_text("[profiler]\nauto_tags = false\n", encoding="ascii")
	assert tags(proctor, "--config", conf, "--tag", "a=b", env=SLURM, cwd=path) == {"a": "b"}


def test_what_does_not_fit_is_left_out(proctor):
	long = {"SLURM_JOB_ID": "7", "SLURM_JOB_NAME": "x" * 129, "SLURM_CLUSTER_NAME": "y" * 128}
	assert tags(proctor, env=long, cwd="/") == {"slurm_job_id": "7", "slurm_cluster": "y" * 128}
	mine = "k=" + "v" * 900
	assert tags(proctor, "--tag", mine, env=long, cwd="/") == {"k": "v" * 900, "slurm_job_id": "7"}


class SilentFileSystem:
	"""A directory that can be entered, and in which every search waits for ever: what a work directory on an NFS server that is gone is like.
	Its server is a process of its own: one that starts another must not wait for itself."""
	LOOKUP, GETATTR, INIT = 1, 3, 26
	ENOSYS = 38

	def __init__(self, path):
		self.path, self.libc = path, ctypes.CDLL(None, use_errno=True)
		self.fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
		options = b"fd=%d,rootmode=40000,user_id=0,group_id=0" % self.fd
		assert self.libc.mount(b"silent", os.fsencode(path), b"fuse", 0, options) == 0
		self.searches, searched_fd = os.pipe()
		self.server = os.fork()
		if self.server == 0:
			try:
				self.serve(searched_fd)
			finally:
				os._exit(0)
		os.close(searched_fd)

	def serve(self, searched_fd):
		while True:
			request = os.read(self.fd, 1 << 17)  # fails when it is unmounted
			_, opcode, unique, node = struct.unpack_from("<IIQQ", request)
			if opcode == self.LOOKUP:
				os.write(searched_fd, b"x")
			elif opcode == self.INIT:
				self.answer(unique, struct.pack("<IIIIHHIIHHI", 7, 31, 0, 0, 0, 0, 1 << 16, 1, 0, 0, 0).ljust(64, b"\0"))
			elif opcode == self.GETATTR:
				attributes = struct.pack("<6Q10I", node, 0, 0, 0, 0, 0, 0, 0, 0, 0o40755, 2, 0, 0, 0, 4096, 0)
				self.answer(unique, struct.pack("<QII", 3600, 0, 0) + attributes)
			else:
				self.answer(unique, error=-self.ENOSYS)

	def answer(self, unique, data=b"", error=0):
		os.write(self.fd, struct.pack("<IiQ", 16 + len(data), error, unique) + data)

	def close(self):
		os.close(self.fd)
		os.kill(self.server, signal.SIGKILL)  # with its last file the connection ends, and so does all that waits
		os.waitpid(self.server, 0)
		self.libc.umount2(os.fsencode(self.path), 2)
		os.close(self.searches)


@pytest.fixture
def silent(tmp_path):
	path = tmp_path / "silent"
	path.mkdir()
	system = SilentFileSystem(path)
	yield system
	system.close()


@pytest.mark.needs_root
def test_a_directory_that_never_answers_delays_no_job(proctor, silent):
	start = time.monotonic()
	assert tags(proctor, env={**SLURM, **SANITIZERS}, cwd=silent.path)["slurm_job_id"] == "4711"
	assert time.monotonic() - start < 20
	os.set_blocking(silent.searches, False)
	with pytest.raises(BlockingIOError):
		os.read(silent.searches, 1)  # nothing waits there for ever


def test_scripts_find_the_program_without_a_path(proctor):
	done = proctor("run", "--quiet", "--", "/bin/sh", "-c", 'PATH=/nowhere; "$PROCTOR" mark here && echo "$PROCTOR"')
	assert (done.returncode, done.stderr) == (0, "")
	assert os.path.samefile(done.stdout.strip(), proctor.binary) and os.path.isabs(done.stdout.strip())
	assert json.loads(proctor("events", "--json", "--kind", "mark").stdout)["name"] == "here"
