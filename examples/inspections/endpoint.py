#!/usr/bin/env python3
"""An inspection: JSON files have to be orders; what is not JSON waits for a person.

    python3 endpoint.py [PORT]
"""
import base64
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# A little of JSON Schema; put the package "jsonschema" here for the whole.
SCHEMA = {"required": {"id": int, "customer": str, "lines": list}}


def faults(order):
    """What an order lacks."""
    if not isinstance(order, dict):
        return ["it is no object"]
    return [f'"{name}" is missing or of another type' for name, kind in SCHEMA["required"].items() if not isinstance(order.get(name), kind)]


class Inspection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        field = self.headers.get("Inspection")
        if field is None:
            return self.reply(204)  # the test at the start
        file = json.loads(base64.b64decode(field.strip(":")))["file"]
        if not file["name"].lower().endswith(".json"):
            return self.reply(202, {"message": f'{file["name"]} is no JSON: a person has to look.'})
        try:
            found = faults(json.loads(body))
        except ValueError as error:
            found = [f"it does not parse: {error}"]
        if found:
            return self.reply(422, {"message": "Not an order: " + "; ".join(found) + ".", "public_response": {"faults": found}})
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


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8090), Inspection)
print(f"listening on http://127.0.0.1:{server.server_port}/", flush=True)
server.serve_forever()
