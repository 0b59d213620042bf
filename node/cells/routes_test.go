package cells

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// cluster is a cell of one node that answers every request with its name.
type cluster struct{ auction, manage *httptest.Server }

func startCluster(t *testing.T, name string) *cluster {
	t.Helper()
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, name) })
	c := &cluster{httptest.NewServer(answer), httptest.NewServer(answer)}
	t.Cleanup(c.stop)
	return c
}

func (c *cluster) stop() {
	c.auction.Close()
	c.manage.Close()
}

func (c *cluster) node() string {
	return fmt.Sprintf(`{name: n1, auction: %q, manage: %q}`, c.auction.Listener.Addr(), c.manage.Listener.Addr())
}

// twoCells returns a file with cell a, which has a key and a host, and cell b, which has a host, and the addresses on which the
// load balancer listens.
func twoCells(t *testing.T, a, b *cluster) (f *File, auctions, management string) {
	t.Helper()
	auctions, management = freeAddress(t), freeAddress(t)
	f, err := Read(fmt.Appendf(nil, `auction_listen: %q
manage_listen: %q
cells:
  - {name: a, hosts: [a.example], keys: [AAAAAAAA], nodes: [%s]}
  - {name: b, hosts: [b.example], nodes: [%s]}
`, auctions, management, a.node(), b.node()))
	if err != nil {
		t.Fatal(err)
	}
	return f, auctions, management
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close() // The load balancer binds it.
	return l.Addr().String()
}

// TestRoutes runs the load balancers of this machine: a key decides before the host, a request that no cell lists is answered
// 404, one whose cell is down 503, and both have the form of Gavel's errors.
func TestRoutes(t *testing.T) {
	for name, arguments := range map[string]func(dir, config string) []string{
		"haproxy": func(_, config string) []string { return []string{"-db", "-f", config} },
		"nginx": func(dir, config string) []string {
			return []string{"-p", dir, "-c", nginxMain(t, dir, config), "-g", "daemon off; master_process off;"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := program(t, name)
			a, b := startCluster(t, "a"), startCluster(t, "b")
			f, auctions, management := twoCells(t, a, b)
			text, err := Render(name, f)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			config := filepath.Join(dir, "rendered.conf")
			if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			run(t, exec.CommandContext(t.Context(), path, arguments(dir, config)...), auctions)
			for _, c := range []struct {
				authorization, host string
				want                string
			}{
				{"Bearer gavel_auc_AAAAAAAA_secret", "b.example", "a"},
				{"bearer gavel_mgt_AAAAAAAA_secret", "c.example", "a"},
				{"Bearer gavel_auc_aaaaaaaa_secret", "b.example", "b"},
				{"Bearer gavel_auc_BBBBBBBB_secret", "a.example", "a"},
				{"Basic gavel_auc_AAAAAAAA_secret", "b.example", "b"},
				{"", "b.example:8443", "b"},
				{"", "B.Example", "b"},
				{"", "xb.example", "404 resource_not_found"},
				{"Bearer gavel_auc_BBBBBBBB_secret", "c.example", "404 resource_not_found"},
			} {
				for _, address := range []string{auctions, management} {
					if got := ask(t, address, c.authorization, c.host); got != c.want {
						t.Errorf("%q of %q: %s, want %s", c.authorization, c.host, got, c.want)
					}
				}
			}
			b.stop()
			if got := ask(t, auctions, "", "b.example"); got != "503 service_unavailable" {
				t.Errorf("a cell that is down: %s", got)
			}
			if got := ask(t, auctions, "", "a.example"); got != "a" {
				t.Errorf("the other cell: %s", got)
			}
		})
	}
}

// run starts a program and waits until it accepts connections.
func run(t *testing.T, command *exec.Cmd, address string) {
	t.Helper()
	var log strings.Builder
	command.Stdout, command.Stderr = &log, &log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = command.Wait() // It is killed at the end of the test.
		close(ended)
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill() // It may have ended.
		<-ended
		if t.Failed() {
			t.Logf("%s: %s", command.Path, log.String())
		}
	})
	for {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			_ = connection.Close() // Nothing was sent.
			return
		}
		select {
		case <-ended:
			t.Fatalf("%s ended: %s", command.Path, log.String())
		case <-t.Context().Done():
			t.Fatal("the test ended first")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// ask sends an auction and returns the answer's body, or status and errCode of an error.
func ask(t *testing.T, address, authorization, host string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/v2/auctions", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // It was read completely or failed.
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode == http.StatusOK {
		return string(body)
	}
	var e struct{ ErrCode string }
	if err := json.Unmarshal(body, &e); err != nil || answer.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%d with %q: %s", answer.StatusCode, answer.Header.Get("Content-Type"), body)
	}
	return fmt.Sprint(answer.StatusCode, " ", e.ErrCode)
}
