package cli

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/node/audit"
)

// checkCommand audits the directory of a stopped node.
type checkCommand struct {
	DataDir string `help:"Directory of a stopped node; required, because the wrong one would look clean. [GAVEL_DATA_DIR]" placeholder:"DIR"`
	JSON    bool   `help:"Print the report as JSON, with every campaign and wallet."`
}

// Help says what the exit codes mean and how much memory it takes.
func (checkCommand) Help() string {
	return `Reads the books of a stopped node with code of its own and recomputes every balance from the journal: the chain of
its lines, each charge against the budget and the wallet of its moment, each charge key once, balances, reports, the digest
over all records, the raft log, its tail guard and the snapshots. Nothing in the directory is changed.

Exit code 0: the books balance. 1: problems were found, each is printed with its place. 2: the directory cannot be read, or
a node runs on it.

Memory grows with campaigns, wallets and bids that had events; charge keys are held 4 million at a time.`
}

// Run prints the report.
func (c *checkCommand) Run(p *process) error {
	dir, err := p.dataDir(c.DataDir)
	if err != nil {
		return err
	}
	r, err := audit.Directory(vfs.Default, dir)
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
		err = errors.New("the audit found problems")
	}
	return err
}

// dataDir is the directory that a flag or GAVEL_DATA_DIR names. There is no default: these commands are about one
// directory, and a report on another one would be believed.
func (p *process) dataDir(flag string) (string, error) {
	if flag == "" {
		flag = p.variable("GAVEL_DATA_DIR")
	}
	if flag == "" {
		return "", usageError{errors.New("gavel: --data-dir or GAVEL_DATA_DIR is needed: the directory of a stopped node")}
	}
	return flag, nil
}
