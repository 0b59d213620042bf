package config

import (
	"net"
	"net/netip"
)

// TLS reports whether the auction listener speaks TLS.
func (a Auction) TLS() bool { return a.TLSCertificate != "" }

// TLS reports whether the management listener speaks TLS.
func (m Management) TLS() bool { return m.TLSCertificate != "" }

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
		if l.certificate == "" && !loopback(l.address) {
			out = append(out, l.address)
		}
	}
	return out
}

// clientListener is a listener for clients and its settings.
type clientListener struct{ section, listenKey, address, certificate, key string }

func (c Config) clientListeners() []clientListener {
	return []clientListener{
		{"auction", "auction_listen", c.AuctionListen, c.Auction.TLSCertificate, c.Auction.TLSKey},
		{"management", "manage_listen", c.ManageListen, c.Management.TLSCertificate, c.Management.TLSKey},
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
		case l.certificate == "" && !loopback(l.address) && !c.Server.PlainHTTP:
			add(l.listenKey, "%s is reachable from other machines, and without TLS API keys would be sent in plain text; "+
				"set %s.tls_certificate and %[2]s.tls_key, or server.plain_http where a TLS proxy or a private network is in front", l.address, l.section)
		}
	}
}
