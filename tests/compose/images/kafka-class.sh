#!/bin/sh
# Run the tool of Kafka's that this is called as.
case ${0##*/} in
kafka-topics.sh) class=TopicCommand ;;
kafka-broker-api-versions.sh) class=BrokerApiVersionsCommand ;;
esac
exec java -Xmx256m -XX:TieredStopAtLevel=1 -cp '/opt/kafka/libs/*' "org.apache.kafka.tools.$class" "$@"
