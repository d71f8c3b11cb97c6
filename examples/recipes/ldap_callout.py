"""An authentication endpoint that asks an LDAP directory. Needs Debian's python3-ldap3: python3 ldap_callout.py [PORT]
LDAP_URL=ldaps://ldap.example.com  LDAP_DN=uid={},ou=people,dc=example,dc=com  LDAP_CA=/etc/ssl/certs/ca-certificates.crt"""

import json, os, ssl, sys, urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import ldap3
from ldap3.utils.dn import escape_rdn

URL, DN = urllib.parse.urlsplit(os.environ["LDAP_URL"]), os.environ["LDAP_DN"]
MAX_BODY = 64 * 1024
if URL.scheme != "ldaps" and URL.hostname != "127.0.0.1":
    sys.exit("LDAP_URL must begin with ldaps://, because passwords are sent there")
# ldap3 checks no certificate by default.
TLS = ldap3.Tls(validate=ssl.CERT_REQUIRED, ca_certs_file=os.environ.get("LDAP_CA"))


def ask(credentials):
    """Returns status and body of the reply. After 401 svc asks the next method; any other status except 200 refuses the login."""
    name, password = credentials["username"], credentials["content"]
    # A bind without a password is anonymous, so it would succeed.
    if credentials["type"] != "password" or not name or not password:
        return 401, {}
    server = ldap3.Server(URL.geturl(), tls=TLS, get_info=ldap3.NONE, connect_timeout=5)
    dn = DN.format(escape_rdn(name))
    link = ldap3.Connection(server, dn, password, receive_timeout=5, auto_referrals=False)
    try:
        if not link.bind():
            return (401 if link.result["description"] == "invalidCredentials" else 503), {}
        if not link.search(dn, "(objectClass=*)", ldap3.BASE, attributes=["uid", "mail"], size_limit=1):
            return 503, {}
        entry = link.response[0]["attributes"]
    finally:
        link.unbind()
    # For the directory, "Alice" and "alice " are the same as "alice"; for svc they would be different accounts.
    if name not in entry["uid"]:
        return 401, {}
    return 200, {"account": {"email": entry["mail"][0]} if entry["mail"] else {}}


class Endpoint(BaseHTTPRequestHandler):
    timeout = 10

    def do_POST(self):
        try:
            length = int(self.headers["Content-Length"])
            if not 0 <= length <= MAX_BODY:
                raise ValueError("the request is too large")
            status, body = ask(json.loads(self.rfile.read(length))["credentials"])
        except Exception as fault:  # no directory, a bad certificate, a malformed request: refuse the login
            print(f"refused: {type(fault).__name__}", file=sys.stderr, flush=True)
            status, body = 503, {}
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int((sys.argv[1:] + ["9000"])[0])), Endpoint)
print(f"listening on http://127.0.0.1:{server.server_port}/auth", flush=True)
server.serve_forever()
