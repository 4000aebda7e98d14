# SPDX-License-Identifier: MIT
"""The rows of the matrix. A cell is green if its function returns; Fault says what is wrong with it."""
import collections
import json
import os
import re
import shutil
import subprocess

from bench import Fault, last_line

CELLS = []


class Cell:
    def __init__(self, function, gpus, is_long, only):
        self.name = function.__name__
        self.claim = " ".join(function.__doc__.split())
        self.function = function
        self.gpus = gpus
        self.is_long = is_long
        self.only = only

    def has(self, runtime):
        return not self.only or runtime.name in self.only


def cell(gpus=1, is_long=False, only=()):
    """Registers a function as a row; only: the runtimes that can have it."""
    def register(function):
        CELLS.append(Cell(function, gpus, is_long, only))
        return function
    return register


def demo(bench, *options, env=None, mode=()):
    bench.run([bench.built("bin/rtl-demo"), *options], env, mode)


def complete(bench):
    bench.compare_truth()
    bench.compare_verdict()


def told(bench):
    """What the program says it dispatched, per rank and GPU, is what is stored."""
    said = sorted(tuple(map(int, found)) for found in re.findall(
        rb"dispatched rank=(\d+) gpu=(\d+) kernels=(\d+)", bench.watched.stdout))
    stored = sorted(bench.sql("SELECT rank, gpuId, count(*) FROM rocpd_op GROUP BY 1, 2"))
    if said != stored:
        raise Fault("the program says %s, stored are %s" % (said, stored))


@cell()
def steps(bench):
    """Ten steps of a training job on one GPU"""
    demo(bench, "--steps", "10")
    complete(bench)
    told(bench)


@cell(gpus=4)
def ranks(bench):
    """Four ranks on a GPU each, and the GPU's number is the node's"""
    demo(bench, "--ranks", "4", "--steps", "5", "--one-gpu-each")
    complete(bench)
    told(bench)


def flood(bench, count, *options):
    demo(bench, "--dispatches", str(count), *options)
    bench.compare_counts()
    complete(bench)


@cell()
def flood_64(bench):
    """20,000 dispatches as fast as they go into a ring of 64 packets"""
    flood(bench, 20000, "--queue-size", "64")


@cell()
def flood_4096(bench):
    """20,000 dispatches as fast as they go into a ring of 4,096 packets"""
    flood(bench, 20000, "--queue-size", "4096")


def small(bench):
    """At most 32 bytes a row, all of the file counted."""
    each = os.path.getsize(bench.folder + "/t.db") / bench.rows
    if each > 32:
        raise Fault("%.1f bytes a row" % each)
    bench.notes.append("%.1f bytes a row" % each)


@cell(is_long=True)
def flood_million(bench):
    """1,000,000 dispatches as fast as they go, in at most 32 bytes a row: all, or the last line says how many are not"""
    demo(bench, "--dispatches", "1000000")
    # The collector of a machine that has no processor for it falls behind; then each row that is missing is counted.
    dropped = bench.value("SELECT coalesce(sum(count), 0) FROM rtl_loss WHERE reason = 'recorder_full'")
    if dropped:
        said = "INCOMPLETE: %d dispatched, %d stored, %d dropped (recorder_full %d" % (
            bench.truth, bench.rows, dropped, dropped)
        if bench.rows + dropped != bench.truth or said not in last_line(bench.watched.stderr):
            raise Fault("%d rows and %d dropped of %d: %s" % (
                bench.rows, dropped, bench.truth, last_line(bench.watched.stderr)))
        bench.notes.append("%d dropped, and said" % dropped)
    else:
        bench.compare_counts()
        complete(bench)
    small(bench)


@cell()
def batch(bench):
    """Doorbells for 700 packets each"""
    flood(bench, 21000, "--batch", "700")


@cell()
def threads(bench):
    """Eight threads submit to one queue"""
    flood(bench, 24000, "--threads", "8")


@cell()
def signals(bench):
    """Every dispatch has a completion signal of the program's, whose times the program reads"""
    flood(bench, 20000, "--signal-every", "1")


