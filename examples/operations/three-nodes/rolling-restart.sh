#!/bin/sh
# Restarts the three nodes one after the other. Each is ready again before the next one is stopped. The command svc is $SVC
# or, if that is not set, the one that npm installed or that was built in the parent folder.
set -eu
svc=${SVC:-}
[ -n "$svc" ] || for svc in ../node_modules/.bin/svc ../dist/svc.mjs; do [ ! -x "$svc" ] || break; done
for number in 1 2 3; do
  node=node$number
  pid=$(sed 's/[^0-9]*\([0-9]*\).*/\1/' "$node/svc.pid")
  kill -TERM "$pid"
  for _ in $(seq 600); do [ -e "$node/svc.pid" ] || break; sleep 0.1; done
  [ ! -e "$node/svc.pid" ] || { echo "$node does not end" >&2; exit 1; }
  NODE=$node PORT=808$number MONITOR=910$number nohup $svc serve > "$node.log" 2>&1 &
  for _ in $(seq 600); do curl -sf "http://127.0.0.1:910$number/ready" > /dev/null && break; sleep 0.1; done
  curl -sf "http://127.0.0.1:910$number/ready" > /dev/null || { echo "$node is not ready: see $node.log" >&2; exit 1; }
  echo "$node is back"
done
