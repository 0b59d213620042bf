package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/config"
)

// The log is JSON everywhere but on a terminal, and durations are texts that people read.
func TestTheLogsForm(t *testing.T) {
	for _, c := range []struct {
		format   string
		terminal bool
		want     string
	}{
		{"auto", false, `"msg":"stopped","took":"1.235s","err":"no space"}` + "\n"},
		{"json", true, `"msg":"stopped","took":"1.235s","err":"no space"}` + "\n"},
		{"text", false, `level=WARN msg=stopped took=1.235s err="no space"` + "\n"},
		{"auto", true, " \x1b[33mWARN \x1b[0m stopped took=1.235s err=\"no space\"\n"},
	} {
		var b bytes.Buffer
		log, _ := newLogger(config.Log{Level: "info", Format: c.format}, logOutput{w: &b, terminal: c.terminal, colours: true})
		log.Warn("stopped", slog.Duration("took", 1234567890), slog.Any("err", errors.New("no space")))
		if !strings.HasSuffix(b.String(), c.want) {
			t.Errorf("%s, terminal %t: %q", c.format, c.terminal, &b)
		}
	}
}

func TestReadableDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 999: "999ns", 1_234: "1.234µs", 1_234_567: "1.235ms", -1_234_567: "-1.235ms", 90 * time.Second: "1m30s",
		time.Second + 1: "1s", 10 * time.Second: "10s",
	} {
		if got := readableDuration(d); got != want {
			t.Errorf("%d ns is %s, want %s", d, got, want)
		}
	}
}

// A terminal shows groups and attributes of a logger, and nothing that would move its cursor.
func TestTheTerminalShowsAttributes(t *testing.T) {
	var b bytes.Buffer
	log, s := newLogger(config.Log{Level: "info", Format: "auto"}, logOutput{w: &b, terminal: true})
	s.release()
	at := slog.GroupAttrs("at", slog.Int("x", 1), slog.String("empty", ""))
	log.With(slog.Int("group", 1)).WithGroup("peer").Info("seen", slog.String("name", "n\x1b[2J"), at)
	log.Debug("hidden")
	if !strings.HasSuffix(b.String(), " INFO  seen group=1 peer.name=\"n\\x1b[2J\" peer.at.x=1 peer.at.empty=\"\"\n") {
		t.Errorf("%q", &b)
	}
}

// Routine lines of a start wait for the first address, warnings do not, and progress stays the last line.
func TestTheScreenShowsTheAddressFirst(t *testing.T) {
	var b bytes.Buffer
	log, s := newLogger(config.Log{Level: "info", Format: "auto"}, logOutput{w: &b, terminal: true})
	log.Info("start_waiting")
	s.show("opening")
	log.Warn("clock_wrong")
	if text := b.String(); strings.Contains(text, "start_waiting") || !strings.HasSuffix(text, " WARN  clock_wrong\nopening") {
		t.Errorf("%q", text)
	}
	s.show("")
	b.WriteString("http://127.0.0.1:8081/docs\n")
	s.release()
	if text := b.String(); !strings.HasSuffix(text, "INFO  start_waiting\n") {
		t.Errorf("%q", text)
	}
}

// A node on a terminal prints no line of its log before its first address, and one elsewhere prints only JSON to its log.
func TestTheLogOfANode(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		cfg := testConfig(t.TempDir(), 1)
		cfg.Log.Level = "info"
		both, log := &output{}, &output{} // A terminal shows the addresses and the log.
		r := run(t, cfg, Options{Out: both, Log: io.MultiWriter(both, log), LogTerminal: terminal, Warnings: []string{"GAVEL_GRUOPS is no setting"}})
		r.stop()
		for line := range strings.Lines(log.String()) {
			if terminal == json.Valid([]byte(line)) {
				t.Errorf("terminal %t: %s", terminal, line)
			}
			if strings.Contains(line, "ERROR") {
				t.Errorf("an orderly stop logs %s", line)
			}
		}
		if before, _, _ := strings.Cut(both.String(), "http://"); terminal && strings.Contains(before, " INFO ") {
			t.Errorf("before the first address: %s", before)
		}
		if !strings.Contains(log.String(), "GRUOPS") || !strings.Contains(log.String(), "drain_started") {
			t.Errorf("terminal %t: %s", terminal, log)
		}
	}
	cfg := testConfig(t.TempDir(), 1)
	cfg.AuctionListen = "256.0.0.1:1"
	var log bytes.Buffer
	err := Run(t.Context(), cfg, Options{Out: io.Discard, Log: &log})
	if _, logged := errors.AsType[Logged](err); !logged || !strings.Contains(log.String(), `"msg":"node_failed","err":"auction_listen`) {
		t.Errorf("%v, logged %s", err, &log)
	}
}
