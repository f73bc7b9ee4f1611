#!/bin/sh
# Make what two tiers know each other by, unless it is there: certificates.sh FOLDER [NAME...]
#
#   FOLDER/agent/token     what applications show to an agent
#   FOLDER/gateway/token   what agents show to a gateway
#   FOLDER/gateway/ca.crt, tls.crt, tls.key   what gateways show to agents, for these names (gateway unless given)
#
# For one machine and for trying things out; where there is an authority already, have it issue these. The key of the
# authority that is made here is not kept: for other names, begin with an empty folder.
set -eu
umask 077

folder=$1
shift
[ $# -gt 0 ] || set -- gateway
names=
for name in "$@"; do names="$names,DNS:$name"; done

mkdir -p "$folder/agent" "$folder/gateway"
for tier in agent gateway; do
  [ -s "$folder/$tier/token" ] || openssl rand -hex 32 >"$folder/$tier/token"
done

cd "$folder/gateway"
if [ ! -s tls.crt ]; then
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 \
    -subj "/CN=spanhook collectors" -keyout ca.key -out ca.crt 2>/dev/null
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
    -subj "/CN=$1" -keyout tls.key -out tls.csr 2>/dev/null
  printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth\n' "${names#,}" >tls.ext
  openssl x509 -req -in tls.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 825 -extfile tls.ext -out tls.crt 2>/dev/null
  rm -f ca.key tls.csr tls.ext ca.srl
fi
