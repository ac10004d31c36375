"""Appends what is posted to a file below a directory, if that is still what If-Match says.

What it appends it does not look at. The tags are those that nginx gives its files: the time at which one was written, in
seconds, and its length.
"""

import fcntl
import http.server
import os
import sys


def tag(file):
    known = os.fstat(file.fileno())
    return '"%x-%x"' % (int(known.st_mtime), known.st_size)


class Append(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        body = self.rfile.read(length)
        if len(body) < length or not body.endswith(b"\n"):
            return self.answer(400)
        path = os.path.join(sys.argv[1], os.path.basename(self.path))
        begins = self.headers["If-None-Match"] == "*"
        try:
            with open(path, "xb" if begins else "r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                end = file.seek(0, os.SEEK_END)
                if end > 0 if begins else self.headers["If-Match"] != tag(file):
                    return self.answer(412, tag(file))
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
                return self.answer(204, tag(file))
        except FileExistsError:
            self.answer(412)
        except FileNotFoundError:
            self.answer(404)

    def answer(self, status, tag=None):
        self.send_response(status)
        if tag:
            self.send_header("ETag", tag)
        if status != 204:
            self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Append)
print("port", server.server_port, flush=True)
server.serve_forever()
