package config

import (
	"fmt"
	"maps"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Validate checks the rules that no single value shows: forms of addresses and URLs, and rules between settings. The
// error joins one *Fault per mistake.
func (c Config) Validate() error { return join(c.faults()) }

func (c Config) faults() []*Fault {
	var faults []*Fault
	add := func(key, problem string, args ...any) {
		faults = append(faults, &Fault{Key: key, Problem: fmt.Sprintf(problem, args...)})
	}
	if c.DataDir == "" {
		add("data_dir", "the setting is empty; a node needs a directory")
	}
	if !nodeID.MatchString(c.NodeID) {
		add("node_id", "%q is not 1 to 64 letters, digits, dots, dashes or underscores", c.NodeID)
	}
	if c.Memory.Limit != 0 && c.Memory.Limit < memoryLimitMin {
		add("memory.limit", "%s is less than %s: the caches of the store alone need 150MiB", c.Memory.Limit, memoryLimitMin)
	}
	if c.Peer.ConnectionsMax != 0 && c.Peer.ConnectionsMax < peerConnectionsMin {
		add("peer.connections_max", "%d is less than %d: five nodes with a few groups need that many", c.Peer.ConnectionsMax, peerConnectionsMin)
	}
	if delay, err := parseDuration(c.Drain.Delay); c.Drain.Delay != DrainAuto && (err != nil || delay < 0 || delay > drainDelayMax) {
		add("drain.delay", "%q is neither auto nor a duration from 0s to %s", c.Drain.Delay, durationText(drainDelayMax))
	}
	c.checkAddresses(add)
	c.checkTLS(add)
	c.checkACME(add)
	c.checkPeers(add)
	c.checkWeb(add)
	c.checkBlob(add)
	c.checkExport(add)
	c.checkSinks(add)
	c.checkConnectors(add)
	c.checkMail(add)
	c.checkAdmin(add)
	c.checkProvider(add)
	c.checkTracing(add)
	if c.Raft.TrailingLogs < 2*c.Raft.SnapshotThreshold {
		add("raft.trailing_logs", "%d is less than twice raft.snapshot_threshold (%d): a slow follower would need a snapshot each time",
			c.Raft.TrailingLogs, c.Raft.SnapshotThreshold)
	}
	return faults
}

// peerConnectionsMin is the smallest accepted maximum of peer connections. BOUND: raftstore needs that many for its own
// calls.
const peerConnectionsMin = 64

// memoryLimitMin is the smallest accepted limit of memory. BOUND: block cache, memtables and decoded log entries of the
// store have a fixed size.
const memoryLimitMin = 256 * MiB

var nodeID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

func (c Config) checkAddresses(add func(key, problem string, args ...any)) {
	seen := map[string]string{}
	for _, l := range []struct{ key, addr string }{
		{"auction_listen", c.AuctionListen}, {"manage_listen", c.ManageListen}, {"peer_listen", c.PeerListen},
	} {
		if problem := listenProblem(l.addr); problem != "" {
			add(l.key, "%s", problem)
			continue
		}
		if other := seen[l.addr]; other != "" && !strings.HasSuffix(l.addr, ":0") {
			add(l.key, "%s is also the address of %s; each listener needs its own port", l.addr, other)
		}
		seen[l.addr] = l.key
	}
	if c.PeerAdvertise != "" {
		if problem := dialProblem(c.PeerAdvertise); problem != "" {
			add("peer_advertise", "%s", problem)
		}
	}
	for _, peer := range c.Join {
		if problem := dialProblem(strings.TrimPrefix(peer, dnsPrefix)); problem != "" {
			add("join", "%s", problem)
		}
	}
}

// dnsPrefix begins an entry of join that stands for every address of a name.
const dnsPrefix = "dns:"

// dialProblem returns why peers cannot connect to an address, or "".
func dialProblem(addr string) string {
	if problem := listenProblem(addr); problem != "" {
		return problem
	}
	switch host, port, _ := net.SplitHostPort(addr); {
	case host == "":
		return fmt.Sprintf("%q has no host", addr)
	case port == "0":
		return fmt.Sprintf("%q: peers cannot connect to port 0", addr)
	}
	return ""
}

func listenProblem(addr string) string {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Sprintf("%q is not HOST:PORT", addr)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Sprintf("%q: the port is not a number from 0 to 65535", addr)
	}
	return ""
}

