package daemon

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// A node without sinks connects to nothing and has no metrics of them. With sinks whose brokers are not there it starts, serves and stops
// like another one, and counts what fails. A certificate that is missing keeps it from starting.
func TestSinksAreOptional(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for _, on := range []bool{false, true} {
		cfg := testConfig(t.TempDir(), 1)
		if on {
			cfg.Sinks.Kafka.Brokers, cfg.Sinks.NATS.Servers = []string{nobody}, []string{nobody}
		}
		n := run(t, cfg, Options{})
		answer, err := http.Get(n.manage + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close() // It was read completely.
		if err != nil {
			t.Fatal(err)
		}
		for _, sink := range []string{"kafka", "nats"} {
			if strings.Contains(string(text), `gavel_sink_sent_total{sink="`+sink+`"} 0`) != on {
				t.Errorf("sinks are on: %v; the metrics:\n%s", on, text)
			}
		}
		n.stop()
	}
	cfg := testConfig(t.TempDir(), 1)
	cfg.Sinks.Kafka.Brokers, cfg.Sinks.Kafka.TLS, cfg.Sinks.Kafka.Authority = []string{nobody}, true, filepath.Join(t.TempDir(), "none.pem")
	if err := Run(context.Background(), cfg, Options{Out: io.Discard}); err == nil || !strings.Contains(err.Error(), "sinks.kafka: authority: ") {
		t.Errorf("an authority that cannot be read: %v", err)
	}
}
