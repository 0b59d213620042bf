//go:build linux

package main

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// machine describes the machine and the versions that a report was made with.
type machine struct {
	CPU     string `json:"cpu"`
	Cores   int    `json:"cores"`
	Commit  string `json:"commit"` // The commit of the tree that this program was run in.
	Version string `json:"version"`
	Go      string `json:"go"`
}

func machineOf(ctx context.Context, binary string) machine {
	m := machine{CPU: "unknown", Cores: runtime.NumCPU(), Commit: "unknown", Go: runtime.Version()}
	text, _ := os.ReadFile("/proc/cpuinfo") // On an error the model stays unknown.
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

// loadAverage returns the load average of the last minute and of the last five, empty where the system does not have it.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(text))[:2], ", ")
}
