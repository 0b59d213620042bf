package config

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

var rewrite = flag.Bool("rewrite", false, "accept what the golden tests print")

// load is Load with the defaults.
func load(environ []string, flags map[string]string) (*Loaded, error) {
	return Load(Input{Defaults: Default(), Environ: environ, Flags: flags})
}

func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "gavel.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestOneRuleNamesEverything(t *testing.T) {
	// Documents and automation rely on these names.
	contract := map[string]string{
		"data_dir": "--data-dir GAVEL_DATA_DIR", "auction_listen": "--auction-listen GAVEL_AUCTION_LISTEN",
		"manage_listen": "--manage-listen GAVEL_MANAGE_LISTEN", "peer_listen": "--peer-listen GAVEL_PEER_LISTEN",
		"node_id": "--node-id GAVEL_NODE_ID", "join": "--join GAVEL_JOIN", "config": "--config GAVEL_CONFIG",
		"bootstrap_expect": "--bootstrap-expect GAVEL_BOOTSTRAP_EXPECT", "peer_insecure": "--peer-insecure GAVEL_PEER_INSECURE",
		"keys_file": "--keys-file GAVEL_KEYS_FILE", "server.public_url": "--server-public-url GAVEL_SERVER_PUBLIC_URL",
		"bootstrap_auction_key":    "--bootstrap-auction-key GAVEL_BOOTSTRAP_AUCTION_KEY",
		"bootstrap_management_key": "--bootstrap-management-key GAVEL_BOOTSTRAP_MANAGEMENT_KEY",
		"server.trusted_proxies":   "--server-trusted-proxies GAVEL_SERVER_TRUSTED_PROXIES",
		"management.cors_origins":  "--management-cors-origins GAVEL_MANAGEMENT_CORS_ORIGINS",
		"management.acme.hosts":    "--management-acme-hosts GAVEL_MANAGEMENT_ACME_HOSTS",
		"cors.origins":             "--cors-origins GAVEL_CORS_ORIGINS",
		"ratelimit.management":     "--ratelimit-management GAVEL_RATELIMIT_MANAGEMENT",
		"ratelimit.catalog":        "--ratelimit-catalog GAVEL_RATELIMIT_CATALOG", "groups": "--groups GAVEL_GROUPS",
		"background.cpu_percent":    "--background-cpu-percent GAVEL_BACKGROUND_CPU_PERCENT",
		"background.cpu_per_minute": "--background-cpu-per-minute GAVEL_BACKGROUND_CPU_PER_MINUTE",
		"raft.rpcs_in_flight":       "--raft-rpcs-in-flight GAVEL_RAFT_RPCS_IN_FLIGHT",
		"log.level":                 "--log-level GAVEL_LOG_LEVEL", "log.format": "--log-format GAVEL_LOG_FORMAT",
	}
	seen := map[string]string{}
	for _, s := range Settings() {
		names := "--" + s.Flag + " " + s.Env
		if want, listed := contract[s.Key]; listed && names != want {
			t.Errorf("%s is %s, want %s", s.Key, names, want)
		}
		delete(contract, s.Key)
		if other := seen[s.Env]; other != "" {
			t.Errorf("%s and %s are both %s", s.Key, other, s.Env)
		}
		seen[s.Env] = s.Key
		if s.Help == "" || !strings.HasSuffix(s.Help, ".") {
			t.Errorf("%s: help %q is not a sentence", s.Key, s.Help)
		}
		if s.Placeholder == "" && !s.Bool {
			t.Errorf("%s: no placeholder", s.Key)
		}
	}
	for key := range contract {
		t.Errorf("%s is not a setting", key)
	}
}

