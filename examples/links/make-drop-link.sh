#!/bin/sh
# Creates and prints a link with which a supplier can upload files: sh make-drop-link.sh https://HOST /in/acme [DAYS] [NOTE]
# ~/.netrc has user and password of an account with allow-share. Quotes and backslashes in NOTE are removed.
set -eu
host=$1 path=$2 days=${3:-7} note=$(printf %s "${4:-}" | tr -d '"\\')
order="{\"path\": \"$path\", \"kind\": \"drop\", \"expires\": $((days * 86400)), \"note\": \"$note\"}"
reply=$(curl -fnsS -H 'Content-Type: application/json' -d "$order" "$host/home/__svc__/links")
echo "$reply" | sed -n 's/.*"url":"\([^"]*\)".*/\1/p'
