# SPDX-License-Identifier: MIT
"""Files whose owner never answers the kernel: a FUSE node by hand, and sockets that linger.

What holds one of them, and closes it or reads it, waits for as long as the owner likes."""
import ctypes
import os
import socket
import struct
import threading

LIBC = ctypes.CDLL(None, use_errno=True)
# linux/fuse.h
LOOKUP, GETATTR, OPEN, READ, RELEASE, FLUSH, INIT, FORGET, BATCH_FORGET, INTERRUPT = (
    1, 3, 14, 15, 18, 25, 26, 2, 42, 36)
IN_HEADER = struct.Struct("=IIQQIIII")
OUT_HEADER = struct.Struct("=IiQ")
FILE_NODE = 2
FILE_BYTES = 1 << 20
SOL_LINGER_S = 600


def attributes(node, mode):
    return struct.pack("=QQQQQQIIIIIIIIII", node, FILE_BYTES, FILE_BYTES // 512, 0, 0, 0, 0, 0, 0,
                       mode, 1, 0, 0, 0, 4096, 0)


class StuckFolder:
    """A mounted folder with one file; requests of the kinds @stuck are never answered."""

    def __init__(self, path, *stuck):
        self.path, self.stuck, self.held = path, stuck, []
        self.asked = threading.Event()  # for something that is not answered
        os.mkdir(path)
        self.device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = "fd=%d,rootmode=40777,user_id=0,group_id=0,allow_other" % self.device
        if LIBC.mount(b"stuck", path.encode(), b"fuse", 0, options.encode()) != 0:
            raise OSError(ctypes.get_errno(), "mount")
        threading.Thread(target=self.serve, daemon=True).start()

    def file(self):
        return os.path.join(self.path, "file")

    def serve(self):
        while True:
            try:
                request = os.read(self.device, 1 << 20)
            except OSError:
                return
            _, kind, unique, node, _, _, _, _ = IN_HEADER.unpack_from(request)
            if kind in self.stuck:
                self.asked.set()
                continue
            if kind in (FORGET, BATCH_FORGET, INTERRUPT):
                continue
            error, answer = self.answer(kind, node)
            os.write(self.device, OUT_HEADER.pack(OUT_HEADER.size + len(answer), error, unique) + answer)

    def answer(self, kind, node):
        folder, file = 0o40777, 0o100666
        if kind == INIT:
            return 0, struct.pack("=IIIIHHIIHHIIHH", 7, 31, 65536, 0, 16, 16, 1 << 17, 1, 32, 0, 0, 0, 0,
                                  0)[:24] + bytes(40)
        if kind == LOOKUP:
            return 0, struct.pack("=QQQQII", FILE_NODE, 1, 3600, 3600, 0, 0) + attributes(FILE_NODE, file)
        if kind == GETATTR:
            is_file = node == FILE_NODE
            return 0, struct.pack("=QII", 3600, 0, 0) + attributes(node, file if is_file else folder)
        if kind == OPEN:
            return 0, struct.pack("=QII", 1, 0, 0)
        if kind in (FLUSH, RELEASE):
            return 0, b""
        return -38, b""  # ENOSYS

    def release(self):
        """Every request fails from now on: waiting threads continue."""
        LIBC.umount2(self.path.encode(), 1 | 2)
        os.close(self.device)


def lingering_socket():
    """Its last close waits until what it has sent is read, which is never."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    sender = socket.socket()
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, SOL_LINGER_S))
    sender.connect(listener.getsockname())
    sender.setblocking(False)
    try:
        while True:
            sender.send(bytes(65536))
    except BlockingIOError:
        pass
    sender.setblocking(True)
    return sender, listener
