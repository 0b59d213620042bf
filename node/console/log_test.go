package console_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/console"
	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
)

const logPath = "/console/api/log"

// nextRecords reads the next message of a stream of the log: its id, and the messages of its records.
func nextRecords(t *testing.T, lines <-chan string) (id, messages string) {
	t.Helper()
	for line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "id":
			id = value
		case "data":
			var page console.LogRecords
			if err := json.Unmarshal([]byte(value), &page); err != nil {
				t.Fatalf("%s: %v", value, err)
			}
			for _, r := range page.Records {
				messages += r.Level + " " + r.Message
				for _, a := range r.Attributes {
					messages += " " + a.Name + "=" + a.Value
				}
				messages += "; "
			}
			return id, messages
		}
	}
	t.Fatal("the stream has ended")
	return "", ""
}

// An admin sees the newest records of the log that fit the filter, then each new one, and after an interruption those since then. The
// stream ends with the session.
func TestTheLogIsStreamed(t *testing.T) {
	env := managetest.New(t)
	ada := setUp(t, env)
	server := httptest.NewServer(env)
	t.Cleanup(server.Close)
	// The handler has to take records of every level, which slog.DiscardHandler does not.
	log := slog.New(env.Tail.Beside(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelDebug}))) //nolint:sloglint // See above.
	log.Debug("part_stopped")
	log.Info("node_started", slog.Int("groups", 4))
	all, warnings := ada.stream(server.URL+logPath), ada.stream(server.URL+logPath+"?level=warn&text=LEADER")
	check := func(why string, lines <-chan string, want string) string {
		t.Helper()
		id, got := nextRecords(t, lines)
		if got != want {
			t.Errorf("%s: %q, want %q", why, got, want)
		}
		return id
	}
	seen := check("at first", all, "DEBUG part_stopped; INFO node_started groups=4; ")
	check("of the level and text, at first", warnings, "")
	log.Info("leader_elected")
	log.Warn("leader_lost", slog.String("node", "n1"))
	again := *ada
	again.header = map[string]string{"Last-Event-ID": seen}
	check("after an interruption", again.stream(server.URL+logPath), "INFO leader_elected; WARN leader_lost node=n1; ")
	check("of the level and text", warnings, "WARN leader_lost node=n1; ")
	ada.must(204, "DELETE", sessionPath, "")
	for _, lines := range []<-chan string{all, warnings} {
		for range lines { // The test hangs when the stream does not end.
		}
	}
}

// The log is for admins of the first marketplace alone. What the query may not be is refused with the limit.
func TestWhoReadsTheLog(t *testing.T) {
	env := managetest.New(t)
	ada := setUp(t, env)
	server := httptest.NewServer(env)
	t.Cleanup(server.Close)
	check := func(b *browser, query string, want int) {
		t.Helper()
		if got := b.streamStatus(server.URL + logPath + query); got != want {
			t.Errorf("%s is answered %d, want %d", query, got, want)
		}
	}
	check(newBrowser(t, env), "", http.StatusUnauthorized)
	for _, access := range []store.ConsoleAccess{
		{Marketplace: managetest.Main, Role: store.RoleOperator},
		{Marketplace: managetest.Main, Role: store.RoleAnalyst},
		{Marketplace: managetest.Main, Role: store.RoleVendorAdmin, Vendor: "va"},
		{Marketplace: managetest.Other, Role: store.RoleAdmin},
	} {
		check(signedIn(t, env, access), "", http.StatusForbidden)
	}
	check(ada, "?level=loud", http.StatusBadRequest)
	check(ada, "?text="+strings.Repeat("x", 201), http.StatusBadRequest)
	check(ada, "?level=error&text="+strings.Repeat("x", 200), http.StatusOK)
}

// streamStatus opens a stream of events, and closes it when it has the status of the answer.
func (b *browser) streamStatus(address string) int {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, address, nil)
	if err != nil {
		b.Fatal(err)
	}
	if b.cookie != nil {
		r.AddCookie(b.cookie)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	_ = answer.Body.Close() // The server finds that the browser has gone.
	return answer.StatusCode
}

// A node has as many streams of the log as it is said to.
func TestStreamsOfTheLogAreBounded(t *testing.T) {
	env := managetest.New(t)
	ada := setUp(t, env)
	server := httptest.NewServer(env)
	t.Cleanup(server.Close)
	var open []<-chan string
	for range 20 {
		lines := ada.stream(server.URL + logPath)
		<-lines // It is counted.
		open = append(open, lines)
	}
	if got := ada.streamStatus(server.URL + logPath); got != http.StatusServiceUnavailable {
		t.Errorf("one more is answered %d", got)
	}
	ada.must(204, "DELETE", sessionPath, "")
	for _, lines := range open {
		for range lines { // The test hangs when the stream does not end.
		}
	}
}
