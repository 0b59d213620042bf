package daemon

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/node/metrics"
	"github.com/gavel-ads/gavel/node/sinks"
)

// startSinks starts sending charges, reversals and conversions to the brokers that are configured.
func (n *node) startSinks() error {
	k, q := n.cfg.Sinks.Kafka, n.cfg.Sinks.NATS
	if len(k.Brokers) > 0 {
		broker, err := sinks.OpenKafka(sinks.KafkaConfig{
			Brokers: k.Brokers, ChargesTopic: k.ChargesTopic, ConversionsTopic: k.ConversionsTopic,
			TLS:  sinks.TLS{Enabled: k.TLS, Authority: k.Authority, Certificate: k.Certificate, Key: k.Key},
			SASL: k.SASL, Username: k.Username, Password: k.Password.Reveal(),
		})
		if err != nil {
			return fmt.Errorf("sinks.kafka: %w", err)
		}
		n.addSink("kafka", k.Cursor, broker)
	}
	if len(q.Servers) > 0 {
		broker, err := sinks.OpenNATS(sinks.NATSConfig{
			Servers: q.Servers, Subject: q.Subject,
			TLS:      sinks.TLS{Enabled: q.TLS, Authority: q.Authority, Certificate: q.Certificate, Key: q.Key},
			Username: q.Username, Password: q.Password.Reveal(), Token: q.Token.Reveal(), Credentials: q.Credentials,
		})
		if err != nil {
			return fmt.Errorf("sinks.nats: %w", err)
		}
		n.addSink("nats", q.Cursor, broker)
	}
	return nil
}

// addSink starts a sink. It is stopped by closing the broker, which ends the calls that wait for it.
func (n *node) addSink(name, cursor string, broker sinks.Broker) {
	s := &sinks.Sink{
		Name: name, Cursor: cursor, Broker: broker, Store: n.store, Groups: n.dataGroups(), Leads: n.cluster.Leads,
		Latest: n.cfg.Sinks.Start == "latest", Now: time.Now, Log: n.log,
	}
	n.sinks = append(n.sinks, s)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	n.push("sink "+name, func(context.Context) error {
		stop()
		broker.Close()
		running.Wait()
		return nil
	})
}

// sinkMetrics reads what was sent.
func (n *node) sinkMetrics() []metrics.Sink {
	var all []metrics.Sink
	for _, s := range n.sinks {
		x := s.Stats()
		all = append(all, metrics.Sink{Name: s.Name, Sent: x.Sent, Failures: x.Failures, Lines: x.Lines, Lag: x.Lag})
	}
	return all
}
