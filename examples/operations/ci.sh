#!/usr/bin/env bash
# For CI: checks and tests the configuration, then runs it with mocks of its endpoints, all on free ports. It writes svc.sarif,
# report.xml and received.ndjson. Needs curl. The command svc is $SVC or, if that is not set, the one that npm installed in this
# folder. Do not use `npx svc`: if svc is not installed, it fetches another package.
set -euo pipefail
cd "$(dirname "$0")"
svc=${SVC:-}
[ -n "$svc" ] || for svc in node_modules/.bin/svc ../../dist/svc.mjs; do [ ! -x "$svc" ] || break; done
work=$(mktemp -d)
servers=
cleanup() {
  local status=$? # the script's status; the clean-up must not change it
  [ -z "$servers" ] || kill -- $servers 2> /dev/null || true
  wait
  rm -rf "$work"
  exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# start NAME COMMAND…: starts a server, waits until it prints its URL, and sets `url` to it.
start() {
  local log=$work/$1.log pid
  shift
  : > "$log"
  set -m # a separate process group, so that processes of the command end together with it
  "$@" > "$log" 2>&1 &
  set +m
  pid=$!
  servers+=" -$pid"
  for _ in $(seq 300); do
    url=$(sed -n 's/.*listening on //p' "$log" | head -n 1)
    [ -z "$url" ] || return 0
    kill -0 "$pid" 2> /dev/null || break
    sleep 0.1
  done
  echo "$* does not listen:" >&2
  cat "$log" >&2
  return 1
}

# Without endpoints: report all problems of the configuration, then run its test cases.
$svc validate --sarif > svc.sarif || true
$svc validate --strict
$svc test svc.test.yaml --junit report.xml

# With mocks: the endpoint accepts alice; the CRM fails once, and svc tries again.
rm -f received.ndjson
start auth $svc mock auth --port 0 --accept alice:correct-horse
export CALLOUT_URL=$url
start hook $svc mock webhook --port 0 --fail-first 1 --record received.ndjson
export HOOK_URL=$url
$svc auth-test --username alice --password correct-horse --expect authenticated
export SVC_DATA=$work/data SVC_FILES=$work/files SVC_PORT=0 SVC_MONITOR_PORT=0
start serve $svc serve --log-level warn
echo order > "$work/order.csv"
curl -fsSu alice:correct-horse -T "$work/order.csv" "${url}home/inbox/"
for _ in $(seq 300); do grep -qs '"id":"40017"' received.ndjson && break; sleep 0.1; done
grep -q '"file_name":"order.csv"' received.ndjson
echo "the upload reached the CRM"
