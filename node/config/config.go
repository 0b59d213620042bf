// Package config holds the settings of a node: one struct, filled from flags, the environment and a YAML file.
//
// One rule names all settings. Every field of Config has one key, and the key gives three names. The Go name of a field
// is split into words, which are joined with _ in lower case; the key of a field in a section begins with the section.
//
//	field                    YAML key                  flag                       environment
//	AuctionListen            auction_listen            --auction-listen           GAVEL_AUCTION_LISTEN
//	Management.CORSOrigins   management.cors_origins   --management-cors-origins  GAVEL_MANAGEMENT_CORS_ORIGINS
//
// A flag is the key with - for every . and _; a variable is GAVEL_ and the key in upper case with _ for every dot; in
// YAML the dot is nesting. A flag overrides the environment, the environment the file, and the file the default.
//
// Values are written in the same way everywhere: sizes and durations need a unit (10MiB, 5s; a bare number is refused
// with an explanation), lists are comma-separated in flags and variables and sequences in YAML. A variable with an empty
// value counts as not set, because many tools cannot unset a variable.
//
// A node with a wrong configuration does not start. Load reports all faults at once, each with its place, value and
// limit.
package config

import (
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"time"
)

// Config is the effective configuration of a node. A value that Load returned without an error is within every bound of
// the tags and satisfies every rule of Validate.
type Config struct {
	Config  string `help:"YAML file to read settings from." placeholder:"FILE"`
	DataDir string `help:"Directory of everything the node stores; created when missing." placeholder:"DIR"`

	AuctionListen string `help:"Address of the auction listener: /v2/* and /healthz." placeholder:"HOST:PORT"`
	ManageListen  string `help:"Address of the management listener: /public/v1/*, /v2/*, /metrics, /readyz." placeholder:"HOST:PORT"`
	PeerListen    string `help:"Address of the peer listener, for the other nodes of the cluster." placeholder:"HOST:PORT"`

	NodeID          string        `help:"Name of this node, unique in its cluster; it never changes." placeholder:"NAME"`
	Join            []string      `help:"Peer addresses of the cluster, the same list on every node, with or without this one; dns:NAME:PORT stands for every address of NAME." placeholder:"HOST:PORT,…"`
	BootstrapExpect int           `help:"Number of nodes that create a new cluster together, when none of them belongs to one. With join, 1 means: only join an existing cluster." placeholder:"N" min:"1" max:"5"`
	PeerAdvertise   string        `help:"Address at which peers connect to this node, when it differs from peer_listen." placeholder:"HOST:PORT"`
	PeerCertificate string        `help:"Certificate of this node, PEM; its DNS names contain the node id. Needs peer_key and peer_authority; without the three the peer listener stays closed." placeholder:"FILE"`
	PeerKey         string        `help:"Private key of peer_certificate, PEM." placeholder:"FILE"`
	PeerAuthority   string        `help:"Certificate of the authority that signs only the nodes of this cluster, PEM." placeholder:"FILE"`
	PeerInsecure    bool          `help:"Use plain TCP between peers; refused unless every peer address is loopback."`
	Learner         bool          `help:"Join as a permanent non-voter: the node answers auctions and accepts events, and no commit waits for it."`
	Staleness       time.Duration `help:"Maximum replica age: campaigns whose group is older on this node lose auctions as stale." placeholder:"DURATION" min:"1s" max:"1m"`
	Groups          int           `help:"Data groups of a new cluster, fixed at its first start; 0: those of the cluster that is joined, or by the CPUs of the node that creates it (1 group up to 4 CPUs, 4 up to 16, then 8)." placeholder:"N" min:"0" max:"256"`

	KeysFile               string `help:"First start of a cluster: write the first keys to this file (JSON, mode 0600) instead of printing them." placeholder:"FILE"`
	BootstrapAuctionKey    Secret `help:"First start of a cluster: use this auction key. Prefer the variable: the process list shows flags." placeholder:"KEY"`
	BootstrapManagementKey Secret `help:"First start of a cluster: use this management key. Prefer the variable: the process list shows flags." placeholder:"KEY"`

	Server      Server
	Auction     Auction
	Management  Management
	Admin       Admin
	Peer        Peer
	Memory      Memory
	CORS        CORS
	Ratelimit   Ratelimit
	Limits      Limits
	Quotas      Quotas
	Explain     Explain
	Background  Background
	Blob        Blob
	Export      Export
	Sinks       Sinks
	Offsite     Offsite
	Webhooks    Webhooks
	Invitations Invitations
	SMTP        SMTP
	OIDC        OIDC
	Raft        Raft
	Disk        Disk
	Drain       Drain
	Log         Log
	Tracing     Tracing
}

