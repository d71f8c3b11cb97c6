#!/bin/sh
# Uploads a file, and continues after an interruption: sh upload.sh FILE https://HOST/home/NAME [SECONDS]
# ~/.netrc has user and password. FILE.upload stores the URL of the upload, also for the next start. Needs curl 7.83.
set -f
file=$1 url=$2 pause=${3:-5} place=$1.upload
told='%{http_code} %header{upload-complete} %header{upload-offset} %header{location}'
call() { curl -nsS -y 60 -o /dev/null -w "$told" "$@"; }
while :; do
  if [ ! -s "$place" ]; then
    set -- $(call -X PUT -H 'Upload-Complete: ?0' -H "Upload-Length: $(($(wc -c <"$file")))" "$url")
    case "$1 $4" in
      '201 /'*) echo "$(echo "$url" | cut -d / -f 1-3)$4" >"$place" ;;
      4*) echo "$url: $1" >&2 && exit 1 ;;
    esac
  else
    set -- $(call -I "$(cat "$place")")
    case $1$2 in '204?1') rm "$place" && exit ;; 404* | 410*) rm "$place" ;; esac
    [ "$1" = 204 ] && set -- $(tail -c "+$(($3 + 1))" "$file" | call -X PATCH -T - -H "Upload-Offset: $3" \
      -H 'Upload-Complete: ?1' -H 'Content-Type: application/partial-upload' "$(cat "$place")")
  fi
  case $1 in 20?) ;; *) echo "$url: $1" >&2 && sleep "$pause" ;; esac
done
