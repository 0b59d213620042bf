package metrics

import "github.com/prometheus/client_golang/prometheus"

// definition is one metric. INVARIANT: every metric of ours stands in this file once, and nowhere else.
type definition struct {
	name, help string
	labels     []string
}

func (d definition) desc() *prometheus.Desc {
	return prometheus.NewDesc(d.name, d.help, d.labels, nil)
}

// Traffic of /v2, whichever door it came through.
var (
	requestsTotal  = definition{"gavel_requests_total", "Requests answered on /v2, by operation and HTTP status.", []string{"operation", "status"}}
	errorsTotal    = definition{"gavel_errors_total", "Refusals on /v2, by errCode and HTTP status.", []string{"code", "status"}}
	requestSeconds = definition{"gavel_request_seconds", "Time from the parsed head of a request to its answer, by operation.", []string{"operation"}}
	keyFailures    = definition{"gavel_key_check_failures_total", "Requests without a valid API key, on both listeners, by HTTP status.", []string{"status"}}
	panicsTotal    = definition{"gavel_panics_total", "Panics caught on a read path: defects, each answered with 500.", nil}
	refusedFrames  = definition{"gavel_framing_refusals_total", "Requests refused for ambiguous framing before they were routed.", nil}

	auctionsTotal = definition{"gavel_auctions_total", "Auctions run.", nil}
	winnersTotal  = definition{"gavel_winners_total", "Winners returned.", nil}
	lossesTotal   = definition{"gavel_losses_total", "Bids that lost, by the first gate they failed.", []string{"reason"}}

	eventsTotal   = definition{"gavel_events_total", "Events committed, by array and outcome.", []string{"kind", "outcome"}}
	chargedMicros = definition{"gavel_charged_micros_total", "Money charged by events, in micro-units, all currencies added.", nil}
	clippedMicros = definition{"gavel_clipped_micros_total", "Money not charged because a budget or wallet was used up, in micro-units.", nil}
)

// Traffic of the control plane.
var (
	managementRequests = definition{"gavel_management_requests_total", "Management requests, by operation and HTTP status.", []string{"operation", "status"}}
	managementSeconds  = definition{"gavel_management_request_seconds", "Duration of management requests, by operation.", []string{"operation"}}
)

