package cli

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/node/fsck"
)

// checkCommand verifies the data directory of a stopped node.
type checkCommand struct {
	DataDir string `help:"Data directory of a stopped node; it has no default, because a check of the wrong directory would pass. [GAVEL_DATA_DIR]" placeholder:"DIR"`
	JSON    bool   `help:"Print the report as JSON, with every campaign and wallet."`
}

// Help describes the checks, the exit codes and the use of memory.
func (checkCommand) Help() string {
	return `Reads the data of a stopped node with code of its own and recomputes every balance from the journal. It checks the chain of
journal lines, each charge against the budget and the wallet at that time, that each charge key occurs once, balances,
reports, the digest over all records, the raft log, the guard of its end, and the snapshots. It changes nothing.

Exit code 0: every balance matches the journal. 1: problems were found; each is printed with its place. 2: the directory
cannot be read, or a node runs on it.

Memory grows with the number of campaigns, wallets and bids that had events; charge keys are read 4 million at a time.`
}

// Run prints the report.
func (c *checkCommand) Run(p *process) error {
	dir, err := p.dataDir(c.DataDir)
	if err != nil {
		return err
	}
	r, err := fsck.Directory(vfs.Default, dir)
	if err != nil {
		return usageError{fmt.Errorf("gavel: %w", err)}
	}
	if c.JSON {
		e := json.NewEncoder(p.out)
		e.SetIndent("", " ")
		err = e.Encode(r)
	} else {
		err = r.WriteText(p.out)
	}
	if err == nil && !r.Clean() {
		err = errors.New("the check found problems")
	}
	return err
}

// dataDir returns the directory that a flag or GAVEL_DATA_DIR names. There is no default: a report on another directory
// would be mistaken for one on this one.
func (p *process) dataDir(flag string) (string, error) {
	if flag == "" {
		flag = p.variable("GAVEL_DATA_DIR")
	}
	if flag == "" {
		return "", usageError{errors.New("gavel: --data-dir or GAVEL_DATA_DIR is needed: the directory of a stopped node")}
	}
	return flag, nil
}
