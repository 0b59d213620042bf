package sinks

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// KafkaConfig says where charges, reversals and conversions go in a Kafka cluster. The topics must exist.
type KafkaConfig struct {
	Brokers                        []string // HOST:PORT; some of the cluster.
	ChargesTopic, ConversionsTopic string   // Reversals go to the topic of the charges.
	TLS                            TLS
	SASL                           string // none, plain, scram-sha-256 or scram-sha-512.
	Username, Password             string
}

// kafka produces records that all replicas in sync have to store, and numbers them so that the cluster drops what the client repeats.
//
// A client is not used again after an error. It may have given up records that the cluster has stored, and would number the next ones
// like those: the cluster would acknowledge them as repeats, and they would be lost.
type kafka struct {
	topics  map[Type]string
	options []kgo.Opt

	mu     sync.Mutex // LOCKS: it guards the fields below.
	client *kgo.Client
	closed bool
}

// headerID and headerType are the headers of a record, for consumers that do not read its body.
const (
	headerID   = "gavel-id"
	headerType = "gavel-type"
)

var errClosed = errors.New("the node stops")

// OpenKafka returns a broker that connects when it is used first.
func OpenKafka(c KafkaConfig) (Broker, error) {
	secure, err := c.TLS.config()
	if err != nil {
		return nil, err
	}
	k := &kafka{
		topics: map[Type]string{Charge: c.ChargesTopic, Reversal: c.ChargesTopic, Conversion: c.ConversionsTopic, Return: c.ConversionsTopic},
		options: []kgo.Opt{
			kgo.SeedBrokers(c.Brokers...), kgo.ClientID("gavel"), kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ProducerLinger(0),
			kgo.RecordDeliveryTimeout(publishTimeout), kgo.AllowIdempotentProduceCancellation(),
		},
	}
	if secure != nil {
		k.options = append(k.options, kgo.DialTLSConfig(secure))
	}
	if mechanism := c.mechanism(); mechanism != nil {
		k.options = append(k.options, kgo.SASL(mechanism))
	}
	if err := kgo.ValidateOpts(k.options...); err != nil {
		return nil, err
	}
	return k, nil
}

func (c *KafkaConfig) mechanism() sasl.Mechanism {
	switch c.SASL {
	case "plain":
		return plain.Auth{User: c.Username, Pass: c.Password}.AsMechanism()
	case "scram-sha-256":
		return scram.Auth{User: c.Username, Pass: c.Password}.AsSha256Mechanism()
	case "scram-sha-512":
		return scram.Auth{User: c.Username, Pass: c.Password}.AsSha512Mechanism()
	default:
		return nil
	}
}

// Publish produces a record for each message. Those of a campaign have its id as key, so they are in one partition.
func (k *kafka) Publish(ctx context.Context, batch []Message) error {
	client, err := k.use()
	if err != nil {
		return err
	}
	records := make([]*kgo.Record, len(batch))
	for i := range batch {
		m := &batch[i]
		records[i] = &kgo.Record{
			Topic: k.topics[m.Type], Key: []byte(m.Campaign), Value: m.Body,
			Headers: []kgo.RecordHeader{{Key: headerID, Value: []byte(m.ID)}, {Key: headerType, Value: []byte(m.Type)}},
		}
	}
	for _, r := range client.ProduceSync(ctx, records...) {
		if r.Err != nil {
			k.discard(client)
			return fmt.Errorf("kafka topic %s: %w", r.Record.Topic, r.Err)
		}
	}
	return nil
}

// use returns the client, a new one after an error.
func (k *kafka) use() (*kgo.Client, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil, errClosed
	}
	if k.client == nil {
		client, err := kgo.NewClient(k.options...)
		if err != nil {
			return nil, err
		}
		k.client = client
	}
	return k.client, nil
}

// discard closes a client that has given up records. Other batches that wait for it fail, too, and are sent again.
func (k *kafka) discard(client *kgo.Client) {
	k.mu.Lock()
	current := k.client == client
	if current {
		k.client = nil
	}
	k.mu.Unlock()
	if current {
		client.Close()
	}
}

// Close ends every Publish that waits.
func (k *kafka) Close() {
	k.mu.Lock()
	client := k.client
	k.client, k.closed = nil, true
	k.mu.Unlock()
	if client != nil {
		client.Close()
	}
}
