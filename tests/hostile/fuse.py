# SPDX-License-Identifier: MIT
"""A file system of a user's that leaves requests unanswered (hostile-fuse), and what can be held with it.

A process that waits for such a request waits in the kernel and cannot be killed; end() fails the requests.
It ends with the test in any case: its server is a process of the test's pid namespace.
"""
import mmap
import os
import subprocess
import threading

from node import fail, wait_for

BLOCK = 4096


class Fuse:
    """Mounted at @folder, of @uid, until the end of a with statement. @program: hostile-fuse."""

    def __init__(self, program, uid, folder):
        os.makedirs(folder, exist_ok=True)
        self.folder, self.lines = folder, []
        self.process = subprocess.Popen([program, str(uid), folder], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, text=True)
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()
        wait_for("a file system", lambda: "ready" in self.lines or self.process.poll() is not None)
        if "ready" not in self.lines:
            fail("there is no file system: is /dev/fuse here?")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def listen(self):
        for line in self.process.stdout:
            self.lines.append(line.strip())

    def path(self, name):
        """@name: read, flush, fsync or plain."""
        return os.path.join(self.folder, name)

    def held(self, name):
        """How many requests of it are unanswered."""
        return self.lines.count("held " + name)

    def wait_held(self, name, count=1):
        wait_for("%d requests to %s to be held" % (count, name),
                 lambda: self.held(name) >= count)

    def end(self):
        """Whatever waits for it fails, and goes on."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
            subprocess.run(["umount", "-l", self.folder], check=False, stderr=subprocess.DEVNULL)


def stuck_page(path):
    """A page of a mapping of @path (a file "read"): a thread that touches it waits."""
    fd = os.open(path, os.O_RDWR)
    page = mmap.mmap(fd, BLOCK, mmap.MAP_SHARED)
    os.close(fd)  # a FLUSH of this file is answered
    return page


def hold_by_reading(path, page_path):
    """Reads @path with O_DIRECT into a page that stays away: the lock of its inode is held, shared, as
    long as that is unanswered. Does not return before."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        os.preadv(fd, [stuck_page(page_path)], 0)
    except OSError:
        pass  # the file system is gone


def hold_by_writing(fd, page_path):
    """Writes to @fd (a memfd, say) from a page that stays away: likewise, the lock is held alone."""
    try:
        os.pwrite(fd, stuck_page(page_path), 0)
    except OSError:
        pass
