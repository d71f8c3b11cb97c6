#!/bin/sh
# Uploads a file with an access token, for example in a CI job: SVC_TOKEN=svc_t_… sh upload.sh URL FOLDER FILE
# The token is not an argument of a command, so it does not appear in the list of processes.
set -eu
url=${1%/} folder=${2%/} file=$3
curl -fsS -T "$file" --config - "$url/home$folder/${file##*/}" <<CONFIG
header = "Authorization: Bearer $SVC_TOKEN"
CONFIG
echo "uploaded $folder/${file##*/}"
