# SPDX-License-Identifier: MIT
"""keep_many.py N: has the manager of this collector keep N descriptors (sd_notify's FDSTORE).
keep_many.py full: leaves no room for a message to it, as any user can."""
import os
import socket
import sys

address = os.environ["NOTIFY_SOCKET"]
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
    notify.connect("\0" + address[1:] if address[0] == "@" else address)
    if sys.argv[1] == "full":
        notify.setblocking(False)
        try:
            while True:
                notify.send(b"x")
        except BlockingIOError:
            sys.exit()
    for i in range(int(sys.argv[1])):
        fd = os.memfd_create("one of many")
        socket.send_fds(notify, [b"FDSTORE=1\nFDNAME=recorder-many-%d" % i], [fd])
        os.close(fd)
