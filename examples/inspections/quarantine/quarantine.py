#!/usr/bin/env python3
"""An inspection that holds every file for a person, without reading it: python3 quarantine.py [PORT]"""
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Quarantine(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        sender = request.get("account", {}).get("username", "the test at the start")
        body = json.dumps({"message": f"from {sender}: call them before you release it"}).encode()
        self.send_response(202)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8091), Quarantine)
print(f"listening on http://127.0.0.1:{server.server_port}/", flush=True)
server.serve_forever()
