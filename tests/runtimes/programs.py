# SPDX-License-Identifier: MIT
"""Rows of the matrix that run what people run, as Debian packages it: llama.cpp, rocBLAS, torchrun. The software GPU
computes nothing, so what such a program computes is not looked at: it starts, dispatches and ends as it does alone."""
import os
import re

from bench import LIBRARIES, Fault, last_line
from cells import cell, complete, matched, small, topology
from model import write_model

LIBEXEC = "/usr/libexec/x86_64-linux-gnu/llama.cpp-tests/"
MODES = ("standard", "full", "hip")


def hip_6(bench):
    """llama.cpp and rocBLAS are built on HIP 6.4.3; it runs on this runtime's ROCr."""
    libraries = bench.runtime.llama + LIBRARIES
    return {
        "LD_LIBRARY_PATH": "%s:%s:%s/llama" % (bench.env["LD_LIBRARY_PATH"], libraries, libraries),
        "ROCBLAS_TENSILE_LIBPATH": libraries + "/rocblas/4.4.1/library",
        "OMP_NUM_THREADS": "1"}


def in_each_mode(bench, command, said=bytes):
    """Alone once, then below rtl in each mode: all of it is stored each time."""
    rows = timed = truth = 0
    alone = None
    for mode in MODES:
        again = bench.another(mode)
        link_backends(again)
        if alone:
            again.alone = alone
        else:
            again.run_alone(command, hip_6(bench))
            alone = again.alone
            if alone.returncode:
                raise Fault("alone it ends with %d: %s" % (alone.returncode, last_line(alone.stderr)))
        again.run_watched(command, hip_6(bench), ("-m", mode))
        again.count()
        again.compare_ends(said)
        complete(again)
        rows += again.rows
        timed += again.timed
        truth += again.truth
    bench.rows, bench.timed, bench.truth = rows, timed, truth
    if bench.rows < 1000:
        raise Fault("only %d dispatches" % bench.rows)


def link_backends(bench):
    """llama.cpp looks for its backends where the program lies, and in the current folder."""
    for backend in ("libggml-hip.so", "libggml-cpu-x64.so"):
        os.symlink("%s/ggml/backends0/%s" % (bench.runtime.llama + LIBRARIES, backend),
                   "%s/%s" % (bench.folder, backend))


def model(bench):
    path = bench.folder + "/model.gguf"
    write_model(path)
    return path


def without_figures(output):
    """What llama.cpp prints but for its measurements."""
    return re.sub(rb"[0-9]+(?:\.[0-9]+)?", b"N", output)


@cell(is_long=True, only=("7.2.4",))
def llama_tokens(bench):
    """llama-completion, 200 tokens, in modes standard, full and hip"""
    path = model(bench)
    in_each_mode(bench, [
        bench.runtime.llama + "/usr/bin/llama-completion", "-m", path, "-p", "a", "-n", "200", "--temp", "0", "-ngl",
        "99", "-no-cnv", "--no-warmup", "--ignore-eos", "-t", "1"])


@cell(is_long=True, only=("7.2.4",))
def llama_bench(bench):
    """llama-bench, in modes standard, full and hip"""
    path = model(bench)
    in_each_mode(bench, [
        bench.runtime.llama + "/usr/bin/llama-bench", "-m", path, "-p", "32", "-n", "32", "-r", "2", "-ngl", "99",
        "-t", "1", "-o", "json"], without_figures)


@cell(is_long=True, only=("7.2.4",))
def llama_servers(bench):
    """Two of llama-server at once answer and end by SIGTERM, in modes standard, full and hip"""
    path = model(bench)
    in_each_mode(bench, ["/usr/bin/python3", bench.source + "/tests/runtimes/servers.py",
                         bench.runtime.llama + "/usr/bin/llama-server", path])


def verdicts(output):
    """What test-backend-ops tested; the figures that it computes differ from run to run."""
    return sorted(re.findall(rb"SOFT_MAX\([^)]*\)", output))


@cell(is_long=True, only=("7.2.4",))
def llama_softmax(bench):
    """test-backend-ops SOFT_MAX of llama.cpp, which launches cooperatively"""
    link_backends(bench)
    # Each check fails on a device that computes nothing.
    bench.run([bench.runtime.llama + LIBEXEC + "test-backend-ops", "test", "-o", "SOFT_MAX", "-b", "ROCm0"],
              hip_6(bench), status=1, said=verdicts)
    complete(bench)


@cell(is_long=True, only=("7.2.4",))
def rocblas(bench):
    """rocBLAS, which brings a roctx of its own: 400 products of matrices, in modes standard, full and hip"""
    in_each_mode(bench, [bench.built("tests-bin/runtimes-gemm"), "libamdhip64.so.6", "librocblas.so.4", "400"])


@cell(is_long=True, only=("7.2.4",))
def rocblas_million(bench):
    """1,000,000 products of matrices by rocBLAS, in at most 32 bytes a row"""
    bench.run([bench.built("tests-bin/runtimes-gemm"), "libamdhip64.so.6", "librocblas.so.4", "1000000"], hip_6(bench))
    complete(bench)
    small(bench)


# Debian builds torch without libuv, by which its launcher would let processes meet: they meet by a file.
TORCHRUN = """exec /usr/bin/python3 -m torch.distributed.run --rdzv_backend=c10d --rdzv_conf=store_type=file \\
    --rdzv_endpoint="$(mktemp -u -p "$TMPDIR")" --no-python "$@" """


@cell(gpus=8, is_long=True, only=("7.2.4",))
def torchrun(bench):
    """torchrun --nproc_per_node=8 starts eight ranks over RCCL; each call has its kernel"""
    topology(bench.root, 8)
    lib = bench.runtime.torch + "/usr/lib"
    bench.run(
        ["sh", "-c", TORCHRUN, "sh", "--nproc_per_node=8", bench.built("tests-bin/runtimes-rccl"), bench.runtime.hip,
         "librccl.so.1", "launched", "3"],
        {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
         "PYTHONPATH": "{0}/python3.13:{0}/python3.13/lib-dynload:{0}/python3/dist-packages".format(lib),
         "LD_LIBRARY_PATH": "{0}:{2}{1}:{2}{1}/blas:{2}{1}/lapack:{2}/usr/lib".format(
             bench.env["LD_LIBRARY_PATH"], LIBRARIES, bench.runtime.torch),
         "NCCL_SOCKET_IFNAME": "lo", "SOFTGPU_FAULT": "kernel *nccl*Kernel* meet=ranks"},
        ("-m", "hip"), said=lambda output: sorted(output.splitlines()))
    complete(bench)
    matched(bench, {"ncclAllGather": 3, "ncclAllReduce": 3})
    ranks = bench.sql("SELECT DISTINCT rank, world_size, launcher FROM rtl_process WHERE rank IS NOT NULL ORDER BY 1")
    if ranks != [(rank, 8, "torchrun") for rank in range(8)]:
        raise Fault("the ranks are %s" % ranks)