@cell()
def signals_shared(bench):
    """Five dispatches in a row count one signal down: all are stored, each time is the device's"""
    demo(bench, "--dispatches", "20000", "--signal-shared", "5")
    bench.compare_truth("--untimed")
    bench.compare_verdict(is_timed=False)
    untimed = bench.value("SELECT count(*) FROM rocpd_op WHERE start IS NULL AND reason <> 'untimed_shared'")
    if untimed:
        raise Fault("%d have no time for another reason than the shared signal" % untimed)


# Refuses every thunk but that of the build, and 6.4.3 has one of its own.
@cell(gpus=2, only=("7.2.4", "6.1.2"))
def copies(bench):
    """Copies of each kind, mode full: direction, GPUs, bytes and times are the device's"""
    bench.run([bench.built("tests/shim/copies/rtl-copies"), "each", "20"], options=("-m", "full"))
    compare_copies(bench)


def compare_copies(bench):
    rows = bench.truth_rows(kind=("--copies",))
    with open(bench.folder + "/copies.csv", "w", encoding="utf-8") as file:
        print(",".join(rows[0]), file=file)
        for row in rows:
            print(",".join(row.values()), file=file)
    done = subprocess.run(
        ["/usr/bin/python3", bench.source + "/tests/system/compare_copies.py", bench.folder + "/t.db",
         bench.folder + "/watched.out", bench.folder + "/copies.csv"], capture_output=True, check=False)
    if done.returncode:
        raise Fault(done.stderr.decode().strip())
    total, timed = bench.sql("SELECT count(*), count(start_ns) FROM rtl_copy")[0]
    if total != timed:
        raise Fault("%d of %d copies have no time" % (total - timed, total))
    bench.notes.append("%d copies" % total)


def scene(bench, *arguments, options=(), env=None):
    scenes = bench.hip_program("hip-scenes")
    bench.run([scenes, *arguments],
              {"SOFTGPU_SCRIPT": bench.source + "/tests/shim/hip/softgpu.script", **(env or {})}, options)


def launched(bench):
    """What the program says it launched is stored, HIP's own kernels aside."""
    said = sum(map(int, re.findall(rb"launched (\d+)", bench.watched.stdout)))
    stored = bench.value("""SELECT count(*) FROM rocpd_op JOIN rtl_kernel k ON k.id = description_id
        WHERE k.symbol NOT LIKE '\\_\\_amd\\_rocclr%' ESCAPE '\\'""")
    if said != stored:
        raise Fault("the program launched %d, stored are %d" % (said, stored))


def scene_complete(bench, *arguments, options=(), env=None):
    scene(bench, *arguments, options=options, env=env)
    launched(bench)
    complete(bench)


@cell()
def hip_streams(bench):
    """HIP: 12 streams share HIP's queues"""
    scene_complete(bench, "streams", "12", "50")


@cell()
def hip_threads(bench):
    """HIP: eight threads on streams of their own and in common"""
    scene_complete(bench, "threads", "8", "300")


@cell()
def hip_copies(bench):
    """HIP: fills and copies, whose bytes are right, in mode full"""
    scene_complete(bench, "memory", options=("-m", "full"))
    untimed = bench.value("SELECT count(*) FROM rtl_copy WHERE start_ns IS NULL")
    if untimed:
        raise Fault("%d copies have no time" % untimed)
    bench.notes.append("%d copies" % bench.value("SELECT count(*) FROM rtl_copy"))


@cell()
def hip_events(bench):
    """HIP: times between events are what they are without rtl"""
    scene_complete(bench, "elapsed")


@cell()
def graphs_short(bench):
    """A hipGraph of 20 kernels, 50 replays"""
    scene_complete(bench, "graph", "20", "50")


@cell()
def graphs_long(bench):
    """A hipGraph of 5,000 kernels, 10 replays"""
    scene_complete(bench, "graph", "5000", "10")


@cell()
def graphs_forked(bench):
    """A hipGraph that forks 20 ways, 20 replays"""
    scene_complete(bench, "forks", "20", "20")


@cell()
def graphs_waits(bench):
    """No wait after a hipGraph returns before its last kernel has ended: stream, query, event and device"""
    scene_complete(bench, "waits", "1", env={"SOFTGPU_REALTIME": "1", "SOFTGPU_FAULT": "default duration=200us"})


