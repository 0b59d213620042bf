package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/node/demo"
	"github.com/gavel-ads/gavel/raftstore"
)

// unfinishedHistory is a file in the data directory of a demo. It exists from before the directory belongs to a node until
// the history is written, so that the start after an interrupted one goes on with it.
const unfinishedHistory = "demo-history-unfinished"

// writeHistory fills an empty data directory with the demo's market and with what happened in it on the days before today.
// A node of its own does that, whose clock is in the past; it is closed before this node opens the directory. So this node
// has nothing of it in memory, and its clock is the wall clock as that of any other node.
func (n *node) writeHistory(ctx context.Context) error {
	wanted, err := n.wantsHistory()
	if err != nil || !wanted {
		return err
	}
	p := newPast(n)
	err = p.write(ctx)
	n.firstKeys, n.keysShown, n.demoPast = p.firstKeys, p.keysShown, &p.performed
	if err = errors.Join(err, p.stop(n.log)); err != nil {
		return fmt.Errorf("write the history of the demo: %w", err)
	}
	return os.Remove(filepath.Join(n.cfg.DataDir, unfinishedHistory))
}

// wantsHistory reports whether this start writes a history: it is the first one of a demo without peers, or the one after
// a start that was interrupted while it did so. A cluster has none, because its nodes would take a clock in the past for
// a wrong one.
func (n *node) wantsHistory() (bool, error) {
	if n.demoOptions == nil {
		return false, nil
	}
	unfinished := filepath.Join(n.cfg.DataDir, unfinishedHistory)
	if n.demoOptions.HistoryDays == 0 || n.cfg.Clustered() {
		if n.demoOptions.HistoryDays > 0 {
			n.log.Info("demo_history_omitted", slog.String("reason", "the clocks of the nodes of a cluster have to agree"))
		}
		if err := os.Remove(unfinished); !errors.Is(err, os.ErrNotExist) {
			return false, err
		}
		return false, nil
	}
	if _, err := os.Stat(unfinished); err == nil || !errors.Is(err, os.ErrNotExist) {
		return err == nil, err
	}
	groups, err := raftstore.FoundedGroups(vfs.Default, n.cfg.DataDir)
	if err != nil || len(groups) > 0 {
		return false, err
	}
	return true, os.WriteFile(unfinished, nil, privateFile)
}

// write writes the market and its history into the data directory.
func (p *past) write(ctx context.Context) error {
	for _, step := range []func(context.Context) error{p.openState, p.withoutRevocations, p.bootstrap, p.showKeys, p.buildCore, p.waitForLevel} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if err := p.prepare(ctx); err != nil {
		return err
	}
	options := p.demoOptions.market()
	p.startup.setReason("filling the demo market")
	options.Progress = p.showProgress
	if _, err := demo.Seed(ctx, p.tenant, options, p.now().UnixMilli()); err != nil {
		return fmt.Errorf("fill the demo market: %w", err)
	}
	begin, from, err := p.hours()
	if err != nil {
		return err
	}
	p.startup.setReason("writing the history of the demo")
	p.performed, err = demo.WriteHistory(ctx, demo.Generate(options), p, demo.HistoryOptions{
		Seed: options.Seed, Zone: p.tenant.Location(), Begin: begin, From: from, Now: time.Now, Progress: p.showProgress,
	})
	return err
}

// showKeys prints the first keys, unless they are in a file: whoever ends the long fill has them all the same, however it ends.
func (p *past) showKeys(context.Context) error {
	if p.firstKeys == nil || p.cfg.KeysFile != "" {
		return nil
	}
	p.screen.show("")
	_, _ = io.WriteString(p.out, p.firstKeys.lines())
	p.keysShown = true
	return nil
}

// showProgress shows how much of the work is done on a terminal.
func (p *past) showProgress(done, total int) {
	p.startup.setDetail(fmt.Sprintf("%d %%", 100*done/max(total, 1)))
}

// hours returns the midnight at which the history begins, and the first hour to write: the first one that begins after all
// that the groups have applied, which is the market and, after an interrupted start, a part of the history.
func (p *past) hours() (begin, from time.Time, err error) {
	begin = firstMidnight(time.Now(), p.demoOptions.HistoryDays, p.tenant.Location())
	_, newest, err := p.clocksOfGroups()
	for from = begin; !from.After(newest); {
		from = from.Add(time.Hour)
	}
	return begin, from, err
}

// firstMidnight returns the midnight that begins a number of days before today.
func firstMidnight(now time.Time, days int, zone *time.Location) time.Time {
	year, month, day := now.In(zone).Date()
	return time.Date(year, month, day-days, 0, 0, 0, 0, zone)
}