// Replication and storage, read from the node when somebody scrapes.
var (
	raftLeader      = definition{"gavel_raft_leader", "1 if this node leads the group.", []string{"group"}}
	raftReady       = definition{"gavel_raft_ready", "1 if the group can take commands here.", []string{"group"}}
	raftTerm        = definition{"gavel_raft_term", "Raft term.", []string{"group"}}
	raftFirst       = definition{"gavel_raft_first_index", "First index in the log.", []string{"group"}}
	raftLast        = definition{"gavel_raft_last_index", "Last index in the log.", []string{"group"}}
	raftCommit      = definition{"gavel_raft_commit_index", "Highest committed index.", []string{"group"}}
	raftApplied     = definition{"gavel_raft_applied_index", "Highest index applied to the state.", []string{"group"}}
	raftDigest      = definition{"gavel_raft_state_digest", "Hash of the state at the applied index, its upper 53 bits: equal on replicas at the same index.", []string{"group"}}
	raftContact     = definition{"gavel_raft_last_contact_seconds", "Time since the leader was heard of; 0 on the leader.", []string{"group"}}
	raftSnapshots   = definition{"gavel_raft_snapshots_total", "Snapshots taken.", []string{"group"}}
	raftStaleness   = definition{"gavel_raft_staleness_seconds", "Age of this node's copy, by the leader's newest tick: beyond the limit its campaigns do not win.", []string{"group"}}
	raftFenced      = definition{"gavel_staleness_fenced_total", "Auction requests that met the group stale.", []string{"group"}}
	raftLag         = definition{"gavel_raft_apply_lag", "Committed entries that are not applied yet.", []string{"group"}}
	raftQueued      = definition{"gavel_raft_queued_commands", "Commands waiting to be proposed.", []string{"group"}}
	raftInflight    = definition{"gavel_raft_inflight", "Entries proposed and not answered.", []string{"group"}}
	raftEntries     = definition{"gavel_raft_proposed_entries_total", "Entries this node proposed.", []string{"group"}}
	raftCommands    = definition{"gavel_raft_proposed_commands_total", "Commands in them.", []string{"group"}}
	raftUnknown     = definition{"gavel_raft_unknown_outcomes_total", "Commands of which the proposer does not know whether they were applied.", []string{"group"}}
	raftApply       = definition{"gavel_raft_apply_seconds_total", "Time spent in applying entries.", []string{"group"}}
	raftInstalls    = definition{"gavel_raft_install_snapshot_total", "Snapshots restored: taken from a leader, or at the start.", []string{"group"}}
	raftSnapBytes   = definition{"gavel_raft_snapshot_bytes", "Size of the newest snapshot taken.", []string{"group"}}
	raftSnapPutOff  = definition{"gavel_raft_snapshots_put_off_total", "Snapshots not taken, or given up, because the disk had no room: the log is not cut.", []string{"group"}}
	raftSnapSeconds = definition{"gavel_raft_snapshot_seconds", "How long it took.", []string{"group"}}
	raftLeaders     = definition{"gavel_raft_leader_changes_total", "Terms in which this node heard of a leader, itself included.", []string{"group"}}
	raftRefused     = definition{"gavel_raft_refused_commands_total", "Commands refused because too many were waiting.", []string{"group"}}
	raftOldest      = definition{"gavel_raft_oldest_log_age_seconds", "Age of the oldest log entry: a follower that was away for longer needs a snapshot. Absent when it is not known.", []string{"group"}}
	raftPropose     = definition{"gavel_raft_propose_seconds", "Time from handing an entry to raft until it was committed and applied here.", []string{"group"}}

	peerLag     = definition{"gavel_raft_peer_lag", "Entries by which a follower's log was shorter than the leader's when it answered last; on the leader.", []string{"group", "peer"}}
	peerContact = definition{"gavel_raft_peer_contact_seconds", "Time since a follower answered; on the leader, absent until it answers.", []string{"group", "peer"}}

	peerRejects = definition{"gavel_peer_rejects_total", "Connections refused or closed unproved on the peer port, and failures to accept, by reason.", []string{"why"}}
	peerConns   = definition{"gavel_peer_connections", "Connections of peers.", nil}
	forwarded   = definition{"gavel_forwarded_total", "Commands sent on to a leader.", nil}
	forwardLost = definition{"gavel_forward_lost_total", "Connections to leaders that ended.", nil}
	clockOffset = definition{"gavel_clock_offset_seconds", "How far this node's clock is ahead of the median of the members.", nil}
	clockWrong  = definition{"gavel_clock_wrong", "1 while that is so much that the node leaves leading to others.", nil}
	rebuilt     = definition{"gavel_state_rebuilt_total", "States wiped and brought back from snapshot and log at the last start.", nil}

	reaped          = definition{"gavel_snapshot_tmp_reaped_total", "Unfinished snapshots deleted at the last start.", nil}
	stateChecks     = definition{"gavel_state_checks_total", "Comparisons of states in which a majority had this node's.", nil}
	stateMismatches = definition{"gavel_state_hash_mismatch_total", "Comparisons of states in which a replica differed.", nil}
	oldestCall      = definition{"gavel_disk_oldest_call_seconds", "Age of the oldest storage call under way; the watchdog ends the process by it.", nil}

	diskFree    = definition{"gavel_disk_free_bytes", "Free space of the data directory; absent when it is not watched.", nil}
	diskReserve = definition{"gavel_disk_reserve_bytes", "Free space below which the node takes no writes.", nil}
	diskLow     = definition{"gavel_disk_low", "1 while the node takes no writes because of that.", nil}

	proposeBatches  = definition{"gavel_propose_batches_total", "Raft entries proposed; each carries many commands.", nil}
	proposeCommands = definition{"gavel_propose_commands_total", "Commands proposed.", nil}
	proposeBytes    = definition{"gavel_propose_bytes_total", "Bytes of proposed commands.", nil}
	fsyncsTotal     = definition{"gavel_fsyncs_total", "Syncs of the raft log.", nil}
	fsyncSeconds    = definition{"gavel_fsync_seconds_total", "Time spent in syncs of the raft log.", nil}
	diskStalls      = definition{"gavel_disk_stalls_total", "Disk operations that the watchdog found slow.", nil}

	pebbleDisk        = definition{"gavel_pebble_disk_bytes", "Disk space used, by database.", []string{"database"}}
	pebbleWAL         = definition{"gavel_pebble_wal_written_bytes_total", "Bytes written to the write-ahead log.", []string{"database"}}
	pebbleMemtable    = definition{"gavel_pebble_memtable_bytes", "Size of the memtables.", []string{"database"}}
	pebbleL0          = definition{"gavel_pebble_l0_files", "Files in level 0.", []string{"database"}}
	pebbleReadAmp     = definition{"gavel_pebble_read_amplification", "Sorted runs a read may visit.", []string{"database"}}
	pebbleCompactions = definition{"gavel_pebble_compactions_total", "Compactions finished.", []string{"database"}}
	pebbleFlushes     = definition{"gavel_pebble_flushes_total", "Memtable flushes finished.", []string{"database"}}
	pebbleCacheHits   = definition{"gavel_pebble_cache_hits_total", "Block cache hits.", []string{"database"}}
	pebbleSublevels   = definition{"gavel_pebble_l0_sublevels", "Sublevels of level 0: writes stall when there are too many.", []string{"database"}}
	pebbleStalls      = definition{"gavel_pebble_write_stalls_total", "Times that writes had to wait for flushes or compactions.", []string{"database"}}
	pebbleErrors      = definition{"gavel_pebble_background_errors_total", "Flushes and compactions that failed for a full disk; other failures end the process.", []string{"database"}}
	pebbleCacheMisses = definition{"gavel_pebble_cache_misses_total", "Block cache misses.", []string{"database"}}
)