// Server describes how clients reach this node.
type Server struct {
	PublicURL      string   `help:"Base URL of links in answers, uploads and documents, without a slash at the end; empty: the management listener's." placeholder:"URL"`
	PlainHTTP      bool     `help:"Accept plain HTTP on listeners that other machines reach, because a TLS proxy or a private network is in front of the node; without it such a listener needs a certificate."`
	TrustedProxies []string `help:"Addresses or CIDR ranges of the proxies whose X-Forwarded-For is trusted." placeholder:"CIDR,…"`
}

// Auction holds the settings of the auction listener.
type Auction struct {
	FastPath       bool   `help:"Read requests of the usual form with the listener's own parser; false: the HTTP library reads every request, with the same answers and more CPU for each."`
	TLSCertificate string `help:"Certificate chain of the auction listener, PEM; with auction.tls_key the listener speaks TLS. A changed file is used within a second." placeholder:"FILE"`
	TLSKey         string `help:"Private key of auction.tls_certificate, PEM." placeholder:"FILE"`
	ConnectionsMax int    `help:"Maximum number of open connections of the auction listener; 0: derived from the limits of open files and memory. At the limit, connections without a valid key are closed first, then idle ones." placeholder:"N" min:"0" max:"1000000"`
}

// Peer holds the settings of the peer listener.
type Peer struct {
	ConnectionsMax int `help:"Maximum number of open connections of the peer listener; 0: derived from the limit of open files; at least 64. The node opens about as many to its peers." placeholder:"N" min:"0" max:"1000000"`
}

// Memory bounds the memory of the process.
type Memory struct {
	Limit Bytes `help:"Memory that the process should not exceed; the limit of the Go runtime and the budgets of requests are derived from it. 0: the limit of the control group, else three quarters of the machine's memory; at least 256MiB. GOMEMLIMIT, when set, takes precedence for the runtime." placeholder:"SIZE" min:"0B" max:"1024GiB"`
}

// Management holds the settings of the management listener.
type Management struct {
	CORSOrigins    []string `help:"Origins that may call /public/v1 from a browser; none by default, because management keys do not belong into browsers." placeholder:"ORIGIN,…"`
	TLSCertificate string   `help:"Certificate chain of the management listener, PEM; with management.tls_key the listener speaks TLS and HTTP/2. A changed file is used within a second." placeholder:"FILE"`
	TLSKey         string   `help:"Private key of management.tls_certificate, PEM." placeholder:"FILE"`
	ConnectionsMax int      `help:"Maximum number of open connections of the management listener; 0: derived from the limits of open files and memory. At the limit, connections without a valid key are closed first, then idle ones." placeholder:"N" min:"0" max:"1000000"`
	AgencyAreas    []string `help:"Additional names under which the campaigns of agencies are served, beside agency and toppie: /public/v1/NAME/campaigns." placeholder:"NAME,…"`

	ACME ACME
}

// ACME is how the management listener gets a certificate from an authority by itself (RFC 8555).
type ACME struct {
	Hosts     []string `help:"DNS names of this node, for which it gets certificates by ACME instead of management.tls_certificate, and renews them; none: off. The authority must reach the management listener at port 443 of each name. Setting it accepts the authority's terms of service." placeholder:"NAME,…"`
	Email     string   `help:"E-mail address to which the authority sends warnings; empty: none." placeholder:"ADDRESS"`
	Directory string   `help:"URL of the authority's ACME directory." placeholder:"URL"`
}

// Admin is the first admin of the console, for machines on which nobody can open the link that the first start prints.
type Admin struct {
	Email        string `help:"E-mail address of the first admin of the console; empty: the first start prints a link that makes one. It counts only until there is an admin." placeholder:"ADDRESS"`
	PasswordFile string `help:"File whose first line is the password of that admin, 12 to 256 characters." placeholder:"FILE"`
}

