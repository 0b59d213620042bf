package brokers

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/gavel-ads/gavel/node/sinks"
	"github.com/gavel-ads/gavel/node/sinks/sinkstest"
	"github.com/gavel-ads/gavel/shard/event"
)

const (
	charges     = "gavel.charges"
	conversions = "gavel.conversions"
	partitions  = 3
	// patience bounds the wait for something that has to come.
	patience = time.Minute
)

func kafkaCluster(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	opts = append(opts, kfake.NumBrokers(3), kfake.SeedTopics(partitions, charges, conversions))
	c, err := kfake.NewCluster(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// openKafka returns a broker, closed at the end of the test, with some settings changed.
func openKafka(t *testing.T, c *kfake.Cluster, change func(*sinks.KafkaConfig)) sinks.Broker {
	t.Helper()
	config := sinks.KafkaConfig{Brokers: c.ListenAddrs(), ChargesTopic: charges, ConversionsTopic: conversions, SASL: "none"}
	if change != nil {
		change(&config)
	}
	b, err := sinks.OpenKafka(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// consume reads the topics from their beginning until it has what is enough, or for patience.
func consume(t *testing.T, c *kfake.Cluster, enough func([]*kgo.Record) bool) (all []*kgo.Record) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.ConsumeTopics(charges, conversions),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !enough(all) && ctx.Err() == nil {
		all = append(all, client.PollFetches(ctx).Records()...)
	}
	return all
}

// records reads so many records.
func records(t *testing.T, c *kfake.Cluster, n uint64) []*kgo.Record {
	t.Helper()
	return consume(t, c, func(all []*kgo.Record) bool { return uint64(len(all)) >= n })
}

func received(records []*kgo.Record) (all []sinkstest.Received) {
	for _, r := range records {
		all = append(all, sinkstest.Received{ID: headerOf(r, "gavel-id"), Body: r.Value})
	}
	return all
}

// distinct is how many ids messages have.
func distinct(all []sinkstest.Received) int {
	ids := map[string]bool{}
	for _, r := range all {
		ids[r.ID] = true
	}
	return len(ids)
}

func headerOf(r *kgo.Record, name string) string {
	for _, h := range r.Headers {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return ""
}

// busyShop is a shop with charges, reversals and credited items.
func busyShop(t *testing.T) *sinkstest.Shop {
	t.Helper()
	w := sinkstest.NewShop(t)
	w.Touch(event.Click, 1, 500)
	w.Pass(time.Second)
	w.Buy(1)
	w.Pass(10 * time.Second)
	w.GiveBack(1, 1)
	w.Traffic(60)
	w.Reverse(1, 200)
	return w
}

// TestKafkaHasTheJournal: a consumer gets every charge, reversal and item once, with the campaign as key and in its topic.
func TestKafkaHasTheJournal(t *testing.T) {
	w, c := busyShop(t), kafkaCluster(t)
	s := w.Sink(w.Store, "kafka", openKafka(t, c, nil))
	if failed := w.Send(s); failed != 0 {
		t.Fatalf("%d rounds failed", failed)
	}
	all := records(t, c, s.Stats().Sent)
	if types, repeats := w.Compare(received(all)); repeats != 0 || types["charge"] < 30 || types["conversion"] < 5 || types["reversal"] == 0 || types["return"] == 0 {
		t.Errorf("%v, %d repeats", types, repeats)
	}
	partitionOf := map[string]int32{}
	for _, r := range all {
		topic := map[string]string{"charge": charges, "reversal": charges, "conversion": conversions, "return": conversions}[headerOf(r, "gavel-type")]
		if r.Topic != topic || !strings.Contains(string(r.Value), `"campaign_id":"`+string(r.Key)+`"`) {
			t.Errorf("a record in %s with key %s and headers %v: %s", r.Topic, r.Key, r.Headers, r.Value)
		}
		if known, found := partitionOf[r.Topic+string(r.Key)]; found && known != r.Partition {
			t.Errorf("the records of campaign %s are in the partitions %d and %d", r.Key, known, r.Partition)
		}
		partitionOf[r.Topic+string(r.Key)] = r.Partition
	}
}

// TestKafkaRefusesEveryProduce lets each produce request fail once, in a run of its own. The next round sends what was not acknowledged.
func TestKafkaRefusesEveryProduce(t *testing.T) {
	w := busyShop(t)
	var requests atomic.Int64
	count := kafkaCluster(t)
	count.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		count.KeepControl()
		requests.Add(1)
		return nil, nil, false
	})
	complete := w.Sink(w.Store, "count", openKafka(t, count, nil))
	w.Send(complete)
	for n := int64(1); n <= requests.Load(); n++ {
		c := kafkaCluster(t)
		var seen atomic.Int64
		c.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			if seen.Add(1) != n {
				return nil, nil, false
			}
			return refusal(r), nil, true
		})
		s := w.Sink(w.Store, "refused-"+string(rune('a'+n)), openKafka(t, c, nil))
		if failed := w.Send(s); failed == 0 && seen.Load() >= n {
			t.Errorf("produce request %d was refused, and no round failed", n)
		}
		// A refused request may be one of several of a batch: what the others stored is sent again with the rest.
		w.Compare(received(consume(t, c, func(all []*kgo.Record) bool { return uint64(distinct(received(all))) >= complete.Stats().Sent })))
		if t.Failed() {
			t.Fatalf("after the refusal of produce request %d", n)
		}
	}
	if requests.Load() < 3 {
		t.Errorf("%d produce requests: the test needs more", requests.Load())
	}
}

