# SPDX-License-Identifier: MIT
"""`make run`: what a newcomer types first. The program is built already, so only the build is left out."""
import os
import re
import subprocess

import pytest

from conftest import BINARY, ROOT, TIMEOUT_S, clean_environment


@pytest.fixture
def make(tmp_path):
	"""make(WORD…) in a tree whose build has nothing left to do."""
	for name in ("Makefile", "scripts"):
		(tmp_path / name).symlink_to(ROOT / name)
	build = tmp_path / "build"
	build.mkdir()
	(build / "build.ninja").write_text("build all: phony\n", encoding="ascii")
	(build / "proctor").symlink_to(os.path.abspath(BINARY))

	def run(*words):
		return subprocess.run(["make", *words], cwd=tmp_path, env=clean_environment(), capture_output=True, text=True,
				      stdin=subprocess.DEVNULL, timeout=TIMEOUT_S, check=False)

	return run


def test_make_run_records_a_sample_and_shows_it(make):
	done = make("run")
	assert done.returncode == 0, done.stdout + done.stderr
	assert re.search(r"^proctor  sample   ok in .*job sample-", done.stderr, re.M), done.stderr
	for part in ("Totals", "Sheets", r"1 prepare .* ok", r"2 compute .* ok", r"3 check .* ok", r"prepared +mark", r"AFTER +EVENT"):
		assert re.search(part, done.stdout), (part, done.stdout)


def test_make_run_records_the_command_that_is_given(make):
	done = make("run", "CMD=echo 'it'\"'\"'s'; exit 3")
	assert done.returncode != 0 and "it's\n" in done.stdout, done.stdout + done.stderr
	assert "FAILED: exit 3" in done.stdout


def test_make_help_names_every_target(make):
	listed = re.findall(r"^make ([\w-]+)", make("help").stdout, re.M)
	assert listed == re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
	assert {"run", "test", "install"} <= set(listed)