// CORS holds the settings of the parts of the interface that browsers call by design: /v2 and the vendor dialog.
type CORS struct {
	Origins []string `help:"Origins that may call /v2 and the vendors' dialog from a browser; * is every origin." placeholder:"ORIGIN,…"`
}

// Ratelimit holds the numbers of requests per fixed window, client address and key. Each node counts by itself. Zero
// means no limit.
type Ratelimit struct {
	Management int `help:"Management requests per client and key in 2 s; 0: no limit." placeholder:"N" min:"0" max:"1000000"`
	Catalog    int `help:"Catalog requests per client and key in 1 s; 0: no limit." placeholder:"N" min:"0" max:"1000000"`
}

// Limits bounds the size of a request.
type Limits struct {
	AuctionBody    Bytes `help:"Maximum size of the body of an auction request." placeholder:"SIZE" min:"64KiB" max:"64MiB"`
	EventBody      Bytes `help:"Maximum size of the body of an event request." placeholder:"SIZE" min:"64KiB" max:"64MiB"`
	ManagementBody Bytes `help:"Maximum size of the body of a management request." placeholder:"SIZE" min:"64KiB" max:"64MiB"`
	RequestHead    Bytes `help:"Maximum size of the request line and the headers together." placeholder:"SIZE" min:"4KiB" max:"64KiB"`
}

// Quotas bounds what a marketplace, or a vendor of it, can store. The node that receives a request checks its own
// setting, so the settings must be the same on all nodes of a cluster.
//
// BOUND: the defaults are larger than any known shop needs, and keep one tenant from using the memory of the others:
// ten million bids take about 0.8 GB on every node.
type Quotas struct {
	Campaigns       int   `help:"Maximum number of campaigns of a marketplace that are not terminated; 0: no limit. Like all quotas, the same on all nodes." placeholder:"N" min:"0" max:"100000000"`
	VendorCampaigns int   `help:"Maximum number of campaigns of a vendor that are not terminated; 0: no limit." placeholder:"N" min:"0" max:"100000000"`
	Bids            int   `help:"Maximum number of bids of a marketplace, in campaigns that are not terminated; 0: no limit." placeholder:"N" min:"0" max:"1000000000"`
	VendorBids      int   `help:"Maximum number of bids of a vendor, in campaigns that are not terminated; 0: no limit." placeholder:"N" min:"0" max:"1000000000"`
	Products        int   `help:"Maximum number of products in the catalog of a marketplace; 0: no limit." placeholder:"N" min:"0" max:"1000000000"`
	Assets          int   `help:"Maximum number of assets of a marketplace; 0: no limit." placeholder:"N" min:"0" max:"100000000"`
	AssetBytes      Bytes `help:"Maximum total size of the uploaded files of a marketplace's assets; 0: no limit. The last file may exceed it." placeholder:"SIZE" min:"0B" max:"1048576GiB"`
	Segments        int   `help:"Maximum number of audience segments of a marketplace." placeholder:"N" min:"1" max:"100000"`
	Webhooks        int   `help:"Maximum number of webhooks of a marketplace; 0: no limit." placeholder:"N" min:"0" max:"10000"`
	Keys            int   `help:"Maximum number of active API keys of a marketplace, of each kind." placeholder:"N" min:"2" max:"1000"`
}

// Explain sets how many live auctions are explained and recorded.
type Explain struct {
	Sample int `help:"Of N auction requests keep one: its explanation for /public/v1/auctions/recent, and its body for forecasts; 0: none." placeholder:"N" min:"0" max:"1000000000"`
}

// Background bounds management requests, which run beside auctions, and above all reports, explanations and forecasts. Each
// node counts by itself.
type Background struct {
	PerMarketplace int           `help:"Maximum number of reports, explanations and forecasts of a marketplace that run at the same time; others wait." placeholder:"N" min:"1" max:"64"`
	PerNode        int           `help:"Maximum number of reports, explanations and forecasts of all marketplaces that run at the same time." placeholder:"N" min:"1" max:"64"`
	CPUPerMinute   time.Duration `help:"CPU time per minute for the reports, explanations and forecasts of a marketplace." placeholder:"DURATION" min:"100ms" max:"1h"`
	CPUPercent     int           `help:"Share of the node's CPUs that all management requests use together while it answers 250 auctions and events requests a second per CPU or more; marketplaces that have used little get a quarter of it in addition." placeholder:"PERCENT" min:"1" max:"100"`
}

