package config

import (
	"slices"
	"strings"
	"testing"
)

// Plain HTTP beyond loopback needs a setting; every fault names the setting that is wrong and what to set.
func TestPlainHTTPBeyondLoopbackNeedsASetting(t *testing.T) {
	for name, row := range map[string]struct {
		flags map[string]string
		fault string // Begin of the fault; empty: none.
		plain string // The addresses that the start logs.
	}{
		"loopback":                  {nil, "", ""},
		"localhost":                 {map[string]string{"auction-listen": "localhost:8080"}, "", ""},
		"all addresses":             {map[string]string{"auction-listen": ":8080"}, "auction_listen: :8080 is reachable", ":8080"},
		"an address of the network": {map[string]string{"manage-listen": "10.1.2.3:81"}, "manage_listen: 10.1.2.3:81 is reachable", "10.1.2.3:81"},
		"a name":                    {map[string]string{"manage-listen": "gavel.internal:81"}, "manage_listen: gavel.internal:81 is", "gavel.internal:81"},
		"the setting":               {map[string]string{"auction-listen": ":8080", "manage-listen": ":81", "server-plain-http": "true"}, "", ":8080 :81"},
		"TLS": {map[string]string{
			"auction-listen": ":8080", "auction-tls-certificate": "a.crt", "auction-tls-key": "a.key",
		}, "", ""},
		"ACME":           {map[string]string{"manage-listen": ":443", "management-acme-hosts": "ads.example.com,ads.example.org"}, "", ""},
		"no key":         {map[string]string{"auction-tls-certificate": "a.crt"}, "auction.tls_key: the setting is missing", ""},
		"no certificate": {map[string]string{"management-tls-key": "a.key"}, "management.tls_certificate: the setting is missing", ""},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := load(nil, row.flags)
			if row.fault == "" && err != nil || row.fault != "" && (err == nil || !strings.Contains(err.Error(), row.fault)) {
				t.Errorf("the fault is %v, want %q", err, row.fault)
			}
			if got := l.PlainBeyondLoopback(); !slices.Equal(got, strings.Fields(row.plain)) {
				t.Errorf("plain beyond loopback: %q, want %q", got, row.plain)
			}
		})
	}
}

// ACME is refused beside files, and with names that no authority can verify.
func TestACMESettings(t *testing.T) {
	for name, row := range map[string]struct {
		flags map[string]string
		fault string // Begin of the fault; empty: none.
	}{
		"names":               {map[string]string{"hosts": "ads.example.com,xn--bcher-kva.example,a1.b-c.example.org", "email": "ada@example.com"}, ""},
		"an own authority":    {map[string]string{"hosts": "ads.internal", "directory": "https://ca.internal:9000/acme/acme/directory"}, ""},
		"one of this machine": {map[string]string{"hosts": "ads.internal", "directory": "http://127.0.0.1:14000/dir"}, ""},
		"beside a file":       {map[string]string{"hosts": "ads.example.com", "../tls-certificate": "a.crt"}, "hosts: management.tls_certificate or"},
		"beside a key":        {map[string]string{"hosts": "ads.example.com", "../tls-key": "a.key"}, "hosts: management.tls_certificate or"},
		"an address":          {map[string]string{"hosts": "192.0.2.1"}, `hosts: "192.0.2.1" is not a DNS name`},
		"one label":           {map[string]string{"hosts": "localhost"}, `hosts: "localhost" is not a DNS name`},
		"a wildcard":          {map[string]string{"hosts": "*.example.com"}, `hosts: "*.example.com" is not a DNS name`},
		"a port":              {map[string]string{"hosts": "ads.example.com:443"}, `hosts: "ads.example.com:443" is not a DNS name`},
		"upper case":          {map[string]string{"hosts": "Ads.example.com"}, `hosts: "Ads.example.com" is not a DNS name`},
		"too many":            {map[string]string{"hosts": strings.Repeat("a.example,", 21)}, "hosts: 21 names; at most 20"},
		"an e-mail alone":     {map[string]string{"email": "ada@example.com"}, "hosts: the setting is missing"},
		"no e-mail address":   {map[string]string{"hosts": "ads.example.com", "email": "Ada"}, `email: "Ada" is not an e-mail address`},
		"plain HTTP":          {map[string]string{"hosts": "ads.example.com", "directory": "http://ca.example.com"}, "is not an https URL"},
		"no directory":        {map[string]string{"hosts": "ads.example.com", "directory": "ca"}, `directory: "ca" is not an https URL`},
	} {
		t.Run(name, func(t *testing.T) {
			flags := map[string]string{}
			for flag, value := range row.flags {
				if own, found := strings.CutPrefix(flag, "../"); found {
					flags["management-"+own] = value
				} else {
					flags["management-acme-"+flag] = value
				}
			}
			l, err := load(nil, flags)
			if row.fault == "" {
				if err != nil || !l.Management.TLS() {
					t.Errorf("TLS %t, %v", l.Management.TLS(), err)
				}
			} else if err == nil || !strings.Contains(err.Error(), "management.acme.") || !strings.Contains(err.Error(), row.fault) {
				t.Errorf("the fault is %v, want %q", err, row.fault)
			}
		})
	}
}

// A section inside of another one is nested in a file, and a misspelt key of it is explained.
func TestNestedSections(t *testing.T) {
	const text = "management:\n  acme:\n    hosts: [ads.example.com]\n    email: ada@example.com\n  tls_key: \"\"\n"
	l, err := load(nil, map[string]string{"config": file(t, text)})
	if err != nil {
		t.Fatal(err)
	}
	if a := l.Management.ACME; !slices.Equal(a.Hosts, []string{"ads.example.com"}) || a.Email != "ada@example.com" || a.Directory == "" {
		t.Errorf("%+v", a)
	}
	for text, want := range map[string]string{
		"management:\n  acme:\n    host: [a.example]\n": "did you mean hosts?",
		"management:\n  acne:\n    hosts: []\n":         "did you mean acme?",
		"management:\n  acme: ads.example.com\n":        "expected keys and values here",
		"acme:\n  hosts: [a.example]\n":                 `unknown key "acme"`,
	} {
		if _, err := load(nil, map[string]string{"config": file(t, text)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s%v, want %q", text, err, want)
		}
	}
}

func TestURLsOfListenersWithTLS(t *testing.T) {
	c := Default()
	c.Auction.TLSCertificate, c.Management.TLSCertificate = "a.crt", "a.crt"
	if got := c.PublicURL(":8081") + " " + c.AuctionURL("127.0.0.1:8080"); got != "https://localhost:8081 https://127.0.0.1:8080" {
		t.Error(got)
	}
	c.Server.PublicURL = "https://ads.example.com"
	if got := c.AuctionURL(":8080"); got != "https://ads.example.com:8080" {
		t.Error(got)
	}
}
