// Package brokers has the tests of sinks against Kafka and NATS JetStream: kfake, a Kafka cluster in memory, and nats-server itself. It is
// a module of its own, so that no build of Gavel has a message broker in its module graph. make sinks runs the tests.
package brokers
