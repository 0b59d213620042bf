//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// fault is a fault and the alerts that tell an operator of it.
type fault struct {
	name     string
	expected []string // Every one of them has to fire.
	allowed  []string // They may fire as well, because they are true, or become true on a slow machine.
	lingers  []string // Their end is not awaited. Only the last fault may have some.
	// inject injects the fault, goes on with it until the context ends, which is when all expected alerts fire, and removes it.
	// Processes that have ended are started again by the caller.
	inject func(ctx context.Context, c *cluster) error
}

var faults = []fault{
	{
		name: "the process of a node is killed", expected: []string{"GavelDown"},
		inject: func(ctx context.Context, c *cluster) error { return c.kill(ctx, 2) },
	},
	{
		name: "the majority is lost", expected: []string{"GavelDown", "GavelNoLeader", "GavelNotReady"},
		// Nothing is committed, so transfers and entries of the audit log wait, and events are answered 503.
		allowed: []string{"GavelEventErrors", "GavelTransferStuck", "GavelAuditLogBehind", "GavelNoEvents", "GavelNoAuctions", "GavelPacingLate", "GavelLeaderFlapping"},
		inject:  func(ctx context.Context, c *cluster) error { return c.kill(ctx, 1, 2) },
	},
	{
		name: "leaderships move again and again", expected: []string{"GavelLeaderFlapping"}, allowed: []string{"GavelPacingLate"},
		inject: moveLeaderships,
	},
	{
		name: "a disk is slow", expected: []string{"GavelSlowFsync"},
		// The node falls behind, and at the watchdog it ends.
		allowed: []string{
			"GavelDiskHangs", "GavelDiskSlow", "GavelWritesStall", "GavelFollowerBehind", "GavelAuctionsSlow", "GavelPacingLate", "GavelLeaderFlapping",
			"GavelDown", "GavelNotReady", "GavelEventErrors", "GavelAuditLogBehind", "GavelTransferStuck",
		},
		inject: func(ctx context.Context, c *cluster) error {
			err := errors.Join(c.Nodes[2].Throttle(15), lasting(ctx))
			c.Nodes[2].Unthrottle()
			return err
		},
	},
	{
		name: "a disk hangs for some seconds", expected: []string{"GavelDiskHangs"},
		allowed: []string{"GavelDiskSlow", "GavelSlowFsync", "GavelFollowerBehind", "GavelPacingLate", "GavelLeaderFlapping", "GavelDown", "GavelNotReady"},
		inject:  hangDisk,
	},
	{
		name: "a storefront reports events that are refused", expected: []string{"GavelEventErrors"},
		inject: reportNonsense,
	},
	{
		name: "the storefronts send nothing any more", expected: []string{"GavelNoAuctions"}, allowed: []string{"GavelNoEvents"},
		inject: func(ctx context.Context, c *cluster) error {
			c.pauseClients()
			err := lasting(ctx)
			c.resumeClients(context.WithoutCancel(ctx))
			return err
		},
	},
	{
		name: "a disk is full", expected: []string{"GavelDiskFull", "GavelDiskFilling"},
		allowed: []string{"GavelSnapshotsPutOff", "GavelEventErrors", "GavelPacingLate", "GavelLeaderFlapping"},
		lingers: []string{"GavelDiskFilling"}, // Its forecast sees the dip for as long as its window is, half an hour of the quick copy.
		inject: func(ctx context.Context, c *cluster) error {
			disk := c.Nodes[2].Disk
			return errors.Join(disk.Fill(diskBytes/50), lasting(ctx), disk.Free()) // Far less than the reserve.
		},
	},
}

// lasting waits until the context ends.
func lasting(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func (c *cluster) kill(ctx context.Context, which ...int) error {
	var all error
	for _, i := range which {
		all = errors.Join(all, c.Nodes[i].Kill())
	}
	return errors.Join(all, lasting(ctx))
}

// moveLeaderships moves the leadership of group 1 from node to node. A refused transfer is no failure: the node leads already.
func moveLeaderships(ctx context.Context, c *cluster) error {
	for i := 0; ; i++ {
		to := c.Nodes[i%nodes].ID
		c.post(ctx, c.Nodes[(i+1)%nodes].ManageURL+"/operator/v1/cluster/transfer", c.managementKey, fmt.Sprintf(`{"group":1,"node":%q}`, to))
		if !wait(ctx, 3*time.Second) {
			return nil
		}
	}
}

const (
	hangs     = 3500 * time.Millisecond // Above the second of the alert, below the watchdog.
	hangPause = 10 * time.Second
)

// hangDisk makes all writes of a node hang for some seconds, again and again: nobody scrapes at exactly the right moment.
func hangDisk(ctx context.Context, c *cluster) error {
	disk := c.Nodes[2].Disk
	for {
		if err := disk.Freeze(); err != nil {
			return err
		}
		time.Sleep(hangs)
		if err := disk.Thaw(); err != nil {
			return err
		}
		if !wait(ctx, hangPause) {
			return nil
		}
	}
}

// reportNonsense reports clicks of ads that never won, beside the events of the clients.
func reportNonsense(ctx context.Context, c *cluster) error {
	const body = `{"clicks":[{"id":"nonsense","occurredAt":"2026-01-01T00:00:00Z","opaqueUserId":"u","resolvedBidId":"none"}]}`
	for wait(ctx, 20*time.Millisecond) {
		if status, text := c.post(ctx, c.Nodes[0].AuctionURL+"/v2/events", c.auctionKey, body); status == http.StatusOK || status == http.StatusNoContent {
			return fmt.Errorf("an event of no ad was accepted: %d %s", status, text)
		}
	}
	return nil
}
