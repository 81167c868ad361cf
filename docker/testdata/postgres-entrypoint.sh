#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the public image of Postgres does, as far as compose.yaml needs it: the first start makes
# the cluster, the user and the database of POSTGRES_USER, POSTGRES_DB and POSTGRES_PASSWORD.
set -euo pipefail
data=/var/lib/postgresql/data
for dir in /usr/lib/postgresql/*/bin; do PATH="$dir:$PATH"; done
if [ "$(id -u)" = 0 ]; then
  chown 65532:65532 "$data"
  exec chroot --userspec=65532:65532 / /bin/bash "$0" "$@"
fi
if [ ! -e "$data/PG_VERSION" ]; then
  initdb -D "$data" -U "$POSTGRES_USER" --auth=scram-sha-256 --pwfile=<(echo "$POSTGRES_PASSWORD") -E UTF8 --locale=C
  echo "host all all all scram-sha-256" >>"$data/pg_hba.conf"
  echo "CREATE DATABASE \"$POSTGRES_DB\"" | postgres --single -D "$data" postgres
fi
program=$1
shift
exec "$program" -D "$data" -c 'listen_addresses=*' -c unix_socket_directories=/tmp "$@"
