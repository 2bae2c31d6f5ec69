# SPDX-License-Identifier: MIT
"""The functions this project does not use are refused by the compiler, with the flags that the build uses."""
import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BUILD = Path(os.environ.get("PROCTOR_BUILD_DIR", ROOT / "build"))
# What must never be taken off the list, whatever becomes of banned.h.
CALLS = {
	"strcpy": "strcpy(to, from)", "strcat": "strcat(to, from)", "strncpy": "strncpy(to, from, 9)",
	"sprintf": "sprintf(to, from)", "vsprintf": "vsprintf(to, from, 0)", "gets": "gets(to)",
	"sscanf": 'sscanf(from, "%d", (int *)0)', "atoi": "atoi(from)", "atol": "atol(from)", "atof": "atof(from)",
	"strtok": 'strtok(to, ",")', "system": "system(from)", "popen": 'popen(from, "r")', "alloca": "alloca(9)",
	"mktemp": "mktemp(to)", "gmtime": "gmtime((long *)0)",
}


def commands():
	return json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))


def compiler_flags():
	"""How the build compiles a file of base/, without its input and output."""
	entry = next(c for c in commands() if c["file"].endswith("src/base/err.c"))
	words = shlex.split(entry["command"])
	for option in ("-o", "-MF", "-MQ", "-c"):
		at = words.index(option)
		del words[at:at + 2]
	return words


def compile_snippet(statement):
	source = "#include <stdarg.h>\nvoid f(char *to, const char *from);\n" \
		"void f(char *to, const char *from)\n{\n\t(void)to, (void)from;\n\t%s;\n}\n" % statement
	return subprocess.run(compiler_flags() + ["-fsyntax-only", "-x", "c", "-"], input=source, cwd=BUILD, text=True,
			      capture_output=True, timeout=30, check=False)


def poisoned():
	text = (ROOT / "src/base/banned.h").read_text(encoding="utf-8")
	return sorted(name for line in re.findall(r"#pragma GCC poison (.*)", text) for name in line.split())


def test_a_harmless_call_compiles():
	done = compile_snippet("(void)snprintf(to, 9, \"%s\", from)")
	assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", sorted(set(poisoned()) | set(CALLS)))
def test_a_banned_function_does_not_compile(name):
	done = compile_snippet("(void)" + CALLS.get(name, name))
	assert done.returncode != 0
	assert "poisoned" in done.stderr


def test_every_source_of_ours_is_compiled_with_the_list():
	ours = [c for c in commands() if Path(c["directory"], c["file"]).resolve().is_relative_to((ROOT / "src").resolve())]
	assert ours
	assert [c["file"] for c in ours if "banned.h" not in c["command"]] == []
