#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every row of a database once in its Perfetto trace, to the ns: check_perfetto.py DATABASE TRACE [WHERE].

Reads the protobuf by itself and does what Perfetto's importer does (src/trace_processor/importers/proto): state and
interned texts of each sequence, clocks, a stable sort by time, BEGIN and END of a track as a stack, GPU events dropped
without an event id or a queue that is interned. What the importer would drop or count as an error fails here. Says how
many events of each kind there are. WHERE is SQL that says which kernels are expected, of p.rank and gpuId."""
import collections
import gzip
import sqlite3
import struct
import sys

from check_rows import gpus, workgroups

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """{field number: [value]}; messages and texts stay bytes."""
    found, at = collections.defaultdict(list), 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == VARINT:
            value, at = varint(data, at)
        elif kind == BYTES:
            length, at = varint(data, at)
            value = data[at:at + length]
            assert len(value) == length, "cut message"
            at += length
        elif kind == FIXED64:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        else:
            assert kind == FIXED32, f"wire type {kind}"
            value, at = struct.unpack_from("<I", data, at)[0], at + 4
        found[key >> 3].append(value)
    return found


# What Perfetto's own .proto files have; a field that they lack is one that it ignores.
KNOWN = {
    "packet": {6, 8, 10, 11, 12, 13, 53, 58, 59, 60, 87, 128},
    "track": {1, 2, 3, 4, 5, 8, 14, 15},
    "event": {3, 4, 9, 10, 11, 23, 30, 44, 52, 3000, 3001},
    "interned": {1, 2, 3, 23, 24, 1000},
    "gpu": {1, 2, 5, 6, 11, 13, 14, 19, 20, 21},
}


def known(data, what):
    found = fields(data)
    assert set(found) <= KNOWN[what], (what, set(found) - KNOWN[what])
    return found


def one(found, number, otherwise=None):
    values = found.get(number)
    assert values is None or len(values) == 1, (number, values)
    return values[0] if values else otherwise


def text(data):
    return data.decode("utf-8")


def signed(value):
    return value - (1 << 64) if value >> 63 else value


class Sequence:
    def __init__(self):
        self.is_valid = False
        self.clock = None
        self.interned = collections.defaultdict(dict)

    def intern(self, data):
        for number, messages in known(data, "interned").items():
            for message in messages:
                entry = fields(message)
                iid = one(entry, 1)
                assert iid, "an iid is 0 or missing"
                assert iid not in self.interned[number], "an iid is defined twice"
                self.interned[number][iid] = entry

    def name(self, number, iid):
        return text(one(self.interned[number][iid], 2))


class Importer:
    def __init__(self):
        self.sequences = collections.defaultdict(Sequence)
        self.tracks = {}
        self.processes = {}
        self.events = []  # (time, order, function)
        self.gpu_events = []
        self.event_ids = set()
        self.contexts = {}
        self.slices = []
        self.instants = []
        self.counters = collections.defaultdict(list)
        self.open = collections.defaultdict(list)
        self.clocks = None
        self.gpus = []  # a GPU's number is its place

    def packet(self, data):
        packet = known(data, "packet")
        number = one(packet, 10, 0)
        assert 0 < number < 1 << 32, "no sequence id"
        sequence = self.sequences[number]
        flags = one(packet, 13, 0)
        if flags & 1:
            assert not sequence.is_valid, "the state of a sequence is cleared twice"
            assert one(packet, 87) == 1, "the first packet of a sequence does not say so"
            sequence.is_valid = True
        if flags & 2:
            assert sequence.is_valid, "packet_skipped_seq_needs_incremental_state_invalid"
        if 59 in packet:
            sequence.clock = one(fields(one(packet, 59)), 58)
        if 12 in packet:
            sequence.intern(one(packet, 12))
        if 6 in packet:
            self.clock_snapshot(one(packet, 6))
        if 60 in packet:
            self.track(one(packet, 60))
        if 128 in packet:
            assert not self.gpus, "GPUs are told twice"
            self.gpus = [{number: text(one(gpu, number)) for number in gpu}
                         for gpu in map(fields, fields(one(packet, 128))[1])]
        time = one(packet, 8)
        if 11 in packet or 53 in packet:
            assert one(packet, 58, sequence.clock) == 6, "the clock of an event is not BOOTTIME"
            assert self.clocks, "an event comes before the clocks"
            assert time is not None and time < 1 << 63
        if 11 in packet:
            self.track_event(time, sequence, known(one(packet, 11), "event"))
        if 53 in packet:
            self.gpu_event(time, sequence, known(one(packet, 53), "gpu"))

    def clock_snapshot(self, data):
        snapshot = fields(data)
        clocks = {one(c, 1): one(c, 2) for c in map(fields, snapshot[1])}
        assert set(clocks) == {1, 6} and one(snapshot, 2) == 6
        self.clocks = clocks

    def track(self, data):
        track = known(data, "track")
        uuid = one(track, 1)
        assert uuid and uuid not in self.tracks, "a uuid is missing or comes twice"
        parent = one(track, 5)
        assert parent is None or parent in self.tracks, "a parent comes after its child"
        entry = {"parent": parent, "name": text(one(track, 2, b"")), "is_counter": 8 in track}
        if 3 in track:
            process = fields(one(track, 3))
            pid = one(process, 1)
            assert pid and pid not in self.processes, "two processes have one pid"
            self.processes[pid] = entry
            entry.update(pid=pid, name=text(one(process, 6)), labels=[text(x) for x in process.get(8, [])],
                         kind="process", description=text(one(track, 14, b"")))
        elif 4 in track:
            thread = fields(one(track, 4))
            entry.update(pid=one(thread, 1), tid=one(thread, 2), kind="thread")
            assert entry["pid"] in self.processes
        else:
            assert parent is not None and one(track, 15) == 2, "a track may be merged with its namesake"
            entry.update(kind="track", pid=self.tracks[parent]["pid"], tid=self.tracks[parent].get("tid"))
        self.tracks[uuid] = entry

    def track_event(self, time, sequence, event):
        uuid = one(event, 11)
        assert uuid in self.tracks, "an event comes before its track"
        kind = one(event, 9)
        details = {}
        if kind in (1, 3):
            assert (10 in event) != (23 in event), "a slice has no name, or two"
            details["name"] = sequence.name(2, one(event, 10)) if 10 in event else text(one(event, 23))
            details["category"], = [sequence.name(1, c) for c in event[3]]
            details["correlation"] = one(event, 52)
            for message in event.get(4, []):
                annotation = fields(message)
                value = one(annotation, 4)
                details[sequence.name(3, one(annotation, 1))] = (
                    text(one(annotation, 6)) if value is None else signed(value))
            details["launched"] = fields(one(event, 3000)).get(1, []) if 3000 in event else []
            assert (one(event, 3001) == 5) == (details["category"] == "hip")
        if kind == 4:
            assert self.tracks[uuid]["is_counter"]
            assert (30 in event) != (44 in event), "a counter has no value, or two"
            details["value"] = (signed(one(event, 30)) if 30 in event
                                else struct.unpack("<d", struct.pack("<Q", one(event, 44)))[0])
        self.events.append((time, uuid, kind, details))

    def gpu_event(self, time, sequence, event):
        number = one(event, 1)
        assert number and number not in self.event_ids, "an event id is missing or comes twice"
        self.event_ids.add(number)
        queue = sequence.interned[24].get(one(event, 13))
        assert queue, "a queue is not interned: the event would be dropped"
        stage = sequence.interned[24][one(event, 14)]
        name = sequence.name(2, one(event, 20))
        assert text(one(stage, 2)) == name
        context = sequence.interned[23][one(event, 5)]
        assert one(context, 3) == 5
        pid = one(context, 2)
        assert pid in self.processes
        assert self.contexts.setdefault(one(event, 5), pid) == pid, "the context of a process is that of another"
        entry = {"id": number, "start": time, "end": time + one(event, 2), "name": name, "pid": pid,
                 "gpu": one(event, 11), "queue": text(one(queue, 2)), "category": one(stage, 4)}
        if 19 in event:
            kernel = sequence.interned[1000][one(event, 19)]
            assert text(one(kernel, 3)) == name and one(kernel, 2)
            launch = fields(one(event, 21))
            entry["grid"] = tuple(one(fields(one(launch, 1)), i) for i in (1, 2, 3))
            entry["workgroup"] = tuple(one(fields(one(launch, 2)), i) for i in (1, 2, 3))
            for message in launch.get(3, []):
                arg = fields(message)
                value = one(arg, 3)
                entry[text(one(arg, 2))] = text(one(arg, 6)) if value is None else signed(value)
        for message in event.get(6, []):
            extra = fields(message)
            entry[text(one(extra, 1))] = text(one(extra, 2))
        self.gpu_events.append(entry)

    def replay(self):
        """The sorter is stable and knows nothing but the time; an END closes what is innermost."""
        for time, uuid, kind, details in sorted(self.events, key=lambda e: e[0]):
            track = self.tracks[uuid]
            if kind == 1:
                slice_ = dict(details, start=time, track=track)
                self.open[uuid].append(slice_)
                self.slices.append(slice_)
            elif kind == 2:
                assert self.open[uuid], "an END without its BEGIN"
                self.open[uuid].pop()["end"] = time
            elif kind == 3:
                self.instants.append(dict(details, start=time, end=time, track=track))
            else:
                self.counters[uuid].append((time, details["value"]))
        assert not any(self.open.values()), "a BEGIN without its END"


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    importer, at, count = Importer(), 0, 0
    while at < len(data):
        key, at = varint(data, at)
        assert key == 0x0A, "not a packet"
        length, at = varint(data, at)
        importer.packet(data[at:at + length])
        at += length
        count += 1
    importer.replay()
    return importer


def plain(name):
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else name



def check_kernels(db, importer, where):
    wanted = {}
    for row in db.execute(
            f"""SELECT o.id, p.pid, gpuId, s.string, o.start, o."end", o.queueId, p.rank, submit_ns,
                gridX, gridY, gridZ, workgroupX, workgroupY, workgroupZ FROM rocpd_op o
                JOIN rtl_process p ON p.id = o.process_id JOIN rocpd_string s ON s.id = o.description_id
                WHERE o.start IS NOT NULL AND ({where})"""):
        wanted[row[0]] = row
    kernels = [e for e in importer.gpu_events if "dispatch" in e]
    assert sorted(e["dispatch"] for e in kernels) == sorted(wanted), (len(kernels), len(wanted))
    for event in kernels:
        row = wanted[event["dispatch"]]
        assert (event["pid"], event["gpu"], event["name"], event["start"], event["end"]) == (
            row[1], row[2], plain(row[3]), row[4], row[5]), (event, row)
        assert event["queue"].endswith(f"rank {row[7]} queue {row[6]}" if row[7] is not None
                                       else f"pid {row[1]} queue {row[6]}"), event
        assert event["grid"] == workgroups(row[9:12], row[12:15])
        assert event["workgroup"] == row[12:15] and event["category"] == 2
        if "queued_ns" in event:
            assert row[4] - event["queued_ns"] == row[8]
    return len(kernels)


def check_copies(db, importer, where):
    wanted = sorted(db.execute(
        f"""SELECT p.pid, c.copyId, gpuId, c.start_ns, c.end_ns, c.bytes, 'copy ' || c.direction FROM
            (SELECT *, coalesce(source_gpuId, target_gpuId) AS gpuId FROM rtl_copy) c
            JOIN rtl_process p ON p.id = c.process_id WHERE c.start_ns IS NOT NULL AND gpuId IS NOT NULL
            AND ({where})"""))
    copies = sorted((e["pid"], int(e["copy"]), e["gpu"], e["start"], e["end"], int(e["bytes"]), e["name"].encode())
                    for e in importer.gpu_events if "copy" in e)
    assert copies == wanted, (len(copies), len(wanted))
    return len(copies)


def check_calls(db, importer):
    wanted = {(row[0], row[1]): row for row in db.execute(
        """SELECT p.pid, c.correlation_id, c.tid, c.api, c.start_ns, c.end_ns FROM rtl_host_call c
           JOIN rtl_process p ON p.id = c.process_id""")}
    calls = [s for s in importer.slices if s["category"] in ("hip", "rccl")]
    assert len(calls) == len(wanted)
    launched = {}
    for call in calls:
        row = wanted[call["track"]["pid"], call["correlation"]]
        assert (call["track"]["tid"], call["name"], call["start"], call["end"]) == (
            row[2], plain(row[3]), row[4], row[5]), (call, row)
        for event in call["launched"]:
            assert event not in launched, "two calls have launched one kernel"
            launched[event] = row[1]
    return len(calls), launched


def check_links(db, importer, launched, where):
    """What a call says that it launched is what the database says of its kernels and first copies."""
    of_event = {e["id"]: e for e in importer.gpu_events}
    have = sorted((of_event[event]["pid"], of_event[event]["dispatch"], call) for event, call in launched.items()
                  if "dispatch" in of_event[event])
    wanted = sorted(db.execute(
        f"""SELECT p.pid, o.id, o.correlation_id FROM rocpd_op o JOIN rtl_process p ON p.id = o.process_id
            JOIN rtl_host_call c ON c.id = o.api_id WHERE o.start IS NOT NULL AND ({where})"""))
    assert have == wanted, (len(have), len(wanted))
    return len(have)


def check_ranges(db, importer):
    wanted = sorted((row[0], row[1], plain(row[2]), row[3], row[4]) for row in db.execute(
        """SELECT p.pid, m.roctxId, m.text, m.start_ns, CASE kind WHEN 'mark' THEN m.start_ns ELSE m.end_ns END
           FROM rtl_marker m JOIN rtl_process p ON p.id = m.process_id
           WHERE m.end_ns IS NOT NULL OR kind = 'mark'"""))
    ranges = sorted((s["track"]["pid"], s["roctx_id"], s["name"], s["start"], s["end"])
                    for s in importer.slices + importer.instants if s["category"] == "roctx")
    assert ranges == wanted, (len(ranges), len(wanted))
    return len(ranges)


def check_depths(db, importer, where):
    """At each time that a counter has, so many dispatches were submitted and not started."""
    changes = collections.defaultdict(lambda: collections.Counter())
    for pid, queue, gpu, submit, start in db.execute(
            f"""SELECT p.pid, o.queueId, gpuId, submit_ns, o.start FROM rocpd_op o
                JOIN rtl_process p ON p.id = o.process_id
                WHERE o.start IS NOT NULL AND submit_ns >= 0 AND submit_ns <= o.start AND ({where})"""):
        changes[pid, queue][submit] += 1
        changes[pid, queue][start] -= 1
    count = 0
    for uuid, values in importer.counters.items():
        track = importer.tracks[uuid]
        if not track["name"].endswith(" depth") or not track["name"].startswith("GPU "):
            continue
        queue = int(track["name"].split()[3])
        wanted, depth = [], 0
        for time, by in sorted(changes.pop((track["pid"], queue)).items()):
            depth += by
            wanted.append((time, depth))
        assert values == wanted, (track, values[:5], wanted[:5])
        count += len(values)
    assert not any(changes.values()), "a queue has no counter"
    return count


def check_metrics(db, importer):
    wanted = collections.Counter((row[0], plain(row[1]), row[2], row[3]) for row in db.execute(
        """SELECT p.pid, m.name, m.time_ns, m.value FROM rtl_metric m JOIN rtl_process p ON p.id = m.process_id"""))
    names, found = {(row[0], row[1]) for row in wanted}, collections.Counter()
    tracks = [uuid for uuid in importer.counters
              if (importer.tracks[uuid]["pid"], importer.tracks[uuid]["name"]) in names]
    for uuid in tracks:
        track = importer.tracks[uuid]
        found.update((track["pid"], track["name"], *value) for value in importer.counters[uuid])
    assert found == wanted, (len(found), len(wanted))
    assert len(tracks) == db.execute("SELECT count(*) FROM (SELECT DISTINCT process_id, name_id FROM rtl_metric_base)").fetchone()[0]
    return sum(found.values())


def check_gpus(db, importer):
    wanted = {number: [plain(text) for text in row[1:] if text] for number, row in gpus(db).items()
              if 0 <= number <= 1023}
    assert len(importer.gpus) == (max(wanted) + 1 if wanted else 0)
    for number, gpu in enumerate(importer.gpus):
        assert [gpu[key] for key in (1, 4, 7) if key in gpu] == wanted.get(number, []), (number, gpu)


def check_processes(db, importer):
    simulated, complete = (dict(db.execute("SELECT key, value FROM rtl_meta")).get(k, 0)
                           for k in (b"simulated", b"complete"))
    for process in importer.processes.values():
        assert process["name"].startswith("SIMULATED ") == bool(simulated)
        assert ("SIMULATED" in process["labels"]) == bool(simulated)
        # What another tool lost is not known: an import is neither complete nor incomplete.
        for label, is_meant in (("INCOMPLETE", not complete and complete is not None), ("IMPORTED", complete is None)):
            assert (label in process["labels"]) == (label + " " in process["name"])
            assert not is_meant or label in process["labels"], (label, process)
        assert process["description"]


def main():
    db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
    db.text_factory = bytes
    where = sys.argv[3] if len(sys.argv) > 3 else "1"
    importer = read(sys.argv[2])
    check_processes(db, importer)
    kernels = check_kernels(db, importer, where)
    copies = check_copies(db, importer, where)
    parts = [f"kernels {kernels}", f"copies {copies}"]
    if where == "1":
        calls, launched = check_calls(db, importer)
        links = check_links(db, importer, launched, where)
        parts += [f"calls {calls}", f"launches {links}", f"ranges {check_ranges(db, importer)}"]
        parts.append(f"metrics {check_metrics(db, importer)}")
    check_gpus(db, importer)
    parts.append(f"depths {check_depths(db, importer, where)}")
    print(", ".join(parts))


main()
