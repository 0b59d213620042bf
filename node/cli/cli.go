// Package cli is the command line of gavel: one file per command. A command reads its flags, hands over to the package
// that does the work, and turns the error into an exit code.
//
// Exit codes:
//
//	0  done
//	1  the command failed: the node stopped with an error, is not ready, a checked configuration has faults, or the books
//	   of a checked directory have problems
//	2  the command line or the configuration is wrong; nothing was started
//	70 the node ended itself because its disk failed or hung; restart it when the disk is well
//	130, 143  a second SIGINT or SIGTERM ended a node that was still draining
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/gavel-ads/gavel/node/config"
	"github.com/gavel-ads/gavel/node/daemon"
)

// The exit codes of the package comment.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// Main runs the command line of this process and returns its exit code.
func Main() int {
	makeFilesPrivate()
	p := &process{out: os.Stdout, err: os.Stderr, environ: os.Environ(), terminal: isTerminal(os.Stdout), start: daemon.Run}
	return p.run(os.Args[1:])
}

// process is what a command may touch of the process around it; tests make their own.
type process struct {
	out, err io.Writer
	environ  []string
	terminal bool // out is read by a person.
	start    func(ctx context.Context, cfg config.Config, o daemon.Options) error
}

// commands is the grammar. Bare gavel is gavel serve.
type commands struct {
	Serve   serveCommand   `cmd:"" help:"Run a node. This is what gavel without a command does."`
	Demo    demoCommand    `cmd:"" help:"Run a node with a demo market and simulated shoppers."`
	Keys    keysCommand    `cmd:"" help:"Make API keys."`
	Config  configCommand  `cmd:"" help:"Check and print the configuration."`
	Cluster clusterCommand `cmd:"" help:"Look after a running cluster, and make certificates for one."`
	Explain explainCommand `cmd:"" help:"Ask a running node why auctions end as they do: every bid, and what decided its fate."`
	Check   checkCommand   `cmd:"" help:"Audit the books of a stopped node."`
	Backup  backupCommand  `cmd:"" help:"Save the state of a running cluster into a file."`
	Restore restoreCommand `cmd:"" help:"Make the first node of a new cluster of a backup."`
	Recover recoverCommand `cmd:"" help:"Make a node the only voter of a cluster whose majority is lost."`
	Health  healthCommand  `cmd:"" help:"Ask a running node whether it is ready; exit code 0 when it is, 1 when not."`
	Version versionCommand `cmd:"" help:"Print what this binary is and was built from."`
}

// newCommands returns the grammar with the flags of every setting where they belong.
func newCommands() *commands {
	return &commands{
		Serve:   serveCommand{newSettings()},
		Demo:    demoCommand{settings: newSettings()},
		Restore: restoreCommand{settings: newSettings()},
		Recover: recoverCommand{settings: newSettings()},
		Config: configCommand{
			Check: configCheck{settings: newSettings()},
			Print: configPrint{settings: newSettings()},
		},
	}
}

const description = `Gavel runs retail media auctions: it answers ad requests from memory, charges every event exactly once, and
never bills above a budget.

Every setting is a flag, a variable and a YAML key by one rule: --auction-listen, GAVEL_AUCTION_LISTEN, auction_listen;
--management-cors-origins, GAVEL_MANAGEMENT_CORS_ORIGINS, cors_origins below management. A flag wins over the variable,
the variable over the file.`

// usageError is a mistake of the caller: exit code 2.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func (p *process) run(args []string) int {
	grammar := newCommands()
	exited := -1
	parser, err := kong.New(grammar,
		kong.Name("gavel"),
		kong.Description(description),
		kong.Writers(p.out, p.err),
		kong.Exit(func(code int) { exited = code }), // Only --help asks for it.
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, WrapUpperBound: 120}),
		kong.Bind(p),
	)
	if err != nil {
		panic("cli: the grammar is wrong: " + err.Error())
	}
	parsed, err := parser.Parse(withCommand(args))
	if exited >= 0 {
		return exited
	}
	if err != nil {
		fmt.Fprintf(p.err, "gavel: %v\nRun gavel --help, or gavel COMMAND --help.\n", err)
		return exitUsage
	}
	return p.finish(parsed.Run())
}

// withCommand puts serve in front of arguments that name no command, so that gavel --groups=4 is gavel serve --groups=4.
// kong's own default command would take the flags too, but then lose its suggestions for mistyped commands.
func withCommand(args []string) []string {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") && args[0] != "-h" && args[0] != "--help" {
		return append([]string{"serve"}, args...)
	}
	return args
}

// finish reports an error once and chooses the exit code.
func (p *process) finish(err error) int {
	if err == nil {
		return exitDone
	}
	if _, wrong := errors.AsType[usageError](err); wrong {
		fmt.Fprintf(p.err, "%v\n", err)
		return exitUsage
	}
	fmt.Fprintf(p.err, "gavel: %v\n", err)
	return exitFailed
}

// isTerminal reports whether a person reads the stream. A character device that is no terminal, such as /dev/null,
// passes too and harms nothing.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
