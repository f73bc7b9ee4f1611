#!/bin/sh
# Start Tempo 2.8 with a configuration for Tempo 3: without the sections that 2.8 does not know.
set -eu
for argument in "$@"; do
  case $argument in
  -config.file=*)
    awk '/^[a-z_]+:/ { known = $1 !~ /^(live_store|backend_scheduler):$/ } NR == 1 || known' "${argument#*=}" >/tmp/tempo.yaml
    argument=-config.file=/tmp/tempo.yaml
    ;;
  esac
  set -- "$@" "$argument"
  shift
done
exec /usr/bin/tempo "$@"