func TestFlagWinsOverEnvironmentOverFileOverDefault(t *testing.T) {
	name := file(t, "groups: 2\nnode_id: from-file\nmanagement: {cors_origins: [https://a.example, https://b.example]}\n")
	l, err := load(
		[]string{"GAVEL_CONFIG=" + name, "GAVEL_GROUPS=3", "GAVEL_RATELIMIT_CATALOG=7", "GAVEL_LOG_LEVEL=", "HOME=/"},
		map[string]string{"groups": "4", "limits-event-body": "2MiB", "raft-watchdog": "1m30s", "peer-insecure": "true"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		key       string
		got, want any
		origin    string
	}{
		{"groups", l.Groups, 4, "flag --groups"},
		{"ratelimit.catalog", l.Ratelimit.Catalog, 7, "env GAVEL_RATELIMIT_CATALOG"},
		{"node_id", l.NodeID, "from-file", name + ":2:10"},
		{"management.cors_origins", l.Management.CORSOrigins, []string{"https://a.example", "https://b.example"}, name + ":3:28"},
		{"limits.event_body", l.Limits.EventBody, 2 * MiB, "flag --limits-event-body"},
		{"raft.watchdog", l.Raft.Watchdog, 90 * time.Second, "flag --raft-watchdog"},
		{"peer_insecure", l.PeerInsecure, true, "flag --peer-insecure"},
		{"log.level", l.Log.Level, "info", "default"}, // An empty variable counts as not set.
		{"ratelimit.management", l.Ratelimit.Management, 45, "default"},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s = %v, want %v", c.key, c.got, c.want)
		}
		if got := l.Origin(c.key).Name; got != c.origin {
			t.Errorf("%s comes from %q, want %q", c.key, got, c.origin)
		}
	}
}

// TestEveryFaultAtOnce compares all faults of a file full of mistakes with the golden text.
func TestEveryFaultAtOnce(t *testing.T) {
	_, err := load([]string{"GAVEL_CONFIG=testdata/wrong.yaml", "GAVEL_NODE_ID=n/1", "GAVEL_BOOTSTRAP_EXPECT=0"},
		map[string]string{"raft-snapshot-interval": "10", "limits-request-head": "1MiB"})
	if err == nil {
		t.Fatal("accepted")
	}
	got := err.Error() + "\n"
	if *rewrite {
		if err := os.WriteFile("testdata/wrong.txt", []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/wrong.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestBrokenFiles(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"# nothing but a comment\n", ""},
		{"server:\nlog:\n  level: debug\n", ""},
		{"groups:\n", ""},
		{"just words\n", "expected keys and values here"},
		{"- a\n- b\n", "expected keys and values here"},
		{"groups: 1\n---\ngroups: 2\n", "a second YAML document"},
		{"groups: [1\n", ":1:9: "},
		{"groups: &a 1\n", "a plain value is expected here"},
		{"\"groups\": \"3\"\n", ""},
	} {
		_, err := load(nil, map[string]string{"config": file(t, c.text)})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%q: %v", c.text, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%q: got %v, want %q", c.text, err, c.want)
		}
	}
	if _, err := load(nil, map[string]string{"config": "testdata/none.yaml"}); err == nil || !strings.Contains(err.Error(), "testdata/none.yaml") {
		t.Errorf("a missing file: %v", err)
	}
}

// secure adds the three certificate files of peers to flags.
func secure(flags map[string]string) map[string]string {
	all := map[string]string{"peer-certificate": "node.pem", "peer-key": "node.key", "peer-authority": "ca.pem"}
	maps.Copy(all, flags)
	return all
}

