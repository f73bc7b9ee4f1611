#!/bin/sh
# Make Kafka's settings of the variables KAFKA_*, as its image does, and start the broker.
set -euf  # the asterisk is for Java
settings=/opt/kafka/config/server.properties
env | sed -n 's/^KAFKA_//p' | while IFS='=' read -r name value; do
  case $name in
  HEAP_OPTS) ;;
  *) echo "$(echo "$name" | tr 'A-Z_' 'a-z.')=$value" ;;
  esac
done >"$settings"
class="java ${KAFKA_HEAP_OPTS:-} -cp /opt/kafka/libs/*"
$class kafka.tools.StorageTool format --ignore-formatted --cluster-id 5L6g3nShT-eMCtK--X86sw --config "$settings"
exec $class kafka.Kafka "$settings"
