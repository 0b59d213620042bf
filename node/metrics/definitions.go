package metrics

import "github.com/prometheus/client_golang/prometheus"

// definition is the name, the help and the labels of a metric. INVARIANT: every metric of this program is defined once,
// in this file.
type definition struct {
	name, help string
	labels     []string
}

func (d definition) desc() *prometheus.Desc {
	return prometheus.NewDesc(d.name, d.help, d.labels, nil)
}

// Traffic of /v2, on both listeners.
var (
	requestsTotal  = definition{"gavel_requests_total", "Requests answered on /v2, by operation and HTTP status.", []string{"operation", "status"}}
	errorsTotal    = definition{"gavel_errors_total", "Refusals on /v2, by errCode and HTTP status.", []string{"code", "status"}}
	requestSeconds = definition{"gavel_request_seconds", "Time from the parsed head of a request to its answer, by operation.", []string{"operation"}}
	keyFailures    = definition{"gavel_key_check_failures_total", "Requests without a valid API key, on both listeners, by HTTP status.", []string{"status"}}
	panicsTotal    = definition{"gavel_panics_total", "Panics caught while a request was served: defects, each answered with 500.", nil}
	refusedFrames  = definition{"gavel_framing_refusals_total", "Requests refused for ambiguous framing before they were routed.", nil}

	auctionsTotal = definition{"gavel_auctions_total", "Auctions run.", nil}
	winnersTotal  = definition{"gavel_winners_total", "Winners returned.", nil}
	lossesTotal   = definition{"gavel_losses_total", "Bids that lost, by the first gate they failed.", []string{"reason"}}

	eventsTotal   = definition{"gavel_events_total", "Events committed, by array and outcome.", []string{"kind", "outcome"}}
	chargedMicros = definition{"gavel_charged_micros_total", "Money charged by events, in micro-units, all currencies added.", nil}
	clippedMicros = definition{"gavel_clipped_micros_total", "Money not charged because a budget or wallet was used up, in micro-units, all currencies added.", nil}
)

// Traffic of the management listener.
var (
	managementRequests = definition{"gavel_management_requests_total", "Management requests, by operation and HTTP status.", []string{"operation", "status"}}
	managementSeconds  = definition{"gavel_management_request_seconds", "Duration of management requests, by operation.", []string{"operation"}}
)

