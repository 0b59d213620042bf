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
