# SPDX-License-Identifier: MIT
"""RCCL and roctx as vLLM and JAX reach them: by dlopen and dlsym. ctypes_rccl.py LIBRCCL LIBROCTX"""
import ctypes
import sys

rccl = ctypes.CDLL(sys.argv[1])
roctx = ctypes.CDLL(sys.argv[2])
everything = ctypes.CDLL(None)
pointer, size_t = ctypes.c_void_p, ctypes.c_size_t
FLOAT32, SUM = 7, 0


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * 128)]


def call(name, *arguments):
    result = getattr(rccl, name)(*arguments)
    if result:
        sys.exit(f"{name}: {result}")


identity, comm, none = UniqueId(), pointer(), pointer()
call("ncclGetUniqueId", ctypes.byref(identity))
rccl.ncclCommInitRank.argtypes = [pointer, ctypes.c_int, UniqueId, ctypes.c_int]
call("ncclCommInitRank", ctypes.byref(comm), 1, identity, 0)
for seq in range(10):
    count = 100 + seq
    if roctx.roctxRangePushA(b"m%d" % seq) != 41:
        sys.exit("not the real roctxRangePushA")
    call("ncclAllReduce", none, none, size_t(count), FLOAT32, SUM, comm, none)
    if roctx.roctxRangePop() != 42:
        sys.exit("not the real roctxRangePop")
    print(f"{seq}|{count}|{4 * count}|m{seq}")
call("ncclGroupStart")
call("ncclSend", none, size_t(7), FLOAT32, 0, comm, none)
call("ncclRecv", none, size_t(7), FLOAT32, 0, comm, none)
call("ncclGroupEnd")
call("ncclCommDestroy", comm)
print("roctx", roctx.roctx_calls(), file=sys.stderr)
for library, name in ((rccl, "ncclNoSuchFunction"), (everything, "ncclAllReduce"), (everything, "hipMalloc")):
    try:
        getattr(library, name)
        print(f"found {name}", file=sys.stderr)
    except AttributeError as error:
        print("not found", name if name in str(error) else error, file=sys.stderr)
