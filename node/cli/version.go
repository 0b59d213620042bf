package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
)

// Set by the linker: -X github.com/gavel-ads/gavel/node/cli.version=v1.2.3, and commit likewise.
var (
	version = "development"
	commit  = ""
)

// builtWith are the dependencies whose version an operator asks for when something goes wrong.
var builtWith = []string{
	"github.com/cockroachdb/pebble/v2", "github.com/hashicorp/raft", "github.com/valyala/fasthttp",
}

// versionCommand prints what the binary is.
type versionCommand struct{}

// Run prints version, commit, Go and the libraries that matter.
func (versionCommand) Run(p *process) error {
	c := commit
	info, ok := debug.ReadBuildInfo()
	if ok && c == "" {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				c = s.Value
			}
		}
	}
	if c == "" {
		c = "unknown"
	}
	fmt.Fprintf(p.out, "gavel %s\ncommit %s\n%s %s/%s\n", version, c, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if !ok {
		return nil
	}
	for _, d := range info.Deps {
		if slices.Contains(builtWith, d.Path) {
			fmt.Fprintf(p.out, "%s %s\n", d.Path, d.Version)
		}
	}
	return nil
}
