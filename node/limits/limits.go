// Package limits shares out what the process may use, files and memory, among its parts: connections of each listener, files of the
// store, and bytes of requests under way.
package limits

// Machine is what the process may use.
type Machine struct {
	Files  uint64 // RLIMIT_NOFILE.
	Memory int64  // Bytes that the process should stay under.
	Peers  bool   // The peer port is open.
}

// Settings replace derived numbers; zero members are derived.
type Settings struct {
	Auction, Management, Peer int // Connections.
}

// Shares are the bounds of the parts of a node.
type Shares struct {
	DatabaseFiles                        int // Of each of the two databases.
	AuctionConns, ManageConns, PeerConns int
	// FilesLow is set when fewer files are left for connections than a node in production needs.
	FilesLow bool

	Heap     int64 // The soft limit of the Go runtime.
	Bodies   int64 // Bytes of request bodies under way on both listeners.
	PerOwner int64 // The most of Bodies that one marketplace may have.
}

// Files that are set aside before connections get any.
const (
	// ownFiles is for standard streams, listeners, the logs and locks of both databases, snapshots that are written and sent, uploads,
	// backups, and calls to mail servers, webhooks, ad networks and buckets. BOUND: 96 of them are in use at the same time at most.
	ownFiles = 96
	// A database keeps at least 74 table files open whatever it is told (Pebble's minimum of 64, and 10), and 1,000 by default.
	databaseFilesMin, databaseFilesMax = 74, 1000
	databases                          = 2
	// filesLow is what should be left for connections. BOUND: a storefront with a few hundred connections.
	filesLow = 512
	// connsMin is what a listener gets however few files there are: then Accept waits for files.
	connsMin = 8
)

// Memory that is set aside for connections, and the parts of it.
const (
	connMemory    = 64 << 10 // Of a connection with its buffers: 40 KiB were counted, and the stack of its goroutine.
	connsPart     = 8        // An eighth of the memory for the connections of the auction listener.
	auctionMax    = 50_000
	managementMax = 10_000
	peerMin       = 64 // BOUND: of the peer port: five nodes with a few groups.
	peerMax       = 4_096

	bodiesPart = 8 // An eighth of the memory for bodies: what is made of them needs several times as much.
	bodiesMin  = 16 << 20
	bodiesMax  = 4 << 30
	ownerPart  = 2 // One marketplace leaves half of that to the others.

	heapPart = 10 // A tenth stays for what the runtime does not count: the program itself, and its lag behind the limit.
)

// Derive shares out a machine. It has no effects.
func Derive(m Machine, s Settings) Shares {
	files := int(min(m.Files, 1<<30)) //nolint:gosec // Bounded.
	out := Shares{DatabaseFiles: min(max(files/8, databaseFilesMin), databaseFilesMax)}
	left := max(files-ownFiles-databases*out.DatabaseFiles, 0)
	out.FilesLow = left < filesLow

	if m.Peers {
		out.PeerConns = derived(s.Peer, max(left/8, peerMin), peerMax)
		left = max(left-2*out.PeerConns, 0) // The node opens about as many itself.
	}
	byMemory := int(min(max(m.Memory, 0)/connsPart/connMemory, auctionMax))
	out.ManageConns = derived(s.Management, min(left/4, byMemory/4), managementMax)
	out.AuctionConns = derived(s.Auction, min(left-left/4, byMemory), auctionMax)

	out.Heap = m.Memory - m.Memory/heapPart
	out.Bodies = min(max(m.Memory/bodiesPart, bodiesMin), bodiesMax)
	out.PerOwner = out.Bodies / ownerPart
	return out
}

func derived(set, share, most int) int {
	if set > 0 {
		return set
	}
	return min(max(share, connsMin), most)
}
