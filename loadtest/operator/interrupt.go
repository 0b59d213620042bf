package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	progressPoll = time.Millisecond // How often the progress of an import is read.
	batchMax     = 5 * time.Second  // BOUND: how long after a batch a process is killed at most.
)

// imported is what an import needed, all its processes together.
type imported struct {
	took, cpu time.Duration
	peak      int64    // Bytes that the largest of the processes had resident.
	killed    []string // For each kill, how far the file was done.
}

// interrupted imports files with gavel import, and kills the process at random points.
type interrupted struct {
	binary, url, key string
	random           *rand.Rand
}

// run imports a file. It kills the process (SIGKILL) the given number of times, each time within the batch after a random byte of
// the file was done, and starts the same command again; the last process has to end by itself and import all rows.
func (x *interrupted) run(ctx context.Context, what, file string, rows, kills int) (imported, error) {
	info, err := os.Stat(file)
	if err != nil {
		return imported{}, err
	}
	points := make([]int64, kills)
	for i := range points {
		points[i] = x.random.Int64N(info.Size())
	}
	slices.Sort(points)
	var all imported
	began := time.Now()
	for {
		point := int64(-1)
		if len(points) > 0 {
			point, points = points[0], points[1:]
		}
		killed, says, err := x.process(ctx, &all, what, file, point)
		if err != nil {
			return all, fmt.Errorf("import of %s: %w: %s", file, err, says)
		}
		if killed {
			done, _ := progressOf(file) // 0 before the first batch.
			all.killed = append(all.killed, fmt.Sprintf("%.1f%%", 100*float64(done)/float64(info.Size())))
			continue
		}
		all.took = time.Since(began)
		// The second is what a process says whose predecessor was killed after its last step.
		if !strings.Contains(says, fmt.Sprintf("%d rows imported", rows)) && !strings.Contains(says, fmt.Sprintf("imported before, with %d rows", rows)) {
			return all, fmt.Errorf("import of %s: %q, want %d rows", file, says, rows)
		}
		return all, nil
	}
}

// process runs the command once. It kills it after a point of the file, and reports whether it did; a negative point is never
// reached. A process that ends before that has imported everything.
func (x *interrupted) process(ctx context.Context, all *imported, what, file string, point int64) (killed bool, says string, err error) {
	var out strings.Builder
	cmd := exec.CommandContext(ctx, x.binary, "import", what, file, "--manage", x.url)
	cmd.Env = append(os.Environ(), "GAVEL_MANAGE_KEY="+x.key)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return false, "", err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if point >= 0 && x.reached(file, point, ended) {
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return false, "", err
		}
	}
	err = <-ended
	state := cmd.ProcessState
	all.cpu += state.UserTime() + state.SystemTime()
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		all.peak = max(all.peak, usage.Maxrss<<10) // Linux counts in KiB.
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGKILL && ctx.Err() == nil {
		return true, out.String(), nil
	}
	return false, out.String(), err
}

// reached waits until a point of the file is done and then for a random part of the time that a batch takes, so that the kill meets
// every step: reading, sending, waiting for the answer, storing the progress. It reports false when the process ends before.
func (x *interrupted) reached(file string, point int64, ended chan error) bool {
	last, at := int64(-1), time.Now()
	var batch time.Duration
	for {
		done, known := progressOf(file)
		if known && done != last {
			batch, last, at = min(time.Since(at), batchMax), done, time.Now()
			if done >= point {
				break
			}
		}
		if over(ended, progressPoll) {
			return false
		}
	}
	return !over(ended, time.Duration(x.random.Int64N(int64(batch)+1)))
}

// over waits for a time, or until the process ends, which it reports.
func over(ended chan error, d time.Duration) bool {
	select {
	case err := <-ended:
		ended <- err
		return true
	case <-time.After(d):
		return false
	}
}

// progressOf returns how many bytes of a file are done; false when it cannot be read, because the import has not begun.
func progressOf(file string) (int64, bool) {
	text, err := os.ReadFile(file + ".progress")
	if err != nil {
		return 0, false
	}
	var p struct{ Offset int64 }
	return p.Offset, json.Unmarshal(text, &p) == nil
}
