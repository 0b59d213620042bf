package cli

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/gavel-ads/gavel/node/auth"
	"github.com/gavel-ads/gavel/node/config"
	"github.com/gavel-ads/gavel/node/daemon"
)

// commandResult is the result of a command line.
type commandResult struct {
	code     int
	out, err string
	started  bool
	cfg      config.Config
	options  daemon.Options
}

// gavel runs a command line with a node that does nothing.
func gavel(environ []string, args ...string) *commandResult {
	var out, errs bytes.Buffer
	r := &commandResult{}
	p := &process{out: &out, err: &errs, environ: environ, start: func(_ context.Context, cfg config.Config, o daemon.Options) error {
		r.started, r.cfg, r.options = true, cfg, o
		return nil
	}}
	r.code = p.run(args)
	r.out, r.err = out.String(), errs.String()
	return r
}

func TestBareGavelIsServe(t *testing.T) {
	for _, args := range [][]string{nil, {"serve"}, {"--groups=4"}, {"serve", "--groups", "4"}} {
		r := gavel(nil, args...)
		if r.code != exitSuccess || !r.started || r.options.Demo != nil {
			t.Errorf("%q: code %d, started %t\n%s", args, r.code, r.started, r.err)
		}
		if want := len(args) > 0 && strings.Contains(strings.Join(args, " "), "groups"); (r.cfg.Groups == 4) != want {
			t.Errorf("%q: groups %d", args, r.cfg.Groups)
		}
	}
}

func TestEverySettingIsAFlag(t *testing.T) {
	help := gavel(nil, "serve", "--help")
	if help.code != exitSuccess || help.started {
		t.Fatalf("code %d, started %t", help.code, help.started)
	}
	for _, s := range config.Settings() {
		if !strings.Contains(help.out, "--"+s.Flag) || !strings.Contains(help.out, "["+s.Env+"]") {
			t.Errorf("--%s or %s is not in the help", s.Flag, s.Env)
		}
	}
	r := gavel(nil, "serve", "--join=127.0.0.1:1,localhost:2", "--join", "[::1]:3", "--peer-insecure=false", "--peer-insecure", "--groups=3", "--groups=5", "--config=")
	if got := strings.Join(r.cfg.Join, " "); got != "127.0.0.1:1 localhost:2 [::1]:3" || !r.cfg.PeerInsecure || r.cfg.Groups != 5 {
		t.Errorf("join %q, insecure %t, groups %d\n%s", got, r.cfg.PeerInsecure, r.cfg.Groups, r.err)
	}
}

func TestMistakesStartNothing(t *testing.T) {
	for _, c := range []struct {
		args    []string
		environ []string
		want    string
	}{
		{[]string{"serv"}, nil, `did you mean "serve"?`},
		{[]string{"demoo"}, nil, `did you mean "demo"?`},
		{[]string{"config", "chek"}, nil, `did you mean "check"?`},
		{[]string{"--data-dri", "x"}, nil, `did you mean "--data-dir"?`},
		{[]string{"serve", "--groups"}, nil, "gavel: --groups needs a value: the command line ends after it\n"},
		{[]string{"restore", "--in"}, nil, "gavel: --in needs a value: the command line ends after it\n"},
		{[]string{"serve", "--data-dir", "--groups=4"}, nil, "gavel: --data-dir needs a value, and the next word --groups=4 is a flag\n"},
		{[]string{"serve", "extra"}, nil, "unexpected argument extra"},
		{[]string{"keys"}, nil, "generate"},
		{[]string{"keys", "generate"}, nil, "--kind"},
		{[]string{"keys", "generate", "--kind=root"}, nil, `"auction","management"`},
		{[]string{"serve", "--groups=many", "--raft-watchdog=5"}, nil, "2 faults in the configuration; nothing was started"},
		{nil, []string{"GAVEL_GROUPS=257"}, "env GAVEL_GROUPS: groups: 257 is above the upper limit 256"},
		{[]string{"demo", "--config=none.yaml"}, nil, "none.yaml"},
		{[]string{"demo", "--vendors=0"}, nil, "at least 1 vendor"},
		{[]string{"demo", "--history-days=31"}, nil, "--history-days is 31, and has to be from 0 to 30"},
		{[]string{"demo", "--history-days=-1"}, nil, "--history-days is -1"},
		{[]string{"config", "print", "--node-id=a b"}, nil, "flag --node-id"},
	} {
		r := gavel(c.environ, c.args...)
		if r.code != exitUsage || r.started || !strings.Contains(r.err, c.want) {
			t.Errorf("%q %q: code %d, started %t, want %q in:\n%s", c.environ, c.args, r.code, r.started, c.want, r.err)
		}
	}
}

