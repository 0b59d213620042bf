// Package config is what an operator can set: one struct, read from flags, the environment and a YAML file by one rule.
//
// The rule. Every field of Config has one key, and the key gives the three names. A field's Go name is cut into words,
// the words are joined with _ and written in lower case; a field of a section stands under the section's name.
//
//	field                    YAML key                  flag                       environment
//	AuctionListen            auction_listen            --auction-listen           GAVEL_AUCTION_LISTEN
//	Management.CORSOrigins   management.cors_origins   --management-cors-origins  GAVEL_MANAGEMENT_CORS_ORIGINS
//
// So a flag is the key with - for every . and _, and a variable is GAVEL_ and the key in capitals with _ for every dot.
// In YAML the dot is nesting. A flag wins over the environment, the environment over the file, the file over the default.
//
// Values are written alike everywhere: sizes and durations carry their unit (10MiB, 5s; a bare number is refused with
// the reason), lists are comma-separated in flags and variables and sequences in YAML. The environment cannot say
// "absent": a variable that is set to nothing counts as not set.
//
// A wrong configuration starts nothing. Load reports every fault at once, each with its place, its value and the limit.
package config

import (
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"time"
)

// Config is the effective configuration of a node. A value that Load returned without an error keeps every bound
// written in the tags and every rule of Validate.
type Config struct {
	Config  string `help:"YAML file to read settings from." placeholder:"FILE"`
	DataDir string `help:"Directory of everything the node keeps; made when missing." placeholder:"DIR"`

	AuctionListen string `help:"Address of the auction listener: /v2/* and /healthz." placeholder:"HOST:PORT"`
	ManageListen  string `help:"Address of the management listener: /public/v1/*, /v2/*, /metrics, /readyz." placeholder:"HOST:PORT"`
	PeerListen    string `help:"Address other nodes of the cluster reach this one at." placeholder:"HOST:PORT"`

	NodeID          string        `help:"Name of this node, unique in its cluster; kept for the node's life." placeholder:"NAME"`
	Join            []string      `help:"Peer addresses of the cluster, the same list on every node, this one included or not; dns:NAME:PORT is every address that NAME has." placeholder:"HOST:PORT,…"`
	BootstrapExpect int           `help:"How many nodes found a new cluster together, when no member of one can be asked. With join, 1 never founds and only joins." placeholder:"N" min:"1" max:"5"`
	PeerAdvertise   string        `help:"Address that peers dial, when it is not the one of peer_listen." placeholder:"HOST:PORT"`
	PeerCertificate string        `help:"Certificate of this node, PEM; its DNS names hold the node id. Goes with peer_key and peer_authority; the peer port opens with them." placeholder:"FILE"`
	PeerKey         string        `help:"Private key of peer_certificate, PEM." placeholder:"FILE"`
	PeerAuthority   string        `help:"Certificate of the authority that signs the nodes of this cluster and nothing else, PEM." placeholder:"FILE"`
	PeerInsecure    bool          `help:"Speak plain TCP to peers; refused unless every peer address is loopback."`
	Learner         bool          `help:"Join without a vote and stay so: the node answers auctions and takes events, and no commit waits for it."`
	Staleness       time.Duration `help:"Campaigns stop to win on a node that has not heard for so long what their budgets are." placeholder:"DURATION" min:"1s" max:"1m"`
	Groups          int           `help:"Data groups of a new cluster, fixed at its first start; 0: as the cluster has, or its founder's number of CPUs says (1 up to 4, 4 up to 16, then 8)." placeholder:"N" min:"0" max:"256"`

	KeysFile               string `help:"First start of a cluster: write its first keys to this file (JSON, mode 0600) instead of printing them." placeholder:"FILE"`
	BootstrapAuctionKey    Secret `help:"First start of a cluster: use this auction key. Prefer the variable: flags show in the process list." placeholder:"KEY"`
	BootstrapManagementKey Secret `help:"First start of a cluster: use this management key. Prefer the variable: flags show in the process list." placeholder:"KEY"`

	Server     Server
	Auction    Auction
	Management Management
	Peer       Peer
	Memory     Memory
	CORS       CORS
	Ratelimit  Ratelimit
	Limits     Limits
	Quotas     Quotas
	Explain    Explain
	Background Background
	Blob       Blob
	Offsite    Offsite
	Webhooks   Webhooks
	SMTP       SMTP
	Raft       Raft
	Disk       Disk
	Log        Log
}