func TestRulesBetweenSettings(t *testing.T) {
	for _, c := range []struct {
		flags map[string]string
		key   string // The setting of the only fault; empty: no fault.
	}{
		{map[string]string{"peer-insecure": "true"}, ""},
		{map[string]string{"peer-insecure": "true", "peer-listen": "localhost:1", "join": "[::1]:2,127.9.9.9:3"}, ""},
		{map[string]string{"peer-insecure": "true", "peer-listen": "10.0.0.1:7400"}, "peer_insecure"},
		{map[string]string{"peer-insecure": "true", "peer-listen": ":7400"}, "peer_insecure"},
		{map[string]string{"peer-insecure": "true", "join": "node-2:7400"}, "peer_insecure"},
		{map[string]string{"peer-listen": "10.0.0.1:7400", "join": "node-2:7400"}, "join"},
		{secure(map[string]string{"peer-listen": "10.0.0.1:7400", "join": "node-2:7400,dns:gavel.internal:7400", "bootstrap-expect": "3"}), ""},
		{secure(map[string]string{"peer-listen": ":7400", "peer-advertise": "node-1:7400", "join": "node-1:7400", "learner": "true"}), ""},
		{secure(map[string]string{"join": "node-2"}), "join"},
		{secure(map[string]string{"join": "dns:node-2"}), "join"},
		{secure(map[string]string{"join": ":7400"}), "join"},
		{secure(map[string]string{"join": "node-2:0"}), "join"},
		{secure(map[string]string{"peer-advertise": "node-1"}), "peer_advertise"},
		{secure(map[string]string{"peer-insecure": "true"}), "peer_insecure"},
		{secure(map[string]string{"peer-key": ""}), "peer_key"},
		{secure(map[string]string{"bootstrap-expect": "3"}), "bootstrap_expect"},
		{secure(map[string]string{"learner": "true"}), "learner"},
		{map[string]string{"peer-insecure": "true", "join": "dns:node-2:7400"}, "peer_insecure"},
		{map[string]string{"peer-insecure": "true", "peer-advertise": "10.0.0.1:7400"}, "peer_insecure"},
		{map[string]string{"bootstrap-expect": "6"}, "bootstrap_expect"},
		{map[string]string{"staleness": "999ms"}, "staleness"},
		{map[string]string{"auction-listen": "127.0.0.1:8081"}, "manage_listen"},
		{map[string]string{"auction-listen": "127.0.0.1:0", "manage-listen": "127.0.0.1:0", "peer-listen": "127.0.0.1:0"}, ""},
		{map[string]string{"auction-listen": "127.0.0.1:http"}, "auction_listen"},
		{map[string]string{"auction-listen": "127.0.0.1:70000"}, "auction_listen"},
		{map[string]string{"data-dir": ""}, "data_dir"},
		{map[string]string{"raft-trailing-logs": "99999"}, "raft.trailing_logs"},
		{map[string]string{"raft-rpcs-in-flight": "0"}, "raft.rpcs_in_flight"},
		{map[string]string{"raft-rpcs-in-flight": "1"}, ""},
		{map[string]string{"raft-rpcs-in-flight": "3"}, "raft.rpcs_in_flight"},
		{map[string]string{"server-public-url": "https://ads.example.com/gavel"}, ""},
		{map[string]string{"server-public-url": "https://ads.example.com/"}, "server.public_url"},
		{map[string]string{"server-public-url": "ads.example.com"}, "server.public_url"},
		{map[string]string{"server-trusted-proxies": "10.0.0.0/8, ::1"}, ""},
		{map[string]string{"server-trusted-proxies": "10.0.0.0/33"}, "server.trusted_proxies"},
		{map[string]string{"cors-origins": "https://shop.example,*"}, ""},
		{map[string]string{"cors-origins": "shop.example"}, "cors.origins"},
		{map[string]string{"management-cors-origins": "*"}, "management.cors_origins"},
		{map[string]string{"ratelimit-management": "0"}, ""},
		{map[string]string{"ratelimit-management": "-1"}, "ratelimit.management"},
		{map[string]string{"blob-driver": "disk"}, "blob.driver"},
		{map[string]string{"blob-public-url": "assets.example.net"}, "blob.public_url"},
		{map[string]string{"blob-driver": "s3", "blob-bucket": "b", "blob-access-key": "a", "blob-secret-key": "s"}, "blob.endpoint"},
		{map[string]string{"blob-driver": "s3", "blob-endpoint": "https://s3.example", "blob-bucket": "b", "blob-access-key": "a", "blob-secret-key": "s"}, "blob.endpoint"},
		{map[string]string{"blob-driver": "s3", "blob-endpoint": "s3.example", "blob-bucket": "b", "blob-access-key": "a", "blob-secret-key": "s"}, ""},
		{map[string]string{"export-driver": "disk"}, "export.driver"},
		{map[string]string{"export-format": "csv"}, "export.format"},
		{map[string]string{"export-driver": "local"}, "export.dir"},
		{map[string]string{"export-driver": "local", "export-dir": "d"}, ""},
		{map[string]string{"export-driver": "s3", "blob-endpoint": "s3.example", "blob-access-key": "a", "blob-secret-key": "s"}, "blob.bucket"},
		{map[string]string{"export-driver": "s3", "blob-endpoint": "s3.example", "blob-access-key": "a", "blob-secret-key": "s", "export-bucket": "b"}, ""},
		{map[string]string{"export-driver": "s3", "blob-endpoint": "s3.example", "blob-access-key": "a", "blob-secret-key": "s", "export-bucket": "b", "export-prefix": ""}, "export.prefix"},
		{map[string]string{"sinks-start": "now"}, "sinks.start"},
		{map[string]string{"sinks-kafka-brokers": "k1:9092,k2:9092"}, ""},
		{map[string]string{"sinks-kafka-brokers": "k1"}, "sinks.kafka.brokers"},
		{map[string]string{"sinks-kafka-brokers": "user:pass@k1:9092"}, "sinks.kafka.brokers"},
		{map[string]string{"sinks-kafka-brokers": "k1:9092", "sinks-kafka-charges-topic": "a b"}, "sinks.kafka.charges_topic"},
		{map[string]string{"sinks-kafka-brokers": "k1:9092", "sinks-kafka-conversions-topic": ".."}, "sinks.kafka.conversions_topic"},
		{map[string]string{"sinks-kafka-brokers": "k1:9092", "sinks-kafka-cursor": "A"}, "sinks.kafka.cursor"},
		{map[string]string{"sinks-kafka-brokers": "k1:9092", "sinks-kafka-sasl": "plain"}, "sinks.kafka.sasl"},
		{map[string]string{"sinks-kafka-brokers": "k1:9092", "sinks-kafka-username": "u"}, "sinks.kafka.sasl"},
		{map[string]string{"sinks-kafka-brokers": "k1:9092", "sinks-kafka-authority": "f"}, "sinks.kafka.tls"},
		{map[string]string{"sinks-kafka-brokers": "k1:9092", "sinks-kafka-tls": "true", "sinks-kafka-key": "f"}, "sinks.kafka.certificate"},
		{map[string]string{"sinks-kafka-brokers": "k1:9092", "sinks-kafka-sasl": "plain", "sinks-kafka-username": "u", "sinks-kafka-password": "p"}, "sinks.kafka.tls"},
		{map[string]string{"sinks-kafka-brokers": "k1:9092", "sinks-kafka-sasl": "plain", "sinks-kafka-username": "u", "sinks-kafka-password": "p", "sinks-kafka-tls": "true"}, ""},
		{map[string]string{"sinks-kafka-brokers": "127.0.0.1:9092", "sinks-kafka-sasl": "plain", "sinks-kafka-username": "u", "sinks-kafka-password": "p"}, ""},
		{map[string]string{"sinks-nats-servers": "n1:4222"}, ""},
		{map[string]string{"sinks-nats-servers": "nats://n1:4222"}, "sinks.nats.servers"},
		{map[string]string{"sinks-nats-servers": "n1:4222", "sinks-nats-subject": "gavel.>"}, "sinks.nats.subject"},
		{map[string]string{"sinks-nats-servers": "n1:4222", "sinks-nats-username": "u"}, "sinks.nats.username"},
		{map[string]string{"sinks-nats-servers": "n1:4222", "sinks-nats-token": "t"}, "sinks.nats.tls"},
		{map[string]string{"sinks-nats-servers": "127.0.0.1:4222", "sinks-nats-token": "t", "sinks-nats-credentials": "f"}, "sinks.nats.username"},
		{map[string]string{"sinks-nats-servers": "n1:4222", "sinks-kafka-brokers": "k1:9092", "sinks-nats-cursor": "kafka"}, "sinks.nats.cursor"},
		{map[string]string{"offsite-connectors": "google_ads=https://c.example/hook,meta=sandbox"}, ""},
		{map[string]string{"offsite-connectors": "google=https://c.example/hook"}, "offsite.connectors"},
		{map[string]string{"offsite-connectors": "meta=https://c.example,meta=sandbox"}, "offsite.connectors"},
		{map[string]string{"offsite-connectors": "meta=http://127.0.0.1:1/hook"}, "offsite.connectors"},
		{map[string]string{"offsite-connectors": "meta=http://127.0.0.1:1/hook", "webhooks-development": "true"}, ""},
	} {
		_, err := load(nil, c.flags)
		faults := Faults(err)
		switch {
		case c.key == "" && err != nil:
			t.Errorf("%v: %v", c.flags, err)
		case c.key != "" && (len(faults) != 1 || faults[0].Key != c.key):
			t.Errorf("%v: got %v, want one fault of %s", c.flags, err, c.key)
		}
	}
}

