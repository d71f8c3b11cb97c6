"""Stores each signed event once, in an SQLite file: HOOK_SECRET=whsec_… python3 webhook_inbox.py [PORT [FILE]]
Another program can process the table `inbox` later. HOOK_SECRET may hold several secrets, separated by commas."""

import base64, hashlib, hmac, json, os, sqlite3, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEYS = [base64.b64decode(secret.strip().removeprefix("whsec_"), validate=True) for secret in os.environ["HOOK_SECRET"].split(",")]
FILE = (sys.argv[2:] + ["inbox.db"])[0]
MAX_BODY, MAX_AGE_SECONDS = 4 * 1024 * 1024, 300
if not all(len(key) >= 16 for key in KEYS):
    sys.exit("HOOK_SECRET is too short")


def is_signed(headers, body):
    """Standard Webhooks: HMAC-SHA256 of ID, time and body. Old requests are refused, so nobody can record one and replay it."""
    identity, at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not identity or not at.isdecimal() or len(at) > 12 or abs(time.time() - int(at)) > MAX_AGE_SECONDS:
        return False
    given = [text[3:].encode() for text in headers.get("webhook-signature", "").split()[:10] if text.startswith("v1,")]
    signed = f"{identity}.{at}.".encode() + body
    wanted = [base64.b64encode(hmac.digest(key, signed, hashlib.sha256)) for key in KEYS]
    return any([hmac.compare_digest(one, other) for one in given for other in wanted])


def store(events):
    """Stores all new events on disk, or none if it fails. Returns the number of new events."""
    database = sqlite3.connect(FILE, timeout=5)
    try:
        with database:
            database.execute("CREATE TABLE IF NOT EXISTS inbox (uuid TEXT PRIMARY KEY, id TEXT NOT NULL, event TEXT NOT NULL)")
            rows = [(event["uuid"], event["id"], json.dumps(event)) for event in events]
            return database.executemany("INSERT OR IGNORE INTO inbox VALUES (?, ?, ?)", rows).rowcount
    finally:
        database.close()


class Receiver(BaseHTTPRequestHandler):
    timeout = 10

    def do_POST(self):
        self.reply(*self.take())

    def take(self):
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            return 411, "no length"
        if len(length) > 12 or int(length) > MAX_BODY:
            return 413, "too large"
        body = self.rfile.read(int(length))
        if not is_signed(self.headers, body):
            return 401, "not signed, or too old"
        try:
            events = json.loads(body)["events"]
            added = store(events)
        except sqlite3.OperationalError:  # locked or full: svc tries again
            return 500, "not stored"
        except (ValueError, KeyError, TypeError, sqlite3.Error):
            return 400, "no events"
        # A repeated event is not stored again, but gets 200, too: after any other status svc would send it once more.
        return 200, f"{added} new, {len(events) - added} repeated"

    def reply(self, status, text):
        print(f"{status} {text}", flush=True)
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int((sys.argv[1:] + ["9000"])[0])), Receiver)
print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