// Server says how the world outside sees this node.
type Server struct {
	PublicURL      string   `help:"Base URL that answers, uploads and documents link to, without a slash at the end; empty: the management listener's." placeholder:"URL"`
	TrustedProxies []string `help:"Addresses or CIDR ranges of the proxies whose X-Forwarded-For is believed." placeholder:"CIDR,…"`
}

// Auction belongs to the auction listener alone.
type Auction struct {
	FastPath       bool `help:"Read requests of the usual form with the listener's own parser; false: the HTTP library reads every request, with the same answers and more CPU for each."`
	ConnectionsMax int  `help:"Connections of the auction listener at the same time; 0: by the limits of open files and memory. At the bound, connections without a key are closed first, then idle ones." placeholder:"N" min:"0" max:"1000000"`
}

// Peer belongs to the peer port alone.
type Peer struct {
	ConnectionsMax int `help:"Connections of the peer port at the same time; 0: by the limit of open files; at least 64. The node opens about as many itself." placeholder:"N" min:"0" max:"1000000"`
}

// Memory bounds what the process uses.
type Memory struct {
	Limit Bytes `help:"Memory that the process should stay under; the limit of the Go runtime and the budgets of requests follow from it. 0: the limit of the control group, else three quarters of the machine's memory; at least 256MiB. GOMEMLIMIT, when set, is kept." placeholder:"SIZE" min:"0B" max:"1024GiB"`
}

// Management belongs to the management listener alone.
type Management struct {
	CORSOrigins    []string `help:"Origins that may call /public/v1 from a browser; management keys do not belong there, so none by default." placeholder:"ORIGIN,…"`
	ConnectionsMax int      `help:"Connections of the management listener at the same time; 0: by the limits of open files and memory. At the bound, connections without a key are closed first, then idle ones." placeholder:"N" min:"0" max:"1000000"`
	AgencyAreas    []string `help:"Further names under which the campaigns of agencies are served, beside agency and toppie: /public/v1/NAME/campaigns." placeholder:"NAME,…"`
}

// CORS is for the parts of the interface that browsers call by design: /v2 and the vendor dialog.
type CORS struct {
	Origins []string `help:"Origins that may call /v2 and the vendors' dialog from a browser; * is every origin." placeholder:"ORIGIN,…"`
}

// Ratelimit holds requests per fixed window, per client address and key, counted by each node alone. Zero: no limit.
type Ratelimit struct {
	Management int `help:"Management requests per client and key in 2 s; 0: no limit." placeholder:"N" min:"0" max:"1000000"`
	Catalog    int `help:"Catalog requests per client and key in 1 s; 0: no limit." placeholder:"N" min:"0" max:"1000000"`
}

// Limits bounds what one request may bring.
type Limits struct {
	AuctionBody    Bytes `help:"Largest body of an auction request." placeholder:"SIZE" min:"64KiB" max:"64MiB"`
	EventBody      Bytes `help:"Largest body of an event request." placeholder:"SIZE" min:"64KiB" max:"64MiB"`
	ManagementBody Bytes `help:"Largest body of a management request." placeholder:"SIZE" min:"64KiB" max:"64MiB"`
	RequestHead    Bytes `help:"Largest request line and headers together." placeholder:"SIZE" min:"4KiB" max:"64KiB"`
}