@cell()
def hip_calls(bench):
    """Mode hip: every launch has the call that made it"""
    scene_complete(bench, "streams", "12", "20", options=("-m", "hip"))
    unlinked = bench.value("SELECT count(*) FROM rocpd_op WHERE api_id IS NULL")
    if unlinked:
        raise Fault("%d dispatches have no call" % unlinked)
    begun = bench.value("SELECT coalesce(sum(value), 0) FROM rtl_counter WHERE name = 'calls_begun'")
    calls = bench.value("SELECT count(*) FROM rtl_host_call")
    if not calls or calls != begun:
        raise Fault("%d calls of %d are stored" % (calls, begun))
    bench.notes.append("%d calls" % calls)


@cell()
def roctx(bench):
    """Ranges of the release's own roctx are stored, and kernels carry them"""
    library = bench.runtime.libraries() + "/libroctx64.so.4"
    demo(bench, "--steps", "5", env={"LD_PRELOAD": library})
    complete(bench)
    ranges = bench.value("SELECT count(*) FROM rtl_marker WHERE text LIKE 'step %'")
    if ranges != 5:
        raise Fault("%d ranges of 5 steps" % ranges)
    within = bench.value("SELECT count(*) FROM rocpd_op WHERE roctxId IS NOT NULL")
    if not within:
        raise Fault("no kernel carries a range")
    bench.notes.append("%d ranges" % bench.value("SELECT count(*) FROM rtl_marker"))


@cell()
def device_rings(bench):
    """HSA_ALLOCATE_QUEUE_DEV_MEM=1, which puts rings into device memory"""
    demo(bench, "--steps", "5", env={"HSA_ALLOCATE_QUEUE_DEV_MEM": "1"})
    complete(bench)
    told(bench)


# What is known of ROCr 6.1.2 is nothing that ends programs.
@cell(only=("7.2.4", "6.1.2"))
def known_fault(bench):
    """RTL_FRONT_END=intercept: the first line names the runtime where its intercept queue ends programs, else the
    record is whole"""
    bench.env["RTL_FRONT_END"] = "intercept"
    bench.run([bench.built("bin/rtl-demo"), "--ranks", "2", "--steps", "2"])
    first = next((line for line in bench.watched.stderr.splitlines() if line.startswith(b"rtl: ")), b"")
    named = b"a flooded intercept queue" in first and b"libhsa-runtime64.so" in first
    if bench.watched.stderr.count(b"flooded intercept queue") != (1 if named else 0):
        raise Fault("the line is said more than once, or not first")
    if named != (bench.runtime.name == "7.2.4"):
        raise Fault("the first line is: " + first.decode())
    if named:
        bench.notes.append("named")
    else:
        complete(bench)


def run_rccl(bench, ranks, rounds, *graph, is_compared=True):
    """The program over the real RCCL, mode hip; kernels of the software GPU wait for each other as RCCL's do.
    is_compared: it is run without rtl, too, which takes as long (RCCL unpacks its kernels in each process)."""
    topology(bench.root, ranks)
    command = [bench.built("tests-bin/runtimes-rccl"), bench.runtime.hip, "librccl.so.1", str(ranks), str(rounds),
               *graph]
    environment = {"NCCL_SOCKET_IFNAME": "lo", "SOFTGPU_FAULT": "kernel *nccl*Kernel* meet=ranks"}
    if is_compared:
        bench.run(command, environment, ("-m", "hip"))
    else:
        bench.until_exit(lambda: bench.run_watched(command, environment, ("-m", "hip")), lambda: bench.watched, 0)
        if bench.watched.returncode:
            raise Fault("ends with %d: %s" % (bench.watched.returncode, last_line(bench.watched.stderr)))
        bench.count()
    complete(bench)


