package config

import (
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
)

// TLS reports whether the auction listener speaks TLS.
func (a Auction) TLS() bool { return a.TLSCertificate != "" }

// TLS reports whether the management listener speaks TLS, with a certificate from a file or by ACME.
func (m Management) TLS() bool { return m.TLSCertificate != "" || len(m.ACME.Hosts) > 0 }

// LocalAuctionURL returns the URL at which the auction listener, bound to listen, is reached from this machine.
func (c Config) LocalAuctionURL(listen string) string { return localURL(c.Auction.TLS(), listen) }

// LocalManageURL returns the URL at which the management listener, bound to listen, is reached from this machine.
func (c Config) LocalManageURL(listen string) string { return localURL(c.Management.TLS(), listen) }

// scheme is the URL scheme of a listener with or without TLS.
func scheme(secure bool) string {
	if secure {
		return "https://"
	}
	return "http://"
}

// localURL returns the URL at which a listener of this machine can be reached. All addresses become localhost.
func localURL(secure bool, listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return scheme(secure) + listen
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return scheme(secure) + net.JoinHostPort(host, port)
}

// PlainBeyondLoopback returns the addresses at which other machines reach a listener without TLS.
func (c Config) PlainBeyondLoopback() []string {
	var out []string
	for _, l := range c.clientListeners() {
		if !l.secure && !loopback(l.address) {
			out = append(out, l.address)
		}
	}
	return out
}

// clientListener is a listener for clients and its settings.
type clientListener struct {
	section, listenKey, address, certificate, key string

	secure bool // It speaks TLS.
}

func (c Config) clientListeners() []clientListener {
	return []clientListener{
		{"auction", "auction_listen", c.AuctionListen, c.Auction.TLSCertificate, c.Auction.TLSKey, c.Auction.TLS()},
		{"management", "manage_listen", c.ManageListen, c.Management.TLSCertificate, c.Management.TLSKey, c.Management.TLS()},
	}
}

// checkTLS requires TLS on every listener that other machines reach, or the setting that accepts API keys in plain text.
func (c Config) checkTLS(add func(key, problem string, args ...any)) {
	for _, l := range c.clientListeners() {
		switch {
		case l.certificate != "" && l.key == "":
			add(l.section+".tls_key", "the setting is missing: %s.tls_certificate and %[1]s.tls_key must be set together", l.section)
		case l.certificate == "" && l.key != "":
			add(l.section+".tls_certificate", "the setting is missing: %s.tls_certificate and %[1]s.tls_key must be set together", l.section)
		case !l.secure && !loopback(l.address) && !c.Server.PlainHTTP:
			add(l.listenKey, "%s is reachable from other machines, and without TLS API keys would be sent in plain text; "+
				"set %s.tls_certificate and %[2]s.tls_key, or server.plain_http where a TLS proxy or a private network is in front", l.address, l.section)
		}
	}
}

// acmeHost is the form of a name for which authorities make certificates: two labels or more, no address, no wildcard.
// Names in other scripts are written as xn--….
var acmeHost = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])$`)

// acmeHostsMax is the largest number of names. BOUND: each is an order at the authority, which limits them by the hour.
const acmeHostsMax = 20

// checkACME requires names that an authority can verify, and nothing that contradicts them.
func (c Config) checkACME(add func(key, problem string, args ...any)) {
	a := c.Management.ACME
	if len(a.Hosts) == 0 {
		if a.Email != "" {
			add("management.acme.hosts", "the setting is missing, so management.acme.email has no effect")
		}
		return
	}
	if c.Management.TLSCertificate != "" || c.Management.TLSKey != "" {
		add("management.acme.hosts", "management.tls_certificate or management.tls_key is set, too; set one of the two: files, or ACME")
	}
	if len(a.Hosts) > acmeHostsMax {
		add("management.acme.hosts", "%d names; at most %d", len(a.Hosts), acmeHostsMax)
	}
	for _, host := range a.Hosts {
		if len(host) > 253 || !acmeHost.MatchString(host) {
			add("management.acme.hosts", "%q is not a DNS name such as ads.example.com, in lower case and without port and wildcard", host)
		}
	}
	if address, err := mail.ParseAddress(a.Email); a.Email != "" && (err != nil || address.Address != a.Email) {
		add("management.acme.email", "%q is not an e-mail address", a.Email)
	}
	u, err := url.Parse(a.Directory)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && (u.Scheme != "http" || !loopback(hostPort(u))) {
		add("management.acme.directory", "%q is not an https URL without user name; plain http is for loopback addresses", withoutUserinfo(a.Directory))
	}
}
