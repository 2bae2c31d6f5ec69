# SPDX-License-Identifier: MIT
"""The tree keeps its own rules, and the check of that can fail."""
from pathlib import Path

import pytest

import layers

ARCHITECTURE = (Path(__file__).parent.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
TABLE = "\n".join("| `%s/` | | %s |" % row for row in layers.ROW.findall(ARCHITECTURE))
SPDX = "/* SPDX-License-Identifier: MIT */\n"


def test_the_tree_keeps_its_rules():
	assert "\n".join(layers.problems(Path(__file__).parent.parent)) == ""


def tree(root, files):
	"""What is wrong with these files beside the project's own table of rooms."""
	(root / "ARCHITECTURE.md").write_text(TABLE, encoding="utf-8")
	for name, text in files.items():
		path = root / name
		path.parent.mkdir(parents=True, exist_ok=True)
		path.write_text(text, encoding="utf-8")
	return layers.problems(root)


def test_a_good_tree_has_no_problems(tmp_path):
	assert tree(tmp_path, {
		"src/base/buf.c": SPDX + '#include "base/buf.h"\n/* "/proc/stat" in a comment, and SELECT a FROM b */\n',
		"src/sqlite/db.c": SPDX + '#include <sqlite3.h>\n#include "model/sample.h"\n'
			'static const char sql[] = "SELECT a FROM b";\nint x = sqlite3_open_v2();\n',
		"src/probe/system.c": SPDX + 'static const char path[] = "proc/stat";\n',
		"src/cli/verb_daemon.c": SPDX + '#include "daemon/daemon.h"\n',
		"test/unit/test_a.c": SPDX,
		"test/meson.build": "'test_a': [base],\n",
	}) == []


@pytest.mark.parametrize("path, text, complaint", [
	("src/base/a.c", '#include "model/job.h"\n', "base/ may not include"),
	("src/analyze/a.c", '#include "store/store.h"\n', "analyze/ may not include"),
	("src/view/a.h", '#  include "rpc/client.h"\n', "view/ may not include"),
	("src/cli/verb_top.c", '#include "daemon/daemon.h"\n', "cli/ may not include"),
	("src/base/a.c", '#include "buf.h"\n', 'as "room/file.h"'),
	("src/attic/a.c", "", "not in the table"),
	("src/engine/a.c", "#include <sqlite3.h>\n", "engine/ may not include"),
	("src/model/a.c", "#include <bpf/libbpf.h>\n", "model/ may not include"),
	("src/engine/a.c", "int f(struct sqlite3 *db);\n", "outside sqlite/"),
	("src/cli/a.c", 'const char *q = "select pid from x";\n', "SQL outside sqlite/"),
	("src/cli/a.c", 'const char *q = "CREATE TABLE x";\n', "SQL outside sqlite/"),
	("src/store/a.c", 'int x = sqlite3_open("x");\n', "opened by sqlite3_open_v2"),
	("src/probe/a.c", 'const char *p = "/proc/stat";\n', "the root is an argument"),
	("src/model/a.c", 'const char *p = "/sys/kernel";\n', "the root is an argument"),
	("src/kernel/a.c", 'const char *p = "/proc/stat";\n', "the root is an argument"),
	("src/job/a.c", 'snprintf(path, sizeof path, "proc/%d/stat", pid);\n', "outside kernel/ and probe/"),
	("src/cli/a.c", 'int fd = open("/sys/fs/cgroup", O_PATH);\n', "outside kernel/ and probe/"),
	("src/rpc/a.c", '#include "model/job.h"\n', "rpc/ may not include"),
	("src/base/a.h", "see /tmp/" + "wt/x\n", "a path of one machine"),
	("src/base/buf.h", SPDX + "void *scan_next(int a,\n                int b) must_check;\n", "scan_next() does not begin with the noun"),
	("README.md", "cd /" + "work/main\n", "a path of one machine"),
	("test/unit/test_b.c", "", "never runs"),
	("test/e2e/test_c.py", "# SPDX-License-Identifier: MIT\n", "never runs"),
	("test/fuzz/fuzz_d.c", "", "never runs"),
])
def test_a_bad_file_is_named(tmp_path, path, text, complaint):
	found = tree(tmp_path, {path: (SPDX if path.endswith((".c", ".h")) else "") + text})
	assert any(path in line and complaint in line for line in found), found


def test_a_source_without_its_licence_line_is_named(tmp_path):
	found = tree(tmp_path, {"src/base/a.c": "int a;\n", "scripts/a": "#!/bin/sh\n"})
	assert [line.split(":")[0] for line in found] == ["scripts/a", "src/base/a.c"]


def test_two_doors_to_the_database_are_one_too_many(tmp_path):
	source = SPDX + "int x = sqlite3_open_v2();\n"
	found = tree(tmp_path, {"src/store/a.c": source, "src/store/b.c": source})
	assert found == ["sqlite3_open_v2 must be called in exactly one file: src/store/a.c, src/store/b.c"]


def test_a_file_name_that_is_taken_twice_is_named(tmp_path):
	found = tree(tmp_path, {"src/base/map.h": SPDX, "src/model/map.h": SPDX})
	assert found == ["map.h: the name is taken in two places: src/base/map.h, src/model/map.h"]


def test_documents_that_name_code_which_is_not_there_are_named(tmp_path):
	problems = tree(tmp_path, {
		"docs/a.md": "`f` in `base/buf.c`, `g()` in `base/buf.c`, `base/gone.c`, `serve/method_*.c`, `test/unit/test_NAME.c`\n",
		"src/base/buf.c": SPDX + "int f(void)\n",
	})
	assert problems == ["docs/a.md: there is no g in base/buf.c", "docs/a.md: there is no base/gone.c"]


def test_the_table_lists_which_room_may_include_which():
	rooms = layers.read_table("| `a/` | x | b sqlite3 |\n| `b/` | y | |\n| `daemon/` | z | a |\n| `cli/` | all | any room |\n")
	assert rooms["a"] == {"b", "sqlite3"} and rooms["b"] == set()
	assert rooms["cli"] == {"a", "b", "cli"}, "the daemon's room is closed to all but its verb"


def test_a_function_is_where_its_name_points_to(tmp_path):
	files = {
		"src/model/job.h": SPDX + "int job_a(void);\n",
		"src/kernel/cgroup_dir.h": SPDX + "int cgroup_dir_open(void);\n",
		"src/kernel/cgroup_map.h": SPDX + "int cgroup_map_open(void);\nint cgroup_open(void);\nint cgroup_dir_name(void);\n",
		"src/engine/jobs.h": SPDX + "static inline int job_of(void)\n{\n\treturn 0;\n}\n",
		"src/engine/job_list.h": SPDX + "int job_list_a(void);\nint job_lists_a(void);\n",
		"src/history/history.h": SPDX + "int history_open(void);\n",
		"src/history/job_query.h": SPDX + "int history_jobs(void);\n",
	}
	assert tree(tmp_path, files) == [
		"src/engine/job_list.h: job_lists_a() is not in job, as its name has it",
		"src/engine/jobs.h: job_of() is not in job, as its name has it",
		"src/kernel/cgroup_map.h: cgroup_dir_name() is not in cgroup_dir, as its name has it",
	]


def test_an_inline_function_has_the_noun_of_its_header_too(tmp_path):
	source = SPDX + "static inline int scan_next(int a,\n                            int b)\n{\n\treturn a + b;\n}\n"
	assert tree(tmp_path, {"src/base/buf.h": source}) == ["src/base/buf.h: scan_next() does not begin with the noun of a file of base/"]
