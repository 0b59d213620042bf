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
	requestsTotal  = definition{"gavel_requests_total", "Requests to /v2 that were answered, on both listeners, by operation and HTTP status.", []string{"operation", "status"}}
	errorsTotal    = definition{"gavel_errors_total", "Requests to /v2 that were refused, by the errCode of the answer and its HTTP status.", []string{"code", "status"}}
	requestSeconds = definition{"gavel_request_seconds", "Seconds from the parsed head of a request to /v2 until its answer was ready, by operation; the transfer is not included.", []string{"operation"}}
	keyFailures    = definition{"gavel_key_check_failures_total", "Requests to /v2 without an API key that is valid for it, on both listeners, by HTTP status: 401 unknown, 403 of the wrong kind.", []string{"status"}}
	panicsTotal    = definition{"gavel_panics_total", "Panics that were caught while a request to /v2 was served. Each is a defect of this program and was answered with 500.", nil}
	refusedFrames  = definition{"gavel_framing_refusals_total", "Requests to the auction listener that were refused before routing, because their length could be read in two ways.", nil}

	auctionsTotal = definition{"gavel_auctions_total", "Auctions that were run; a request carries one to five.", nil}
	winnersTotal  = definition{"gavel_winners_total", "Winners that auctions returned; compare with gavel_auctions_total for how well slots are filled.", nil}
	lossesTotal   = definition{"gavel_losses_total", "Bids that took part in auctions and lost, by the first reason; gavel explain shows it bid by bid.", []string{"reason"}}

	eventsTotal   = definition{"gavel_events_total", "Events that were committed, by kind (impressions, clicks, purchases, page views) and outcome, such as charged or duplicate.", []string{"kind", "outcome"}}
	chargedMicros = definition{"gavel_charged_micros_total", "Money that events charged, in millionths of the major unit (1000000 is 1.00), by currency; other: of currencies beyond 31.", []string{"currency"}}
	clippedMicros = definition{"gavel_clipped_micros_total", "Money that events did not charge because a budget or wallet was used up, in millionths of the major unit, by currency.", []string{"currency"}}
)

// Traffic of the management listener.
var (
	managementRequests = definition{"gavel_management_requests_total", "Requests to the management API that were answered, by operation and HTTP status.", []string{"operation", "status"}}
	managementSeconds  = definition{"gavel_management_request_seconds", "Seconds that requests to the management API took, by operation.", []string{"operation"}}
)

