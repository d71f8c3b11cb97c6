"""A receiver of SOAP events that needs only Python: python3 soap_receiver.py [PORT]"""

import sys
import xml.etree.ElementTree as ElementTree
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NAMES = {"s": "http://www.w3.org/2003/05/soap-envelope", "e": "urn:svc:events:1"}


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        events = ElementTree.fromstring(body).findall("s:Body/e:Events/e:Event", NAMES)
        for event in events:
            path = event.findtext("e:data/e:path", namespaces=NAMES)
            name = event.findtext("e:account/e:name", namespaces=NAMES)
            created = event.findtext("e:created", namespaces=NAMES)
            print(f"soap: {event.findtext('e:id', namespaces=NAMES)} {path} by {name} at {created}", flush=True)
        reply = b"<Reply><Status>OK</Status></Reply>"
        self.send_response(200)
        self.send_header("Content-Type", "application/soap+xml; charset=utf-8")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 9001), Receiver)
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
