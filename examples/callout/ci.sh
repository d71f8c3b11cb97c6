#!/usr/bin/env bash
# For CI: starts the endpoint, tests it with the cases, leaves report.xml. Needs svc in SVC (default: npx svc).
set -euo pipefail
cd "$(dirname "$0")"
coproc ENDPOINT { exec node endpoint.mjs 0; }
trap 'kill "$ENDPOINT_PID"' EXIT
read -r line <&"${ENDPOINT[0]}"
export CALLOUT_URL="${line#listening on }"
${SVC:-npx svc} auth-test --suite cases.yaml --junit "${REPORT:-report.xml}"
