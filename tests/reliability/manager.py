# SPDX-License-Identifier: MIT
"""A service manager in small: the socket, READY, the descriptor store, as systemd has them."""
import os
import socket
import subprocess
import threading

FIRST_FD = 3


class Manager:
    """Starts one program again and again on one socket, and keeps what it gives away."""

    def __init__(self, *paths):
        self.listeners = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in paths]
        for listener, path in zip(self.listeners, paths):
            listener.bind(path)
            os.chmod(path, 0o666)
            listener.listen(4096)
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.address = paths[0] + ".notify"  # an abstract name is of one network only
        self.notify.bind(self.address)
        os.chmod(self.address, 0o666)
        self.kept = {}  # name -> descriptor
        self.heard = {}  # field -> how often, its latest value
        self.ready = threading.Event()
        self.lock = threading.Lock()
        self.changed = threading.Condition(self.lock)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while True:
            text, fds, _, _ = socket.recv_fds(self.notify, 4096, 4)
            fields = dict(line.split("=", 1) for line in text.decode().splitlines() if "=" in line)
            with self.changed:
                for field, value in fields.items():
                    self.heard[field] = (self.times(field) + 1, value)
                name = fields.get("FDNAME")
                if "FDSTORE" in fields and fds:
                    self.drop(name)
                    self.kept[name] = fds.pop()
                elif "FDSTOREREMOVE" in fields:
                    self.drop(name)
                self.changed.notify_all()
            for fd in fds:
                os.close(fd)
            if fields.get("READY") == "1":
                self.ready.set()

    def drop(self, name):
        fd = self.kept.pop(name, None)
        if fd is not None:
            os.close(fd)

    def close(self):
        """Closes the sockets: after this no process listens there."""
        for listener in self.listeners:
            os.unlink(listener.getsockname())
            listener.close()
        self.listeners = []

    def times(self, field):
        return self.heard.get(field, (0,))[0]

    def value(self, field):
        return self.heard.get(field, (0, ""))[1]

    def wait_kept(self, count, deadline_s):
        """True once @count descriptors are kept."""
        with self.changed:
            return self.changed.wait_for(lambda: len(self.kept) == count, deadline_s)

    def start(self, command, env, log, deadline_s):
        """The process, once it says that it is ready; what is kept is passed on to it."""
        with self.lock:
            names = list(self.kept)
            fds = [listener.fileno() for listener in self.listeners]
            # Copies: what the last one has said to the end is heard meanwhile.
            copies = [os.dup(self.kept[name]) for name in names]
            fds += copies
        env = {**os.environ, **env, "NOTIFY_SOCKET": self.address, "LISTEN_FDS": str(len(fds)),
               "LISTEN_FDNAMES": ":".join(["listen"] * len(self.listeners) + names)}
        # The shell puts them where they are looked for; first out of the way of each other.
        top = max(fds + [FIRST_FD + len(fds)]) + 1
        moves = ["exec %d>&%d" % (top + i, fd) for i, fd in enumerate(fds)]
        moves += ["exec %d>&%d" % (FIRST_FD + i, top + i) for i in range(len(fds))]
        moves += ["exec %d>&-" % (top + i) for i in range(len(fds))]
        self.ready.clear()
        process = subprocess.Popen(
            ["bash", "-c", "; ".join(moves) + '; LISTEN_PID=$$ exec "$@"', "bash", *command],
            env=env, pass_fds=fds, stdout=log, stderr=log)
        for fd in copies:
            os.close(fd)
        if not self.ready.wait(deadline_s):
            raise TimeoutError("not ready in time: " + " ".join(command))
        return process