// Blob says where uploaded files are stored: in a directory of this machine, with copies on a majority of the nodes of
// a cluster, or in a bucket of an S3 service.
type Blob struct {
	Driver    string `help:"Where uploaded files are stored: local (a directory) or s3 (a bucket)." placeholder:"DRIVER" oneof:"local,s3"`
	Dir       string `help:"Local: the directory; empty: the directory blobs below data_dir." placeholder:"DIR"`
	PublicURL string `help:"Base URL of assets, preferably of a site without cookies; empty: server.public_url." placeholder:"URL"`
	Endpoint  string `help:"S3: host and port of the service." placeholder:"HOST[:PORT]"`
	Region    string `help:"S3: region of the bucket." placeholder:"NAME"`
	Bucket    string `help:"S3: the bucket; it may stay private." placeholder:"NAME"`
	Prefix    string `help:"S3: prefix of the name of every object, such as gavel/." placeholder:"TEXT"`
	AccessKey Secret `help:"S3: access key." placeholder:"KEY"`
	SecretKey Secret `help:"S3: secret key. Prefer the variable: the process list shows flags." placeholder:"KEY"`
	Insecure  bool   `help:"S3: plain HTTP, for a service on the same machine."`
}

// Export says where the journal, conversions, report counters and events are written for other systems, hour by hour. Every node writes what the
// groups say that it leads, so the settings must be the same on all nodes of a cluster, and they must write to the same place.
type Export struct {
	Driver string `help:"Where the journal, conversions, report counters and kept events of each hour are written for other systems: off, local (a directory) or s3 (a bucket; service and keys are those of blob). The same on all nodes." placeholder:"DRIVER" oneof:"off,local,s3"`
	Dir    string `help:"Local: the directory; several nodes must mount the same one." placeholder:"DIR"`
	Bucket string `help:"S3: the bucket; empty: blob.bucket." placeholder:"NAME"`
	Prefix string `help:"S3: prefix of the name of every object." placeholder:"TEXT"`
	Format string `help:"How rows are written: parquet, ndjson (compressed with Zstandard) or both." placeholder:"FORMAT" oneof:"parquet,ndjson,both"`
}

// Sinks are the brokers to which charges, reversals and conversions are sent as they are recorded. Every node sends what the groups say that it
// leads, so the settings must be the same on all nodes of a cluster.
type Sinks struct {
	Start string `help:"Where a sink without a cursor begins: earliest (everything that is stored) or latest (what is recorded from then on)." placeholder:"WHERE" oneof:"earliest,latest"`

	Kafka KafkaSink
	NATS  NATSSink
}

// KafkaSink is a Kafka cluster, or one that speaks its protocol.
type KafkaSink struct {
	Brokers          []string `help:"Kafka: some brokers of the cluster to which charges, reversals and conversions are sent within about a second; none: off. The same on all nodes." placeholder:"HOST:PORT,…"`
	ChargesTopic     string   `help:"Kafka: topic of charges and reversals; it must exist." placeholder:"TOPIC"`
	ConversionsTopic string   `help:"Kafka: topic of conversions and returns; it must exist." placeholder:"TOPIC"`
	Cursor           string   `help:"Kafka: name under which the cluster remembers what was sent; another name begins as sinks.start says." placeholder:"NAME"`
	TLS              bool     `help:"Kafka: connect with TLS."`
	Authority        string   `help:"Kafka: certificates of the authorities of the brokers, PEM; empty: those of the system." placeholder:"FILE"`
	Certificate      string   `help:"Kafka: certificate of this client, PEM, together with sinks.kafka.key." placeholder:"FILE"`
	Key              string   `help:"Kafka: private key of sinks.kafka.certificate, PEM." placeholder:"FILE"`
	SASL             string   `help:"Kafka: how the user name and password are sent: none, plain, scram-sha-256 or scram-sha-512." placeholder:"MECHANISM" oneof:"none,plain,scram-sha-256,scram-sha-512"`
	Username         string   `help:"Kafka: user name." placeholder:"NAME"`
	Password         Secret   `help:"Kafka: password. Prefer the variable: the process list shows flags." placeholder:"TEXT"`
}

