# SPDX-License-Identifier: MIT
"""`proctor doctor`: what works here, as root and as nobody."""
import json
import os
import subprocess

import pytest

ROLES = ["tasks", "system", "cgroup", "syscalls", "lifecycle", "detail", "gpu", "drm"]


def examine(run, *args):
	done = run("doctor", "--json", *args)
	assert (done.returncode, done.stderr) == (0, "")
	return json.loads(done.stdout)


def roles_of(report):
	return {line["role"]: line for line in report["roles"]}


def test_every_role_has_a_state_and_a_word_why(proctor):
	report = examine(proctor)
	assert [line["role"] for line in report["roles"]] == ROLES
	for line in report["roles"]:
		assert line["state"] in ("works", "degraded", "absent")
		assert line["note"]
		assert line["source"] or line["state"] == "absent"
	text = proctor("doctor").stdout
	for line in report["roles"]:
		assert "\n  %s " % line["role"] in text
	assert report["kernel"] == os.uname().release


@pytest.mark.needs_root
def test_root_has_bpf_where_it_was_built_in(proctor):
	if "BPF yes" not in proctor("--version").stdout:
		pytest.skip("built without BPF")
	roles = roles_of(examine(proctor))
	assert roles["tasks"]["source"] == "BPF iterator"
	assert roles["lifecycle"]["source"] == "BPF tracepoints"
	without = roles_of(examine(proctor, "--no-bpf"))
	assert "BPF" not in (without["tasks"]["source"] or "") + (without["lifecycle"]["source"] or "")


@pytest.mark.needs_root
def test_nobody_gets_less_and_the_reason(as_nobody):
	report = examine(as_nobody)
	assert report["root"] is False and report["plain_user"] is None
	tasks = roles_of(report)["tasks"]
	assert tasks["state"] in ("works", "degraded") and "BPF" not in tasks["source"]
	assert as_nobody("doctor").returncode == 0


@pytest.mark.needs_root
def test_root_sees_what_nobody_would_have(proctor, as_nobody):
	mine = examine(proctor)
	plain = {line["role"]: line for line in mine["plain_user"]}
	nobodys = roles_of(examine(as_nobody))
	for role, line in nobodys.items():
		if line["source"] == roles_of(mine)[role]["source"] and role not in plain:
			continue
		assert plain[role]["source"] == line["source"]
		assert plain[role]["state"] == line["state"]
	assert "a plain user would" in proctor("doctor").stdout


def test_a_store_that_is_not_there_is_not_created(proctor):
	report = examine(proctor)
	assert report["store"]["path"] == str(proctor.state_dir / "proctor.db")
	assert (report["store"]["state"], report["store"]["bytes"]) == ("absent", None)
	assert report["store"]["disk_free_bytes"] > 0
	assert not proctor.state_dir.exists()


@pytest.mark.needs_root
def test_it_leaves_nothing_behind(proctor):
	examine(proctor)
	mine = subprocess.run(["ps", "--ppid", str(os.getpid()), "-o", "comm="], capture_output=True, text=True, check=False).stdout
	assert "proctor" not in mine


def test_every_key_has_an_effect(proctor, tmp_path):
	config = tmp_path / "proctor.conf"
	config.write_text("[profiler]\ninterval_seconds = 2\n[correlation]\ninterval_minutes = 7\nmin_sample_size = 7\n", encoding="utf-8")
	report = json.loads(proctor("doctor", "--json", "--config", config).stdout)
	assert report["configuration_without_effect"] == []


@pytest.mark.needs_root
def test_a_key_that_has_no_effect_for_a_plain_user_is_named_with_the_reason(proctor, as_nobody):
	config = as_nobody.place / "proctor.conf"
	config.write_text("[profiler]\nstrace_enabled = true\n", encoding="utf-8")
	assert json.loads(proctor("doctor", "--json", "--config", config).stdout)["configuration_without_effect"] == []
	key, = json.loads(as_nobody("doctor", "--json", "--config", config).stdout)["configuration_without_effect"]
	assert (key["section"], key["key"]) == ("profiler", "strace_enabled") and "CAP_BPF" in key["reason"]
	assert "proctor run --syscalls" in " ".join(as_nobody("doctor", "--config", config).stdout.split())


def test_what_is_stored_is_measured_and_too_little_of_it_is_not_extrapolated(proctor):
	assert proctor("run", "--quiet", "--", "true").returncode == 0
	(proctor.state_dir / "monitor.jsonl").write_bytes(b"x" * 3000)
	(proctor.state_dir / "monitor.jsonl.1").write_bytes(b"x" * 5000)
	store = json.loads(proctor("doctor", "--json").stdout)["store"]
	sizes = {end: (proctor.state_dir / ("proctor.db" + end)).stat().st_size for end in ("", "-wal")}
	assert (store["bytes"], store["wal_bytes"], store["jsonl_bytes"]) == (sum(sizes.values()), sizes["-wal"], 8000)
	assert store["growth_bytes_per_day_estimate"] is None and store["retention_frees_bytes_per_day_estimate"] is None
	assert "grows by" not in proctor("doctor").stdout
