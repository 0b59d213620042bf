//go:build linux

package main

import (
	"context"
	"errors"
	"os/exec"
	"strings"

	"github.com/gavel-ads/gavel/loadtest/nemesis/check"
)

// audit has every stopped node's directory recomputed by gavel check, offline. Only its exit code counts here: 0 says that
// every balance follows from the journal.
func (r *run) audit(ctx context.Context, _ *check.Books) []check.Verdict {
	v := check.Verdict{Check: "offline audit of every node"}
	for _, n := range r.w.Nodes {
		text, err := exec.CommandContext(ctx, r.o.binary, "check", "--data-dir", n.Disk.Data(), "--json").CombinedOutput()
		var exit *exec.ExitError
		switch {
		case errors.As(err, &exit) && strings.Contains(string(text), "unexpected argument check"):
			v.Skipped = "this binary has no gavel check"
		case err != nil:
			v.Fault("%s: %v\n%.2000s", n.ID, err, text)
		default:
			v.Checked++
		}
	}
	return []check.Verdict{v}
}