def collectives(bench, expected):
    """So many of each, each with its kernel, and no rank's kernel has ended before the last one's has begun."""
    calls = dict(bench.sql("SELECT op, count(*) FROM rtl_collective GROUP BY 1"))
    if calls != expected:
        raise Fault("collectives: %s instead of %s" % (calls, expected))
    kernels = """rtl_collective k JOIN rtl_collective_kernel j ON j.collective_id = k.id
        JOIN rocpd_op o ON o.id = j.dispatch_id"""
    alone = bench.value("SELECT count(*) FROM rtl_collective WHERE id NOT IN (SELECT k.id FROM %s)" % kernels)
    if alone:
        raise Fault("%d collectives have no kernel" % alone)
    early = bench.value("""SELECT count(*) FROM (SELECT 1 FROM %s GROUP BY k.comm, k.op, k.seq
        HAVING max(o.start) > min(o."end"))""" % kernels)
    if early:
        raise Fault("in %d collectives a rank has ended before another has begun" % early)
    bench.notes.append("%d collectives" % sum(calls.values()))


def matched(bench, expected):
    """rtl collectives finds so many of each across all ranks, each with its kernels' times, none of them by order."""
    done = bench.inside([bench.built("bin/rtl"), "collectives", "--json", "t.db"], {})
    if done.returncode:
        raise Fault("rtl collectives: " + last_line(done.stderr))
    told = json.loads(done.stdout)
    found = collections.Counter()
    for group in told["groups"]:
        found[group["operation"]] += group["timed"]
    if found != expected:
        raise Fault("rtl collectives has %s instead of %s" % (dict(found), expected))
    for name in ("missing_parts", "mismatched", "unlinked", "matched_by_order"):
        if told[name]:
            raise Fault("rtl collectives: %s is %d" % (name, told[name]))
    bench.notes.append("matched: " + ", ".join("%d %s" % (n, name) for name, n in sorted(found.items())))


# Debian has no RCCL 6.
@cell(gpus=2, only=("7.2.4", "6.1.2"))
def rccl(bench):
    """RCCL: two processes, all-reduces and all-gathers; each call has its kernel"""
    run_rccl(bench, 2, 5, is_compared=False)
    collectives(bench, {"ncclAllGather": 10, "ncclAllReduce": 10})


@cell(gpus=8, is_long=True, only=("7.2.4",))
def rccl_eight(bench):
    """RCCL: eight processes"""
    run_rccl(bench, 8, 5)
    collectives(bench, {"ncclAllGather": 40, "ncclAllReduce": 40})


@cell(gpus=2, is_long=True, only=("7.2.4",))
def rccl_graph(bench):
    """RCCL: all-reduces captured into a hipGraph; each replay of each is a collective"""
    run_rccl(bench, 2, 20, "graph")
    matched(bench, {"ncclAllGather": 20, "ncclAllReduce": 20 * 4 + 20})


def topology(root, gpus):
    """/sys/class/kfd of the software GPUs, as RCCL and rocm-smi read it: each node linked to each other."""
    nodes = root + "/sys/class/kfd/kfd/topology/nodes"
    for node in range(gpus + 1):
        folder = "%s/%d" % (nodes, node)
        for name in ("io_links", "p2p_links", "mem_banks", "caches"):
            os.makedirs("%s/%s" % (folder, name), exist_ok=True)
        gpu = node - 1
        properties = {"cpu_cores_count": os.cpu_count(), "simd_count": 0, "mem_banks_count": 1, "caches_count": 1,
                      "io_links_count": gpus, "p2p_links_count": 0, "vendor_id": 0, "device_id": 0, "location_id": 0,
                      "domain": 0, "hive_id": 0, "unique_id": 0, "num_xcc": 0, "gfx_target_version": 0}
        if node:
            properties.update({
                "cpu_cores_count": 0, "simd_count": 416, "max_waves_per_simd": 8, "lds_size_in_kb": 64,
                "wave_front_size": 64, "array_count": 8, "simd_per_cu": 4, "vendor_id": 4098, "device_id": 29711,
                "location_id": (3 + 3 * gpu) << 8, "drm_render_minor": 128 + gpu, "hive_id": 1390835,
                "num_sdma_engines": 2, "num_sdma_xgmi_engines": 2, "unique_id": 0x50f7690000000001 + gpu,
                "num_xcc": 1, "gfx_target_version": 90010})
        write(folder + "/gpu_id", 5000 + node if node else 0)
        write(folder + "/name", "softgpu" if node else "")
        write(folder + "/properties", "\n".join("%s %d" % item for item in properties.items()))
        others = [other for other in range(gpus + 1) if other != node]
        for number, other in enumerate(others):
            is_peer = node and other
            link = {"type": 11 if is_peer else 2, "version_major": 0, "version_minor": 0, "node_from": node,
                    "node_to": other, "weight": 15 if is_peer else 20, "min_latency": 0, "max_latency": 0,
                    "min_bandwidth": 0, "max_bandwidth": 50000 if is_peer else 32000, "recommended_transfer_size": 0,
                    "recommended_sdma_engine_id_mask": 3, "flags": 1}
            os.makedirs("%s/io_links/%d" % (folder, number), exist_ok=True)
            write("%s/io_links/%d/properties" % (folder, number), "\n".join("%s %d" % item for item in link.items()))


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        print(text, file=file)


