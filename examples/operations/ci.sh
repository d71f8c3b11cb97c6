#!/usr/bin/env bash
# For CI: checks and tests the configuration, then runs it against stand-ins for its endpoints. Leaves svc.sarif, report.xml
# and received.ndjson. Needs svc in SVC (default: npx svc) and curl.
set -euo pipefail
cd "$(dirname "$0")"
svc=${SVC:-npx svc}
work=$(mktemp -d)
cleanup() {
  local status=$? # of the script, whatever cleaning up does
  kill $(jobs -p) 2> /dev/null || true
  wait || true
  rm -rf "$work"
  exit "$status"
}
trap cleanup EXIT

# Without endpoints: every problem at once, then what must stay true.
$svc validate --sarif > svc.sarif || true
$svc validate --strict
$svc test svc.test.yaml --junit report.xml

# With stand-ins: the endpoint accepts alice, the CRM fails once and is tried again.
rm -f received.ndjson
$svc mock auth --port "${AUTH_PORT:=9000}" --accept alice:correct-horse > "$work/auth.log" &
$svc mock webhook --port "${HOOK_PORT:=9001}" --fail-first 1 --record received.ndjson > "$work/hook.log" &
export SVC_DATA=$work/data SVC_FILES=$work/files SVC_PORT=${SVC_PORT:-8080}
export CALLOUT_URL=http://127.0.0.1:$AUTH_PORT/ HOOK_URL=http://127.0.0.1:$HOOK_PORT/
until curl -so /dev/null "$CALLOUT_URL"; do sleep 0.1; done
$svc auth-test --username alice --password correct-horse --expect authenticated
$svc serve --log-level warn > "$work/serve.log" &
until curl -so /dev/null "http://127.0.0.1:$SVC_PORT/"; do sleep 0.1; done
echo order > "$work/order.csv"
curl -fsSu alice:correct-horse -T "$work/order.csv" "http://127.0.0.1:$SVC_PORT/home/inbox/"
for _ in $(seq 100); do grep -qs '"id":"40017"' received.ndjson && break; sleep 0.1; done
grep -q '"file_name":"order.csv"' received.ndjson
echo "the upload reached the CRM"
