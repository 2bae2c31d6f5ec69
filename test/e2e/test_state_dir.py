# SPDX-License-Identifier: MIT
"""Where the state lives, and what is said when it cannot."""
import os
import stat

import pytest

RECORD = ["record", "--for", "0.3s", "--interval", "0.1"]


def test_the_option_counts_more_than_the_environment(proctor, tmp_path):
	done = proctor(*RECORD, "--state-dir", "here", cwd=tmp_path)
	assert done.returncode == 0, done.stderr
	assert (tmp_path / "here/proctor.db").exists()
	assert not proctor.state_dir.exists()


def test_systemd_may_name_it(proctor, tmp_path):
	proctor.env.pop("PROCTOR_STATE_DIR")
	done = proctor(*RECORD, env={"STATE_DIRECTORY": "%s/one:%s/two" % (tmp_path, tmp_path)})
	assert done.returncode == 0, done.stderr
	assert (tmp_path / "one/proctor.db").exists()


def test_it_is_for_its_owner(proctor):
	assert proctor(*RECORD).returncode == 0
	mode = stat.S_IMODE(proctor.state_dir.stat().st_mode)
	assert mode == (0o750 if os.geteuid() == 0 else 0o700)
	assert not stat.S_IMODE((proctor.state_dir / "proctor.db").stat().st_mode) & 0o007


@pytest.mark.needs_root
def test_a_user_has_his_own(as_nobody):
	as_nobody.env.pop("PROCTOR_STATE_DIR")
	done = as_nobody(*RECORD, env={"XDG_STATE_HOME": "relative/is/ignored"})
	assert done.returncode == 0, done.stderr
	assert (as_nobody.place / ".local/state/proctor/proctor.db").exists()
	done = as_nobody(*RECORD, env={"XDG_STATE_HOME": str(as_nobody.place / "xdg")})
	assert done.returncode == 0, done.stderr
	assert stat.S_IMODE((as_nobody.place / "xdg/proctor").stat().st_mode) == 0o700


@pytest.mark.needs_root
def test_a_place_that_cannot_be_written_is_told_with_the_remedy(as_nobody, tmp_path):
	tmp_path.chmod(0o755)
	closed = as_nobody.place / "closed"
	closed.mkdir(mode=0o755)
	for place in (closed, closed / "deeper/still"):
		done = as_nobody(*RECORD, "--state-dir", place)
		assert (done.returncode, done.stdout) == (1, "")
		assert str(place) in done.stderr and "Permission denied" in done.stderr
		assert "--state-dir DIR or PROCTOR_STATE_DIR" in done.stderr
		assert done.stderr.count("\n") == 1
	report = as_nobody("doctor", "--state-dir", closed)
	assert "cannot be written" in report.stdout


def test_a_file_in_its_place_is_told(proctor, tmp_path):
	(tmp_path / "file").write_text("")
	for place in (tmp_path / "file", tmp_path / "file/below"):
		done = proctor(*RECORD, "--state-dir", place)
		assert done.returncode == 1
		assert "ot a directory" in done.stderr and str(place) in done.stderr
