package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
)

// The linker sets these: -X github.com/gavel-ads/gavel/node/cli.version=v1.2.3, and commit likewise.
var (
	version = "development"
	commit  = ""
)

// mainDependencies are the dependencies whose versions matter for a support request.
var mainDependencies = []string{
	"github.com/cockroachdb/pebble/v2", "github.com/hashicorp/raft", "github.com/valyala/fasthttp",
}

// versionCommand prints what the binary is.
type versionCommand struct{}

// Run prints the version, the commit, the version of Go and those of the main dependencies.
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
		if slices.Contains(mainDependencies, d.Path) {
			fmt.Fprintf(p.out, "%s %s\n", d.Path, d.Version)
		}
	}
	return nil
}
