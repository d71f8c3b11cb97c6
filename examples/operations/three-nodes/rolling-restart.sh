#!/bin/sh
# Restarts the three nodes one after the other; each is ready again before the next one ends.
set -eu
for number in 1 2 3; do
  node=node$number
  pid=$(sed 's/[^0-9]*\([0-9]*\).*/\1/' "$node/svc.pid")
  kill -TERM "$pid"
  while [ -e "$node/svc.pid" ]; do sleep 0.1; done
  NODE=$node PORT=808$number MONITOR=910$number nohup npx svc serve > "$node.log" 2>&1 &
  until curl -sf "http://127.0.0.1:910$number/ready" > /dev/null; do sleep 0.1; done
  echo "$node is back"
done