// NATSSink is a NATS system with JetStream.
type NATSSink struct {
	Servers     []string `help:"NATS: some servers of the system to whose JetStream charges, reversals and conversions are sent within about a second; none: off. The same on all nodes." placeholder:"HOST:PORT,…"`
	Subject     string   `help:"NATS: begin of the subjects, as in gavel.charges.MARKETPLACE; a stream must contain them." placeholder:"SUBJECT"`
	Cursor      string   `help:"NATS: name under which the cluster remembers what was sent; another name begins as sinks.start says." placeholder:"NAME"`
	TLS         bool     `help:"NATS: connect with TLS."`
	Authority   string   `help:"NATS: certificates of the authorities of the servers, PEM; empty: those of the system." placeholder:"FILE"`
	Certificate string   `help:"NATS: certificate of this client, PEM, together with sinks.nats.key." placeholder:"FILE"`
	Key         string   `help:"NATS: private key of sinks.nats.certificate, PEM." placeholder:"FILE"`
	Username    string   `help:"NATS: user name." placeholder:"NAME"`
	Password    Secret   `help:"NATS: password. Prefer the variable: the process list shows flags." placeholder:"TEXT"`
	Token       Secret   `help:"NATS: token, instead of a user name. Prefer the variable: the process list shows flags." placeholder:"TEXT"`
	Credentials string   `help:"NATS: file with the JWT and the key of a user, instead of a user name." placeholder:"FILE"`
}

// Offsite holds the connectors of ad networks.
type Offsite struct {
	Connectors      []string `help:"Ad networks, each as NETWORK=URL of the connector that receives its jobs, or NETWORK=sandbox for the built-in one; networks: google_ads, meta, tiktok_ads, snapchat_ads." placeholder:"NETWORK=URL,…"`
	ConnectorSecret Secret   `help:"Secret that signs requests to connectors, in the way webhooks are signed." placeholder:"TEXT"`
}

// Webhooks holds the settings of notifications.
type Webhooks struct {
	Development bool `help:"Also accept webhooks and connectors with http URLs of loopback addresses. Not for production."`
}

// Invitations holds the settings of invitations of vendors and of colleagues.
type Invitations struct {
	TTL time.Duration `help:"How long an invitation can be accepted after it was made or renewed; the same on all nodes." placeholder:"DURATION" min:"1m" max:"8760h"`
}

// OIDC is the identity provider through which people may sign in to the console, beside their passwords. The same on all nodes.
type OIDC struct {
	Issuer           string   `help:"Sign-in to the console through an OpenID Connect provider: its issuer URL; empty: passwords only. Its client redirects to SERVER.PUBLIC_URL/console/api/oidc/callback. The provider decides who has an e-mail address." placeholder:"URL"`
	ClientID         string   `help:"Client id of this cluster at the provider." placeholder:"ID"`
	ClientSecret     Secret   `help:"Client secret; empty for a public client. Prefer the variable: the process list shows flags." placeholder:"TEXT"`
	ClientSecretFile string   `help:"File whose first line is the client secret." placeholder:"FILE"`
	Name             string   `help:"Name of the provider on the button of the sign-in page; empty: the host of the issuer." placeholder:"TEXT"`
	RoleClaim        string   `help:"Claim of the ID token that makes new users, such as groups; empty: only those sign in who are users of the console already." placeholder:"NAME"`
	Roles            []string `help:"Roles in the first marketplace that values of oidc.role_claim give to new users; of several the first: admin, operator or analyst." placeholder:"VALUE=ROLE,…"`
}

// SMTP is the mail server through which the leader sends invitations. Without one, no mail is sent.
type SMTP struct {
	Server   string `help:"Mail server for invitations; empty: no mail is sent, and an administrator passes their links on. The same on all nodes." placeholder:"HOST:PORT"`
	From     string `help:"Sender address of mails." placeholder:"ADDRESS"`
	Username string `help:"User name at the mail server; empty: no authentication." placeholder:"NAME"`
	Password Secret `help:"Password at the mail server. Prefer the variable: the process list shows flags." placeholder:"TEXT"`
	TLS      string `help:"Encryption: starttls, tls (from the first byte, usually port 465), or none (for a server on the same machine)." placeholder:"HOW" oneof:"starttls,tls,none"`
}

