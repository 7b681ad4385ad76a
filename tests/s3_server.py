"""A small object store on loopback that speaks as much of S3 as shoal needs. Signatures are not checked."""

import contextlib
import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET = "bucket"


class Store(ThreadingHTTPServer):
    """`objects` by key; `asked` has (method, key) of every request; `refuse` and `cut` make it fail."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.objects, self.uploads, self.asked = {}, {}, []
        self.refuse = lambda method, key: False  # answered with 403
        self.cut = lambda key: False  # only half of it is sent

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def begin(self):
        parts = urlsplit(self.path)
        bucket, _, self.key = unquote(parts.path)[1:].partition("/")
        self.query = {name: values[0] for name, values in parse_qs(parts.query, True).items()}
        self.server.asked.append((self.command, self.key))
        self.body = self.take()
        if bucket != BUCKET:
            self.say(404, "<Error><Code>NoSuchBucket</Code><Message>no such bucket</Message></Error>")
        elif self.server.refuse(self.command, self.key):
            self.say(403, "<Error><Code>AccessDenied</Code><Message>you may not</Message></Error>")
        else:
            return True
        return False

    def take(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        while self.headers.get("Transfer-Encoding") == "chunked":
            count = int(self.rfile.readline().split(b";")[0], 16)
            body += self.rfile.read(count)
            self.rfile.readline()
            if not count:
                break
        if "aws-chunked" not in self.headers.get("Content-Encoding", ""):
            return body
        pieces = b""
        while body:
            size, _, body = body.partition(b"\r\n")
            count = int(size.split(b";")[0], 16)
            pieces, body = pieces + body[:count], body[count + 2 :] if count else b""
        return pieces

    def say(self, status, text=b"", **headers):
        content = text.encode() if isinstance(text, str) else text
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def do_HEAD(self):
        if self.begin():
            content = self.server.objects.get(self.key, b"" if self.key == "" else None)
            if content is None:
                self.say(404)
            else:
                self.say(200, content, **self.facts(content))

    def facts(self, content):
        tag = f'"{len(content)}"'
        return {"ETag": tag, "Last_Modified": "Tue, 17 Nov 2026 00:00:00 GMT", "Accept_Ranges": "bytes"}

    def do_GET(self):
        if not self.begin():
            return
        if self.key == "":
            self.list()
        elif self.key not in self.server.objects:
            self.say(404, "<Error><Code>NoSuchKey</Code><Message>no such key</Message></Error>")
        else:
            content = self.server.objects[self.key]
            first, last = 0, len(content) - 1
            if self.headers.get("Range"):
                first, _, end = self.headers["Range"].removeprefix("bytes=").partition("-")
                first, last = int(first), min(last, int(end or last))
            part, facts = content[first : last + 1], self.facts(content)
            if self.server.cut(self.key):
                self.close_connection = True
                facts["Content-Length"], part = str(len(part)), part[: len(part) // 2]
            ranged = {"Content_Range": f"bytes {first}-{last}/{len(content)}"}
            self.say(206 if self.headers.get("Range") else 200, part, **facts, **ranged)

    def list(self):
        prefix, sign = self.query.get("prefix", ""), self.query.get("delimiter", "")
        keys, folders = [], []
        for key in sorted(key for key in self.server.objects if key.startswith(prefix)):
            head, found, _ = key[len(prefix) :].partition(sign) if sign else ("", "", "")
            folder = prefix + head + found
            if not found:
                keys.append(key)
            elif folder not in folders:
                folders.append(folder)
        contents = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{len(self.server.objects[key])}</Size>"
            "<LastModified>2026-11-17T00:00:00.000Z</LastModified><ETag>x</ETag></Contents>"
            for key in keys
        )
        common = "".join(f"<CommonPrefixes><Prefix>{escape(f)}</Prefix></CommonPrefixes>" for f in folders)
        self.say(
            200,
            f"<ListBucketResult><Name>{BUCKET}</Name><Prefix>{escape(prefix)}</Prefix><IsTruncated>false"
            f"</IsTruncated><KeyCount>{len(keys) + len(folders)}</KeyCount>{contents}{common}"
            "</ListBucketResult>",
        )

    def do_PUT(self):
        if not self.begin():
            return
        if "partNumber" in self.query:
            self.server.uploads[self.query["uploadId"]][int(self.query["partNumber"])] = self.body
        elif self.headers.get("x-amz-copy-source"):
            source = unquote(self.headers["x-amz-copy-source"]).lstrip("/").partition("/")[2]
            self.server.objects[self.key] = self.server.objects[source]
            self.say(200, "<CopyObjectResult><ETag>x</ETag></CopyObjectResult>")
            return
        else:
            self.server.objects[self.key] = self.body
        self.say(200, ETag=f'"{hashlib.md5(self.body).hexdigest()}"')

    def do_POST(self):
        if not self.begin():
            return
        if "uploads" in self.query:
            name = str(len(self.server.uploads))
            self.server.uploads[name] = {}
            self.say(
                200,
                f"<InitiateMultipartUploadResult><Bucket>{BUCKET}</Bucket><Key>{escape(self.key)}</Key>"
                f"<UploadId>{name}</UploadId></InitiateMultipartUploadResult>",
            )
        elif "delete" in self.query:
            for piece in self.body.decode().split("<Key>")[1:]:
                self.server.objects.pop(piece.partition("</Key>")[0], None)
            self.say(200, "<DeleteResult></DeleteResult>")
        else:
            parts = self.server.uploads.pop(self.query["uploadId"])
            self.server.objects[self.key] = b"".join(parts[number] for number in sorted(parts))
            self.say(
                200,
                f"<CompleteMultipartUploadResult><Bucket>{BUCKET}</Bucket><Key>{escape(self.key)}</Key>"
                "<ETag>x</ETag></CompleteMultipartUploadResult>",
            )

    def do_DELETE(self):
        if self.begin():
            self.server.uploads.pop(self.query.get("uploadId"), None)
            self.server.objects.pop(self.key if "uploadId" not in self.query else None, None)
            self.say(204)


@contextlib.contextmanager
def running():
    with Store() as store:
        thread = threading.Thread(target=store.serve_forever, daemon=True)
        thread.start()
        yield store
        store.shutdown()
        thread.join()
