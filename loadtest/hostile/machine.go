//go:build linux

package main

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// machine is where a report comes from.
type machine struct {
	CPU     string `json:"cpu"`
	Cores   int    `json:"cores"`
	Commit  string `json:"commit"` // Of the tree that this program was run in.
	Version string `json:"version"`
	Go      string `json:"go"`
}

func machineOf(ctx context.Context, binary string) machine {
	m := machine{CPU: "unknown", Cores: runtime.NumCPU(), Commit: "unknown", Go: runtime.Version()}
	text, _ := os.ReadFile("/proc/cpuinfo") // What cannot be read stays unknown.
	for line := range strings.Lines(string(text)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			m.CPU = strings.TrimSpace(value)
			break
		}
	}
	if out, err := exec.CommandContext(ctx, "git", "rev-parse", "HEAD").Output(); err == nil {
		m.Commit = strings.TrimSpace(string(out))
	}
	if out, err := exec.CommandContext(ctx, binary, "version").Output(); err == nil {
		m.Version, _, _ = strings.Cut(strings.TrimSpace(string(out)), "\n")
	}
	return m
}

// loadAverage of the last minute and five; empty where that is not told.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(text))[:2], ", ")
}
