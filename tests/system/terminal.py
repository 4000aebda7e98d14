#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a command as the foreground job of a terminal, as a shell would, and types ^C, ^Z, fg.

The command must be rtl run with the waiter of cli_run.bats: it notes its signals in ./signals
and ends with 9 on USR2.
"""
import os
import pty
import signal
import sys
import termios
import time

DEADLINE_S = 900


def wait_for(what, condition):
    end = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"gave up waiting for {what}")
        time.sleep(0.01)


def signals():
    try:
        with open("signals", encoding="ascii") as file:
            return file.read().split()
    except FileNotFoundError:
        return []


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().rsplit(")", 1)[1].split()[0]


def start(command, terminal):
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(terminal, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        for fd in (0, 1, 2):
            os.dup2(terminal, fd)
        os.execv(command[0], command)
    return pid


def shell(terminal, type_key):
    # A shell that hands the terminal around ignores this.
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    job = start(sys.argv[1:], terminal)
    wait_for("the job", lambda: os.path.exists("ready"))
    (command,) = children_of(job)

    type_key(b"\x03")
    wait_for("^C", lambda: "SIGINT" in signals())
    # What rtl passes on comes in order: a second copy would be before this.
    os.kill(job, signal.SIGUSR1)
    wait_for("USR1", lambda: "SIGUSR1" in signals())
    assert signals() == ["SIGINT", "SIGUSR1"], signals()

    type_key(b"\x1a")
    _, status = os.waitpid(job, os.WUNTRACED)
    assert os.WIFSTOPPED(status), status
    assert state_of(command) == "T", state_of(command)
    os.tcsetpgrp(terminal, job)
    os.killpg(job, signal.SIGCONT)
    wait_for("fg", lambda: state_of(command) != "T" and state_of(job) != "T")
    type_key(b"\x03")
    wait_for("^C after fg", lambda: signals().count("SIGINT") == 2)

    os.kill(job, signal.SIGUSR2)
    _, status = os.waitpid(job, 0)
    assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == 9, status
    assert signals().count("SIGINT") == 2, signals()


def main():
    ours, theirs = pty.openpty()
    attributes = termios.tcgetattr(theirs)
    attributes[3] |= termios.ISIG
    termios.tcsetattr(theirs, termios.TCSANOW, attributes)
    pid = os.fork()
    if pid == 0:
        os.setsid()
        # Opening it makes it the controlling terminal of this new session.
        terminal = os.open(os.ttyname(theirs), os.O_RDWR)
        try:
            shell(terminal, lambda key: os.write(ours, key))
        except BaseException as error:  # to the caller's stderr, which is no terminal
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    os.close(theirs)
    _, status = os.waitpid(pid, 0)
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
