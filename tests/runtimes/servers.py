#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""servers.py SERVER MODEL: two llama-servers at once, each asked once for 20 tokens, then ended by SIGTERM.

Prints what each answered and how it ended. The sockets are files of the current folder.
"""
import os
import signal
import socket
import sys
import time

REQUEST = b'{"prompt": "a", "n_predict": 20, "temperature": 0, "ignore_eos": true, "cache_prompt": false}'
# A server comes up in seconds; one that does not is no reason to hang.
SECONDS_MAX = 600


def start(program, model, path):
    pid = os.fork()
    if pid == 0:
        os.execv(program, [program, "-m", model, "-ngl", "99", "-t", "1", "--host", path, "--no-webui", "-np", "1"])
    return pid


def ask(path, head, body=b""):
    """The whole answer; b"" while there is no listener."""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(path)
        except OSError:
            return b""
        connection.sendall(head + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json"
                           b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        answer = b""
        while True:
            part = connection.recv(65536)
            if not part:
                return answer
            answer += part


def main():
    program, model = sys.argv[1:]
    paths = [os.path.relpath("s%d.sock" % number) for number in range(2)]
    pids = [start(program, model, path) for path in paths]
    deadline = time.monotonic() + SECONDS_MAX
    for path in paths:
        while b" 200 OK" not in ask(path, b"GET /health"):
            if time.monotonic() > deadline:
                sys.exit("servers: %s does not answer" % path)
            time.sleep(0.05)
    for path in paths:
        answer = ask(path, b"POST /completion", REQUEST)
        print(path, answer.split(b"\r\n")[0].decode(), "20 tokens" if b'"tokens_predicted":20' in answer else answer)
    for path, pid in zip(paths, pids):
        os.kill(pid, signal.SIGTERM)
        status = os.waitpid(pid, 0)[1]
        print(path, "ends with", os.waitstatus_to_exitcode(status))
    sys.stdout.flush()
    for path in paths:
        if os.path.exists(path):
            os.unlink(path)


main()