// Quotas bounds what one marketplace, or one vendor of it, can store. The node that takes a request decides by its own, so
// they are the same on all nodes of a cluster.
//
// BOUND: the defaults are beyond any shop that was met, and keep one tenant from the memory of the others: ten million bids
// take about 0.8 GB on every node.
type Quotas struct {
	Campaigns       int   `help:"Campaigns of a marketplace that are not terminated; 0: no limit. The same on all nodes, as all of quotas." placeholder:"N" min:"0" max:"100000000"`
	VendorCampaigns int   `help:"Campaigns of a vendor that are not terminated; 0: no limit." placeholder:"N" min:"0" max:"100000000"`
	Bids            int   `help:"Bids of a marketplace, of campaigns that are not terminated; 0: no limit." placeholder:"N" min:"0" max:"1000000000"`
	VendorBids      int   `help:"Bids of a vendor, of campaigns that are not terminated; 0: no limit." placeholder:"N" min:"0" max:"1000000000"`
	Products        int   `help:"Products in the catalog of a marketplace; 0: no limit." placeholder:"N" min:"0" max:"1000000000"`
	Assets          int   `help:"Assets of a marketplace; 0: no limit." placeholder:"N" min:"0" max:"100000000"`
	AssetBytes      Bytes `help:"Bytes of the uploaded files of a marketplace's assets; 0: no limit. The last file may go beyond it." placeholder:"SIZE" min:"0B" max:"1048576GiB"`
	Segments        int   `help:"Audience segments of a marketplace; lists count all of them." placeholder:"N" min:"1" max:"100000"`
	Webhooks        int   `help:"Webhooks of a marketplace; 0: no limit." placeholder:"N" min:"0" max:"10000"`
	Keys            int   `help:"Active API keys of each kind of a marketplace." placeholder:"N" min:"2" max:"1000"`
}

// Explain says how much is kept of what became of the bids in live auctions.
type Explain struct {
	Sample int `help:"Keep the bids of one auction request in so many, explained, for /public/v1/auctions/recent, and record the request for forecasts; 0: of none." placeholder:"N" min:"0" max:"1000000000"`
}

// Background bounds reports, explanations and forecasts, which run beside auctions. Each node counts alone.
type Background struct {
	PerMarketplace int           `help:"Reports, explanations and forecasts of a marketplace that run at a time; others wait." placeholder:"N" min:"1" max:"64"`
	PerNode        int           `help:"Reports, explanations and forecasts of all marketplaces that run at a time." placeholder:"N" min:"1" max:"64"`
	CPUPerMinute   time.Duration `help:"CPU time that the reports, explanations and forecasts of a marketplace may take in a minute." placeholder:"DURATION" min:"100ms" max:"1h"`
}

// Blob says where uploaded files are kept: in a directory of this machine, with copies on a majority of the nodes of a cluster,
// or in a bucket of an S3 service.
type Blob struct {
	Driver    string `help:"Where uploaded files are kept: local (a directory) or s3 (a bucket)." placeholder:"DRIVER" oneof:"local,s3"`
	Dir       string `help:"Local: the directory; empty: blobs in the data directory." placeholder:"DIR"`
	PublicURL string `help:"Base URL at which assets are served, best of a site without cookies; empty: that of server.public_url." placeholder:"URL"`
	Endpoint  string `help:"S3: host and port of the service." placeholder:"HOST[:PORT]"`
	Region    string `help:"S3: region of the bucket." placeholder:"NAME"`
	Bucket    string `help:"S3: the bucket; it may stay private." placeholder:"NAME"`
	Prefix    string `help:"S3: text before the name of every object, such as gavel/." placeholder:"TEXT"`
	AccessKey Secret `help:"S3: access key." placeholder:"KEY"`
	SecretKey Secret `help:"S3: secret key. Prefer the variable: flags show in the process list." placeholder:"KEY"`
	Insecure  bool   `help:"S3: plain HTTP, for a service on the same machine."`
}

