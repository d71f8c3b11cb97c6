"""Passes events on to NATS JetStream: HOOK_SECRET=whsec_… python3 nats_relay.py [PORT [HOST:PORT [SUBJECT]]]
Each event becomes a message with the subject SUBJECT.ID (svc.events.40017). A stream must store this subject. Needs only Python."""

import json, secrets, socket
from relay import BrokerAway, argument, serve

TIMEOUT_SECONDS = 10
HOST, PORT = argument(2, "127.0.0.1:4222").rsplit(":", 1)
SUBJECT = argument(3, "svc.events")


def publish(events):
    """When JetStream has stored a message, it sends the message's sequence number to our inbox."""
    inbox = f"_INBOX.{secrets.token_hex(12)}"
    with socket.create_connection((HOST, int(PORT)), TIMEOUT_SECONDS) as connection, connection.makefile("rb") as lines:
        connection.sendall(f'CONNECT {{"verbose":false,"headers":true,"no_responders":true}}\r\nSUB {inbox}.* 1\r\n'.encode())
        for number, event in enumerate(events):
            # By this ID, JetStream detects a repeated event within the stream's duplicate window, and stores it only once.
            head, text = f"NATS/1.0\r\nNats-Msg-Id: {event['uuid']}\r\n\r\n".encode(), json.dumps(event).encode()
            line = f"HPUB {SUBJECT}.{event['id']} {inbox}.{number} {len(head)} {len(head) + len(text)}\r\n"
            connection.sendall(line.encode() + head + text + b"\r\n")
        places = {}
        while len(places) < len(events):
            verb, *words = (lines.readline() or b"-ERR the connection was closed").decode().split()
            if verb == "PING":
                connection.sendall(b"PONG\r\n")
            elif verb == "HMSG":
                raise BrokerAway(f"no stream keeps {SUBJECT}.>")
            elif verb == "-ERR":
                raise BrokerAway(" ".join(words))
            elif verb == "MSG":
                told = json.loads(lines.read(int(words[-1]) + 2))
                if "seq" not in told:
                    raise BrokerAway(told)
                places[int(words[0].rsplit(".", 1)[1])] = told["seq"]
        return [places[number] for number in range(len(events))]


serve(publish)
