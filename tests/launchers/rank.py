#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One rank, which knows nothing of ranks: it fills memory five times with HIP's own kernel."""
import ctypes

FILL_BYTES, FILLS = 1 << 20, 5


def main():
    hip, buffer = ctypes.CDLL("libamdhip64.so.5"), ctypes.c_void_p()
    errors = [hip.hipMalloc(ctypes.byref(buffer), ctypes.c_size_t(FILL_BYTES))]
    errors += [hip.hipMemsetAsync(buffer, n, ctypes.c_size_t(FILL_BYTES), None) for n in range(FILLS)]
    errors.append(hip.hipDeviceSynchronize())
    return any(errors)


if __name__ == "__main__":
    raise SystemExit(main())
