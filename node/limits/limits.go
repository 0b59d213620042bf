package limits

// Machine is the files and the memory that the process may use.
type Machine struct {
	Files  uint64 // The limit of open files (RLIMIT_NOFILE).
	Memory int64  // The bytes of memory that the process should not exceed.
	Peers  bool   // The peer listener is open.
}

// Settings are configured numbers of connections. Each replaces the derived number if it is not 0.
type Settings struct {
	Auction, Management, Peer int
}

// Shares are the bounds of the parts of a node.
type Shares struct {
	DatabaseFiles                        int // The open table files of each of the two databases.
	AuctionConns, ManageConns, PeerConns int // The connections of each listener.
	// FilesLow is set if fewer files are left for connections than a node in production needs.
	FilesLow bool

	Heap           int64 // The memory limit of the Go runtime, in bytes.
	Cache          int64 // The bytes of blocks of both databases that are kept in memory. They are part of Heap.
	Bodies         int64 // The bytes of request bodies in memory, of both listeners together.
	PerMarketplace int64 // The bytes of Bodies that one marketplace may use.
}

// Files that are reserved before the rest is divided among connections.
const (
	// ownFiles is the number of files for standard streams, listeners, the logs and locks of both databases, snapshots that are
	// written and sent, uploads, backups, and calls to mail servers, webhooks, ad networks and buckets. BOUND: at most 96 of
	// them are open at the same time.
	ownFiles = 96
	// A database keeps at least 74 table files open whatever limit is set (Pebble's minimum of 64, and 10), and 1,000 by
	// default.
	databaseFilesMin, databaseFilesMax = 74, 1000
	databases                          = 2
	// filesLow is the number of files for connections below which FilesLow is set. BOUND: a storefront has a few hundred
	// connections.
	filesLow = 512
	// connsMin is the least number of connections of a listener. If there are not enough files for them, Accept waits for files.
	connsMin = 8
)

// Memory of connections and bodies. A constant named Part divides the memory: a listener's connections get 1/connsPart of it.
const (
	connMemory    = 64 << 10 // Bytes of a connection: 40 KiB of buffers, as measured, and the stack of its goroutine.
	connsPart     = 8        // For the connections of the auction listener.
	auctionMax    = 50_000
	managementMax = 10_000
	peerMin       = 64 // BOUND: connections of five nodes with a few groups.
	peerMax       = 4_096

	bodiesPart      = 8 // For bodies. Parsing them takes several times as much memory.
	bodiesMin       = 16 << 20
	bodiesMax       = 4 << 30
	marketplacePart = 2 // One marketplace may use half of the bytes for bodies.

	// The cache holds at least the filters and indexes of a market of a million products; without them each look-up reads the
	// disk. More than cacheMax was not measured.
	cachePart = 8
	cacheMin  = 64 << 20
	cacheMax  = 1 << 30

	heapPart = 10 // Outside of the heap limit: the program itself, and how far the runtime exceeds the limit for a time.
)

// Derive computes the bounds of a node's parts. It has no effects.
func Derive(m Machine, s Settings) Shares {
	files := int(min(m.Files, 1<<30))
	out := Shares{DatabaseFiles: min(max(files/8, databaseFilesMin), databaseFilesMax)}
	left := max(files-ownFiles-databases*out.DatabaseFiles, 0)
	out.FilesLow = left < filesLow

	if m.Peers {
		out.PeerConns = derived(s.Peer, max(left/8, peerMin), peerMax)
		left = max(left-2*out.PeerConns, 0) // The node itself opens about as many connections to peers.
	}
	byMemory := int(min(max(m.Memory, 0)/connsPart/connMemory, auctionMax))
	out.ManageConns = derived(s.Management, min(left/4, byMemory/4), managementMax)
	out.AuctionConns = derived(s.Auction, min(left-left/4, byMemory), auctionMax)

	out.Heap = m.Memory - m.Memory/heapPart
	out.Cache = min(max(m.Memory/cachePart, cacheMin), cacheMax)
	out.Bodies = min(max(m.Memory/bodiesPart, bodiesMin), bodiesMax)
	out.PerMarketplace = out.Bodies / marketplacePart
	return out
}

// derived returns the configured number if it is set, or else the share, which is at least connsMin and at most most.
func derived(set, share, most int) int {
	if set > 0 {
		return set
	}
	return min(max(share, connsMin), most)
}
