# SPDX-License-Identifier: MIT
"""libproctor as other programs use it: installed, found by pkg-config, compiled against, run."""
import json
import os
import subprocess
from pathlib import Path

import pytest

from conftest import clean_environment
from daemonkit import cold, daemon  # noqa: F401 pylint: disable=unused-import

BUILD = Path(os.environ["PROCTOR_BUILD_DIR"]).resolve()
ROOT = Path(__file__).resolve().parents[2]
LONGEST = "i" * 96  # of the ids that somebody may choose


def build_options():
	text = (BUILD / "meson-info/intro-buildoptions.json").read_text()
	return {option["name"]: option["value"] for option in json.loads(text)}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
	"""Where `meson install` put it, and the environment in which pkg-config finds it there."""
	root = tmp_path_factory.mktemp("installed")
	subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", root], check=True, timeout=120)
	pc = next(root.rglob("proctor.pc"))
	return root, clean_environment(PKG_CONFIG_PATH=str(pc.parent), PKG_CONFIG_SYSROOT_DIR=str(root))


@pytest.fixture
def compile_against(installed, tmp_path):
	root, env = installed
	sanitizers = build_options()["b_sanitize"]

	def build(source, compiler="cc", *flags):
		found = subprocess.run(["pkg-config", "--cflags", "--libs", "proctor"], env=env, check=True, capture_output=True, text=True)
		extra = ["-fsanitize=" + sanitizers] if sanitizers != "none" else []
		program = tmp_path / Path(source).stem
		library = next(root.rglob("libproctor.so")).parent
		subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", *flags, source, *found.stdout.split(), *extra, "-Wl,-rpath," + str(library),
				"-o", program], check=True, timeout=120)
		return program

	return build


def test_the_example_compiles_as_documented_and_its_sheets_are_recorded(compile_against, proctor):
	program = compile_against(ROOT / "examples/sheets.c")
	done = proctor("run", "--job-id", "lib", "--", program)
	assert (done.returncode, done.stderr) == (0, "")
	assert done.stdout.startswith("pressure here: ")
	report = json.loads(proctor("report", "lib", "--json").stdout)
	assert [(s["sheet_num"], s["label"], s["status"]) for s in report["sheets"]] == [
		(1, "squares", "completed"), (2, "squares", "completed"), (3, "squares", "failed")]
	events = [json.loads(line) for line in proctor("events", "lib", "--json").stdout.splitlines()]
	assert "done" in json.dumps(events) and "squares" in json.dumps(events)


def test_the_example_works_the_same_without_a_recorder(compile_against, state_dir):
	program = compile_against(ROOT / "examples/sheets.c")
	env = {"PATH": os.environ["PATH"], "HOME": str(state_dir), "PROCTOR_SOCKET": str(state_dir / "nobody")}
	done = subprocess.run([program], env=env, capture_output=True, text=True, timeout=60)
	assert (done.returncode, done.stdout, done.stderr) == (0, "", "not recorded; working anyway\n")


def test_the_header_serves_c_plus_plus_and_old_c(compile_against, tmp_path):
	source = tmp_path / "plain.c"
	source.write_text("#include <proctor.h>\nint main(void) { struct proctor *p = 0; return proctor_mark(p, \"x\", 0) == 0; }\n")
	for flags in (("-x", "c++"), ("-x", "c", "-std=c99", "-pedantic"), ("-x", "c", "-std=c11")):
		compile_against(source, "c++" if "c++" in flags else "cc", *flags[:2], *flags[2:])


def test_only_the_functions_of_the_header_are_seen(installed):
	root, _ = installed
	library = next(root.rglob("libproctor.so.0"))
	names = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout.split("\n")
	seen = {line.split()[-1] for line in names if line and " T " in line}
	header = next(root.rglob("proctor.h")).read_text()
	assert seen and all(name.startswith("proctor_") and name + "(" in header for name in seen), seen


