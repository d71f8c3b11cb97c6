"""The part that all relays share: receives signed events over HTTP, and answers 200 when the broker has stored them.
HOOK_SECRET has the secrets of `signing_secret`, separated by commas; PORT is the first argument of each relay."""

import base64, hashlib, hmac, json, os, sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer

MAX_BODY, MAX_AGE_SECONDS = 16 * 1024 * 1024, 300


class BrokerAway(Exception):
    """The broker is unavailable, or refuses an event."""


def argument(number, default):
    return sys.argv[number] if len(sys.argv) > number else default


def is_signed(keys, headers, body):
    """Standard Webhooks: HMAC-SHA256 of ID, time and body. Old requests are refused, so nobody can record one and replay it."""
    identity, at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not identity or not at.isdecimal() or len(at) > 12 or abs(time.time() - int(at)) > MAX_AGE_SECONDS:
        return False
    given = [text[3:].encode() for text in headers.get("webhook-signature", "").split()[:10] if text.startswith("v1,")]
    wanted = [base64.b64encode(hmac.digest(key, f"{identity}.{at}.".encode() + body, hashlib.sha256)) for key in keys]
    return any([hmac.compare_digest(one, other) for one in given for other in wanted])


def serve(publish):
    """`publish` gets the events of a request. It returns each event's offset in the broker, when all are stored."""
    keys = [base64.b64decode(secret.strip().removeprefix("whsec_"), validate=True) for secret in os.environ["HOOK_SECRET"].split(",")]
    if not all(len(key) >= 16 for key in keys):
        sys.exit("HOOK_SECRET is too short")

    class Relay(BaseHTTPRequestHandler):
        timeout = 30

        def do_POST(self):
            self.reply(*self.take())

        def take(self):
            length = self.headers.get("Content-Length", "")
            if not length.isdecimal() or len(length) > 12 or int(length) > MAX_BODY:
                return 413, "no length, or too large"
            body = self.rfile.read(int(length))
            if not is_signed(keys, self.headers, body):
                return 401, "not signed, or too old"
            try:
                return 200, json.dumps({"offsets": publish(json.loads(body)["events"])})
            except (ValueError, KeyError, TypeError):
                return 400, "no events"
            except (BrokerAway, OSError) as error:  # after 500 svc tries again; after 503 with Retry-After it would discard the events
                return 500, f"not stored: {error}"

        def reply(self, status, text):
            print(f"{status} {text}", flush=True)
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", int(argument(1, "9000"))), Relay)
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
