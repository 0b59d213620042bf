package manage

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// proxies are the addresses of proxies whose X-Forwarded-For is used.
type proxies []netip.Prefix

func parseProxies(all []string) (proxies, error) {
	var p proxies
	for _, text := range all {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			address, bad := netip.ParseAddr(text)
			if bad != nil {
				return nil, fmt.Errorf("trusted proxy %q: %w", text, bad)
			}
			prefix = netip.PrefixFrom(address, address.BitLen())
		}
		p = append(p, prefix.Masked())
	}
	return p, nil
}

func (p proxies) trust(a netip.Addr) bool {
	return slices.ContainsFunc(p, func(prefix netip.Prefix) bool { return prefix.Contains(a) })
}

// client returns the address of the client: the peer's, or the last address in X-Forwarded-For that was added for a peer
// which is not a trusted proxy. The client wrote what precedes that, so it may be anything.
func (p proxies) client(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	address := peer.Addr().Unmap()
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && p.trust(address); i-- {
		before, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		address = before.Unmap()
	}
	return address
}