// The number of warnings is readable, and status fails when there are any.
func TestStatusCountsWarnings(t *testing.T) {
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"clusterId":"c","node":"n1","nodes":[{"id":"n1","reachable":true}],"groups":[{"group":1}]}`))
	}))
	defer node.Close()
	r := gavel([]string{"GAVEL_MANAGE=" + node.URL, "GAVEL_MANAGE_KEY=k"}, "cluster", "status")
	if r.code != exitFailed || r.err != "gavel: the cluster has 1 warning, printed above\n" {
		t.Errorf("code %d: %q", r.code, r.err)
	}
}

func TestDemoUsesItsOwnDirectory(t *testing.T) {
	r := gavel(nil, "demo", "--seed=7", "--shoppers=0")
	if r.cfg.DataDir != demoDataDir || r.cfg.DataDir == config.Default().DataDir {
		t.Errorf("data directory %s", r.cfg.DataDir)
	}
	d := r.options.Demo
	if d == nil || d.Seed != 7 || d.Products != 50_000 || d.Vendors != 500 || d.Campaigns != 2_000 || d.HistoryDays != 30 {
		t.Errorf("demo %+v", d)
	}
	if r := gavel([]string{"GAVEL_DATA_DIR=/elsewhere"}, "demo"); r.cfg.DataDir != "/elsewhere" {
		t.Errorf("a chosen directory: %s", r.cfg.DataDir)
	}
}

func TestTheNodesErrorIsReportedOnce(t *testing.T) {
	var out, errs bytes.Buffer
	p := &process{out: &out, err: &errs, start: func(context.Context, config.Config, daemon.Options) error {
		return errors.New("listen 127.0.0.1:8080: address in use")
	}}
	if code := p.run(nil); code != exitFailed {
		t.Errorf("code %d", code)
	}
	if got := errs.String(); got != "gavel: listen 127.0.0.1:8080: address in use\n" {
		t.Errorf("%q", got)
	}
}

func TestSignalDrains(t *testing.T) {
	var out, errs bytes.Buffer
	p := &process{out: &out, err: &errs, start: func(ctx context.Context, _ config.Config, _ daemon.Options) error {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}}
	if code := p.run(nil); code != exitSuccess {
		t.Errorf("code %d: %s", code, errs.String())
	}
}

func TestKeysGenerate(t *testing.T) {
	for kind, want := range map[string]auth.Kind{"auction": auth.Auction, "management": auth.Management} {
		r := gavel(nil, "keys", "generate", "--kind", kind)
		key, ok := auth.Parse([]byte(strings.TrimSuffix(r.out, "\n")))
		if r.code != exitSuccess || !ok || key.Kind != want {
			t.Errorf("%s: code %d, %q", kind, r.code, r.out)
		}
	}
}

func TestConfigCheck(t *testing.T) {
	name := filepath.Join(t.TempDir(), "gavel.yaml")
	write := func(text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("groups: 4\njoin: [\"127.0.0.1:1\"]\npeer_insecure: true\n")
	if r := gavel(nil, "config", "check", name); r.code != exitSuccess || r.out != "configuration ok\n" {
		t.Errorf("a good file: code %d\n%s%s", r.code, r.out, r.err)
	}
	write("groupz: 4\nlog: {level: loud}\n")
	r := gavel(nil, "config", "check", name)
	for _, want := range []string{"2 faults", name + `:1:1: unknown key "groupz"; did you mean groups?`, ">  1 | groupz: ********", name + ":2:14: log.level"} {
		if r.code != exitFailed || !strings.Contains(r.err, want) {
			t.Errorf("a bad file: code %d, want %q in:\n%s", r.code, want, r.err)
		}
	}
}

// A preset key that cannot work is a fault of the configuration; the key itself is never printed.
func TestPresetKeysAreChecked(t *testing.T) {
	auction := strings.TrimSpace(gavel(nil, "keys", "generate", "--kind=auction").out)
	management := strings.TrimSpace(gavel(nil, "keys", "generate", "--kind=management").out)
	name := filepath.Join(t.TempDir(), "gavel.yaml")
	if err := os.WriteFile(name, []byte("bootstrap_auction_key: "+auction+"x\ngroups: many\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		environ []string
		args    []string
		want    string // Empty: accepted.
	}{
		{[]string{"GAVEL_BOOTSTRAP_AUCTION_KEY=" + auction, "GAVEL_BOOTSTRAP_MANAGEMENT_KEY=" + management}, nil, ""},
		{[]string{"GAVEL_BOOTSTRAP_AUCTION_KEY=" + management}, nil, "env GAVEL_BOOTSTRAP_AUCTION_KEY: bootstrap_auction_key: the value is an API key of kind management, want kind auction"},
		{[]string{"GAVEL_BOOTSTRAP_MANAGEMENT_KEY=" + management[:20]}, nil, "env GAVEL_BOOTSTRAP_MANAGEMENT_KEY: bootstrap_management_key: the value is not an API key"},
		{nil, []string{"--config=" + name}, name + ":1:24: bootstrap_auction_key: the value is not an API key"},
	} {
		for _, command := range [][]string{{"serve"}, {"config", "check"}} {
			r := gavel(c.environ, append(command, c.args...)...)
			if (r.code == exitSuccess) != (c.want == "") || !strings.Contains(r.err, c.want) || r.started && c.want != "" {
				t.Errorf("%q: code %d, started %t, want %q in:\n%s", command, r.code, r.started, c.want, r.err)
			}
			if strings.Contains(r.err, "gavel_auc_") || strings.Contains(r.err, "gavel_mgt_") {
				t.Errorf("a secret was printed:\n%s", r.err)
			}
		}
	}
}

func TestConfigPrint(t *testing.T) {
	r := gavel([]string{"GAVEL_NODE_ID=n7"}, "config", "print", "--sources", "--groups=2")
	for _, want := range []string{"node_id", "n7", "env GAVEL_NODE_ID", "flag --groups", "default"} {
		if r.code != exitSuccess || !strings.Contains(r.out, want) {
			t.Errorf("code %d, want %q in:\n%s", r.code, want, r.out)
		}
	}
	if r := gavel(nil, "config", "print"); r.code != exitSuccess || !strings.Contains(r.out, "ratelimit:\n") {
		t.Errorf("code %d:\n%s", r.code, r.out)
	}
}

func TestHealth(t *testing.T) {
	ready := false
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" && !ready {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = w.Write([]byte(r.URL.Path + "\n"))
	}))
	defer node.Close()
	listen := []string{"GAVEL_MANAGE_LISTEN=" + strings.TrimPrefix(node.URL, "http://")}

	if r := gavel(listen, "health"); r.code != exitFailed || !strings.Contains(r.err, "503") {
		t.Errorf("not ready: code %d, %s", r.code, r.err)
	}
	if r := gavel(listen, "health", "--live"); r.code != exitSuccess || r.out != "/healthz\n" {
		t.Errorf("alive: code %d, %q", r.code, r.out)
	}
	ready = true
	for _, address := range []string{node.URL + "/", strings.TrimPrefix(node.URL, "http://")} {
		if r := gavel(nil, "health", address); r.code != exitSuccess || r.out != "/readyz\n" {
			t.Errorf("%s is ready: code %d, %q %s", address, r.code, r.out, r.err)
		}
	}
	node.Close()
	if r := gavel(nil, "health", node.URL); r.code != exitFailed {
		t.Errorf("no node at the address: code %d", r.code)
	}
}

func TestVersion(t *testing.T) {
	r := gavel(nil, "version")
	if r.code != exitSuccess || !strings.HasPrefix(r.out, "gavel "+version+"\ncommit ") || !strings.Contains(r.out, "go1.") {
		t.Errorf("code %d: %q", r.code, r.out)
	}
}

// A command that the command line names has all its flags, although the settings of the others are left out.
func TestANamedCommandHasAllItsFlags(t *testing.T) {
	everything, largest := grammarOf(t, "manual"), 0
	for _, leaf := range everything.Model.Leaves(false) {
		path := strings.Fields(leaf.Path())
		node := grammarOf(t, path...).Model.Node
		for _, name := range path {
			node = childNamed(node, name)
		}
		if got, want := flagNames(node), flagNames(leaf); !slices.Equal(got, want) {
			t.Errorf("%v has %d flags, expected %d", path, len(got), len(want))
		}
		largest = max(largest, len(leaf.Flags))
	}
	if largest < len(config.Settings()) {
		t.Errorf("no command has the flags of all %d settings: %d", len(config.Settings()), largest)
	}
}

func grammarOf(t *testing.T, args ...string) *kong.Kong {
	t.Helper()
	parser, err := kong.New(newCommands(args), kong.Name("gavel"), kong.Bind(&process{}))
	if err != nil {
		t.Fatal(err)
	}
	return parser
}

func flagNames(n *kong.Node) []string {
	names := make([]string, 0, len(n.Flags))
	for _, f := range n.Flags {
		names = append(names, f.Name)
	}
	return names
}
