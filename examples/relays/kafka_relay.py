"""Passes events on to Kafka: HOOK_SECRET=whsec_… python3 kafka_relay.py [PORT [HOST:PORT,… [TOPIC]]]
Each event becomes a message whose key is the path, so that the events of a file keep their order. Needs python3-kafka."""

import json
from kafka import KafkaProducer
from kafka.errors import KafkaError
from relay import BrokerAway, argument, serve

TIMEOUT_SECONDS = 30
SERVERS = argument(2, "127.0.0.1:9092").split(",")
TOPIC = argument(3, "svc-events")
producer = None


def publish(events):
    global producer
    try:
        # A future is done when all in-sync replicas have the message. Retries cannot overtake later messages.
        producer = producer or KafkaProducer(bootstrap_servers=SERVERS, acks="all", retries=5, max_in_flight_requests_per_connection=1)
        futures = [producer.send(TOPIC, json.dumps(event).encode(), str(event["data"].get("path", "")).encode()) for event in events]
        producer.flush(TIMEOUT_SECONDS)
        return [f"{stored.partition}:{stored.offset}" for stored in (future.get(TIMEOUT_SECONDS) for future in futures)]
    except KafkaError as error:
        producer = None
        raise BrokerAway(repr(error)) from error


serve(publish)
