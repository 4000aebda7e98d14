# SPDX-License-Identifier: MIT
"""HIP as Triton's launcher and ctypes reach it: by dlopen and dlsym. ctypes_user.py CODE_OBJECT"""
import ctypes
import sys

hip = ctypes.CDLL("libamdhip64.so.5")
pointer = ctypes.c_void_p


def call(name, *arguments):
    result = getattr(hip, name)(*arguments)
    if result:
        sys.exit(f"{name}: {result}")


module, function, stream, data = pointer(), pointer(), pointer(), pointer()
call("hipModuleLoad", ctypes.byref(module), sys.argv[1].encode())
call("hipModuleGetFunction", ctypes.byref(function), module, b"work_a")
call("hipStreamCreate", ctypes.byref(stream))
call("hipMalloc", ctypes.byref(data), ctypes.c_size_t(1 << 20))
params = (pointer * 1)(ctypes.addressof(data))
for grid in range(1, 21):
    call("hipModuleLaunchKernel", function, grid, 1, 1, 2, 1, 1, 0, stream, params, None)
    print(f"launch hipModuleLaunchKernel|{2 * grid}")
call("hipStreamSynchronize", stream)
try:
    hip.hipNoSuchFunction
    sys.exit("a function that HIP does not have was found")
except AttributeError as error:
    if "hipNoSuchFunction" not in str(error):
        sys.exit(f"dlerror says {error}")
