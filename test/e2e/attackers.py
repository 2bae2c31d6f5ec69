# SPDX-License-Identifier: MIT
"""Users that try to starve a daemon: each is a process of its own, which ends with the block or after a minute.

	with Attack(socket, flood, uid=65534, lines=call("job.list")):
		…
"""
import contextlib
import json
import os
import select
import signal
import socket
import traceback

NOBODY = 65534
LASTS_S = 60


def call(method, call_id=1, **params):
	"""The line of a call; of a notification if its id is None."""
	message = {"jsonrpc": "2.0", "method": method, "params": params}
	if call_id is not None:
		message["id"] = call_id
	return json.dumps(message).encode() + b"\n"


def connect(path):
	one = socket.socket(socket.AF_UNIX)
	one.connect(str(path))
	return one


def connect_many(path, count):
	"""As many of them as the daemon lets in."""
	return [connect(path) for _ in range(count)]


def become(uid):
	os.setgroups([])
	os.setgid(uid)
	os.setuid(uid)


class Attack:
	"""One user who does `what(path, **options)`."""

	def __init__(self, path, what, uid=NOBODY, lasts_s=LASTS_S, **options):
		ready, said = os.pipe()
		self.pid = os.fork()
		if self.pid == 0:
			signal.alarm(lasts_s)
			try:
				become(uid)
				what(path, lambda: os.write(said, b"x"), **options)
				signal.pause()
			except BaseException:  # pylint: disable=broad-exception-caught
				traceback.print_exc()
			finally:
				os._exit(1)
		os.close(said)
		self.ready = ready

	def __enter__(self):
		"""It has begun."""
		assert os.read(self.ready, 1) == b"x"
		return self

	def __exit__(self, *_):
		os.close(self.ready)
		os.kill(self.pid, signal.SIGKILL)
		os.waitpid(self.pid, 0)


# ---- what they do: `begun` is called once they are at it ----------------------------------------

def flood(path, begun, lines, connections=60, reads=True):
	"""Sends lines on every connection as fast as they are taken, and reads the answers or does not."""
	poll, sockets, left = select.poll(), {}, {}
	for one in connect_many(path, connections):
		one.setblocking(False)
		sockets[one.fileno()], left[one.fileno()] = one, lines
		poll.register(one, select.POLLOUT | (select.POLLIN if reads else 0))
	many = lines * max(1, (64 << 10) // len(lines))
	begun()
	while sockets:
		for fd, events in poll.poll(1000):
			try:
				if events & select.POLLIN and not sockets[fd].recv(1 << 20):
					raise BrokenPipeError
				if events & select.POLLOUT:
					sent = sockets[fd].send(left[fd])
					left[fd] = left[fd][sent:] or many
			except BlockingIOError:
				pass
			except OSError:
				poll.unregister(fd)
				sockets.pop(fd).close()


def ask_and_not_read(path, begun, lines, connections=63):
	"""Asks once on every connection."""
	sockets = connect_many(path, connections)
	for one in sockets:
		one.sendall(lines)
	begun()
	signal.pause()


def begin_lines(path, begun, size=(1 << 20) - 4096, connections=64):
	"""Lines that never end."""
	ended = []
	poll, left = select.poll(), {}
	for one in connect_many(path, connections):
		one.setblocking(False)
		poll.register(one, select.POLLOUT)
		left[one.fileno()] = [one, size]
	begun()
	while left:
		for fd, _ in poll.poll():
			one, rest = left[fd]
			with contextlib.suppress(OSError):
				rest -= one.send(b" " * min(rest, 65536))
				left[fd][1] = rest
				if rest:
					continue
			poll.unregister(fd)
			del left[fd]
			ended.append(one)


def connect_and_go(path, begun):
	"""Connections that do nothing, one after another."""
	begun()
	while True:
		with contextlib.suppress(OSError):
			connect(path).close()


def stay(path, begun, connections=64):
	"""Connections that do nothing, for ever."""
	sockets = connect_many(path, connections)
	begun()
	assert sockets
	signal.pause()
