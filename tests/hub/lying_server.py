"""A model hub on loopback that tells the truth or lies, and the host that it stores files on.

Addresses, headers and answers are those of a hub (docs/inside/hub.md); `Lies` says what is wrong."""

import hashlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Lies:
    """Faults of the servers. Each is off unless a test sets it."""

    def __init__(self):
        self.no_ranges = False  # a range is answered by 200
        self.no_ranges_after = None  # so many answers with bytes are right
        self.status = {}  # address -> list of (status, headers), the last for ever
        self.cut_after = None  # bytes of an answer, then the connection ends
        self.cuts_left = 10**9
        self.silent_after = None  # bytes of an answer, then nothing more for `silence` seconds
        self.silences_left = 10**9
        self.silence = 5.0
        self.gzip = False
        self.length = 0  # added to the announced lengths
        self.extra = b""  # sent behind the file
        self.other_bytes = 0  # answers whose bytes are wrong
        self.changed_head_after = None  # so many answers; later ones begin with other bytes
        self.etag = None  # of the storage's answers
        self.linked_etag = None
        self.wrong_start = False  # 206 with another range than that asked for
        self.total = 0  # added to the total of Content-Range
        self.location = None  # where redirects to storage lead
        self.seconds_per_block = 0.0
        self.tree = None  # replaces the listing
        self.page = 1000  # files a page
        self.no_digests = False
        self.chunked = False  # no length, the end is marked
        self.until_close = False  # no length, the end of the connection is the end


