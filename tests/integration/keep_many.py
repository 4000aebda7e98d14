# SPDX-License-Identifier: MIT
"""keep_many.py N: has who started this collector keep N descriptors (sd_notify's FDSTORE)."""
import os
import socket
import sys

address = os.environ["NOTIFY_SOCKET"]
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
    notify.connect("\0" + address[1:] if address[0] == "@" else address)
    for i in range(int(sys.argv[1])):
        fd = os.memfd_create("one of many")
        socket.send_fds(notify, [b"FDSTORE=1\nFDNAME=recorder-many-%d" % i], [fd])
        os.close(fd)
