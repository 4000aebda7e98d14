#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A tenant at twenty times its quota beside seven honest ones: only the noisy one pays.

usage: quota.py --build DIR
What the noisy tenant's ranks say they dispatched, what its databases have in their books, and what
the collector logs that it granted must be the same figures; the honest ones lose nothing.
Two of its ranks share the quota; a third is killed, and read to its end over quota.
What the honest wait for their Acks is printed: beside it, and with RTL_TEST_LONG=1 alone, too, and beside the same
noise at another collector of the machine (what the machine costs). Of all their Acks together: of one rank's
few hundred a 99th percentile would be the third worst.
"""
import glob
import os
import re
import signal
import sqlite3
import time

from neighbours import ACK, percentile
from node import DEADLINE_S, STALL_S_MAX, fail, is_long, said, wait_for
from service import User, run

QUOTA = 1_000           # records a second of each tenant ...
BURST_S = 4             # ... and so many seconds' worth at once
HONEST, HONEST_DISPATCHES, HONEST_RATE = 7, 3_000, 500  # never more than a burst: none can be over
NOISY_RATE = 20 * QUOTA
NOISY = User("noisy", 71000)


def honest(number):
    return User("honest %d" % number, 71001 + number)


def open_database(service, uid, job):
    for path in glob.glob(os.path.join(service.store, str(uid), "*.db")):
        db = sqlite3.connect("file:%s?mode=ro" % path, uri=True, timeout=60)
        if db.execute("SELECT 1 FROM rtl_session WHERE job = ?", (job,)).fetchone():
            return db
        db.close()
    fail("uid %d has no database of job %s" % (uid, job))
    return None


def books(service, uid, job):
    """dispatched, stored, dropped, dropped over quota, outstanding + torn, rows, line."""
    db = open_database(service, uid, job)
    sums = db.execute("""SELECT sum(dispatched), sum(stored), sum(dropped),
        (SELECT coalesce(sum(count), 0) FROM rtl_loss WHERE reason = 'dropped_quota'),
        sum(outstanding + torn), (SELECT count(*) FROM rocpd_op), sum(pending)
        FROM rtl_account""").fetchone()
    line = db.execute("SELECT value FROM rtl_meta WHERE key = 'completeness'").fetchone()[0]
    spans = db.execute("""SELECT coalesce(sum(count), 0) FROM rtl_loss_interval
        WHERE reason = 'dropped_quota' AND first_seq <= last_seq AND from_ns <= to_ns""").fetchone()
    db.close()
    if sums[5] != sums[1] or sums[6] != 0 or spans[0] != sums[3]:
        fail("uid %d, %s: %d rows; books %s; %d with a time" % (uid, job, sums[5], sums, spans[0]))
    return sums[:5] + (line,)


def log_text(service):
    with open(service.log.name, encoding="utf-8", errors="replace") as log:
        return log.read()


def granted(service, name):
    """What the collector said last of session @name: granted, dropped."""
    found = re.findall(r"session %s: uid \d+, quota: (\d+) records granted, (\d+) dropped"
                       % re.escape(name), log_text(service))
    if not found:
        fail("the collector did not say what %s was granted" % name)
    return tuple(int(n) for n in found[-1])


def closed(service, uid):
    return sum(s["state"] == "closed" for s in service.sessions().get(uid, []))


def acks_of(service, number, job):
    return os.path.join(service.work, "acks-%s-%d" % (job, number))


def start_honest(service, number, job):
    path = acks_of(service, number, job)
    with open(path, "wb"):
        os.chown(path, honest(number).uid, honest(number).uid)
    return service.spawn(honest(number), job, "--acks-to", path, "--polite",
                         dispatches=HONEST_DISPATCHES, rate=HONEST_RATE)


def run_honest(service, job):
    return [start_honest(service, number, job) for number in range(HONEST)]


def waited_ms(service, job):
    """For their Acks, all of them."""
    waited = []
    for number in range(HONEST):
        with open(acks_of(service, number, job), "rb") as file:
            waited += [ns / 1e6 for _, ns in ACK.iter_unpack(file.read())]
    return sorted(waited)


def finish_honest(service, shims, job):
    """To their end: the p50, the p99 and the longest of their Acks, in ms."""
    for number, shim in enumerate(shims):
        words = said(shim)
        uid = honest(number).uid
        wait_for("the end of honest %d" % number, lambda u=uid, j=job: any(
            s["state"] == "closed" and s["job"] == j for s in service.sessions().get(u, [])))
        kernels = words["dispatched"]["kernels"]
        if books(service, uid, job)[:4] != (kernels, kernels, 0, 0):
            fail("honest %d: dispatched %d, books %s" %
                 (number, kernels, books(service, uid, job)))
    waited = waited_ms(service, job)
    if waited[-1] > 1000 * STALL_S_MAX:
        fail("an Ack of an honest tenant stalls: %.0f ms" % waited[-1])
    return percentile(waited, 0.5), percentile(waited, 0.99), waited[-1]


def check_seen(service):
    """The user that is over quota is told so, and root; a neighbour is not. A user that paused for two
        seconds is over it only once it continues."""
    for user in (None, NOISY):
        wait_for("%s to be told which user is over quota" % (user.name if user else "root"),
                 lambda u=user: is_over_quota(service, service.socket, u))
    if is_over_quota(service, service.socket, honest(0)):
        fail("a neighbour is told which user is over quota")


def check_noisy(service, sent):
    """@sent: {job: dispatches, or None for a rank that was killed}."""
    totals = [0, 0]
    names = {s["job"]: s["session"] for s in service.sessions()[NOISY.uid]}
    for job, kernels in sent.items():
        dispatched, stored, dropped, quota, other, line = books(service, NOISY.uid, job)
        log_granted, log_dropped = granted(service, names[job])
        if kernels is None:
            kernels = dispatched  # known only here
        if dispatched != kernels or dropped != quota or stored + dropped + other != dispatched:
            fail("%s: sent %d, books %s" % (job, kernels, (dispatched, stored, dropped, quota)))
        if not dropped or "INCOMPLETE: %d dispatched" % dispatched not in line or \
                "(quota %d" % quota not in line:
            fail("%s: %d dropped, and the last words are %r" % (job, dropped, line))
        # What a rank that was killed had in flight is granted a row, too; what is torn is not.
        if log_dropped != dropped or not stored <= log_granted <= stored + other:
            fail("%s: the log says %d granted, %d dropped; the books %d stored, %d dropped" %
                 (job, log_granted, log_dropped, stored, dropped))
        if sent[job] is not None and (other or dropped != kernels - log_granted):
            fail("%s: dropped %d, sent %d less granted %d" % (job, dropped, kernels, log_granted))
        totals[0] += kernels
        totals[1] += log_granted
    return totals


def make_noise(service, socket=None):
    """{job: rank} of two that end by themselves, and one that does not."""
    dispatches = (100 if is_long() else 40) * QUOTA
    noisy = {job: service.spawn(NOISY, job, "--queues", "2", "--polite", dispatches=dispatches,
                                rate=NOISY_RATE // 2, socket=socket)
             for job in ("noise-a", "noise-b")}
    return noisy, service.spawn(NOISY, "killed", "--queues", "2", dispatches=100_000_000,
                                rate=NOISY_RATE, socket=socket)


def kill(shim):
    shim.send_signal(signal.SIGKILL)
    shim.wait()
    shim.stdout.close()


def is_over_quota(service, socket, user=None):
    """As @user is told; root."""
    return "over quota: uid %d" % NOISY.uid in service.rtl(
        user, "ctl", "--socket", socket, "status").stdout


def beside_another(service, options):
    """What the honest wait for while the same noise is at a collector of its own."""
    socket = os.path.join(service.run, "other.sock")
    other = service.start(service.collector(*options, socket=socket, store=service.store + "-other"),
                          socket=socket)
    noisy, killed = make_noise(service, socket)
    shims = run_honest(service, "elsewhere")
    wait_for("noise at the other collector", lambda: is_over_quota(service, socket))
    waited = finish_honest(service, shims, "elsewhere")
    kill(killed)
    for shim in noisy.values():
        said(shim)
    other.terminate()
    other.wait(timeout=DEADLINE_S)
    return waited


def check(service, _options):
    options = ("--verbose", "--quota-rows", str(QUOTA), "--quota-burst", str(BURST_S))
    service.start(service.collector(*options))
    waited = {}
    if is_long():
        waited["alone"] = finish_honest(service, run_honest(service, "alone"), "alone")
        waited["beside the same noise elsewhere"] = beside_another(service, options)
    start = time.monotonic()
    noisy, killed = make_noise(service)
    shims = run_honest(service, "beside")
    wait_for("the noisy tenant to be over its quota", lambda: is_over_quota(service, service.socket))
    check_seen(service)
    waited["beside it here"] = finish_honest(service, shims, "beside")
    kill(killed)
    sent = {job: said(shim)["dispatched"]["kernels"] for job, shim in noisy.items()}
    wait_for("the noisy sessions to close", lambda: closed(service, NOISY.uid) == 3)
    total, stored = check_noisy(service, {**sent, "killed": None})
    most = QUOTA * (BURST_S + time.monotonic() - start)
    if stored > most:
        fail("%d granted, where the quota lets at most %d pass" % (stored, most))
    print("quota: noisy: %d dispatched at 20x the quota, %d granted, %d dropped, as its ranks, its "
          "books and the log say; 7 honest: 0 of %d dropped, Ack p50/p99/most in ms: %s" % (
              total, stored, total - stored, len(waited) * HONEST * HONEST_DISPATCHES,
              ", ".join("%.1f/%.1f/%.1f %s" % (*ms, where) for where, ms in waited.items())))


if __name__ == "__main__":
    run(check)
