# SPDX-License-Identifier: MIT
"""A program without HIP that looks whether there is one. Prints what it finds."""
import ctypes

for name in ("hipMalloc", "hipGetProcAddress", "getpid"):
    try:
        getattr(ctypes.CDLL(None), name)
        print(name, "found")
    except AttributeError:
        print(name, "missing")