// Connections of the listeners, and memory of requests.
var (
	connectionsOpen    = definition{"gavel_connections", "Open connections of a listener.", []string{"listener"}}
	connectionsMax     = definition{"gavel_connections_max", "Bound of the open connections of a listener.", []string{"listener"}}
	acceptFailures     = definition{"gavel_accept_failures_total", "Calls that should have taken a connection and failed, for want of files mostly; they are repeated.", []string{"listener"}}
	connectionsRefused = definition{"gavel_connections_refused_total", "Connections refused because every other one was being served.", []string{"listener"}}
	connectionsClosed  = definition{"gavel_connections_closed_total", "Connections closed to take in new ones at the bound: keyless (no valid key was sent on them), keyed (idle).", []string{"listener", "which"}}

	memoryLimit  = definition{"gavel_memory_limit_bytes", "Memory that the process should stay under; the budgets of requests follow from it.", nil}
	bodyBytes    = definition{"gavel_body_bytes", "What the bodies of requests under way take of their budget.", nil}
	bodyBytesMax = definition{"gavel_body_bytes_max", "The budget of the bodies of requests under way.", nil}
	bodyRefusals = definition{"gavel_body_refusals_total", "Requests refused with 503 because their body did not fit the budget, or the share of their marketplace.", nil}
)

// Reports, explanations and forecasts, read from the node when somebody scrapes.
var (
	backgroundRunning = definition{"gavel_background_running", "Requests of a kind that run beside auctions: report, explain, forecast.", []string{"kind"}}
	backgroundWaiting = definition{"gavel_background_waiting", "Requests of a kind that wait until they may run.", []string{"kind"}}
	backgroundRefused = definition{"gavel_background_refused_total", "Requests of a kind that were refused: too many were waiting, one waited too long, or the CPU time of the marketplace was used up.", []string{"kind"}}
	backgroundCPU     = definition{"gavel_background_cpu_seconds_total", "CPU time that requests of a kind took.", []string{"kind"}}
)

// The market in memory, read from the node when somebody scrapes.
var auditWaiting = definition{"gavel_audit_entries_waiting", "Entries of the audit log whose outcome is not written yet.", nil}

var viewVersion = definition{"gavel_view_version", "Version of the published market view.", nil}

// What the leader of the meta group does in the background: absent on other nodes, or 0.
var (
	transitCount  = definition{"gavel_transfers_in_transit", "Transfers of money that were sent and have not arrived or returned, by the marketplace's number; at most 100 of each group are counted, and of 256 marketplaces.", []string{"marketplace"}}
	transitMicros = definition{"gavel_transfers_in_transit_micros", "Their money, in micro-units of the marketplace's currency.", []string{"marketplace"}}
	transitOldest = definition{"gavel_transfers_in_transit_oldest_seconds", "Age of the oldest of them: beyond some seconds a group cannot be reached.", []string{"marketplace"}}

	mailsQueued = definition{"gavel_mails_queued_total", "Letters that came up to be sent for the first time.", nil}
	mailsTotal  = definition{"gavel_mails_total", "Attempts to send a letter, by result: sent, retried (it failed and is made again), failed (given up).", []string{"result"}}
)