// Offsite connects ad networks.
type Offsite struct {
	Connectors      []string `help:"Ad networks, each NETWORK=URL of the connector that jobs are handed to, or NETWORK=sandbox for the built-in one; networks: google_ads, meta, tiktok_ads, snapchat_ads." placeholder:"NETWORK=URL,…"`
	ConnectorSecret Secret   `help:"Signs what is sent to connectors, as webhooks are signed." placeholder:"TEXT"`
}

// Webhooks belongs to the notifications that the node sends.
type Webhooks struct {
	Development bool `help:"Also take webhooks and connectors with http to loopback addresses. Never in production."`
}

// SMTP is the mail server through which invitations are sent, by the leader. Without one, nothing is sent.
type SMTP struct {
	Server   string `help:"Mail server for invitations; empty: no mail is sent, and their links have to be passed on. The same on all nodes." placeholder:"HOST:PORT"`
	From     string `help:"Sender of mails." placeholder:"ADDRESS"`
	Username string `help:"Name at the mail server; empty: no authentication." placeholder:"NAME"`
	Password Secret `help:"Password at the mail server. Prefer the variable: flags show in the process list." placeholder:"TEXT"`
	TLS      string `help:"starttls, tls (from the first byte, mostly port 465), or none (for a server on the same machine)." placeholder:"HOW" oneof:"starttls,tls,none"`
}

// Raft tunes replication. The defaults carry a production node; tests shorten them.
type Raft struct {
	SnapshotInterval  time.Duration `help:"How often a group looks whether it should take a snapshot." placeholder:"DURATION" min:"1s" max:"24h"`
	SnapshotThreshold int           `help:"Log entries of a group between two snapshots." placeholder:"N" min:"8" max:"100000000"`
	TrailingLogs      int           `help:"Log entries kept behind a snapshot for slow followers; at least twice the snapshot threshold." placeholder:"N" min:"16" max:"1000000000"`
	// A name with an initialism in the plural would be cut in the wrong place.
	RpcsInFlight int `help:"Calls with log entries on their way to one follower. An emergency setting: 1 switches pipelining off, for a follower that stays behind although it hears its leader; it makes commits slower. Set on the nodes that lead." placeholder:"N" min:"1" max:"2"`

	Watchdog time.Duration `help:"A write to disk that takes longer ends the process, so that another node can lead." placeholder:"DURATION" min:"1s" max:"10m"`
}

// Disk keeps the node away from a full disk, which no database survives in good order.
type Disk struct {
	Reserve Bytes `help:"Free space below which the node takes no events and no changes, while auctions go on; 0: a twentieth of the disk, at least 1 GiB and twice the newest snapshot." placeholder:"SIZE" min:"0B" max:"1024GiB"`
	Ballast Bytes `help:"Size of a file that is given up when the disk is nearly full, so that the node can still write what it has; at most half of the reserve is used; 0: none." placeholder:"SIZE" min:"0B" max:"16GiB"`
}

// Log says what the process tells on standard error.
type Log struct {
	Level  string `help:"Least severe lines to write: debug, info, warn or error." placeholder:"LEVEL" oneof:"debug,info,warn,error"`
	Format string `help:"text, json, or auto: text on a terminal, else json." placeholder:"FORMAT" oneof:"auto,text,json"`
}

