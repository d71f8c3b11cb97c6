#!/bin/sh
# Uploads a file by an access token, from a CI job: SVC_TOKEN=svc_t_… sh upload.sh URL FOLDER FILE
# The token is no argument of a program, so that no list of processes shows it.
set -eu
url=${1%/} folder=${2%/} file=$3
curl -fsS -T "$file" --config - "$url/home$folder/${file##*/}" <<CONFIG
header = "Authorization: Bearer $SVC_TOKEN"
CONFIG
echo "uploaded $folder/${file##*/}"
