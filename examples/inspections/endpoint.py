#!/usr/bin/env python3
"""An inspection: JSON files must match a JSON Schema; other files are held for a person.

    apt-get install python3-jsonschema        # or: pip install jsonschema
    python3 endpoint.py [PORT [SCHEMA]]
"""
import base64
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from jsonschema import Draft202012Validator

port = int(sys.argv[1]) if len(sys.argv) > 1 else 8090
schema = Path(sys.argv[2] if len(sys.argv) > 2 else Path(__file__).with_name("order.schema.json"))
validator = Draft202012Validator(json.loads(schema.read_text()))
MAX_FAULTS = 10


def faults(value):
    """Returns the first faults, each with its position in the file."""
    found = sorted(validator.iter_errors(value), key=lambda fault: fault.json_path)
    return [f"{fault.json_path}: {fault.message[:200]}" for fault in found[:MAX_FAULTS]]


class Inspection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        field = self.headers.get("Inspection")
        if field is None:
            return self.reply(204)  # the test when svc starts
        file = json.loads(base64.b64decode(field.strip(":")))["file"]
        if not file["name"].lower().endswith(".json"):
            return self.reply(202, {"message": f'{file["name"]} is not JSON: a person has to check it.'})
        try:
            found = faults(json.loads(body))
        except (ValueError, RecursionError) as error:
            found = [f"it does not parse: {error}"]
        if found:
            return self.reply(422, {"message": "Not an order: " + "; ".join(found), "public_response": {"faults": found}})
        return self.reply(204)

    def reply(self, status, value=None):
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", port), Inspection)
print(f"listening on http://127.0.0.1:{server.server_port}/", flush=True)
server.serve_forever()