// Default returns the configuration of a node that nobody configured: one node, loopback only, data beside the caller.
func Default() Config {
	return Config{
		DataDir:         "./gavel-data",
		AuctionListen:   "127.0.0.1:8080",
		ManageListen:    "127.0.0.1:8081",
		PeerListen:      "127.0.0.1:7400",
		NodeID:          "n1",
		BootstrapExpect: 1,
		Staleness:       3 * time.Second, // Longer than a failover mostly takes: a shorter one blanks campaigns during each.
		Auction:         Auction{FastPath: true},
		CORS:            CORS{Origins: []string{"*"}},
		Ratelimit:       Ratelimit{Management: 45, Catalog: 10},
		Limits: Limits{
			AuctionBody:    4 * MiB, // 50,000 product ids fit.
			EventBody:      1 * MiB,
			ManagementBody: 8 * MiB,
			RequestHead:    16 * KiB,
		},
		Quotas: Quotas{
			Campaigns: 1_000_000, VendorCampaigns: 100_000, Bids: 20_000_000, VendorBids: 5_000_000, Products: 20_000_000,
			Assets: 1_000_000, AssetBytes: 1024 * GiB, Segments: 10_000, Webhooks: 100, Keys: 20,
		},
		Explain: Explain{Sample: 1_000},
		// A marketplace takes a quarter of one CPU at most; four requests hold what they gather in some hundred MB.
		Background: Background{PerMarketplace: 2, PerNode: 4, CPUPerMinute: 15 * time.Second},
		Blob:       Blob{Driver: "local", Region: "us-east-1"},
		SMTP:       SMTP{TLS: "starttls"},
		Raft: Raft{
			SnapshotInterval:  time.Minute,
			SnapshotThreshold: 50_000,
			TrailingLogs:      120_000,
			RpcsInFlight:      2,
			// A stall of 5 s and an election stay inside the 10 s in which writes must come back after a failure.
			Watchdog: 5 * time.Second,
		},
		Disk: Disk{Ballast: 64 * MiB},
		Log:  Log{Level: "info", Format: "auto"},
	}
}

// BlobDir is the directory of uploaded files with the local driver.
func (c Config) BlobDir() string {
	if c.Blob.Dir != "" {
		return c.Blob.Dir
	}
	return filepath.Join(c.DataDir, "blobs")
}

// Connector is where the jobs of an ad network go.
type Connector struct{ Network, URL string }

// Sandbox as the URL of a connector is the built-in network.
const Sandbox = "sandbox"

// List reads the connectors. REQUIRES: a validated configuration; texts that are none are left out.
func (o Offsite) List() []Connector {
	var all []Connector
	for _, text := range o.Connectors {
		if network, target, ok := strings.Cut(text, "="); ok {
			all = append(all, Connector{network, target})
		}
	}
	return all
}

// DataGroups is the number of data groups of a new cluster on a machine with this many CPUs. More groups apply in
// parallel and fail apart; on few cores they only cost, because throughput comes from batching.
func (c Config) DataGroups(cpus int) int {
	switch {
	case c.Groups > 0:
		return c.Groups
	case cpus <= 4:
		return 1
	case cpus <= 16:
		return 4
	default:
		return 8
	}
}

// PeerTLS reports whether peers speak TLS: the three files are given.
func (c Config) PeerTLS() bool { return c.PeerCertificate != "" }

// Clustered reports whether this node speaks to peers at all. One that does not keeps its peer port closed.
func (c Config) Clustered() bool { return c.PeerTLS() || c.PeerInsecure }

// Founders is how many empty nodes found a cluster together; 0: this node only joins one.
func (c Config) Founders() int {
	if len(c.Join) > 0 && c.BootstrapExpect == 1 {
		return 0
	}
	return c.BootstrapExpect
}

// PublicURL is the base URL to link to: the configured one, else the management listener's, whose bound address is
// given because a configured port may be 0. A listener on all addresses is linked to as localhost.
func (c Config) PublicURL(manageAddr string) string {
	if c.Server.PublicURL != "" {
		return c.Server.PublicURL
	}
	return LocalURL(manageAddr)
}

// LocalURL is the http URL at which a listener of this machine can be reached.
func LocalURL(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "http://" + listen
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// Proxies is TrustedProxies as prefixes; a bare address is a prefix of one.
// REQUIRES: a validated configuration; texts that are neither are left out.
func (s Server) Proxies() []netip.Prefix {
	var out []netip.Prefix
	for _, text := range s.TrustedProxies {
		if p, err := parsePrefix(text); err == nil {
			out = append(out, p)
		}
	}
	return out
}

func parsePrefix(text string) (netip.Prefix, error) {
	if strings.Contains(text, "/") {
		return netip.ParsePrefix(text)
	}
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	return ip.Prefix(ip.BitLen())
}