// Replication and storage, read from the node at each scrape.
var (
	raftLeader      = definition{"gavel_raft_leader", "1 if this node leads the raft group, else 0; over all nodes the sum of each group should be 1.", []string{"group"}}
	raftReady       = definition{"gavel_raft_ready", "1 if this node leads the raft group and accepts commands for it, else 0.", []string{"group"}}
	raftTerm        = definition{"gavel_raft_term", "Term of the raft group as this node knows it; it grows with each election.", []string{"group"}}
	raftFirst       = definition{"gavel_raft_first_index", "Index of the first entry in this node's log of the raft group; older entries are in the snapshot.", []string{"group"}}
	raftLast        = definition{"gavel_raft_last_index", "Index of the last entry in this node's log of the raft group.", []string{"group"}}
	raftCommit      = definition{"gavel_raft_commit_index", "Index of the last entry of the raft group that this node knows to be on the disks of a majority.", []string{"group"}}
	raftApplied     = definition{"gavel_raft_applied_index", "Index of the last entry of the raft group that this node has applied to its state.", []string{"group"}}
	raftDigest      = definition{"gavel_raft_state_digest", "Upper 53 bits of the hash of the raft group's state at gavel_raft_applied_index; equal on all nodes at the same index.", []string{"group"}}
	raftContact     = definition{"gavel_raft_last_contact_seconds", "Seconds since the leader of the raft group last contacted this node; 0 on the leader.", []string{"group"}}
	raftSnapshots   = definition{"gavel_raft_snapshots_total", "Snapshots that this node has taken of its state of the raft group.", []string{"group"}}
	raftStaleness   = definition{"gavel_raft_staleness_seconds", "Seconds by which this node's replica of the raft group is behind the leader's clock; above the setting staleness its campaigns lose as stale.", []string{"group"}}
	raftFenced      = definition{"gavel_staleness_fenced_total", "Auction requests in which campaigns of the raft group lost as stale, because this node's replica was too old.", []string{"group"}}
	raftLag         = definition{"gavel_raft_apply_lag", "Entries of the raft group that are committed and that this node has not applied yet.", []string{"group"}}
	raftQueued      = definition{"gavel_raft_queued_commands", "Commands that wait on this node to be proposed to the raft group.", []string{"group"}}
	raftInflight    = definition{"gavel_raft_inflight", "Entries that this node has proposed to the raft group and that are not committed yet.", []string{"group"}}
	raftEntries     = definition{"gavel_raft_proposed_entries_total", "Entries that this node has proposed to the raft group; each carries one or more commands.", []string{"group"}}
	raftCommands    = definition{"gavel_raft_proposed_commands_total", "Commands in the entries that this node has proposed to the raft group.", []string{"group"}}
	raftUnknown     = definition{"gavel_raft_unknown_outcomes_total", "Commands of the raft group of which this node does not know whether they were applied; their requests were answered 503.", []string{"group"}}
	raftApply       = definition{"gavel_raft_apply_seconds_total", "Seconds that this node has spent applying entries of the raft group.", []string{"group"}}
	raftInstalls    = definition{"gavel_raft_install_snapshot_total", "Snapshots of the raft group that replaced this node's state: received from a leader, or read at the start.", []string{"group"}}
	raftSnapBytes   = definition{"gavel_raft_snapshot_bytes", "Bytes of the newest snapshot that this node has taken of the raft group.", []string{"group"}}
	raftSnapPutOff  = definition{"gavel_raft_snapshots_put_off_total", "Snapshots of the raft group that this node postponed or aborted for lack of disk space; its log grows meanwhile.", []string{"group"}}
	raftSnapSeconds = definition{"gavel_raft_snapshot_seconds", "Seconds that the newest snapshot of the raft group took on this node.", []string{"group"}}
	raftLeaders     = definition{"gavel_raft_leader_changes_total", "Terms of the raft group in which this node learned of a leader, itself included.", []string{"group"}}
	raftRefused     = definition{"gavel_raft_refused_commands_total", "Commands for the raft group that this node refused with 503 because its queue was full.", []string{"group"}}
	raftOldest      = definition{"gavel_raft_oldest_log_age_seconds", "Seconds since the oldest entry in this node's log of the raft group was written: a follower that was away for longer needs a snapshot. Absent when unknown.", []string{"group"}}
	raftPropose     = definition{"gavel_raft_propose_seconds", "Seconds from proposing an entry to the raft group until it was committed and applied on this node.", []string{"group"}}

	peerLag     = definition{"gavel_raft_peer_lag", "Entries by which the follower peer was behind the leader's log of the raft group at its last answer; reported by the leader.", []string{"group", "peer"}}
	peerContact = definition{"gavel_raft_peer_contact_seconds", "Seconds since the follower peer last answered the leader of the raft group; reported by the leader, absent before the first answer.", []string{"group", "peer"}}

	peerRejects = definition{"gavel_peer_rejects_total", "Connections to the peer port that were refused, or closed before they were authenticated, and failures to accept, by reason (why).", []string{"why"}}
	peerConns   = definition{"gavel_peer_connections", "Open connections of other nodes to the peer port of this node.", nil}
	forwarded   = definition{"gavel_forwarded_total", "Commands that this node forwarded to the node that leads their raft group.", nil}
	forwardLost = definition{"gavel_forward_lost_total", "Connections to leaders, for forwarded commands, that ended; open commands on them have an unknown outcome.", nil}
	nodeReady   = definition{"gavel_ready", "1 while the node answers /readyz with 200, else 0.", nil}
	clockOffset = definition{"gavel_clock_offset_seconds", "Seconds by which this node's clock is ahead of the median of all nodes' clocks; negative when it is behind.", nil}
	clockWrong  = definition{"gavel_clock_wrong", "1 while this node's clock is too far from the others' for it to lead raft groups, else 0.", nil}
	rebuilt     = definition{"gavel_state_rebuilt_total", "Raft groups whose state had to be rebuilt from snapshot and log when this node started.", nil}

	reaped          = definition{"gavel_snapshot_tmp_reaped_total", "Unfinished snapshots that were deleted when this node started; not 0 after a crash while one was written.", nil}
	stateChecks     = definition{"gavel_state_checks_total", "Comparisons of replicas by their digests in which a majority had the same state as this node.", nil}
	stateMismatches = definition{"gavel_state_hash_mismatch_total", "Comparisons of replicas by their digests in which one differed: memory, disk or program of a node is faulty.", nil}
	oldestCall      = definition{"gavel_disk_oldest_call_seconds", "Seconds that the oldest running call to the disk has taken so far; at the setting raft.watchdog the process ends.", nil}

	diskFree    = definition{"gavel_disk_free_bytes", "Free bytes on the disk of the data directory; absent when they cannot be measured.", nil}
	diskReserve = definition{"gavel_disk_reserve_bytes", "Free bytes on the disk of the data directory below which the node refuses events and changes.", nil}
	diskLow     = definition{"gavel_disk_low", "1 while the node refuses events and changes because free disk space is below the reserve, else 0.", nil}

	proposeBatches  = definition{"gavel_propose_batches_total", "Entries that this node has proposed to all raft groups; each carries one or more commands.", nil}
	proposeCommands = definition{"gavel_propose_commands_total", "Commands that this node has proposed to all raft groups.", nil}
	proposeBytes    = definition{"gavel_propose_bytes_total", "Bytes of the commands that this node has proposed to all raft groups.", nil}
	fsyncsTotal     = definition{"gavel_fsyncs_total", "Times that the raft log was synced to the disk.", nil}
	fsyncSeconds    = definition{"gavel_fsync_seconds_total", "Seconds spent syncing the raft log to the disk; divided by gavel_fsyncs_total, the mean time of one sync.", nil}
	diskStalls      = definition{"gavel_disk_stalls_total", "Calls to the disk that took so long that the storage library reported them as slow.", nil}

	pebbleDisk        = definition{"gavel_pebble_disk_bytes", "Bytes on the disk that the database (raftlog or state) uses.", []string{"database"}}
	pebbleWAL         = definition{"gavel_pebble_wal_written_bytes_total", "Bytes that the database wrote to its write-ahead log.", []string{"database"}}
	pebbleMemtable    = definition{"gavel_pebble_memtable_bytes", "Bytes of memory that hold what the database has not written to files yet.", []string{"database"}}
	pebbleL0          = definition{"gavel_pebble_l0_files", "Files in level 0 of the database, which compactions have not merged yet.", []string{"database"}}
	pebbleReadAmp     = definition{"gavel_pebble_read_amplification", "Sorted runs that a read of the database may have to visit; it grows when compactions fall behind.", []string{"database"}}
	pebbleCompactions = definition{"gavel_pebble_compactions_total", "Compactions, which merge the files of the database, that were finished.", []string{"database"}}
	pebbleFlushes     = definition{"gavel_pebble_flushes_total", "Times that the database has written its memory to a file.", []string{"database"}}
	pebbleSublevels   = definition{"gavel_pebble_l0_sublevels", "Sublevels of level 0 of the database; with too many, writes have to wait.", []string{"database"}}
	pebbleStalls      = definition{"gavel_pebble_write_stalls_total", "Times that writes to the database had to wait for flushes or compactions.", []string{"database"}}
	pebbleErrors      = definition{"gavel_pebble_background_errors_total", "Flushes and compactions of the database that failed because the disk was full; other failures end the process.", []string{"database"}}

	pebbleCacheHits   = definition{"gavel_pebble_cache_hits_total", "Blocks that reads of the databases found in the cache, which they share.", nil}
	pebbleCacheMisses = definition{"gavel_pebble_cache_misses_total", "Blocks that reads of the databases had to fetch from the disk, because they were not in the cache.", nil}
	pebbleCacheBytes  = definition{"gavel_pebble_cache_bytes", "Bytes of blocks in the cache of the databases.", nil}
	pebbleCacheMax    = definition{"gavel_pebble_cache_max_bytes", "Bytes that the cache of the databases may have; a share of gavel_memory_limit_bytes.", nil}
)

