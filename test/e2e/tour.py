# SPDX-License-Identifier: MIT
"""The README's tour as data: each command as it is typed, and the lines that are shown below it.

`tour.py README.md` types it all again, here and now, and prints what came: how the README gets its output.
"""
import os
import pty
import re
import shlex
import subprocess
import sys
from pathlib import Path

BEGIN, END = "## A tour", "## Good to know"
HEREDOC = re.compile(r"<<'(\w+)'")


def is_whole(text):
	"""Whether a shell would run it now, or ask for more lines."""
	heredoc = HEREDOC.search(text)
	if heredoc:
		return text.splitlines()[-1] == heredoc[1]
	try:
		shlex.split(text)
	except ValueError:
		return False
	return True


def steps(readme):
	"""[command, [line, …]] in the order of the text."""
	tour = readme.partition(BEGIN)[2].partition(END)[0]
	tour = re.sub(r"^```.*?^```$", "", tour, flags=re.M | re.S)  # a picture of a screen is not typed
	found, typing = [], False
	for line in tour.splitlines():
		if not line.startswith("    "):
			continue
		line = line[4:]
		if line.startswith("$ "):
			found.append([line[2:], []])
			typing = not is_whole(found[-1][0])
		elif typing:
			found[-1][0] += "\n" + line
			typing = not is_whole(found[-1][0])
		elif found:
			found[-1][1].append(line)
	return found


def read_all(fd):
	text = b""
	while True:
		try:
			piece = os.read(fd, 1 << 16)
		except OSError:  # the other end of a pty is closed
			break
		if not piece:
			break
		text += piece
	os.close(fd)
	return text.decode().replace("\r\n", "\n")


def type_it(command, folder, env):
	"""As at a terminal: exit status as a shell reports it, and all that was seen."""
	ours, theirs = pty.openpty()
	process = subprocess.Popen(["bash", "-c", command], cwd=folder, env={**env, "COLUMNS": "140", "NO_COLOR": "1"}, stdin=subprocess.DEVNULL,
				   stdout=theirs, stderr=theirs)
	os.close(theirs)
	seen = read_all(ours)
	status = process.wait()
	return (status if status >= 0 else 128 - status), seen


def main():
	for command, _ in steps(Path(sys.argv[1]).read_text(encoding="utf-8")):
		print("    $ " + command.replace("\n", "\n    "))
		print("".join("    " + line for line in type_it(command, ".", os.environ)[1].splitlines(keepends=True)))


if __name__ == "__main__":
	main()