// checkPeers requires certificates, or plain TCP on this machine only, because the peer port carries every charge and
// every key hash.
func (c Config) checkPeers(add func(key, problem string, args ...any)) {
	files := map[string]string{"peer_certificate": c.PeerCertificate, "peer_key": c.PeerKey, "peer_authority": c.PeerAuthority}
	for _, key := range slices.Sorted(maps.Keys(files)) {
		if files[key] == "" && c.PeerCertificate+c.PeerKey+c.PeerAuthority != "" {
			add(key, "the setting is missing: peer_certificate, peer_key and peer_authority must be set together")
		}
	}
	switch {
	case c.PeerInsecure && c.PeerTLS():
		add("peer_insecure", "peer_certificate is set, too; set one of the two")
	case !c.Clustered() && (len(c.Join) > 0 || c.BootstrapExpect > 1 || c.Learner):
		add("join", "a cluster of several nodes needs peer_certificate, peer_key and peer_authority (gavel cluster certificates makes them), or peer_insecure on loopback")
	case len(c.Join) == 0 && c.BootstrapExpect > 1:
		add("bootstrap_expect", "%d nodes cannot find each other; set join", c.BootstrapExpect)
	case len(c.Join) == 0 && c.Learner:
		add("learner", "a non-voter needs a cluster to join; set join")
	}
	if !c.PeerInsecure {
		return
	}
	peers := append([]string{c.PeerListen}, c.Join...)
	if c.PeerAdvertise != "" {
		peers = append(peers, c.PeerAdvertise)
	}
	for _, peer := range peers {
		if !loopback(strings.TrimPrefix(peer, dnsPrefix)) {
			add("peer_insecure", "refused because the peer address %s is not loopback; peers across machines need TLS", peer)
		}
	}
}

// loopback reports whether an address can only be reached from this machine. Names other than localhost are not
// resolved, because their addresses may change after the check.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return true // Another check reports that it is no address.
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func (c Config) checkMail(add func(key, problem string, args ...any)) {
	if c.SMTP.Server == "" {
		return
	}
	if _, _, err := net.SplitHostPort(c.SMTP.Server); err != nil {
		add("smtp.server", "%q is not HOST:PORT", c.SMTP.Server)
	}
	if a, err := mail.ParseAddress(c.SMTP.From); err != nil || a.Address != c.SMTP.From {
		add("smtp.from", "%q is not an e-mail address", c.SMTP.From)
	}
	if c.SMTP.TLS == "none" && c.SMTP.Password != "" {
		add("smtp.tls", "none would send the password in clear")
	}
}

// checkProvider requires what a sign-in through an identity provider needs. Plain HTTP would let anybody on the way sign in.
func (c Config) checkProvider(add func(key, problem string, args ...any)) {
	o := c.OIDC
	if o.Issuer == "" {
		if o.ClientID != "" || o.ClientSecretFile != "" || o.RoleClaim != "" || len(o.Roles) > 0 {
			add("oidc.issuer", "is missing, so the other settings of oidc have no effect")
		}
		return
	}
	u, err := url.Parse(o.Issuer)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && (u.Scheme != "http" || !loopback(hostPort(u))) {
		add("oidc.issuer", "%q is not an https URL without user name, query and fragment; plain http is for loopback addresses", withoutUserinfo(o.Issuer))
	}
	if o.ClientID == "" {
		add("oidc.client_id", "is needed together with oidc.issuer")
	}
	if o.ClientSecret != "" && o.ClientSecretFile != "" {
		add("oidc.client_secret_file", "oidc.client_secret is set, too; set one of the two")
	}
	if (o.RoleClaim == "") != (len(o.Roles) == 0) {
		add("oidc.role_claim", "is needed together with oidc.roles")
	}
	for _, r := range o.Roles {
		if value, role, _ := strings.Cut(r, "="); value == "" || !slices.Contains([]string{"admin", "operator", "analyst"}, role) {
			add("oidc.roles", "%q is not VALUE=ROLE with the role admin, operator or analyst", r)
		}
	}
}

func (c Config) checkTracing(add func(key, problem string, args ...any)) {
	if c.Tracing.Endpoint == "" {
		return
	}
	u, err := url.Parse(c.Tracing.Endpoint)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http" {
		add("tracing.endpoint", "%q is not an http or https URL without user name, query and fragment", withoutUserinfo(c.Tracing.Endpoint))
	}
}

// hostPort is the host of a URL with its port, as loopback takes it.
func hostPort(u *url.URL) string {
	if u.Port() == "" {
		return net.JoinHostPort(u.Hostname(), "80")
	}
	return u.Host
}