// Connections of the listeners, and memory of requests.
var (
	connectionsOpen    = definition{"gavel_connections", "Open connections of the listener (auction or management).", []string{"listener"}}
	connectionsMax     = definition{"gavel_connections_max", "Connections that the listener (auction or management) may have open at the same time.", []string{"listener"}}
	acceptFailures     = definition{"gavel_accept_failures_total", "Times that the listener could not accept a connection, mostly for lack of file descriptors; it tries again.", []string{"listener"}}
	connectionsRefused = definition{"gavel_connections_refused_total", "Connections that the listener refused at its maximum, because every open connection was serving a request.", []string{"listener"}}
	connectionsClosed  = definition{"gavel_connections_closed_total", "Connections that the listener closed at its maximum to accept new ones, by which: keyless (no valid key was sent on them) or keyed (idle).", []string{"listener", "which"}}

	handshakeFailures = definition{"gavel_tls_handshake_failures_total", "TLS handshakes with the listener (auction or management) that were not completed: the client refused the certificate, did not speak TLS 1.2 or newer, or disconnected.", []string{"listener"}}
	certificateEnd    = definition{"gavel_certificate_not_after_seconds", "Seconds since 1970 (Unix time) at which the certificate of the listener (auction, management or peer) expires; absent without TLS.", []string{"listener"}}

	memoryLimit  = definition{"gavel_memory_limit_bytes", "Bytes of memory that the process should not exceed; the budgets of requests are derived from it.", nil}
	bodyBytes    = definition{"gavel_body_bytes", "Bytes of memory that the bodies of open requests use.", nil}
	bodyBytesMax = definition{"gavel_body_bytes_max", "Bytes of memory that the bodies of open requests may use together.", nil}
	bodyRefusals = definition{"gavel_body_refusals_total", "Requests refused with 503 because their body exceeded what was left of the memory for bodies, or of their marketplace's share.", nil}
)