class Handler(BaseHTTPRequestHandler):
    """Answers for both hosts; `self.server.hub` is the LyingHub."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_HEAD(self):  # huggingface_hub asks so; libtenon-hub does not
        self.do_GET()

    def do_GET(self):
        hub = self.server.hub
        path = self.path
        if path.startswith("http://"):  # as to a proxy
            hub.proxied.append(path)
            parts = urlsplit(path)
            path = parts.path + ("?" + parts.query if parts.query else "")
        hub.requests.append((self.server.role, path, dict(self.headers)))
        told = hub.lies.status.get(unquote(path)) or hub.lies.status.get(self.server.role)
        if told:
            status, headers = told.pop(0) if len(told) > 1 else told[0]
            if status != 200:
                return self.short(status, b"no", headers)
        try:
            if self.server.role == "storage":
                return self.send_file(path.split("?")[0][1:])
            if path.startswith("/api/models/"):
                return self.api(path)
            if "/resolve/" in path:
                return self.resolve(path)
            if path.startswith("/plain/"):
                return self.send_file(unquote(path.split("?")[0][len("/plain/"):]), hub.plain_etag)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
            return None
        return self.short(404, b"not here", {"X-Error-Code": "EntryNotFound"})

    def short(self, status, body, headers=()):
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def api(self, path):
        hub = self.server.hub
        name, _, rest = path[len("/api/models/"):].partition("?")
        owner, repository, route, revision = (unquote(part) for part in name.split("/"))
        if f"{owner}/{repository}" != hub.id:
            return self.short(401, b"{}", {"X-Error-Code": "RepoNotFound"})
        if revision not in (hub.revision, COMMIT):
            return self.short(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
        if route == "revision":
            return self.short(200, json.dumps({
                "id": hub.id, "sha": COMMIT, "siblings": [{"rfilename": name} for name in hub.files]}).encode())
        if hub.lies.tree is not None:
            return self.short(200, hub.lies.tree)
        entries = hub.tree()
        first = int(rest.partition("cursor=")[2] or 0)
        page = entries[first:first + hub.lies.page]
        headers = {}
        if first + hub.lies.page < len(entries):
            headers["Link"] = (f'<{hub.endpoint}{path.split("?")[0]}?recursive=true&cursor={first + hub.lies.page}>; '
                               'rel="next"')
        return self.short(200, json.dumps(page).encode(), headers)

    def resolve(self, path):
        hub = self.server.hub
        name = unquote(path.split("/resolve/")[1].partition("/")[2])
        if name not in hub.files:
            return self.short(404, b"", {"X-Error-Code": "EntryNotFound"})
        if name not in hub.stored:
            return self.send_file(name, '"' + git_sha1(hub.files[name]) + '"')
        location = hub.lies.location or f"{hub.storage_address}/{hub.key(name)}?signature=x"
        digest = hub.lies.linked_etag or hashlib.sha256(hub.files[name]).hexdigest()
        return self.short(302, b"over there", {
            "Location": location, "X-Repo-Commit": COMMIT, "X-Linked-Etag": f'"{digest}"',
            "X-Linked-Size": str(len(hub.files[name]))})

    def send_file(self, name, etag=None):
        hub = self.server.hub
        lies = hub.lies
        name = hub.names.get(name, name)
        if name not in hub.files:
            return self.short(404, b"")
        data = hub.files[name]
        hub.answers += 1
        if lies.other_bytes > 0:
            lies.other_bytes -= 1
            data = bytes(len(data))
        if lies.changed_head_after is not None and hub.answers > lies.changed_head_after:
            data = bytes(100) + data[100:]
        asked = self.headers.get("Range")
        ranges = not lies.no_ranges and (lies.no_ranges_after is None or hub.answers <= lies.no_ranges_after)
        first, last = 0, len(data) - 1
        if asked and ranges:
            begin, _, end = asked[len("bytes="):].partition("-")
            first, last = int(begin), min(int(end or last), last)
            if first > last:
                return self.short(416, b"", {"Content-Range": f"bytes */{len(data)}"})
            if lies.wrong_start:
                first = max(first - 7, 0) if first else 7
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(data) + lies.total}")
        else:
            self.send_response(200)
        body = data[first:last + 1] + lies.extra
        if lies.etag or etag:
            self.send_header("ETag", lies.etag or etag)
        if lies.gzip:
            self.send_header("Content-Encoding", "gzip")
        if lies.chunked:
            self.send_header("Transfer-Encoding", "chunked")
        elif lies.until_close:
            self.send_header("Connection", "close")
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(len(body) + lies.length))
        if self.command == "HEAD":
            self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if self.command != "HEAD":
            self.send_body(body)

    def send_body(self, body):
        hub = self.server.hub
        lies = hub.lies
        block = 16384
        for at in range(0, len(body), block):
            if lies.cut_after is not None and at >= lies.cut_after and lies.cuts_left > 0:
                lies.cuts_left -= 1
                self.close_connection = True
                return
            if lies.silent_after is not None and at >= lies.silent_after and lies.silences_left > 0:
                lies.silences_left -= 1
                hub.wake.wait(lies.silence)
                self.close_connection = True
                return
            part = body[at:at + block]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part) if lies.chunked else part)
            hub.count(len(part))
            if lies.seconds_per_block:
                time.sleep(lies.seconds_per_block)
        if lies.chunked:
            self.wfile.write(b"0\r\n\r\n")
        if lies.length > 0:
            self.close_connection = True


def git_sha1(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, hub, role):
        super().__init__(("127.0.0.1", 0), Handler)
        self.hub = hub
        self.role = role
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def handle_error(self, request, client_address):
        pass  # clients that are killed leave in the middle of answers


class LyingHub:
    """The hub and its storage. files: path -> bytes; stored: those that are kept on the storage host
    and have a sha256."""

    def __init__(self, files, stored=None, repository="owner/name", revision="main"):
        self.files = dict(files)
        self.stored = {name for name in files if name.endswith((".gguf", ".safetensors"))} if stored is None else stored
        self.names = {}
        self.id = repository
        self.revision = revision
        self.lies = Lies()
        self.plain_etag = '"v1"'
        self.requests = []  # (role, path, headers)
        self.proxied = []
        self.answers = 0
        self.sent = 0  # bytes of files
        self.changed = threading.Condition()
        self.wake = threading.Event()
        self.servers = [Server(self, "hub"), Server(self, "storage")]
        self.endpoint, self.storage_address = (f"http://127.0.0.1:{server.server_port}" for server in self.servers)

    def key(self, name):
        key = hashlib.sha256(name.encode()).hexdigest()
        self.names[key] = name
        return key

    def count(self, size):
        with self.changed:
            self.sent += size
            self.changed.notify_all()

    def wait_until_sent(self, size, seconds=60):
        """Waits until so many bytes of files have been sent, or the time is over."""
        with self.changed:
            return self.changed.wait_for(lambda: self.sent >= size, seconds)

    def tree(self):
        entries = [{"type": "directory", "path": "folder", "size": 0, "oid": "0" * 40}]
        for name, data in sorted(self.files.items()):
            entry = {"type": "file", "path": name, "size": len(data), "oid": git_sha1(data)}
            if name in self.stored:
                entry["oid"] = "1" * 40  # of the pointer
                entry["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
            if self.lies.no_digests:
                entry.pop("oid")
                entry.pop("lfs", None)
            entries.append(entry)
        return entries

    def close(self):
        self.wake.set()
        for server in self.servers:
            server.shutdown()
            server.server_close()