PROBE = r"""
#include <proctor.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
	struct proctor *p = NULL;
	struct proctor_event e;
	char *text = NULL, id[PROCTOR_ID_MAX];
	struct proctor_job job = { .type = "x" };
	struct proctor_sheet sheet = { .num = 9, .total = 3 };

	printf("open %d\n", proctor_open(NULL, &p));
	printf("next before subscribe %d\n", proctor_next(p, 0, &e) == -ENOTCONN);
	printf("subscribe %d\n", proctor_subscribe(p, "app.", NULL, 0));
	printf("nothing %d\n", proctor_next(p, 50, &e));
	printf("publish %d\n", proctor_publish(p, "app.epoch", "{\"n\": 3}"));
	printf("next %d", proctor_next(p, 5000, &e));
	printf(" %s %s\n", e.name, e.data);
	printf("bad data %d", proctor_mark(p, "x", "{\"open\"") == -EINVAL);
	printf(" %s\n", proctor_error(p));
	printf("nan %d", proctor_mark(p, "x", "{\"loss\": nan}") == -EINVAL);
	printf(" %d", proctor_mark(p, "x", "{\"loss\": -inf}") == -EINVAL);
	printf(" %d", proctor_mark(p, "x", "{\"loss\": 1e999}") == -EINVAL);
	printf(" %d", proctor_mark(p, "x", "{\"loss\": \"NaN\"}"));
	printf(" %d", proctor_phase(p, "x", 0.0 / 0.0, NULL) == -EINVAL);
	printf(" %s\n", proctor_error(p));
	printf("injected %d\n", proctor_mark(p, "x", "{}, \"name\": \"y\"") == -EINVAL);
	printf("bad sheet %d", proctor_sheet_start(p, &sheet) == -EINVAL);
	printf(" %s\n", proctor_error(p));
	printf("in a job %d", proctor_job_start(p, &job, id) == -EALREADY);
	printf(" %s\n", proctor_error(p));
	printf("call %d", proctor_call(p, "rpc.hello", NULL, &text));
	printf(" %d\n", text && strstr(text, "\"protocol\":1") != NULL);
	printf("unknown %d\n", proctor_call(p, "no.such", "{}", NULL) < 0);
	free(text);
	proctor_close(p);
	return 0;
}
"""


def test_events_errors_and_every_other_method_are_in_reach(compile_against, proctor, tmp_path):
	source = tmp_path / "probe.c"
	source.write_text(PROBE)
	done = proctor("run", "--", compile_against(source))
	lines = done.stdout.splitlines()
	assert done.returncode == 0, done.stderr
	assert lines[:6] == ["open 0", "next before subscribe 1", "subscribe 0", "nothing 0", "publish 0", 'next 1 app.epoch {"n":3}']
	assert lines[6].startswith("bad data 1 ") and "JSON object" in lines[6]
	assert lines[7] == "nan 1 1 1 0 1 seconds is not a finite number"
	assert lines[8:10] == ["injected 1", "bad sheet 1 sheet_num is beyond the total"]
	assert lines[10].startswith("in a job 1 ") and "daemon" in lines[10]
	assert lines[11:] == ["call 0 1", "unknown 1"]


REGISTER = r"""
#include <proctor.h>
#include <errno.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	struct proctor *p = NULL;
	struct proctor_job job = { .type = "import", .tags = "{\"team\": \"maps\"}", .workspace = argv[argc - 1] };
	struct proctor_job later = { .reserved = { &job } };
	struct proctor_sheet sheet = { .reserved = { &job } };
	char id[PROCTOR_ID_MAX] = "";

	printf("open %d\n", proctor_open(NULL, &p));
	printf("start %d\n", proctor_job_start(p, &job, id));
	job.workspace = "relative";
	printf("relative %d", proctor_job_start(p, &job, id) == -EINVAL);
	printf(" %s\n", proctor_error(p));
	printf("later %d %d", proctor_job_start(p, &later, id) == -EINVAL, proctor_sheet_start(p, &sheet) == -EINVAL);
	printf(" %s\n", proctor_error(p));
	printf("end %d\n", proctor_job_end(p, id, NULL));
	proctor_close(p);
	return 0;
}
"""


def test_a_job_is_registered_with_its_workspace(compile_against, daemon, tmp_path):
	source = tmp_path / "register.c"
	source.write_text(REGISTER)
	done = subprocess.run([compile_against(source), str(tmp_path)], env=daemon.proctor.env, capture_output=True, text=True, timeout=60)
	assert done.stdout.splitlines() == [
		"open 0", "start 0", "relative 1 workspace: 'relative' is not the whole path of a directory below '/'",
		"later 1 1 the struct was not initialised with zeros, or needs a newer library", "end 0"]
	[job] = daemon.result("job.list")["jobs"]
	assert (job["job_type"], job["tags"]) == ("import", {"team": "maps", "workspace": str(tmp_path)})


LONG = r"""
#include <proctor.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	struct proctor *p = NULL;
	struct proctor_job job = { .id = argv[argc - 1] };
	char id[PROCTOR_ID_MAX] = "";

	printf("open %d\n", proctor_open(NULL, &p));
	for (int i = 0; i < 2; i++) {
		printf("start %d", proctor_job_start(p, &job, id));
		printf(" %s %s\n", id, proctor_error(p));
		printf("end %d\n", proctor_job_end(p, id, NULL));
	}
	proctor_close(p);
	return 0;
}
"""