// Replication and storage, read from the node at each scrape.
var (
	raftLeader      = definition{"gavel_raft_leader", "1 if this node leads the group.", []string{"group"}}
	raftReady       = definition{"gavel_raft_ready", "1 if this node leads the group and accepts its commands.", []string{"group"}}
	raftTerm        = definition{"gavel_raft_term", "Raft term.", []string{"group"}}
	raftFirst       = definition{"gavel_raft_first_index", "First index in the log.", []string{"group"}}
	raftLast        = definition{"gavel_raft_last_index", "Last index in the log.", []string{"group"}}
	raftCommit      = definition{"gavel_raft_commit_index", "Highest committed index.", []string{"group"}}
	raftApplied     = definition{"gavel_raft_applied_index", "Highest index applied to the state.", []string{"group"}}
	raftDigest      = definition{"gavel_raft_state_digest", "Upper 53 bits of the hash of the state at the applied index: equal on all replicas at the same index.", []string{"group"}}
	raftContact     = definition{"gavel_raft_last_contact_seconds", "Time since the leader last contacted this node; 0 on the leader.", []string{"group"}}
	raftSnapshots   = definition{"gavel_raft_snapshots_total", "Snapshots taken.", []string{"group"}}
	raftStaleness   = definition{"gavel_raft_staleness_seconds", "Age of this node's replica, by the leader's newest tick: above the setting staleness its campaigns lose as stale.", []string{"group"}}
	raftFenced      = definition{"gavel_staleness_fenced_total", "Auction requests for which the group's replica was stale.", []string{"group"}}
	raftLag         = definition{"gavel_raft_apply_lag", "Committed entries that are not applied yet.", []string{"group"}}
	raftQueued      = definition{"gavel_raft_queued_commands", "Commands waiting to be proposed.", []string{"group"}}
	raftInflight    = definition{"gavel_raft_inflight", "Entries proposed and not committed yet.", []string{"group"}}
	raftEntries     = definition{"gavel_raft_proposed_entries_total", "Entries proposed by this node.", []string{"group"}}
	raftCommands    = definition{"gavel_raft_proposed_commands_total", "Commands in the entries proposed by this node.", []string{"group"}}
	raftUnknown     = definition{"gavel_raft_unknown_outcomes_total", "Commands whose outcome (applied or not) is unknown to the proposer.", []string{"group"}}
	raftApply       = definition{"gavel_raft_apply_seconds_total", "Time spent applying entries.", []string{"group"}}
	raftInstalls    = definition{"gavel_raft_install_snapshot_total", "Snapshots restored: received from a leader, or at the start.", []string{"group"}}
	raftSnapBytes   = definition{"gavel_raft_snapshot_bytes", "Size of the newest snapshot taken by this node.", []string{"group"}}
	raftSnapPutOff  = definition{"gavel_raft_snapshots_put_off_total", "Snapshots postponed or aborted because of too little disk space: the log is not truncated meanwhile.", []string{"group"}}
	raftSnapSeconds = definition{"gavel_raft_snapshot_seconds", "Duration of the newest snapshot taken by this node.", []string{"group"}}
	raftLeaders     = definition{"gavel_raft_leader_changes_total", "Terms in which this node learned of a leader, itself included.", []string{"group"}}
	raftRefused     = definition{"gavel_raft_refused_commands_total", "Commands refused because the queue was full.", []string{"group"}}
	raftOldest      = definition{"gavel_raft_oldest_log_age_seconds", "Age of the oldest log entry: a follower that was away for longer needs a snapshot. Absent when the age is unknown.", []string{"group"}}
	raftPropose     = definition{"gavel_raft_propose_seconds", "Time from proposing an entry until it was committed and applied on this node.", []string{"group"}}

	peerLag     = definition{"gavel_raft_peer_lag", "Entries by which a follower's log was shorter than the leader's at its last answer; reported by the leader.", []string{"group", "peer"}}
	peerContact = definition{"gavel_raft_peer_contact_seconds", "Time since a follower's last answer; reported by the leader, absent before the first answer.", []string{"group", "peer"}}

	peerRejects = definition{"gavel_peer_rejects_total", "Connections to the peer port that were refused or closed before they were authenticated, and failures to accept, by reason.", []string{"why"}}
	peerConns   = definition{"gavel_peer_connections", "Open connections of the peer port.", nil}
	forwarded   = definition{"gavel_forwarded_total", "Commands forwarded to a leader.", nil}
	forwardLost = definition{"gavel_forward_lost_total", "Connections for forwarded commands to leaders that ended.", nil}
	clockOffset = definition{"gavel_clock_offset_seconds", "How far this node's clock is ahead of the median of the members.", nil}
	clockWrong  = definition{"gavel_clock_wrong", "1 while the clock offset is too large for this node to lead.", nil}
	rebuilt     = definition{"gavel_state_rebuilt_total", "States deleted and rebuilt from snapshot and log at the last start.", nil}

	reaped          = definition{"gavel_snapshot_tmp_reaped_total", "Unfinished snapshots deleted at the last start.", nil}
	stateChecks     = definition{"gavel_state_checks_total", "Comparisons of states in which a majority had the same state as this node.", nil}
	stateMismatches = definition{"gavel_state_hash_mismatch_total", "Comparisons of states in which a replica differed.", nil}
	oldestCall      = definition{"gavel_disk_oldest_call_seconds", "Age of the oldest running storage call; above raft.watchdog the process ends.", nil}

	diskFree    = definition{"gavel_disk_free_bytes", "Free space of the data directory's disk; absent when it is not monitored.", nil}
	diskReserve = definition{"gavel_disk_reserve_bytes", "Free space below which the node refuses writes.", nil}
	diskLow     = definition{"gavel_disk_low", "1 while the node refuses writes because free space is below the reserve.", nil}

	proposeBatches  = definition{"gavel_propose_batches_total", "Raft entries proposed; each carries many commands.", nil}
	proposeCommands = definition{"gavel_propose_commands_total", "Commands proposed.", nil}
	proposeBytes    = definition{"gavel_propose_bytes_total", "Bytes of proposed commands.", nil}
	fsyncsTotal     = definition{"gavel_fsyncs_total", "Syncs of the raft log.", nil}
	fsyncSeconds    = definition{"gavel_fsync_seconds_total", "Time spent in syncs of the raft log.", nil}
	diskStalls      = definition{"gavel_disk_stalls_total", "Disk operations that the watchdog reported as slow.", nil}

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
	pebbleErrors      = definition{"gavel_pebble_background_errors_total", "Flushes and compactions that failed because of a full disk; other failures end the process.", []string{"database"}}
	pebbleCacheMisses = definition{"gavel_pebble_cache_misses_total", "Block cache misses.", []string{"database"}}
)

