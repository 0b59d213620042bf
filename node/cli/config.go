package cli

import (
	"fmt"

	"github.com/gavel-ads/gavel/node/config"
)

// configCommand holds the questions about the configuration.
type configCommand struct {
	Check configCheck `cmd:"" help:"Report every fault of the configuration; exit code 0 when there is none, 1 otherwise."`
	Print configPrint `cmd:"" help:"Print the effective configuration as YAML, or with --sources as a table."`
}

// configCheck reads what serve would read, and starts nothing.
type configCheck struct {
	File string `arg:"" optional:"" help:"YAML file to check; default: the one serve would read."`

	settings
}

// Run prints the faults.
func (c *configCheck) Run(p *process) error {
	flags := c.given()
	if c.File != "" {
		flags["config"] = c.File
	}
	l, err := config.Load(config.Input{Defaults: config.Default(), Environ: p.environ, Flags: flags, Check: presetFaults})
	for _, note := range l.Notes {
		fmt.Fprintf(p.err, "gavel: note: %s\n", note)
	}
	if err != nil {
		return fmt.Errorf("%s in the configuration\n%w", count(err), err)
	}
	fmt.Fprintln(p.out, "configuration ok")
	return nil
}

// configPrint shows what serve would run with.
type configPrint struct {
	Sources bool `help:"One line per key with its value and where it comes from: default, file and line, variable or flag."`

	settings
}

// Run prints the configuration.
func (c *configPrint) Run(p *process) error {
	l, err := c.load(p, config.Default())
	if err != nil {
		return err
	}
	if c.Sources {
		return l.WriteSources(p.out)
	}
	return l.WriteYAML(p.out)
}
