#!/usr/bin/env bash
# For CI: starts the endpoint, tests it with the cases, and writes report.xml. The command svc is $SVC or, if that is not set,
# the one that npm installed in this folder. Do not use `npx svc`: if svc is not installed, it fetches another package.
set -euo pipefail
cd "$(dirname "$0")"
svc=${SVC:-}
[ -n "$svc" ] || for svc in node_modules/.bin/svc ../../dist/svc.mjs; do [ ! -x "$svc" ] || break; done
exec 3< <(exec node endpoint.mjs 0)
trap "kill $! 2> /dev/null && wait $! 2> /dev/null || true" EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
read -r line <&3
export CALLOUT_URL="${line#listening on }"
$svc auth-test --suite cases.yaml --junit "${REPORT:-report.xml}"
