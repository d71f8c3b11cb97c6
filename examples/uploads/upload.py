"""Uploads a file, and continues after an interruption: python3 upload.py FILE https://HOST/home/NAME [SECONDS]
~/.netrc has user and password. FILE.upload stores the path of the upload, also for the next start of this script."""
import base64, http.client, netrc, pathlib, sys, time, urllib.parse

file, url, place = pathlib.Path(sys.argv[1]), urllib.parse.urlsplit(sys.argv[2]), pathlib.Path(sys.argv[1] + ".upload")
user, _, password = netrc.netrc().authenticators(url.hostname)
basic = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()

def call(method, path, body=None, **fields):
    connect = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    connection = connect(url.netloc, timeout=60)
    headers = {name.replace("_", "-"): value for name, value in fields.items()}
    connection.request(method, path, body, {"Authorization": basic, **headers})
    reply = connection.getresponse()
    if method == "PUT" and 400 <= reply.status < 500: sys.exit(f"{url.geturl()}: {reply.status} {reply.reason}")
    if method == "HEAD" and reply.status in (200, 404, 405, 410): place.unlink()  # ended, or not the path of an upload
    if reply.status >= 400: raise OSError(f"{reply.status} {reply.reason}")
    return reply.headers

while True:
    try:
        place.touch()
        if not place.read_text():
            place.write_text(call("PUT", url.path, Upload_Complete="?0", Upload_Length=file.stat().st_size)["Location"])
        told = call("HEAD", place.read_text())
        if told["Upload-Complete"] == "?1": break
        with file.open("rb") as content:
            content.seek(int(told["Upload-Offset"]))
            call("PATCH", place.read_text(), content, Upload_Offset=told["Upload-Offset"], Upload_Complete="?1",
                 Content_Type="application/partial-upload")
    except (OSError, http.client.HTTPException, TypeError) as fault:  # TypeError: a header is missing
        print(f"{url.geturl()}: {fault}", file=sys.stderr)
        time.sleep(float((sys.argv + ["5"])[3]))
place.unlink()