// Raft tunes the replication. The defaults suit a production node; tests use shorter values.
type Raft struct {
	SnapshotInterval  time.Duration `help:"How often a group checks whether a snapshot is due." placeholder:"DURATION" min:"1s" max:"24h"`
	SnapshotThreshold int           `help:"Number of log entries of a group between two snapshots; a log as large as the last one makes another due before." placeholder:"N" min:"8" max:"100000000"`
	TrailingLogs      int           `help:"Number of log entries kept after a snapshot for slow followers; at least twice snapshot_threshold." placeholder:"N" min:"16" max:"1000000000"`
	// The rule that splits names into words would split RPCsInFlight in the wrong place.
	RpcsInFlight int `help:"Number of AppendEntries calls in flight to one follower. For emergencies: 1 turns pipelining off, for a follower that stays behind although its leader reaches it; commits become slower. It takes effect on leaders." placeholder:"N" min:"1" max:"2"`

	Watchdog time.Duration `help:"A disk write that takes longer ends the process, so that another node can lead." placeholder:"DURATION" min:"1s" max:"10m"`
}

// Disk keeps the node from filling its disk, because a database cannot work on a full one.
type Disk struct {
	Reserve Bytes `help:"Free space below which the node refuses events and changes, while auctions continue; 0: a twentieth of the disk, at least 1 GiB and twice the newest snapshot." placeholder:"SIZE" min:"0B" max:"1024GiB"`
	Ballast Bytes `help:"Size of a file that is deleted when the disk is nearly full, so that the node can finish its writes; at most half of the reserve is used; 0: no file." placeholder:"SIZE" min:"0B" max:"16GiB"`
}

// Drain describes an orderly stop.
type Drain struct {
	Delay string `help:"How long a node that is stopped goes on serving while /readyz answers 503, so that load balancers send their requests to other nodes first; auto: 2s when /readyz was asked in the last minute, else 0s; at most 1m." placeholder:"DURATION"`
}

// DrainAuto is the delay of a drain that depends on whether anybody asks for the node's readiness.
const DrainAuto = "auto"

// Bounds of the delay of a drain.
const (
	drainDelayAuto = 2 * time.Second // Load balancers ask every second or two, and some need two answers.
	drainDelayMax  = time.Minute
)

// Duration returns the delay, given whether /readyz was asked lately. REQUIRES: a validated configuration.
func (d Drain) Duration(asked bool) time.Duration {
	if d.Delay != DrainAuto {
		fixed, _ := parseDuration(d.Delay) // Validate has checked it.
		return fixed
	}
	if asked {
		return drainDelayAuto
	}
	return 0
}

// Log says what the process writes to standard error.
type Log struct {
	Level  string        `help:"Lowest level that is logged: debug, info, warn or error." placeholder:"LEVEL" oneof:"debug,info,warn,error"`
	Format string        `help:"Format of the log: text, json, or auto (text on a terminal, else json)." placeholder:"FORMAT" oneof:"auto,text,json"`
	Access int           `help:"Of N requests to /v2 and to the management API write one to the log, without body, key and address; 0: none. At most 100 lines a second." placeholder:"N" min:"0" max:"1000000000"`
	Slow   time.Duration `help:"Write each request that took so long to the log, within the same 100 lines a second; 0: none." placeholder:"DURATION" min:"0s" max:"10m"`
}

// Tracing says where traces of management requests and of commits go.
type Tracing struct {
	Endpoint string `help:"URL of a collector that takes OpenTelemetry traces over HTTP, such as http://127.0.0.1:4318; empty: none are made. OTEL_EXPORTER_OTLP_HEADERS may hold its credentials." placeholder:"URL"`
	Every    int    `help:"Of N traces send one. Traces have operations, times and request ids, without paths, bodies, keys and addresses." placeholder:"N" min:"1" max:"1000000000"`
}