// Reports, explanations and forecasts, read from the node at each scrape.
var (
	backgroundRunning = definition{"gavel_background_running", "Background requests that run now, by kind: report, explain, forecast.", []string{"kind"}}
	backgroundWaiting = definition{"gavel_background_waiting", "Background requests that wait to run, by kind: report, explain, forecast.", []string{"kind"}}
	backgroundRefused = definition{"gavel_background_refused_total", "Background requests that were refused, by kind: too many were waiting, one waited too long, or the CPU time of the marketplace was used up.", []string{"kind"}}
	backgroundCPU     = definition{"gavel_background_cpu_seconds_total", "Seconds of CPU time that background requests took, by kind: report, explain, forecast.", []string{"kind"}}
)

// All management requests, read from the node at each scrape.
var (
	turnsWaiting = definition{"gavel_management_cpu_waiting", "Management requests that wait for a CPU, because auctions and other management requests come first.", nil}
	turnsCPU     = definition{"gavel_management_cpu_seconds_total", "Seconds of CPU time that management requests took, background requests included.", nil}
	slotsRefused = definition{"gavel_management_refused_total", "Management requests that were refused with 503, because their marketplace had as many under way as connections were free.", nil}
)

// The audit log, read from the node at each scrape.
var auditWaiting = definition{"gavel_audit_entries_waiting", "Entries of the audit log whose answer waits to be written.", nil}

// The market in memory, read from the node at each scrape.
var viewVersion = definition{"gavel_view_version", "Version of the market that auctions read; it grows with every change of a campaign, bid or product.", nil}

// Background work of the leader of the meta group; absent or 0 on other nodes.
var (
	transitCount  = definition{"gavel_transfers_in_transit", "Transfers of money that were sent and not received or returned yet, by the number of the marketplace; at most 100 of each group, and of 256 marketplaces, are counted.", []string{"marketplace"}}
	transitMicros = definition{"gavel_transfers_in_transit_micros", "Money of the transfers in transit, in millionths of the major unit of the marketplace's currency, by the number of the marketplace.", []string{"marketplace"}}
	transitOldest = definition{"gavel_transfers_in_transit_oldest_seconds", "Seconds since the oldest transfer in transit was sent, by the number of the marketplace; above some seconds, a raft group cannot be reached.", []string{"marketplace"}}

	mailsQueued = definition{"gavel_mails_queued_total", "Mails, such as invitations, that were queued for sending.", nil}
	mailsTotal  = definition{"gavel_mails_total", "Attempts to send a mail, by result: sent, retried (it failed and will be repeated), failed (it will not be repeated).", []string{"result"}}
)

// Backups, counted by the node that streams them.
var (
	backupsTotal = definition{"gavel_backups_total", "Backups that were requested from this node, by result: sent (the client got all of it), failed.", []string{"result"}}
	backupLast   = definition{"gavel_backup_last_seconds", "Seconds since 1970 (Unix time) at which this node has sent the last backup to its end; absent until it has sent one since its start.", nil}

	logSegmentsTotal = definition{"gavel_log_segments_total", "Parts of the log that gavel archive requested from this node, by result: sent (the client got all of it), failed, gap (the node had deleted entries that follow the archive: until the next backup no later moment can be restored).", []string{"result"}}
	logSegmentLast   = definition{"gavel_log_segment_last_seconds", "Seconds since 1970 (Unix time) at which this node has sent the last part of the log to its end; absent until it has sent one since its start.", nil}
)

