# SPDX-License-Identifier: MIT
"""scripts/run-tests: the environment of a test, what it leaves behind, and a second try for a single failure, which is never silent."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TIMEOUT_S = 120
# A program of the unit tests' kind: it fails as often as the file demands.
UNIT = """
import sys
from pathlib import Path

left = Path(sys.argv[1])
count = int(left.read_text())
left.write_text(str(max(count - 1, 0)))
print("this is try with %d failures left" % count)
print("[  %s ] test_wish__comes_true" % ("FAILED" if count else "     OK"))
sys.exit(count != 0)
"""
STORY = """
from pathlib import Path

def test_a_story():
	left = Path(%r)
	count = int(left.read_text())
	left.write_text(str(max(count - 1, 0)))
	assert count == 0, "the story of %%d failures left" %% count
"""

# Like a test of how a job runs under make. It inherits nothing of the make above it.
MAKES = """
import os, subprocess

def test_make_prints_what_it_runs(tmp_path):
	(tmp_path / "Makefile").write_text("all:\\n\\t@echo $(MAKELEVEL) made\\n")
	assert subprocess.run(["make"], cwd=tmp_path, capture_output=True, text=True).stdout == "0 made\\n"
	assert {"PATH", "HOME"} <= set(os.environ) and not {"MAKELEVEL", "MAKEFLAGS", "MFLAGS"} & set(os.environ)
	assert not [name for name in os.environ if name.startswith(("PROCTOR_", "XDG_"))]
"""

LITTERS = """
import os, signal
from pathlib import Path

def test_is_killed():
	litter = Path(os.environ["TEST_SCRATCH_DIR"]) / "litter"
	litter.mkdir()
	Path(%r).write_text(str(litter))
	os.kill(os.getpid(), signal.SIGKILL)
"""


class Tree:
	"""A build tree whose programs fail a given number of times before they pass."""

	def __init__(self, place):
		self.place, self.build, self.lines = place, place / "build-test", []
		(place / "unit.py").write_text(UNIT, encoding="utf-8")

	def failing(self, name, times):
		left = self.place / (name + ".left")
		left.write_text(str(times), encoding="utf-8")
		return left

	def add_unit(self, name, times=0):
		left = self.failing(name, times)
		self.lines.append("test('%s', python, suite: 'unit', timeout: 0, args: ['%s', '%s'])" % (name, self.place / "unit.py", left))

	def add_story(self, name, times=0, text=None):
		left, story = self.failing("story-" + name, times), self.place / (name + ".py")
		story.write_text(text or STORY % str(left), encoding="utf-8")
		self.lines.append("test('%s', python, suite: 'e2e', timeout: 0, args: ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', "
				  "'--junitxml', '%s', '%s'])" % (name, self.build / "pytest" / (name + ".xml"), story))

	def set_up(self):
		head = ["project('tree')", "python = find_program('%s')" % sys.executable]
		(self.place / "meson.build").write_text("\n".join(head + self.lines) + "\n", encoding="utf-8")
		subprocess.run(["meson", "setup", self.build, self.place], check=True, capture_output=True, timeout=TIMEOUT_S)

	def run(self, *command, **how):
		self.set_up()
		return subprocess.run(command or [sys.executable, ROOT / "scripts/run-tests", self.build], text=True, check=False,
				      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_S, **how)

	def make_test(self):
		"""The commands of the README, with the project's own Makefile."""
		for name in ("Makefile", "scripts"):
			(self.place / name).symlink_to(ROOT / name)
		env = {name: os.environ[name] for name in ("PATH", "HOME")}
		return self.run("make", "test", cwd=self.place, env={**env, "PROCTOR_SOCKET": "/nowhere", "XDG_RUNTIME_DIR": "/nowhere"})


@pytest.fixture
def tree(tmp_path):
	return Tree(tmp_path)


def test_make_test_as_typed_gives_tests_a_clean_environment(tree):
	tree.add_story("test_a", text=MAKES)
	done = tree.make_test()
	assert done.returncode == 0, done.stdout
	assert "1 passed, 0 failed, 0 skipped" in done.stdout


def test_what_a_killed_test_leaves_behind_is_removed(tree):
	left = tree.place / "where"
	tree.add_story("test_a", text=LITTERS % str(left))
	assert tree.run().returncode != 0
	litter = Path(left.read_text(encoding="utf-8"))
	assert litter.name == "litter" and not litter.parent.exists()


def test_what_passes_is_not_run_twice(tree):
	tree.add_unit("test_a")
	tree.add_story("test_b")
	done = tree.run()
	assert done.returncode == 0, done.stdout
	assert "2 passed, 0 failed, 0 skipped" in done.stdout
	assert "second try" not in done.stdout and "again" not in done.stdout


@pytest.mark.parametrize("kind, name", [("unit", "test_b: test_wish__comes_true"), ("story", "test_b: test_a_story")])
def test_what_fails_once_passes_loudly(tree, kind, name):
	tree.add_unit("test_a")
	getattr(tree, "add_" + kind)("test_b", times=1)
	done = tree.run()
	assert done.returncode == 0, done.stdout
	assert done.stdout.splitlines()[-2] == "passed only at the second try: " + name
	assert done.stdout.splitlines()[-1].startswith("2 passed, 0 failed, 0 skipped in ")
	kept = (tree.build / "meson-logs/testlog.txt").read_text(encoding="utf-8")
	first = {"unit": "this is try with 1 failures left", "story": "the story of 1 failures left"}[kind]
	assert first in done.stdout and first in kept


@pytest.mark.parametrize("kind, name", [("unit", "test_b: test_wish__comes_true"), ("story", "test_b: test_a_story")])
def test_what_fails_twice_has_failed(tree, kind, name):
	tree.add_unit("test_a")
	getattr(tree, "add_" + kind)("test_b", times=2)
	done = tree.run()
	assert done.returncode != 0
	assert "FAILED  " + name in done.stdout and "second try" not in done.stdout
	assert "1 passed, 1 failed, 0 skipped" in done.stdout


def test_two_failures_are_no_accident(tree):
	for name in "ab":
		tree.add_unit("test_" + name, times=1)
	done = tree.run()
	assert done.returncode != 0
	assert "0 passed, 2 failed, 0 skipped" in done.stdout
	assert "again" not in done.stdout


def test_a_program_and_a_story_of_one_name_are_distinguished(tree):
	tree.add_unit("test_a", times=1)
	tree.add_story("test_a")
	done = tree.run()
	assert done.returncode == 0, done.stdout
	assert "passed only at the second try: test_a: test_wish__comes_true" in done.stdout
	assert "2 passed, 0 failed, 0 skipped" in done.stdout