// Default returns the configuration of a node without any setting: one node that listens on loopback only, with its
// data in a directory below the current one.
func Default() Config {
	return Config{
		DataDir:         "./gavel-data",
		AuctionListen:   "127.0.0.1:8080",
		ManageListen:    "127.0.0.1:8081",
		PeerListen:      "127.0.0.1:7400",
		NodeID:          "n1",
		BootstrapExpect: 1,
		Staleness:       3 * time.Second, // Longer than most failovers: a shorter one would exclude campaigns during each.
		Auction:         Auction{FastPath: true},
		Management:      Management{ACME: ACME{Directory: "https://acme-v02.api.letsencrypt.org/directory"}},
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
		// A marketplace uses a quarter of one CPU at most; the results of four requests take some hundred MB of memory.
		Background: Background{PerMarketplace: 2, PerNode: 4, CPUPerMinute: 15 * time.Second, CPUPercent: 5},
		Blob:       Blob{Driver: "local", Region: "us-east-1"},
		Export:     Export{Driver: "off", Prefix: "exports/", Format: "parquet"},
		Sinks: Sinks{
			Start: "earliest",
			Kafka: KafkaSink{ChargesTopic: "gavel.charges", ConversionsTopic: "gavel.conversions", Cursor: "kafka", SASL: "none"},
			NATS:  NATSSink{Subject: "gavel", Cursor: "nats"},
		},
		SMTP: SMTP{TLS: "starttls"},
		Raft: Raft{
			SnapshotInterval:  time.Minute,
			SnapshotThreshold: 50_000,
			TrailingLogs:      120_000,
			RpcsInFlight:      2,
			// A stall of 5 s and an election fit into the 10 s within which writes must succeed again after a failure.
			Watchdog: 5 * time.Second,
		},
		Disk:        Disk{Ballast: 64 * MiB},
		Drain:       Drain{Delay: DrainAuto},
		Invitations: Invitations{TTL: 72 * time.Hour},
		Log:         Log{Level: "info", Format: "auto", Slow: 5 * time.Second},
		// A storefront's thousand commits a second become ten spans a second.
		Tracing: Tracing{Every: 100},
	}
}

// BlobDir returns the directory of uploaded files with the local driver.
func (c Config) BlobDir() string {
	if c.Blob.Dir != "" {
		return c.Blob.Dir
	}
	return filepath.Join(c.DataDir, "blobs")
}

// Connector is the URL that receives the jobs of an ad network.
type Connector struct{ Network, URL string }

// Sandbox is the URL that stands for the built-in connector.
const Sandbox = "sandbox"

// List returns the connectors. REQUIRES: a validated configuration; texts without = are left out.
func (o Offsite) List() []Connector {
	var all []Connector
	for _, text := range o.Connectors {
		if network, target, ok := strings.Cut(text, "="); ok {
			all = append(all, Connector{network, target})
		}
	}
	return all
}

// ACMEDir returns the directory of the certificates that the node got by ACME, and of its key at the authority.
func (c Config) ACMEDir() string { return filepath.Join(c.DataDir, "acme") }

// DataGroups returns the number of data groups of a new cluster on a machine with this many CPUs. More groups apply
// commands in parallel and fail independently; on few CPUs they only cost, because throughput comes from batching.
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

// PeerTLS reports whether peers use TLS, which is when the certificate files are set.
func (c Config) PeerTLS() bool { return c.PeerCertificate != "" }

// Clustered reports whether this node communicates with peers. If not, its peer listener stays closed.
func (c Config) Clustered() bool { return c.PeerTLS() || c.PeerInsecure }

// Founders returns how many nodes with an empty data directory create a cluster together; 0: this node only joins one.
func (c Config) Founders() int {
	if len(c.Join) > 0 && c.BootstrapExpect == 1 {
		return 0
	}
	return c.BootstrapExpect
}

// PublicURL returns the base URL of links: the configured one, otherwise that of the management listener. The caller
// passes the bound address because the configured port may be 0. A listener on all addresses becomes localhost.
func (c Config) PublicURL(manageAddr string) string {
	if c.Server.PublicURL != "" {
		return c.Server.PublicURL
	}
	return c.LocalManageURL(manageAddr)
}

// AuctionURL is the base URL of the auction listener, which listens on listen: on the host of the public URL, if one is configured.
func (c Config) AuctionURL(listen string) string {
	public, err := url.Parse(c.Server.PublicURL)
	_, port, bad := net.SplitHostPort(listen)
	if c.Server.PublicURL == "" || err != nil || bad != nil {
		return c.LocalAuctionURL(listen)
	}
	return scheme(c.Auction.TLS()) + net.JoinHostPort(public.Hostname(), port)
}

// Proxies returns TrustedProxies as prefixes; a single address becomes a prefix of one address. REQUIRES: a validated
// configuration; texts that are neither an address nor a range are left out.
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