def opened(bench, how, count=300, hips=None, options=()):
    """Launches by each HIP, which is opened by dlopen in the way of `how`."""
    bench.run([bench.built("tests-bin/runtimes-opener"), how, bench.built("tests-bin/first_module.co"), "first_module",
               str(count), *(hips or [bench.runtime.hip])], options=options)


@cell()
def opened_local(bench):
    """HIP opened by dlopen with RTLD_LOCAL, as Python does"""
    opened(bench, "local")
    launched(bench)
    complete(bench)


@cell()
def opened_deepbind(bench):
    """HIP opened by dlopen with RTLD_DEEPBIND"""
    opened(bench, "deepbind")
    launched(bench)
    complete(bench)


@cell()
def opened_cleared(bench):
    """HIP opened by a program that has taken all variables of rtl and of HSA's tools out of its environment"""
    opened(bench, "cleared")
    launched(bench)
    complete(bench)


@cell()
def opened_namespace(bench):
    """HIP opened by dlmopen in a namespace of its own: recorded, or the last line says INCOMPLETE"""
    opened(bench, "namespace")
    if bench.rows:
        launched(bench)
        complete(bench)
    elif b"INCOMPLETE" not in bench.watched.stderr:
        raise Fault("nothing is recorded and nothing says so")


GUESTS = ("return", "_exit", "quick_exit", "in_handler", "exit_on_thread", "shut_down_among_threads", "fork",
          "fork_among_threads", "raw_clone", "daemon", "sigprof", "sigwait", "signalfd", "eintr", "alarms",
          "file_numbers", "exec", "spawn", "fork_exec", "vfork", "pthread_exit", "abort", "segv")


@cell(only=("7.2.4", "6.1.2"))
def guests(bench):
    """Programs that fork, exec, catch signals and end in 23 ways, each as it does alone, and all of each is stored"""
    program = bench.folder + "/shim-guest"
    # It is linked to the thunk of the distribution's runtime, and refuses to run on another.
    done = bench.inside(["sh", "-c", "cp %s . && patchelf --remove-needed libhsakmt.so.1 shim-guest && "
                         "patchelf --remove-rpath shim-guest" % bench.built("tests/shim/guest/shim-guest")], {})
    if done.returncode:
        raise Fault("patchelf: " + last_line(done.stderr))
    rows = truth = timed = 0
    for mode in GUESTS:
        again = bench.another(mode)
        again.run_alone([program, mode])
        if again.alone.returncode in (99, 127):
            raise Fault("%s does not work alone: %s" % (mode, last_line(again.alone.stderr)))
        # A signal that ends it early in both runs would leave nothing to compare.
        if again.alone.returncode < 0 and mode not in ("abort", "segv"):
            raise Fault("%s is ended by signal %d alone" % (mode, -again.alone.returncode))
        again.run_watched([program, mode])
        try:
            again.count()
            again.compare_ends()
            # Which queue of the device is which is not known of queues that threads make at once.
            if again.truth:
                again.compare_verdict()
            # After an exec the log of the device begins anew, under the same name.
            if mode == "exec":
                continue
            if again.truth:
                again.compare_counts()
        except Fault as fault:
            raise Fault("%s: %s" % (mode, fault)) from fault
        rows, truth, timed = rows + again.rows, truth + again.truth, timed + again.timed
    bench.rows, bench.truth, bench.timed = rows, truth, timed