def test_the_longest_id_comes_back_also_with_a_number_behind_it(compile_against, daemon, tmp_path):
	source = tmp_path / "long.c"
	source.write_text(LONG)
	done = subprocess.run([compile_against(source), LONGEST], env=daemon.proctor.env, capture_output=True, text=True, timeout=60)
	assert done.stdout.splitlines() == ["open 0", "start 0 %s " % LONGEST, "end 0", "start 0 %s.2 " % LONGEST, "end 0"]


WHERE = r"""
#include <proctor.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
	struct proctor *p = NULL;
	char *text = NULL;

	if (proctor_open(NULL, &p) < 0 || proctor_call(p, "daemon.status", NULL, &text) < 0)
		return 1;
	printf("%s\n", strstr(text, "\"kind\":\"run\"") ? "its job" : "another");
	free(text);
	proctor_close(p);
	return 0;
}
"""


def test_a_program_in_a_job_with_the_longest_id_finds_it(compile_against, proctor, tmp_path):
	source = tmp_path / "where.c"
	source.write_text(WHERE)
	done = proctor("run", "--job-id", LONGEST, "--", compile_against(source))
	assert (done.stdout, done.returncode) == ("its job\n", 0), done.stderr


def test_a_program_finds_its_job_in_the_directory_that_systemd_gave(compile_against, proctor, tmp_path):
	source = tmp_path / "where.c"
	source.write_text(WHERE)
	env = {k: v for k, v in proctor.env.items() if k != "PROCTOR_STATE_DIR"}
	env["STATE_DIRECTORY"] = "%s/one:%s/two" % (tmp_path, tmp_path)
	done = subprocess.run([proctor.binary, "run", "--", compile_against(source)], env=env, capture_output=True, text=True, timeout=60)
	assert (done.stdout, done.returncode) == ("its job\n", 0), done.stderr


TIMES = r"""
#include <proctor.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void print_context(struct proctor *p, pid_t pid)
{
	struct proctor_context now;
	int r;

	memset(&now, 7, sizeof now);
	r = proctor_context(p, pid, &now);
	printf("%s:%d%d%d %ld %ld '%s' '%s'\n", r == -ENOTCONN ? "nobody" : r < 0 ? "refused" : "answered", isnan(now.rss_mb) != 0,
	       isnan(now.cpu_pct) != 0, isnan(now.daemon_rss_mb) != 0, now.running_jobs, now.active_sheets, now.pressure, now.anomalies);
}

int main(void)
{
	struct proctor *p = NULL;
	struct proctor_event e;

	print_context(p, 0);
	proctor_open(NULL, &p);
	print_context(p, -1);
	proctor_subscribe(p, "app.", NULL, 0);
	printf("none came: %d", proctor_next(p, 20, &e));
	printf(" '%s'\n", proctor_error(p));
	proctor_close(p);
	return 0;
}
"""


def test_what_is_unknown_is_reported_as_such_and_waiting_in_vain_is_no_failure(compile_against, proctor, tmp_path):
	source = tmp_path / "times.c"
	source.write_text(TIMES)
	done = proctor("run", "--", compile_against(source))
	assert done.stdout.splitlines() == ["nobody:111 -1 -1 '' ''", "refused:111 -1 -1 '' ''", "none came: 0 ''"], done.stderr


LAGGING = r"""
#include <proctor.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t first_since(struct proctor *p, uint64_t seq)
{
	struct proctor_event e;

	if (proctor_subscribe(p, "app.", NULL, seq) < 0 || proctor_publish(p, "app.one", NULL) < 0 || proctor_next(p, 5000, &e) != 1)
		exit(1);
	printf("%s %llu\n", e.name, (unsigned long long)e.lost);
	return e.seq;
}

int main(void)
{
	struct proctor *p = NULL;
	char data[4096];
	uint64_t seq;

	proctor_open(NULL, &p);
	seq = first_since(p, 0);
	first_since(p, 7);
	snprintf(data, sizeof data, "{\"x\": \"%04000d\"}", 0);
	for (int i = 0; i < 700; i++)
		if (proctor_publish(p, "app.big", data) < 0)
			return 2;
	first_since(p, seq);
	proctor_close(p);
	return 0;
}
"""


def test_an_overtaken_subscriber_learns_how_many_and_0_if_unknown(compile_against, proctor, tmp_path):
	source = tmp_path / "lagging.c"
	source.write_text(LAGGING)
	done = proctor("run", "--", compile_against(source))
	event, unknown, known = done.stdout.splitlines()
	assert (event, unknown) == ("app.one 0", "bus.lagged 0"), done.stderr
	assert known.startswith("bus.lagged ") and int(known.split()[1]) > 100
