package cli

import "github.com/alecthomas/kong"

// helpCommand is gavel help COMMAND, which prints what gavel COMMAND --help prints.
type helpCommand struct {
	Command []string `arg:"" optional:"" help:"The command; default: an overview of all."`
}

// Run prints the help.
func (c *helpCommand) Run(p *process) error {
	if code := p.run(append(c.Command, "--help")); code != exitSuccess {
		return errPrinted(code)
	}
	return nil
}

// versionFlag is --version, which does the same as gavel version.
type versionFlag bool

// BeforeReset prints the version before anything else of the command line is checked.
func (versionFlag) BeforeReset(app *kong.Kong, p *process) error {
	if err := (versionCommand{}).Run(p); err != nil {
		return err
	}
	app.Exit(exitSuccess)
	return nil
}