func (c Config) checkAdmin(add func(key, problem string, args ...any)) {
	if (c.Admin.Email == "") != (c.Admin.PasswordFile == "") {
		add("admin.email", "is needed together with admin.password_file")
	}
	if a, err := mail.ParseAddress(c.Admin.Email); c.Admin.Email != "" && (err != nil || a.Address != c.Admin.Email) {
		add("admin.email", "%q is not an e-mail address", c.Admin.Email)
	}
}

var areaForm = regexp.MustCompile(`^[a-z][a-z0-9]{0,31}$`)

func (c Config) checkWeb(add func(key, problem string, args ...any)) {
	if u := c.Server.PublicURL; u != "" && (!isOrigin(u, true) || strings.HasSuffix(u, "/")) {
		add("server.public_url", "%q is not a URL such as https://ads.example.com without a slash at the end", u)
	}
	for _, p := range c.Server.TrustedProxies {
		if _, err := parsePrefix(p); err != nil {
			add("server.trusted_proxies", "%q is neither an IP address nor a CIDR range", p)
		}
	}
	for _, o := range c.CORS.Origins {
		if o != "*" && !isOrigin(o, false) {
			add("cors.origins", "%q is not an origin such as https://shop.example.com, and not *", o)
		}
	}
	for _, o := range c.Management.CORSOrigins {
		if !isOrigin(o, false) {
			add("management.cors_origins", "%q is not an origin such as https://admin.example.com", o)
		}
	}
	for _, name := range c.Management.AgencyAreas {
		if !areaForm.MatchString(name) {
			add("management.agency_areas", "%q must be 1 to 32 lower-case letters and digits, the first a letter", name)
		}
	}
}

func (c Config) checkBlob(add func(key, problem string, args ...any)) {
	if u := c.Blob.PublicURL; u != "" && (!isOrigin(u, true) || strings.HasSuffix(u, "/")) {
		add("blob.public_url", "%q is not a URL such as https://assets.example.net without a slash at the end", u)
	}
	if c.Blob.Driver == "s3" {
		c.checkService(add, "blob.driver")
	}
}

// checkService requires what the S3 service needs, for the driver of a setting.
func (c Config) checkService(add func(key, problem string, args ...any), driver string) {
	for _, s := range []struct{ key, value string }{
		{"blob.endpoint", c.Blob.Endpoint},
		{"blob.bucket", c.Blob.Bucket},
		{"blob.access_key", c.Blob.AccessKey.Reveal()},
		{"blob.secret_key", c.Blob.SecretKey.Reveal()},
	} {
		if s.value == "" && !(s.key == "blob.bucket" && driver == "export.driver" && c.Export.Bucket != "") {
			add(s.key, "the setting is empty; %s s3 needs it", driver)
		}
	}
	if strings.Contains(c.Blob.Endpoint, "/") {
		add("blob.endpoint", "%q is not HOST or HOST:PORT", c.Blob.Endpoint)
	}
}

func (c Config) checkExport(add func(key, problem string, args ...any)) {
	switch c.Export.Driver {
	case "local":
		if c.Export.Dir == "" {
			add("export.dir", "the setting is empty; export.driver local needs it")
		}
	case "s3":
		if c.Blob.Driver != "s3" { // Else it is checked already.
			c.checkService(add, "export.driver")
		}
		if c.Export.Prefix == "" {
			add("export.prefix", "the setting is empty; exported files need a prefix of their own")
		}
	}
}

// networks are the ad networks of the interface.
var networks = []string{"google_ads", "meta", "tiktok_ads", "snapchat_ads"}

func (c Config) checkConnectors(add func(key, problem string, args ...any)) {
	seen := map[string]bool{}
	for _, text := range c.Offsite.Connectors {
		network, target, _ := strings.Cut(text, "=")
		u, err := url.Parse(target)
		switch {
		case !slices.Contains(networks, network):
			add("offsite.connectors", "%q does not begin with one of %s", text, strings.Join(networks, ", "))
		case seen[network]:
			add("offsite.connectors", "the network %s occurs twice", network)
		case target == Sandbox:
		case err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && !(u.Scheme == "http" && c.Webhooks.Development):
			add("offsite.connectors", "%q is not NETWORK=https://… and not NETWORK=sandbox", text)
		}
		seen[network] = true
	}
}

// isOrigin reports whether text is http(s)://host[:port]; a path is accepted only when path is true.
func isOrigin(text string, path bool) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil &&
		(path || u.Path == "") && u.RawQuery == "" && u.Fragment == ""
}