// Connections of the listeners, and memory of requests.
var (
	connectionsOpen    = definition{"gavel_connections", "Open connections of a listener.", []string{"listener"}}
	connectionsMax     = definition{"gavel_connections_max", "Maximum number of open connections of a listener.", []string{"listener"}}
	acceptFailures     = definition{"gavel_accept_failures_total", "Failures to accept a connection, mostly for lack of file descriptors; they are retried.", []string{"listener"}}
	connectionsRefused = definition{"gavel_connections_refused_total", "Connections refused at the maximum because every open connection was serving a request.", []string{"listener"}}
	connectionsClosed  = definition{"gavel_connections_closed_total", "Connections closed at the maximum to accept new ones: keyless (no valid key was sent on them), keyed (idle).", []string{"listener", "which"}}

	memoryLimit  = definition{"gavel_memory_limit_bytes", "Memory that the process should not exceed; the budgets of requests are derived from it.", nil}
	bodyBytes    = definition{"gavel_body_bytes", "Bytes of the body budget that open requests use.", nil}
	bodyBytesMax = definition{"gavel_body_bytes_max", "Budget for the bodies of open requests.", nil}
	bodyRefusals = definition{"gavel_body_refusals_total", "Requests refused with 503 because their body exceeded what was left of the budget or of their marketplace's share.", nil}
)

// Reports, explanations and forecasts, read from the node at each scrape.
var (
	backgroundRunning = definition{"gavel_background_running", "Running background requests, by kind: report, explain, forecast.", []string{"kind"}}
	backgroundWaiting = definition{"gavel_background_waiting", "Waiting background requests, by kind.", []string{"kind"}}
	backgroundRefused = definition{"gavel_background_refused_total", "Refused background requests, by kind: too many were waiting, one waited too long, or the CPU time of the marketplace was used up.", []string{"kind"}}
	backgroundCPU     = definition{"gavel_background_cpu_seconds_total", "CPU time of background requests, by kind.", []string{"kind"}}
)

// All management requests, read from the node at each scrape.
var (
	turnsWaiting = definition{"gavel_management_cpu_waiting", "Management requests that wait for a CPU, because auctions and other management requests come first.", nil}
	turnsCPU     = definition{"gavel_management_cpu_seconds_total", "CPU time of management requests, background requests included.", nil}
)

// The audit log, read from the node at each scrape.
var auditWaiting = definition{"gavel_audit_entries_waiting", "Entries of the audit log whose outcome is not written yet.", nil}

// The market in memory, read from the node at each scrape.
var viewVersion = definition{"gavel_view_version", "Version of the published market view.", nil}

// Background work of the leader of the meta group; absent or 0 on other nodes.
var (
	transitCount  = definition{"gavel_transfers_in_transit", "Transfers that were sent and not received or returned yet, by the marketplace's number; at most 100 of each group, and of 256 marketplaces, are counted.", []string{"marketplace"}}
	transitMicros = definition{"gavel_transfers_in_transit_micros", "Money of the transfers in transit, in micro-units of the marketplace's currency.", []string{"marketplace"}}
	transitOldest = definition{"gavel_transfers_in_transit_oldest_seconds", "Age of the oldest transfer in transit: above some seconds a group is not reachable.", []string{"marketplace"}}

	mailsQueued = definition{"gavel_mails_queued_total", "Mails queued for sending.", nil}
	mailsTotal  = definition{"gavel_mails_total", "Attempts to send a mail, by result: sent, retried (it failed and will be repeated), failed (it will not be repeated).", []string{"result"}}
)

// Pacing, read from the node at each scrape.
var (
	pacingTicks      = definition{"gavel_pacing_ticks_total", "Ticks of the pacing controllers of a group that this node led.", nil}
	pacingSeconds    = definition{"gavel_pacing_tick_seconds_total", "Time spent in ticks of the pacing controllers, without waiting for commits.", nil}
	pacingCampaigns  = definition{"gavel_pacing_campaigns", "Campaigns of the groups that this node leads whose bids are lowered, left out at times, or stopped by pacing.", nil}
	pacingChanges    = definition{"gavel_pacing_changes_total", "Decisions about campaigns that this node replicated.", nil}
	pacingUnproposed = definition{"gavel_pacing_proposals_failed_total", "Commands with decisions that were refused, or of which it is not known whether they were applied; the next tick decides anew.", nil}
	pacingSent       = definition{"gavel_pacing_reports_sent_total", "Reports of what this node served that it sent to leaders on other nodes.", nil}
	pacingFailed     = definition{"gavel_pacing_reports_failed_total", "Reports that a leader refused or did not answer in time, and those not sent because it had not answered the last one.", nil}
	pacingRefused    = definition{"gavel_pacing_reports_refused_total", "Reports that this node refused as a leader: it led no more, or the other node was behind. The next report repeats them.", nil}
	pacingLate       = definition{"gavel_pacing_reports_late_total", "Seconds, summed over groups, in which more than 3 reports of this node were not part of the hold yet.", nil}
	pacingDeferred   = definition{"gavel_pacing_report_campaigns_deferred_total", "Campaigns that did not fit into a report and waited for the next one.", nil}
	overdelivered    = definition{"gavel_pacing_overdelivery_micros_total", "Prices of clicks and impressions that budgets and wallets could not pay, by group, in micro-units, all currencies added.", []string{"group"}}
)
