package config

import (
	"regexp"
	"slices"
	"strings"
)

// Forms of names at brokers, and of the names of cursors.
var (
	kafkaTopic  = regexp.MustCompile(`^[A-Za-z0-9._-]{1,249}$`)
	natsSubject = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}(\.[A-Za-z0-9_-]{1,100}){0,9}$`)
	cursorForm  = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)
)

// sinkConnection is what the settings of all sinks have.
type sinkConnection struct {
	section     string
	addressKey  string
	addresses   []string
	cursor      string
	tls         bool
	authority   string
	certificate string
	key         string
	secret      string // The first setting that holds a secret; empty: none does.
}

// checkSinks requires what the sinks that are on need. A secret is sent in plain text to this machine only.
func (c Config) checkSinks(add func(key, problem string, args ...any)) {
	k, n := c.Sinks.Kafka, c.Sinks.NATS
	if len(k.Brokers) > 0 {
		c.checkKafka(add)
	}
	if len(n.Servers) > 0 {
		c.checkNATS(add)
	}
	if len(k.Brokers) > 0 && len(n.Servers) > 0 && k.Cursor == n.Cursor {
		add("sinks.nats.cursor", "%q is also sinks.kafka.cursor; each sink needs its own", n.Cursor)
	}
}

func (c Config) checkKafka(add func(key, problem string, args ...any)) {
	k := c.Sinks.Kafka
	x := sinkConnection{"sinks.kafka", "sinks.kafka.brokers", k.Brokers, k.Cursor, k.TLS, k.Authority, k.Certificate, k.Key, ""}
	if k.Password != "" {
		x.secret = "sinks.kafka.password"
	}
	x.check(add)
	for _, t := range []struct{ key, topic string }{
		{"sinks.kafka.charges_topic", k.ChargesTopic}, {"sinks.kafka.conversions_topic", k.ConversionsTopic},
	} {
		if !kafkaTopic.MatchString(t.topic) || t.topic == "." || t.topic == ".." {
			add(t.key, "%q is not 1 to 249 letters, digits, dots, dashes or underscores", t.topic)
		}
	}
	if (k.SASL != "none") != (k.Username != "" && k.Password != "") || (k.Username == "") != (k.Password == "") {
		add("sinks.kafka.sasl", "%q: a mechanism, sinks.kafka.username and sinks.kafka.password must be set together", k.SASL)
	}
}

func (c Config) checkNATS(add func(key, problem string, args ...any)) {
	n := c.Sinks.NATS
	x := sinkConnection{"sinks.nats", "sinks.nats.servers", n.Servers, n.Cursor, n.TLS, n.Authority, n.Certificate, n.Key, ""}
	switch {
	case n.Password != "":
		x.secret = "sinks.nats.password"
	case n.Token != "":
		x.secret = "sinks.nats.token"
	}
	x.check(add)
	if !natsSubject.MatchString(n.Subject) {
		add("sinks.nats.subject", "%q is not 1 to 10 words of letters, digits, dashes or underscores with dots between them", n.Subject)
	}
	if (n.Username == "") != (n.Password == "") {
		add("sinks.nats.username", "is needed together with sinks.nats.password")
	}
	used := slices.DeleteFunc([]string{n.Username, n.Token.Reveal(), n.Credentials}, func(s string) bool { return s == "" })
	if len(used) > 1 {
		add("sinks.nats.username", "more than one of sinks.nats.username, sinks.nats.token and sinks.nats.credentials is set; set one of them")
	}
}

func (x *sinkConnection) check(add func(key, problem string, args ...any)) {
	plain := ""
	for _, address := range x.addresses {
		switch problem := dialProblem(address); {
		case strings.ContainsAny(address, "@/"): // It may hold a password.
			add(x.addressKey, "an entry is a URL or has a user name; each is HOST:PORT, and user names and passwords are settings of their own")
		case problem != "":
			add(x.addressKey, "%s", problem)
		case !loopback(address):
			plain = address
		}
	}
	if !cursorForm.MatchString(x.cursor) {
		add(x.section+".cursor", "%q is not 1 to 32 lower-case letters, digits or dashes", x.cursor)
	}
	if (x.certificate == "") != (x.key == "") {
		add(x.section+".certificate", "is needed together with %s.key", x.section)
	}
	if x.tls {
		return
	}
	if x.authority != "" || x.certificate != "" {
		add(x.section+".tls", "is needed for %s.authority and %[1]s.certificate", x.section)
	}
	if plain != "" && x.secret != "" {
		add(x.section+".tls", "is needed: without it %s would be sent in clear to %s", x.secret, plain)
	}
}
