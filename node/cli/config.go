package cli

import (
	"fmt"

	"github.com/gavel-ads/gavel/node/config"
)

// configCommand holds the commands about the configuration.
type configCommand struct {
	Check configCheck `cmd:"" help:"Report every fault of the configuration; exit code 0 when there is none, 1 otherwise."`
	Print configPrint `cmd:"" help:"Print the effective configuration as YAML, or with --sources as a table."`
}

// configCheck reads the configuration that serve would read, and starts nothing.
type configCheck struct {
	File string `arg:"" optional:"" help:"YAML file to check; default: the one that serve would read."`

	settings
}

// Run prints the faults.
func (c *configCheck) Run(p *process) error {
	flags := c.flags()
	if c.File != "" {
		flags["config"] = c.File
	}
	l, err := config.Load(config.Input{Defaults: config.Default(), Environ: p.environ, Flags: flags, Check: presetFaults})
	p.warn(l.Warnings)
	if err != nil {
		return fmt.Errorf("%s in the configuration\n%w", count(err), err)
	}
	fmt.Fprintln(p.out, "configuration ok")
	return nil
}

// configPrint prints the configuration that serve would use.
type configPrint struct {
	Sources bool `help:"Print one line per key with its value and where it was set: default, file and line, variable or flag."`

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
