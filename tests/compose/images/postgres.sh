#!/bin/sh
# Make a cluster of the variables POSTGRES_*, as the image does, and start the server as its own user.
set -eu
as() { setpriv --reuid=999 --regid=999 --clear-groups "$@"; }
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  if [ -z "${POSTGRES_PASSWORD:-}" ]; then
    echo "Error: Database is uninitialized and superuser password is not specified." >&2
    exit 1
  fi
  mkdir -p "$PGDATA" && chown -R 999:999 /var/lib/postgresql
  echo "$POSTGRES_PASSWORD" >/tmp/password && chmod 444 /tmp/password
  as initdb --username="$POSTGRES_USER" --pwfile=/tmp/password --auth-local=trust --auth-host=scram-sha-256 >/dev/null
  rm /tmp/password
  echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
  echo "CREATE DATABASE $POSTGRES_DB" | as postgres --single -D "$PGDATA" postgres >/dev/null
fi
exec setpriv --reuid=999 --regid=999 --clear-groups "$@" -c listen_addresses='*'