// refusal is the answer of a cluster that does not let this client write.
func refusal(r kmsg.Request) kmsg.Response {
	request := r.(*kmsg.ProduceRequest)
	answer := request.ResponseKind().(*kmsg.ProduceResponse)
	for i := range request.Topics {
		topic := kmsg.NewProduceResponseTopic()
		topic.Topic, topic.TopicID = request.Topics[i].Topic, request.Topics[i].TopicID
		for _, p := range request.Topics[i].Partitions {
			partition := kmsg.NewProduceResponseTopicPartition()
			partition.Partition, partition.ErrorCode = p.Partition, kerr.TopicAuthorizationFailed.Code
			topic.Partitions = append(topic.Partitions, partition)
		}
		answer.Topics = append(answer.Topics, topic)
	}
	return answer
}

// interrupt returns what closes every connection of a cluster at its next request, while it is true.
func interrupt(c *kfake.Cluster) (away *atomic.Bool) {
	away = new(atomic.Bool)
	c.Control(func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if away.Load() {
			return nil, errAway, true
		}
		return nil, nil, false
	})
	return away
}

var errAway = errors.New("the cluster is away")

// TestKafkaMayBeAway: while no connection works, rounds fail within their time; when the cluster is back, everything is sent.
func TestKafkaMayBeAway(t *testing.T) {
	w, c := busyShop(t), kafkaCluster(t)
	away := interrupt(c)
	away.Store(true)
	s := w.Sink(w.Store, "kafka", openKafka(t, c, nil))
	for _, g := range w.Data() {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if _, err := s.Follow(g).Round(ctx); err == nil && g == w.GroupOf(1) {
			t.Error("the cluster is away, and a round succeeded")
		}
		cancel()
	}
	if x := s.Stats(); x.Sent != 0 || x.Lines == 0 {
		t.Errorf("the cluster is away, and the sink counts %+v", x)
	}
	away.Store(false)
	w.Send(s)
	w.Compare(received(records(t, c, s.Stats().Sent)))
}

// TestKafkaWithTLSAndPassword: connections with TLS and a user are used, and those with a wrong password are not, without showing it.
func TestKafkaWithTLSAndPassword(t *testing.T) {
	certificate, authority := makeCertificate(t)
	w := sinkstest.NewShop(t)
	w.Touch(event.Click, 1, 500)
	for setting, method := range map[string]string{"plain": "PLAIN", "scram-sha-256": "SCRAM-SHA-256", "scram-sha-512": "SCRAM-SHA-512"} {
		const secret = "s3cret-of-the-broker"
		c := kafkaCluster(t, kfake.EnableSASL(), kfake.Superuser(method, "gavel", secret), kfake.TLS(&tls.Config{Certificates: []tls.Certificate{certificate}}))
		login := func(password string) sinks.Broker {
			return openKafka(t, c, func(k *sinks.KafkaConfig) {
				k.SASL, k.Username, k.Password, k.TLS = setting, "gavel", password, sinks.TLS{Enabled: true, Authority: authority}
			})
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		_, err := w.Sink(w.Store, setting+"-wrong", login("w"+secret)).Follow(w.GroupOf(1)).Round(ctx)
		cancel()
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s with a wrong password: %v", setting, err)
		}
		s := w.Sink(w.Store, setting, login(secret))
		if failed := w.Send(s); failed != 0 || s.Stats().Sent != 1 {
			t.Errorf("%s: %d rounds failed, %d messages were sent", setting, failed, s.Stats().Sent)
		}
	}
}