def wheel(bench):
    """HIP and ROCr under the names that a repaired wheel gives them, found by RPATH; returns HIP's path."""
    runtime, hip = "libhsa-runtime64-1a2b3c4d.so", "libamdhip64-1a2b3c4d.so"
    done = bench.inside(["sh", "-c", """
        cp -L {libraries}/libhsa-runtime64.so.1 {runtime} && cp -L {libraries}/{old} {hip} &&
        patchelf --set-soname {runtime} {runtime} && patchelf --set-soname {hip} {hip} &&
        patchelf --replace-needed libhsa-runtime64.so.1 {runtime} {hip} &&
        patchelf --force-rpath --set-rpath '$ORIGIN' {hip}""".format(
            libraries=bench.runtime.libraries(), old=bench.runtime.hip, runtime=runtime, hip=hip)], {})
    if done.returncode:
        raise Fault("patchelf: " + last_line(done.stderr))
    return "%s/%s" % (bench.folder, hip)


@cell(only=("7.2.4", "6.1.2"))
def wheels(bench):
    """HIP and ROCr as wheels name them, in a folder of their own, mode hip: every launch has its call"""
    opened(bench, "local", hips=[wheel(bench)], options=("-m", "hip"))
    launched(bench)
    complete(bench)
    unlinked = bench.value("SELECT count(*) FROM rocpd_op WHERE api_id IS NULL")
    if unlinked:
        raise Fault("%d dispatches have no call" % unlinked)


# The two of 6.1.2 would share a thunk, which opens the device for the first one alone.
@cell(only=("7.2.4",))
def two_runtimes(bench):
    """Two copies of HIP and ROCr in one process: the first one's kernels are recorded, one line tells of the other"""
    opened(bench, "local", hips=[bench.runtime.hip, wheel(bench)])
    if (bench.rows, bench.timed, bench.truth) != (300, 300, 600):
        raise Fault("%d rows, %d timed, the device ran %d" % (bench.rows, bench.timed, bench.truth))
    if bench.watched.stderr.count(b"second HSA runtime in this process") != 1:
        raise Fault("not one line tells of the other runtime")
    if "INCOMPLETE" not in last_line(bench.watched.stderr):
        raise Fault("the last line is: " + last_line(bench.watched.stderr))


def traced_calls(path):
    """By thread, in the order of their first marks: what hip-scenes steady calls between its marks."""
    threads, is_on = {}, {}
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            thread, _, call = line.partition(" ")
            name = call.strip().partition("(")[0]
            if " resumed>" in line:
                continue
            if name == "getppid":
                is_on[thread] = not is_on.get(thread)
                threads.setdefault(thread, []).append("mark")
            elif is_on.get(thread):
                threads[thread].append(name)
    return [calls for calls in threads.values() if calls.count("mark") == 20]


# HIP's own threads now and then make a launch wait, with and without rtl: what two runs agree on is the program's.
TRIES = 10


@cell(only=("7.2.4", "6.1.2"))
def system_calls(bench):
    """Threads that launch kernels make exactly the system calls, in their order, that they make without rtl"""
    scenes = bench.hip_program("hip-scenes")
    script = {"SOFTGPU_SCRIPT": bench.source + "/tests/shim/hip/softgpu.script"}

    def traced(name, extra="0"):
        bench.tracer = ["strace", "-f", "-qq", "-o", "%s/%s.trace" % (bench.folder, name)]
        run, done = ((bench.run_watched, lambda: bench.watched) if name == "us" else
                     (bench.run_alone, lambda: bench.alone))
        bench.until_exit(lambda: run([scenes, "steady", "50", extra], script), done, 0)
        bench.tracer = []
        return traced_calls("%s/%s.trace" % (bench.folder, name))

    seen = []
    while len(seen) < 2 * TRIES and (len(seen) < 2 or seen.count(seen[-1]) < 2):
        seen.append(traced("alone"))
    alone = seen[-1]
    if seen.count(alone) < 2 or len(alone) != 2:
        raise Fault("no two runs alone make the same system calls")
    seeded = sum(calls.count("getuid") for calls in traced("seeded", "1"))
    if seeded != 20:
        raise Fault("of 20 calls that are there it sees %d" % seeded)
    traced("alone")
    if not any(traced("us") == alone for _ in range(TRIES)):
        raise Fault("below rtl the threads make other system calls")
    bench.count()
    bench.compare_ends()
    launched(bench)
    complete(bench)
    bench.notes.append("%d calls of 2 threads" % sum(len(calls) - calls.count("mark") for calls in alone))


