"""Passes events on to an AMQP 0-9-1 broker such as RabbitMQ: HOOK_SECRET=whsec_… python3 amqp_relay.py [PORT [URL [EXCHANGE]]]
Each event becomes a persistent message; the routing key is the event's ID. Needs python3-pika. An exchange has no offsets, so
the reply has numbers from 1 up to the number of confirmed messages."""

import json
import pika
from relay import BrokerAway, argument, serve

URL = argument(2, "amqp://guest:guest@127.0.0.1:5672/")
EXCHANGE = argument(3, "svc.events")


def publish(events):
    try:
        connection = pika.BlockingConnection(pika.URLParameters(URL))
        try:
            channel = connection.channel()
            # With confirms, basic_publish returns when all queues have the message on disk, and fails if there is no queue.
            channel.confirm_delivery()
            channel.exchange_declare(EXCHANGE, "topic", durable=True)
            for event in events:
                about = pika.BasicProperties(message_id=event["uuid"], content_type="application/json", delivery_mode=2)
                channel.basic_publish(EXCHANGE, event["id"], json.dumps(event).encode(), about, mandatory=True)
        finally:
            if connection.is_open:
                connection.close()
    except pika.exceptions.UnroutableError as error:
        raise BrokerAway(f"no queue is bound to {EXCHANGE} for this event") from error
    except pika.exceptions.AMQPError as error:
        raise BrokerAway(repr(error)) from error
    return list(range(1, len(events) + 1))


serve(publish)
