package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
)

// imports brings a marketplace into a node with gavel import, whose process is killed at random points and started again, reads
// everything back, and then does the same with what a backup restores. The catalog and the campaigns with their bids are
// interrupted equally often.
func imports(ctx context.Context, c *config, f *driver.Fleet, out io.Writer) error {
	m := market{c.rows}
	files, err := m.write(f.Dir())
	if err != nil {
		return err
	}
	node := f.Nodes[0]
	fmt.Fprintf(out, "%d products, %d bids in %d campaigns, seed %d, load average %s before\n", m.products, m.products, m.campaigns(), c.seed, load())
	x := &interrupted{c.node, node.Manage, f.ManagementKey, rand.New(rand.NewPCG(c.seed, c.seed))}
	killed := 0
	for _, step := range []struct {
		what, file         string
		rows, kills, items int
	}{
		{"vendors", files.vendors, marketVendors, 0, marketVendors},
		{"catalog", files.catalog, m.products, c.kills - c.kills/2, m.products},
		{"campaigns", files.campaigns, m.campaigns(), c.kills / 2, m.products},
	} {
		before, _ := driver.ProcessCPU(node.Pid) // 0 where the system has no /proc.
		r, err := x.run(ctx, step.what, step.file, step.rows, step.kills)
		if err != nil {
			return err
		}
		after, _ := driver.ProcessCPU(node.Pid)       // As before.
		peak, _ := driver.ProcessPeakMemory(node.Pid) // As before.
		killed += len(r.killed)
		fmt.Fprintf(out, "%-10s %8d rows, %8d items in %v: %.0f items/s; CPU an item: node %.1f us, importer %.1f us; peak memory: node %d MiB, importer %d MiB; killed %d times, at %s\n",
			step.what, step.rows, step.items, r.took.Round(time.Millisecond), float64(step.items)/r.took.Seconds(), perItem(after-before, step.items), perItem(r.cpu, step.items),
			peak>>20, r.peak>>20, len(r.killed), strings.Join(r.killed, " "))
	}
	if err := compare(ctx, m, f, "after the import", out); err != nil {
		return err
	}
	if killed < c.kills {
		fmt.Fprintf(out, "only %d of %d kills met a process that ran\n", killed, c.kills)
	}
	return restored(ctx, c, m, f, out)
}

func perItem(d time.Duration, items int) float64 { return d.Seconds() * 1e6 / float64(items) }

// compare reads everything back.
func compare(ctx context.Context, m market, f *driver.Fleet, when string, out io.Writer) error {
	began := time.Now()
	if err := m.readBack(ctx, newAPI(f.Nodes[0].Manage, f.ManagementKey, readers)); err != nil {
		return fmt.Errorf("%s: %w", when, err)
	}
	_, err := fmt.Fprintf(out, "%s: %d products, %d campaigns and %d bids were read and compared in %v: none lost, doubled or different\n",
		when, m.products, m.campaigns(), m.products, time.Since(began).Round(time.Millisecond))
	return err
}

// restored takes a backup, restores it into another directory, and starts the node there.
func restored(ctx context.Context, c *config, m market, f *driver.Fleet, out io.Writer) error {
	node, backup, data := f.Nodes[0], filepath.Join(f.Dir(), "market.bak"), filepath.Join(f.Dir(), "restored")
	if err := timed(ctx, out, "gavel backup", f.ManagementKey, c.node, "backup", "--manage", node.Manage, "--out", backup); err != nil {
		return err
	}
	info, err := os.Stat(backup)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "the backup has %.1f MiB\n", float64(info.Size())/(1<<20))
	restore := append([]string{"restore", "--in", backup, "--data-dir", data}, node.Settings...)
	if err := timed(ctx, out, "gavel restore", f.ManagementKey, c.node, restore...); err != nil {
		return err
	}
	began := time.Now()
	if err := f.Replace(ctx, data); err != nil {
		return err
	}
	peak, _ := driver.ProcessPeakMemory(f.Nodes[0].Pid) // 0 where the system has no /proc.
	fmt.Fprintf(out, "the node stopped, and was ready with the restored data, after %v, with %d MiB\n", time.Since(began).Round(time.Millisecond), peak>>20)
	return compare(ctx, m, f, "after the restore", out)
}

// timed runs a command of gavel and prints how long it took.
func timed(ctx context.Context, out io.Writer, what, key, binary string, args ...string) error {
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(os.Environ(), "GAVEL_MANAGE_KEY="+key)
	began := time.Now()
	text, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %.2000s", what, err, text)
	}
	peak := int64(0)
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		peak = usage.Maxrss << 10 // Linux counts in KiB.
	}
	_, err = fmt.Fprintf(out, "%s: %v, CPU %v, peak memory %d MiB\n", what, time.Since(began).Round(time.Millisecond),
		(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Round(time.Millisecond), peak>>20)
	return err
}
