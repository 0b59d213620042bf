package logtail

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

var start = time.Date(2026, 3, 17, 9, 30, 0, 0, time.UTC)

// lines writes records in short: level, message, and attributes.
func lines(all []Record) (text []string) {
	for _, r := range all {
		var line strings.Builder
		line.WriteString(r.Level.String() + " " + r.Message)
		for _, a := range r.Attributes {
			line.WriteString(" " + a.Name + "=" + a.Value)
		}
		text = append(text, line.String())
	}
	return text
}

func same(t *testing.T, why string, got []Record, want ...string) {
	t.Helper()
	if a, b := fmt.Sprintf("%q", lines(got)), fmt.Sprintf("%q", want); a != b && len(got)+len(want) > 0 {
		t.Errorf("%s: %s, want %s", why, a, b)
	}
}

// A tail keeps what the log gets, with all attributes as text, and the log stays as it is without a tail.
func TestTheTailKeepsWhatIsLogged(t *testing.T) {
	var plain, beside bytes.Buffer
	options := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	tail := New(start)
	for _, log := range []*slog.Logger{
		slog.New(slog.NewJSONHandler(&plain, options)), slog.New(tail.Beside(slog.NewJSONHandler(&beside, options))),
	} {
		log.Debug("not_logged")
		log.Info("node_started", slog.Int("groups", 4), slog.Duration("took", 1500*time.Millisecond), slog.Time("at", start))
		group := log.With(slog.String("node", "n1")).WithGroup("raft").With(slog.Int("group", 2))
		group.Warn("leader_lost", slog.Any("err", errors.New("no contact")), slog.Group("peer", slog.String("name", "n2")))
		log.Error("disk_full")
	}
	if plain.String() != beside.String() {
		t.Errorf("with a tail the log is\n%s, want\n%s", &beside, &plain)
	}
	all, newest, missed := tail.Since(0, Filter{})
	same(t, "all", all, "INFO node_started groups=4 took=1.5s at=2026-03-17T09:30:00Z",
		"WARN leader_lost node=n1 raft.group=2 raft.err=no contact raft.peer.name=n2", "ERROR disk_full")
	if first := start.UnixMicro(); newest != first+2 || missed != 0 || all[0].Seq != first || all[2].Seq != newest || all[0].At.IsZero() {
		t.Errorf("the newest is %d, %d are missed, the records are %+v", newest, missed, all)
	}
	of := func(f Filter) []Record { all, _, _ := tail.Since(0, f); return all }
	same(t, "from warn on", of(Filter{Level: slog.LevelWarn}), lines(all[1:])...)
	same(t, "with a value", of(Filter{Text: "No Contact"}), lines(all[1:2])...)
	same(t, "with a name", of(Filter{Text: "groups"}), lines(all[:1])...)
	same(t, "with a message", of(Filter{Text: "DISK"}), lines(all[2:])...)
	same(t, "with a text that nothing has", of(Filter{Text: "x y z"}))
	after, _, _ := tail.Since(newest-1, Filter{})
	same(t, "after the second", after, lines(all[2:])...)
	none, _, _ := tail.Since(newest, Filter{})
	same(t, "after the newest", none)
	again, _, _ := tail.Since(newest+1, Filter{})
	same(t, "after a number of another process", again, lines(all)...)
}

// The tail has the newest records, says how many were replaced before somebody read them, and cuts long ones off.
func TestTheTailIsBounded(t *testing.T) {
	tail := New(start)
	log := slog.New(tail.Beside(slog.DiscardHandler))
	if log.Info("dropped"); tail.next != tail.first {
		t.Error("a record that is not logged was kept")
	}
	log = slog.New(tail.Beside(slog.NewTextHandler(&bytes.Buffer{}, nil)))
	const more = 7
	for i := range RecordsMax + more {
		log.Info("counted", slog.Int("n", i))
	}
	all, newest, _ := tail.Since(0, Filter{})
	for i := range all {
		if want := fmt.Sprint(i + more); all[i].Attributes[0].Value != want || all[i].Seq != newest-RecordsMax+int64(i)+1 {
			t.Fatalf("record %d is %+v, want n=%s", i, all[i], want)
		}
	}
	if _, _, missed := tail.Since(start.UnixMicro()+1, Filter{}); len(all) != RecordsMax || missed != more-2 {
		t.Errorf("%d are kept and %d missed", len(all), missed)
	}
	long := strings.Repeat("ä", 10_000)
	//nolint:sloglint // The message is what is tested.
	log.Info(long, slog.String("a", long), slog.String("b", long), slog.String("c", long), slog.String("d", long), slog.String("e", "e"))
	all, _, _ = tail.Since(newest, Filter{})
	size := len(all[0].Message)
	for _, a := range all[0].Attributes {
		size += len(a.Name) + len(a.Value)
		if !strings.HasSuffix(a.Value, "ä…") {
			t.Errorf("%s is cut to %.20q", a.Name, a.Value)
		}
	}
	if len(all) != 1 || size > recordBytesMax+attributeMax+len("…") || len(all[0].Attributes) != 3 {
		t.Errorf("a long record has %d bytes in %d attributes", size, len(all[0].Attributes))
	}
}