// Exports, read from the node at each scrape where they are configured.
var (
	exportRows     = definition{"gavel_export_rows_total", "Rows of the journal, conversions, report counters and events that this node has exported.", nil}
	exportFiles    = definition{"gavel_export_files_total", "Files that this node has exported, without manifests.", nil}
	exportFailures = definition{"gavel_export_failures_total", "Attempts to export an hour that failed; the hour is exported again in a minute.", nil}
	exportLag      = definition{"gavel_export_lag_seconds", "Seconds from the begin of the oldest hour that is not exported to the clock of its raft group, of the groups that this node leads; about an hour and three quarters when all is well.", nil}
)

// Sinks, read from the node at each scrape where they are configured.
var (
	sinkSent     = definition{"gavel_sink_sent_total", "Charges, reversals and conversions that this node has sent to the sink (kafka or nats) and the broker has acknowledged, repeats included.", []string{"sink"}}
	sinkFailures = definition{"gavel_sink_failures_total", "Attempts to send to the sink that failed; they are repeated after at most a minute, and nothing is lost.", []string{"sink"}}
	sinkLines    = definition{"gavel_sink_lag_records", "Lines of the journal that the sink has not passed, of the groups that this node leads, at the last attempt.", []string{"sink"}}
	sinkLag      = definition{"gavel_sink_lag_seconds", "Seconds since the oldest line of the journal, or credited item, that the sink has not passed was committed, of the groups that this node leads, at the last attempt.", []string{"sink"}}
)

// Auctions won and lost by campaign, read from the node at each scrape.
var (
	countsProposed = definition{"gavel_auction_counts_total", "Commands with auctions won and lost by campaign that this node reported and a group counted.", nil}
	countsFailed   = definition{"gavel_auction_counts_failed_total", "Such commands that a group did not answer in time or refused; this node repeats them, and each counts once.", nil}
	countsDropped  = definition{"gavel_auction_counts_dropped_total", "Campaigns whose counts of an hour, and users whose enrolments in the measurement of a holdout, were given up, because too many waited for a group without a leader.", nil}
	countsWeight   = definition{"gavel_auction_loss_weight", "This node counts the losers of one of so many requests, each so many times; 1: of all requests.", nil}
)

// Pacing, read from the node at each scrape.
var (
	pacingTicks      = definition{"gavel_pacing_ticks_total", "Ticks of the pacing controllers of a group that this node led.", nil}
	pacingSeconds    = definition{"gavel_pacing_tick_seconds_total", "Seconds spent in ticks of the pacing controllers, without waiting for commits.", nil}
	pacingCampaigns  = definition{"gavel_pacing_campaigns", "Campaigns of the groups that this node leads whose bids are lowered, left out at times, or stopped by pacing.", nil}
	pacingByReturn   = definition{"gavel_pacing_campaigns_limited_by_return", "Campaigns of the groups that this node leads whose bids the target return lowers more than the budget does.", nil}
	pacingChanges    = definition{"gavel_pacing_changes_total", "Decisions about campaigns that this node replicated.", nil}
	pacingUnproposed = definition{"gavel_pacing_proposals_failed_total", "Commands with decisions that were refused, or of which it is not known whether they were applied; the next tick decides anew.", nil}
	pacingSent       = definition{"gavel_pacing_reports_sent_total", "Reports of what this node served that it sent to leaders on other nodes.", nil}
	pacingFailed     = definition{"gavel_pacing_reports_failed_total", "Reports that a leader refused or did not answer in time, and those not sent because it had not answered the last one.", nil}
	pacingRefused    = definition{"gavel_pacing_reports_refused_total", "Reports that this node refused as a leader: it led no more, or the other node was behind. The next report repeats them.", nil}
	pacingLate       = definition{"gavel_pacing_reports_late_total", "Seconds, summed over groups, in which more than 3 reports of this node were not part of the hold yet.", nil}
	pacingDeferred   = definition{"gavel_pacing_report_campaigns_deferred_total", "Campaigns that did not fit into a report and waited for the next one.", nil}
	pacingHours      = definition{"gavel_pacing_traffic_learned_total", "Hours of a marketplace's traffic that this node, as the leader of the meta group, proposed to be learned. An hour whose count may be incomplete is left out.", nil}
	overdelivered    = definition{"gavel_pacing_overdelivery_micros_total", "Prices of clicks and impressions that budgets and wallets could not pay, by group, in millionths of the major unit, all currencies added.", []string{"group"}}
)
