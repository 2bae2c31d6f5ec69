# SPDX-License-Identifier: MIT
"""scripts/run-tests gives what failed a second try, says so, and lets nothing pass that failed twice."""
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TIMEOUT_S = 120
# A program of the unit tests' kind: it fails as often as the file says.
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


class Tree:
	"""A build tree whose programs fail a given number of times before they pass."""

	def __init__(self, place):
		self.place, self.build, self.lines = place, place / "build", []
		(place / "unit.py").write_text(UNIT, encoding="utf-8")

	def failing(self, name, times):
		left = self.place / (name + ".left")
		left.write_text(str(times), encoding="utf-8")
		return left

	def add_unit(self, name, times=0):
		left = self.failing(name, times)
		self.lines.append("test('%s', python, suite: 'unit', timeout: 0, args: ['%s', '%s'])" % (name, self.place / "unit.py", left))

	def add_story(self, name, times=0):
		left, story = self.failing("story-" + name, times), self.place / (name + ".py")
		story.write_text(STORY % str(left), encoding="utf-8")
		self.lines.append("test('%s', python, suite: 'e2e', timeout: 0, args: ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', "
				  "'--junitxml', '%s', '%s'])" % (name, self.build / "pytest" / (name + ".xml"), story))

	def run(self):
		head = ["project('tree')", "python = find_program('%s')" % sys.executable]
		(self.place / "meson.build").write_text("\n".join(head + self.lines) + "\n", encoding="utf-8")
		subprocess.run(["meson", "setup", self.build, self.place], check=True, capture_output=True, timeout=TIMEOUT_S)
		return subprocess.run([sys.executable, ROOT / "scripts/run-tests", self.build], text=True, check=False,
				      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_S)


@pytest.fixture
def tree(tmp_path):
	return Tree(tmp_path)


def test_what_passes_is_not_run_twice(tree):
	tree.add_unit("test_a")
	tree.add_story("test_b")
	done = tree.run()
	assert done.returncode == 0, done.stdout
	assert "2 passed, 0 failed, 0 skipped" in done.stdout
	assert "second try" not in done.stdout and "again" not in done.stdout


def test_what_fails_once_passes_loudly(tree):
	tree.add_unit("test_a")
	tree.add_unit("test_b", times=1)
	tree.add_story("test_c", times=1)
	done = tree.run()
	assert done.returncode == 0, done.stdout
	assert "2 passed only at the second try: test_b: test_wish__comes_true, test_c: test_a_story" in done.stdout
	assert "3 passed, 0 failed, 0 skipped" in done.stdout
	kept = (tree.build / "meson-logs/testlog.txt").read_text(encoding="utf-8")
	for text in ("this is try with 1 failures left", "the story of 1 failures left"):
		assert text in done.stdout and text in kept


def test_what_fails_twice_has_failed(tree):
	tree.add_unit("test_a", times=2)
	tree.add_unit("test_b", times=1)
	tree.add_story("test_c", times=2)
	done = tree.run()
	assert done.returncode != 0
	assert "FAILED  test_a: test_wish__comes_true" in done.stdout
	assert "FAILED  test_c: test_a_story" in done.stdout
	assert "1 passed only at the second try: test_b" in done.stdout
	assert "1 passed, 2 failed, 0 skipped" in done.stdout


def test_many_failures_are_no_accident(tree):
	for name in "abcd":
		tree.add_unit("test_" + name, times=1)
	done = tree.run()
	assert done.returncode != 0
	assert "0 passed, 4 failed, 0 skipped" in done.stdout
	assert "again" not in done.stdout


def test_a_program_and_a_story_of_one_name_are_told_apart(tree):
	tree.add_unit("test_a", times=1)
	tree.add_story("test_a")
	done = tree.run()
	assert done.returncode == 0, done.stdout
	assert "1 passed only at the second try: test_a: test_wish__comes_true" in done.stdout
	assert "2 passed, 0 failed, 0 skipped" in done.stdout
