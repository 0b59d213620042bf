//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

const (
	sampleEvery = 250 * time.Millisecond
	// killAt is the multiple of the memory limit at which the node is killed: the check is violated by then, and other processes need
	// the memory.
	killAt = 2
)

// usage is the memory and the files that a process uses.
type usage struct {
	RSS   int64 // Resident bytes.
	Peak  int64 // The largest number of resident bytes so far, by the kernel.
	Files int   // Open files.
}

// sampler reads the usage of the node for as long as it runs.
type sampler struct {
	node  *node
	limit int64

	mu      sync.Mutex
	now     usage
	most    usage
	samples int
	killed  string
}

func (s *sampler) run(ctx context.Context) {
	ticker := time.NewTicker(sampleEvery)
	defer ticker.Stop()
	for {
		u, err := usageOf(s.node.pid)
		if err != nil {
			return // The process has ended, which another check finds.
		}
		s.record(u)
		if u.RSS > killAt*s.limit {
			s.mu.Lock()
			s.killed = fmt.Sprintf("killed by this run at %d MiB, %d times its limit", u.RSS>>20, killAt)
			s.mu.Unlock()
			_ = s.node.cmd.Process.Kill() // It may have ended by itself just now.
			return
		}
		select {
		case <-ticker.C:
		case <-s.node.exited:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (s *sampler) record(u usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.samples++
	s.now = u
	s.most = usage{max(s.most.RSS, u.RSS), max(s.most.Peak, u.Peak), max(s.most.Files, u.Files)}
}

func (s *sampler) read() (now, most usage, samples int, killed string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now, s.most, s.samples, s.killed
}

func usageOf(pid int) (usage, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return usage{}, err
	}
	u, err := parseStatus(text)
	if err != nil {
		return u, err
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	u.Files = len(files)
	return u, err
}

// parseStatus reads the memory of a process from its status in /proc.
func parseStatus(text []byte) (u usage, err error) {
	found := 0
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) != 3 {
			continue
		}
		var to *int64
		switch string(fields[0]) {
		case "VmRSS:":
			to = &u.RSS
		case "VmHWM:":
			to = &u.Peak
		default:
			continue
		}
		kib, err := strconv.ParseInt(string(fields[1]), 10, 64)
		if err != nil {
			return u, err
		}
		*to = kib << 10
		found++
	}
	if found != 2 {
		return u, fmt.Errorf("the status of the process has %d of VmRSS and VmHWM", found)
	}
	return u, nil
}
