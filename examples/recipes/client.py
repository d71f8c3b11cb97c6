"""Logs in, uploads a file and lists its folder: SVC_USER=… SVC_PASSWORD=… python3 client.py https://HOST FILE /home/FOLDER/"""

import json, os, pathlib, sys, time, urllib.error, urllib.parse, urllib.request

base, file, folder = sys.argv[1].rstrip("/"), pathlib.Path(sys.argv[2]), urllib.parse.quote(sys.argv[3])
if not base.startswith(("https://", "http://127.0.0.1:")):
    sys.exit("the password travels by https only")
MAX_REPLY = 16 * 1024 * 1024


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None  # otherwise urllib would send the session to the other host


opener = urllib.request.build_opener(NoRedirect)


def call(method, path, body=None, **fields):
    headers = {"Accept": "application/json", **{name.replace("_", "-"): str(value) for name, value in fields.items()}}
    with opener.open(urllib.request.Request(base + path, body, headers, method=method), timeout=60) as reply:
        content = reply.read(MAX_REPLY + 1)
        if len(content) > MAX_REPLY:
            raise OSError("the reply is too large")
        return reply.headers, content


def upload(path, attempts=10):
    """Continues after an interruption. (examples/uploads/upload.py continues even if the script is started again.)"""
    size = file.stat().st_size
    place = call("PUT", path, Authorization=session, Upload_Complete="?0", Upload_Length=size)[0]["Location"]
    for attempt in range(attempts):
        try:
            told = call("HEAD", place, Authorization=session)[0]
            if told["Upload-Complete"] == "?1":
                return
            with file.open("rb") as content:
                content.seek(int(told["Upload-Offset"]))
                fields = {"Upload_Offset": told["Upload-Offset"], "Content_Length": size - content.tell()}
                call("PATCH", place, content, Authorization=session, Upload_Complete="?1",
                     Content_Type="application/partial-upload", **fields)
            return
        except OSError as fault:  # includes HTTPError
            if isinstance(fault, urllib.error.HTTPError) and fault.code in (401, 403, 404, 410, 413, 507):
                raise
            print(f"{path}: {fault}", file=sys.stderr)
            time.sleep(min(2**attempt / 10, 30))
    sys.exit(f"{path}: given up after {attempts} attempts")


form = urllib.parse.urlencode({"username": os.environ["SVC_USER"], "password": os.environ["SVC_PASSWORD"]}).encode()
session = "session " + json.loads(call("POST", "/__svc__/login", form)[1])["results"][0]["session"]
try:
    upload(folder + urllib.parse.quote(file.name))
    print(call("GET", folder, Authorization=session)[1].decode())
finally:
    call("POST", "/__svc__/logout", b"", Authorization=session)