SDK_RUNTIMES = ("7.2.4", "6.4.3")


def register_instead(bench, folder):
    """ROCr of AMD's packages is linked to rocprofiler-register and registers, Debian's does neither."""
    runtime = "libhsa-runtime64.so.1"
    done = bench.inside(["sh", "-c", "cp -L '%s/%s' sdk/ && patchelf --add-needed librocprofiler-register.so.0 sdk/%s" % (
        bench.runtime.libraries(), runtime, runtime)], {})
    if done.returncode:
        raise Fault("patchelf: " + done.stderr.decode())
    return {"LD_LIBRARY_PATH": folder + ":" + bench.env["LD_LIBRARY_PATH"],
            "HSA_TOOLS_LIB": bench.built("tests-bin/libruntimes-registrar.so")}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read().strip()


def sdk(bench, what, env=None, like=None):
    """rtl-demo under a stand-in for rocprofiler-sdk behind the real rocprofiler-register, with and without rtl; like:
    the bench of an earlier one, whose run without rtl is this one's too."""
    folder = bench.folder + "/sdk"
    os.mkdir(folder)
    environment = {
        **({} if bench.runtime.registers else register_instead(bench, folder)),
        "ROCPROFILER_REGISTER_LIBRARY": bench.built("tests-bin/libruntimes-sdk.so"),
        "SDK_TOOL": bench.built("tests/shim/libshim-other-tool.so"),
        "OTHER_TOOL": what,
        **(env or {})}
    command = [bench.built("bin/rtl-demo"), "--steps", "10"]
    if like:
        bench.alone = like.alone
    else:
        bench.run_alone(command, {**environment, "OTHER_TOOL_LOG": folder + "/alone"})
    if bench.alone.returncode:
        raise Fault("alone it ends with %d" % bench.alone.returncode)
    bench.run_watched(command, {**environment, "OTHER_TOOL_LOG": folder + "/watched"})
    bench.count()
    bench.compare_ends()
    alone, watched = read((like or bench).folder + "/sdk/alone"), read(folder + "/watched")
    if alone != watched:
        raise Fault("the SDK sees %s, without rtl %s" % (watched, alone))
    complete(bench)
    told(bench)
    bench.notes.append("SDK: " + alone)


@cell(only=SDK_RUNTIMES)
def sdk_intercepts(bench):
    """rocprofiler-sdk's stand-in makes intercept queues"""
    sdk(bench, "intercepts")


@cell(only=SDK_RUNTIMES)
def sdk_doorbells(bench):
    """rocprofiler-sdk's stand-in replaces the doorbell stores"""
    sdk(bench, "submits")


@cell(only=SDK_RUNTIMES)
def sdk_wraps(bench):
    """rocprofiler-sdk's stand-in only wraps queue creation"""
    sdk(bench, "wraps")


@cell(only=SDK_RUNTIMES)
def sdk_late(bench):
    """rocprofiler-sdk's stand-in restores the table that it saw and starts at the second queue"""
    sdk(bench, "wraps", {"SDK_LATE": "1"})


@cell(is_long=True, only=("7.2.4",))
def sdk_hundred(bench):
    """Each case of rocprofiler-sdk's stand-in a hundred times: none ends otherwise than alone"""
    rows = truth = timed = 0
    for what, late in (("intercepts", ""), ("submits", ""), ("wraps", ""), ("wraps", "1")):
        first = None
        for number in range(100):
            again = bench.another("%s%s-%d" % (what, late, number))
            try:
                sdk(again, what, {"SDK_LATE": late} if late else None, first)
            except Fault as fault:
                raise Fault("%s%s, run %d: %s; its last line is: %s" % (
                    what, late, number, fault, last_line(again.watched.stderr))) from fault
            rows, truth, timed = rows + again.rows, truth + again.truth, timed + again.timed
            first = first or again
            if again is not first:
                shutil.rmtree(again.folder)
    bench.rows, bench.truth, bench.timed = rows, truth, timed
