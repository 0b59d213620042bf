package delivery

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// nonPublic are the networks that are not globally reachable, besides those that netip already reports as private, loopback,
// link-local or multicast. They are those of the IANA special-purpose address registries.
var nonPublic = prefixes(
	"0.0.0.0/8",       // This network.
	"100.64.0.0/10",   // Carrier-grade NAT; clouds put services there.
	"192.0.0.0/24",    // Protocol assignments.
	"192.0.2.0/24",    // Documentation.
	"192.88.99.0/24",  // 6to4 relays.
	"198.18.0.0/15",   // Benchmarks.
	"198.51.100.0/24", // Documentation.
	"203.0.113.0/24",  // Documentation.
	"240.0.0.0/4",     // Reserved, and broadcast.
	"2001::/23",       // Protocol assignments, Teredo among them.
	"2001:db8::/32",   // Documentation.
	"2002::/16",       // 6to4: an IPv4 address in IPv6.
	"3fff::/20",       // Documentation.
)

// globalUnicast contains all public IPv6 addresses. Outside of it are the many ways to embed an IPv4 address in an IPv6 one.
var globalUnicast = netip.MustParsePrefix("2000::/3")

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}

// isPublic reports whether connections to an address are allowed.
func isPublic(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	if !ip.IsGlobalUnicast() || ip.IsPrivate() { // Loopback, link-local, multicast and unspecified are not global.
		return false
	}
	if ip.Is6() && !globalUnicast.Contains(ip) {
		return false
	}
	for _, p := range nonPublic {
		if p.Contains(ip) {
			return false
		}
	}
	return true
}

// checkDial returns ErrForbidden for an address and port that a socket must not connect to. development allows loopback.
func checkDial(address string, development bool) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %q", ErrForbidden, address)
	}
	if isPublic(at.Addr()) || development && at.Addr().Unmap().IsLoopback() {
		return nil
	}
	return ErrForbidden
}

// urlMax is the longest URL, in bytes. BOUND: the interface's.
const urlMax = 2083

// Check returns what is wrong with a URL, as a text for the client: it must be https to a public name. Post checks what the name resolves
// to. development also allows http to this machine.
func Check(target string, development bool) error {
	u, err := url.Parse(target)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "" || len(target) > urlMax:
		return errors.New("must be an absolute https URL of at most 2,083 characters")
	case u.User != nil:
		return errors.New("must not carry a user name")
	case u.Fragment != "":
		return errors.New("must not carry a fragment")
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	ip, notIP := netip.ParseAddr(host)
	local := host == "localhost" || strings.HasSuffix(host, ".localhost") || notIP == nil && ip.Unmap().IsLoopback()
	if development && local && (u.Scheme == "http" || u.Scheme == "https") {
		return nil
	}
	switch {
	case u.Scheme != "https":
		return errors.New("must be https")
	case local, notIP == nil && !isPublic(ip), notIP != nil && numeric(host):
		return errors.New("must be a public address")
	}
	return nil
}

// numeric reports whether a name may be an IPv4 address in one of the historical notations that resolvers accept: decimal, octal
// and hexadecimal numbers, fewer than four. A top-level domain is never a number.
func numeric(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	hex := strings.HasPrefix(last, "0x")
	return last == "" || hex || !strings.ContainsFunc(last, func(c rune) bool { return c < '0' || c > '9' })
}