func TestMisspelledVariablesAreWarnings(t *testing.T) {
	l, err := load([]string{"GAVEL_AUCTION_LITSEN=x", "GAVEL_SERVICE_HOST=10.0.0.1", "GAVEL_PORT_8080_TCP=x", "GAVELX=1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"the variable GAVEL_AUCTION_LITSEN is not a setting; did you mean GAVEL_AUCTION_LISTEN?"}
	if !slices.Equal(l.Warnings, want) {
		t.Errorf("notes %q, want %q", l.Warnings, want)
	}
}

func TestPrintedYAMLReadsBackTheSame(t *testing.T) {
	flags := map[string]string{
		"peer-certificate": "node.pem", "peer-key": "node.key", "peer-authority": "ca.pem", "peer-advertise": "a:1", "staleness": "5s",
		"node-id": "0x12", "join": "a:1,b:2", "server-public-url": "https://ads.example.com", "log-level": "warn", "groups": "4",
		"management-acme-email": "ada@example.com", "management-acme-hosts": "ads.example.com",
		"cors-origins": "https://a.example", "raft-watchdog": "7s", "limits-event-body": "100KiB", "bootstrap-auction-key": "hunter2",
	}
	l, err := load(nil, flags)
	if err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	if err := l.WriteYAML(&printed); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(printed.String(), "hunter2") {
		t.Error("a secret was printed")
	}
	again, err := load(nil, map[string]string{"config": file(t, printed.String()), "bootstrap-auction-key": "hunter2"})
	if err != nil {
		t.Fatalf("%v\n%s", err, printed.String())
	}
	again.Config.Config = ""
	normalize := func(c *Config) { // An empty list in the file is a nil list.
		for _, l := range []*[]string{&c.Server.TrustedProxies, &c.Management.CORSOrigins, &c.Offsite.Connectors} {
			if len(*l) == 0 {
				*l = nil
			}
		}
	}
	normalize(&l.Config)
	normalize(&again.Config)
	if !reflect.DeepEqual(l.Config, again.Config) {
		t.Errorf("got %+v\nwant %+v", again.Config, l.Config)
	}
}

func TestSourcesNameEveryKeyAndNoSecret(t *testing.T) {
	l, err := load([]string{"GAVEL_BOOTSTRAP_MANAGEMENT_KEY=hunter2"}, map[string]string{"groups": "4"})
	if err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	if err := l.WriteSources(&printed); err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{}
	for line := range strings.Lines(printed.String()) {
		words := strings.Fields(line)
		lines[words[0]] = strings.Join(words[1:], " ")
	}
	for key, want := range map[string]string{
		"groups": "4 flag --groups", "bootstrap_management_key": mask + " env GAVEL_BOOTSTRAP_MANAGEMENT_KEY",
		"bootstrap_auction_key": `"" default`, "raft.watchdog": "5s default",
	} {
		if lines[key] != want {
			t.Errorf("%s: %q, want %q", key, lines[key], want)
		}
	}
	if len(lines) != len(Settings())+1 {
		t.Errorf("%d lines, want one per key and a title", len(lines))
	}
	if strings.Contains(printed.String(), "hunter2") {
		t.Error("a secret was printed")
	}
}

func TestDefaultsAreValid(t *testing.T) {
	l, err := load(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range Settings() {
		if err := s.set(&l.Config, s.Default); s.Default != "" && err != nil {
			t.Errorf("%s: its default %q is refused: %v", s.Key, s.Default, err)
		}
	}
	if !reflect.DeepEqual(l.Config, Default()) {
		t.Errorf("reading the defaults as text gives %+v", l.Config)
	}
}

func TestShippedFilesLoad(t *testing.T) {
	files, err := filepath.Glob("../../configs/*.yaml")
	nested, wrong := filepath.Glob("../../configs/*/*.yaml")
	if err != nil || wrong != nil || len(files) == 0 || len(nested) == 0 {
		t.Fatalf("no files: %v %v", err, wrong)
	}
	files = append(files, nested...)
	for _, name := range files {
		l, err := load(nil, map[string]string{"config": name})
		if err != nil {
			t.Error(err)
		}
		if len(slices.Collect(maps.Keys(l.origins))) < 2 {
			t.Errorf("%s sets nothing", name)
		}
	}
}

func TestDataGroupsFollowTheCPUs(t *testing.T) {
	for cpus, want := range map[int]int{1: 1, 4: 1, 5: 4, 8: 4, 16: 4, 17: 8, 64: 8} {
		if got := Default().DataGroups(cpus); got != want {
			t.Errorf("%d CPUs: %d groups, want %d", cpus, got, want)
		}
	}
	if got := (Config{Groups: 3}).DataGroups(runtime.NumCPU()); got != 3 {
		t.Errorf("a set number: %d", got)
	}
}

func TestURLs(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:8081": "http://127.0.0.1:8081", "0.0.0.0:81": "http://localhost:81", ":81": "http://localhost:81",
		"[::]:81": "http://localhost:81", "[::1]:81": "http://[::1]:81", "gavel.internal:81": "http://gavel.internal:81",
	} {
		if got := Default().PublicURL(listen); got != want {
			t.Errorf("%s: %s, want %s", listen, got, want)
		}
	}
	c := Config{Server: Server{PublicURL: "https://ads.example.com", TrustedProxies: []string{"10.1.2.3", "fd00::/8"}}}
	if got := c.PublicURL("127.0.0.1:1"); got != "https://ads.example.com" {
		t.Error(got)
	}
	if p := c.Server.Proxies(); len(p) != 2 || p[0].Bits() != 32 || p[1].Bits() != 8 {
		t.Errorf("proxies %v", p)
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]Bytes{"0B": 0, "1B": 1, "64KiB": 64 * KiB, "3 MiB": 3 * MiB, "8GiB": 8 * GiB} {
		got, err := parseBytes(text)
		if err != nil || got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
		if back, err := parseBytes(got.String()); err != nil || back != want {
			t.Errorf("%q written as %q reads as %d, %v", text, got, back, err)
		}
	}
	for _, text := range []string{"", "B", "-1B", "1.5MiB", "1MB", "10", "9999999999GiB"} {
		if got, err := parseBytes(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

// FuzzFile: the reader returns faults with a place for every malformed file, and does not panic.
func FuzzFile(f *testing.F) {
	wrong, err := os.ReadFile("testdata/wrong.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(wrong))
	f.Add("a: b\n- c")
	f.Add("join: [a, {b: c}, *x]")
	f.Fuzz(func(t *testing.T, text string) {
		l := &Loaded{Config: Default(), origins: map[string]Origin{}}
		for _, fault := range l.readYAML("fuzz.yaml", []byte(text)) {
			if fault.Problem == "" || !strings.HasPrefix(fault.Where, "fuzz.yaml") {
				t.Errorf("fault %+v", fault)
			}
		}
	})
}
