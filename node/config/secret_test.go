package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// TestNoFaultPrintsASecret: the description of a mistake in or near a secret does not contain the secret, in whatever
// way YAML can write it.
func TestNoFaultPrintsASecret(t *testing.T) {
	const secret = "hunter2hunter2"
	for _, s := range Settings() {
		if !s.Secret {
			continue
		}
		// write puts text under the setting's section, with $ for the name of the setting.
		write := func(text string) string {
			name := s.Key[strings.LastIndexByte(s.Key, '.')+1:]
			text = strings.ReplaceAll(text, "$", name)
			if s.Section == "" {
				return text
			}
			var b strings.Builder
			b.WriteString(s.Section + ":\n")
			for line := range strings.Lines(text) {
				b.WriteString("  " + line)
			}
			return b.String()
		}
		for _, text := range []string{
			write("$: "+secret+"\n") + "grups: 1\n", // The next line is wrong.
			write("$: "+secret+"\n") + "groups: many\n",
			write("$: [" + secret + "]\n"),
			write("$: {a: " + secret + "}\n"),
			write("$:\n  a: " + secret + "\n"),
			write("$:\n- " + secret + "\n"),
			write("$: |\n  "+secret+"\n") + "groups: many\n",
			write("x$: " + secret + "\n"),
			write("$x: \"" + secret + "\"\n"),
			write("\"x$\": '" + secret + "'\n"),
			write("$: \""+secret+"\n") + "groups: 1\n",
			write("$: \"\\q" + secret + "\"\n"),
			write("$: !" + secret + "\n"),
			write("$: *" + secret + "\n"),
			write("$: %" + secret + "\n"),
			write("$: a: " + secret + "\n"),
			write("$: a\n$: " + secret + "\n"),
			write(secret + ": 1\n"),
			write(secret + "\n"),
			"groups: many # " + secret + "\n",
			"log: {level: no, $: " + secret + "}\n",
			"%YAML " + secret + "\n---\ngroups: 1\n",
			"server:\n  public_url: https://user:" + secret + "@ads.example/\n",
			"blob:\n  driver: s3\n  endpoint: https://user:" + secret + "@s3.example\n",
			"offsite:\n  connectors:\n  - meta=https://user:" + secret + "@ads.example\n",
			"sinks:\n  kafka:\n    brokers: [\"user:" + secret + "@kafka.example:9092\"]\n",
			"sinks:\n  nats:\n    servers: [\"nats://user:" + secret + "@nats.example:4222\"]\n",
		} {
			_, err := load(nil, map[string]string{"config": file(t, text)})
			if err == nil {
				continue // YAML reads it as a value.
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("a secret was printed for\n%s\n%v", text, err)
			}
		}
		for _, set := range []func(*testing.T) error{
			func(*testing.T) error {
				_, err := load([]string{s.Env + "=" + secret, "GAVEL_GROUPS=many"}, nil)
				return err
			},
			func(*testing.T) error {
				_, err := load(nil, map[string]string{s.Flag: secret, "groups": "many"})
				return err
			},
			func(*testing.T) error {
				_, err := load([]string{s.Env + "X=" + secret, "GAVEL_GROUPS=many"}, nil)
				return err
			},
		} {
			if err := set(t); err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %v", s.Key, err)
			}
		}
	}
}

// TestNothingPrintsASecret: no way of printing the whole configuration shows its secrets.
func TestNothingPrintsASecret(t *testing.T) {
	const secret = "hunter2hunter2"
	flags := map[string]string{"blob-endpoint": "https://user:" + secret + "@s3.example"} // The local driver does not check the endpoint.
	n := 0
	for _, s := range Settings() {
		if s.Secret {
			flags[s.Flag] = secret
			n++
		}
	}
	l, err := load(nil, flags)
	if err != nil || n != 10 {
		t.Fatalf("%d secrets, %v", n, err)
	}
	var b bytes.Buffer
	if err := l.WriteYAML(&b); err != nil {
		t.Fatal(err)
	}
	if err := l.WriteSources(&b); err != nil {
		t.Fatal(err)
	}
	c := l.Config
	c.Blob.Endpoint = ""
	fmt.Fprintf(&b, "%v %+v %#v %s %q %x", c, c, c, c.SMTP.Password, c.SMTP.Password, c.SMTP.Password)
	slog.New(slog.NewTextHandler(&b, nil)).Info("config", slog.Any("config", c), slog.Any("password", c.SMTP.Password))
	slog.New(slog.NewJSONHandler(&b, nil)).Info("config", slog.Any("config", c), slog.Any("password", c.SMTP.Password))
	if err := json.NewEncoder(&b).Encode(c); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); strings.Contains(text, secret) || strings.Contains(text, fmt.Sprintf("%x", secret)) {
		t.Errorf("a secret was printed:\n%s", text)
	}
	if c.SMTP.Password.Reveal() != secret {
		t.Errorf("the password is %q", c.SMTP.Password.Reveal())
	}
}
