#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Too many connections, too fast, too slow: the others do not feel it.

usage: connections.py --build DIR [--seconds N] [--crowd N]

  crowd   1,000 live ranks of 8 uids, which are then killed all at once
  caps    several uids open as many connections as they may, and more
  slow    64 connections that never say what they are
  bytes   questions byte by byte, and frames that never end
  flood   one uid connects as fast as it can
"""
import re
import socket
import time

import wire
from neighbours import (HOSTILE_UID, Database, ask, connect, fail, percentile, receive,
                     refusal, run, wait_for)
from node import is_long

UIDS = 8
CROWD_MIB_MAX = 96
CONNECTIONS_MAX = 1024  # proto/base/limits.h
UNGREETED_MAX = 64
FRAME_S_MAX = 5
REFUSAL_S = 60  # collectord/service/log.c: the same of the same user is said again after so long
SPELL_S = 60  # so long a machine may stand still
FLOODERS = 4
GREEDY = 3 if is_long() else 2  # users
SPELLERS, BEGUN = 4, 20  # users, and of each so many frames that never end
HONEST_UID = HOSTILE_UID + 50
QUESTION = wire.frame(sessions_request={"version_min": 1, "version_max": 1})


# ---- a crowd ---------------------------------------------------------------------------------


class Crowd(Database):
    def __init__(self, street, uid, count):
        self.street, self.uid, self.count = street, uid, count
        self.process = street.popen(uid, [street.program("liar"), street.socket, "none", "0",
                                           str(count)], job="crowd")

    def has_come(self):
        """They say so themselves, each once it is welcomed."""
        for _ in range(self.count):
            if self.process.stdout.readline() != "welcomed\n":
                fail("one of uid %d is not welcomed" % self.uid)
        self.database = self.street.databases(self.uid)[0]


def crowd(street, arguments):
    count = street.fewer(arguments.crowd)
    with street.attack("%d live ranks of %d uids" % (count, UIDS)) as attack:
        crowds = [Crowd(street, HOSTILE_UID + i, count // UIDS) for i in range(UIDS)]
        for one in crowds:
            one.has_come()
        answers = [street.neighbour(HONEST_UID, probe).result() for _ in range(3)]
        rss, fds = street.rss_mib(), street.fds()
        attack.go_on()
    with street.attack("the end of %d ranks at once" % count):
        for one in crowds:
            one.process.kill()
        for one in crowds:
            one.process.wait()
        for one in crowds:
            wait_for("a crowd of uid %d to be drained" % one.uid, lambda o=one: o.drained(o.count))
    street.check_fds("the end of the crowd", street.fds_with_honest)
    street.check_rss(rss, "%d connections" % count, CROWD_MIB_MAX)
    print("crowd: %d live ranks of %d uids: RSS %d MiB, %d descriptors; another uid is answered "
          "after at most %.0f ms; all gone and drained: %d descriptors" %
          (count, UIDS, rss, fds, 1000 * max(answers), street.fds()))


# ---- more than there may be -------------------------------------------------------------------


def hold(_pipe, path, count):
    """So many connections that are tools, and stay: how many were let in, and what others heard."""
    held, texts = [], set()
    for _ in range(count):
        connection = connect(path)
        held.append(connection)
        try:
            connection.sendall(QUESTION)
        except (BrokenPipeError, ConnectionResetError):
            pass  # refused already; why lies there to be read
        body, fields = receive(connection)
        if body != "sessions_reply":
            texts.add(fields.get("text", b"").decode())
            held.pop().close()
    hold.held = held  # until we end
    return len(held), sorted(texts)


def probe(_pipe, path):
    return ask(path)


def caps(street):
    """Each has as many as a user may have, whatever the others have."""
    words, start = [], time.monotonic()
    greedy = []
    with street.attack("%d users at their limit of connections" % GREEDY) as attack:
        for i in range(GREEDY):
            greedy.append(street.neighbour(HOSTILE_UID + i, hold, CONNECTIONS_MAX + 50))
            count, texts = greedy[i].result()
            if count != CONNECTIONS_MAX or texts != ["too many connections of this user"]:
                fail("%d connections of one uid, refused with %s" % (count, texts))
            words.append("%d" % count)
        answer = street.neighbour(HONEST_UID, probe).result()
        rss = street.rss_mib()
        attack.go_on()
        for one in greedy:
            one.end()
    street.check_fds("the end of the greedy", street.fds_with_honest)
    said = [user for user, why in refusals(street, again=False) if why == "too many connections of this user"]
    most = len(greedy) * (1 + (time.monotonic() - start) // REFUSAL_S)
    if len(set(said)) != len(greedy) or len(said) > most:
        fail("%d users refused 50 times each, said of %s" % (len(greedy), said))
    print("caps: of all they want %d uids get %s connections, the others are refused, said once "
          "each; RSS %d MiB; another uid is answered after %.0f ms" %
          (GREEDY, ", ".join(words), rss, 1000 * answer))


# ---- too slow ----------------------------------------------------------------------------------


def dawdle(pipe, path, count):
    """Connections that say nothing, and come again as soon as they are sent away."""
    slow = [connect(path) for _ in range(count)]
    pipe.send("there")
    texts = set()
    while not pipe.poll():
        for number, connection in enumerate(slow):
            connection.setblocking(False)
            try:
                gone = connection.recv(1, socket.MSG_PEEK) is not None
            except (BlockingIOError, ConnectionResetError):
                gone = False
            if gone:
                connection.settimeout(60)
                texts.add(refusal(connection))
                connection.close()
                slow[number] = connect(path)
        time.sleep(0.01)  # the pace of a client that has time
    pipe.recv()
    return sorted(text or "" for text in texts)


def slow(street):
    with street.attack("%d connections that say nothing" % UNGREETED_MAX) as attack:
        dawdlers = [street.neighbour(HOSTILE_UID + i, dawdle, UNGREETED_MAX // UIDS)
                    for i in range(UIDS)]
        for one in dawdlers:
            if one.result() != "there":
                fail("a dawdler is not there")
        answers = [street.neighbour(HONEST_UID, probe).result() for _ in range(10)]
        attack.go_on()
        heard = set()
        for one in dawdlers:
            one.tell()
            heard.update(one.result())
            one.end()
    street.check_fds("the end of the slow", street.fds_with_honest)
    print("slow: %d connections that say nothing, all the time, and hear %s: another uid is "
          "answered after at most %.0f ms" %
          (UNGREETED_MAX, sorted(heard), 1000 * max(answers)))


def spell(pipe, path, count):
    """Questions byte by byte are answered, and frames that never end are refused, until told. A process
    that had no processor time for one until then continues until it has."""
    spelled, begun, deadline = 0, [], None
    for _ in range(count):
        connection = connect(path)
        connection.sendall(QUESTION + QUESTION[:3])
        receive(connection)
        begun.append(connection)
    pipe.send("there")
    while not pipe.poll() or (not spelled and (deadline is None or time.monotonic() < deadline)):
        if deadline is None and pipe.poll():
            deadline = time.monotonic() + SPELL_S
        begin = end = time.monotonic()
        replies = []
        with connect(path) as connection:
            try:
                for byte in QUESTION + QUESTION:
                    connection.sendall(bytes([byte]))
                    end = time.monotonic()
                replies = [receive(connection)[0] for _ in range(2)]
            except (BrokenPipeError, ConnectionResetError):
                end = time.monotonic()
        # Of a machine that stood still in the middle of a question it is none any more.
        if replies == ["sessions_reply"] * 2:
            spelled += 2
        elif end - begin < FRAME_S_MAX:
            fail("a question byte by byte is not answered")
        time.sleep(0.05)  # requests of a user are answered so often
    pipe.recv()
    return spelled, sorted({refusal(connection) for connection in begun})


def bytes_alone(street):
    with street.attack("%d users that send byte by byte" % SPELLERS) as attack:
        spellers = [street.neighbour(HOSTILE_UID + i, spell, BEGUN) for i in range(SPELLERS)]
        for one in spellers:
            if one.result() != "there":
                fail("a speller is not there")
        attack.go_on()
        for one in spellers:
            one.tell()
        results = [one.result() for one in spellers]
        for one in spellers:
            one.end()
    texts = {text for _, heard in results for text in heard}
    if texts != {"a frame took longer than %d ms" % (1000 * FRAME_S_MAX)}:
        fail("frames without an end are refused with %s" % texts)
    if not all(spelled for spelled, _ in results):
        fail("a user spelled nothing: %s" % results)
    street.check_fds("the end of the spellers", street.fds_with_honest)
    print("bytes: %d questions byte by byte answered, %d frames that never ended refused" %
          (sum(spelled for spelled, _ in results), SPELLERS * BEGUN))


# ---- too fast ----------------------------------------------------------------------------------


def storm(pipe, path):
    """As fast as it goes: nothing said, half a Hello, a question, half of them never read."""
    words = (b"", b"\1", QUESTION, QUESTION[:7], b"\xff\xff\xff\xff")
    count = 0
    pipe.send("there")
    while not pipe.poll():
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.setblocking(False)
            try:
                connection.connect(path)
                connection.send(words[count % len(words)])
                count += 1
            except (BlockingIOError, ConnectionResetError, BrokenPipeError):
                pass  # the backlog is full, or it was sent away already
    pipe.recv()
    return count


def ask_for(_pipe, path, seconds):
    until, answers = time.monotonic() + seconds, []
    while time.monotonic() < until:
        answers.append(ask(path))
        time.sleep(0.02)  # more would be too often
    return answers


def refusals(street, again=True):
    """(uid, reason) of each line in the log that refuses; those that say how often @again, too."""
    return re.findall(r"uid (\d+) (?:pid \d+ )?refused%s: (.*)" % (r"(?: \d+ more times)?" if again else ""),
                      street.said())


def flood(street, arguments):
    before, start = refusals(street), time.monotonic()
    with street.attack("one user that connects without end") as attack:
        floods = [street.neighbour(HOSTILE_UID, storm) for _ in range(FLOODERS)]
        for one in floods:
            one.result()
        answers = street.neighbour(HONEST_UID, ask_for, arguments.seconds).result()
        attack.go_on()
        count = 0
        for one in floods:
            one.tell()
            count += one.result()
            one.end()
    seconds = time.monotonic() - start
    street.check_fds("the end of the flood", street.fds_with_honest)
    # Of a few reasons one line each, and how often once a minute; not how often what came before.
    said = sum(refusal not in before for refusal in refusals(street)[len(before):])
    if said > 4 + seconds // 15:
        fail("%d lines about a flood" % said)
    print("flood: %d connections of one uid in %.1f s (%d lines in the log); another uid: %d "
          "questions, each on a connection of its own, answered after p50 %.1f ms, p99 %.0f ms, "
          "max %.0f ms" %
          (count, seconds, said, len(answers), 1000 * percentile(answers, 0.5),
           1000 * percentile(answers, 0.99), 1000 * max(answers)))


def test(street, arguments):
    street.start()
    street.honest()
    crowd(street, arguments)
    caps(street)
    slow(street)
    bytes_alone(street)
    flood(street, arguments)
    print(street.check_honest() + "; RSS at most %d MiB" % street.rss_mib("VmHWM"))
    street.check_fds()
    street.stop()


if __name__ == "__main__":
    run(test, seconds=(1, 60), crowd=(200, 1000))
