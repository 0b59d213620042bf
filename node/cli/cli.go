// Package cli is the command line of gavel, with one file per command. A command reads its flags, calls the package that
// does the work, and turns the error into an exit code.
//
// Exit codes:
//
//	0  success
//	1  the command failed: the node stopped with an error or is not ready, a checked configuration has faults, or a
//	   checked data directory has problems
//	2  the command line or the configuration is wrong; nothing was started
//	70 the node ended itself because its disk failed or hung; restart it when the disk works again
//	130, 143  a second SIGINT or SIGTERM ended a node that was draining
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/gavel-ads/gavel/node/config"
	"github.com/gavel-ads/gavel/node/daemon"
)

// The exit codes of the package comment.
const (
	exitSuccess = 0
	exitFailed  = 1
	exitUsage   = 2
)

// Main runs the command line of this process and returns its exit code.
func Main() int {
	makeFilesPrivate()
	p := &process{
		out: os.Stdout, err: os.Stderr, environ: os.Environ(), terminal: isTerminal(os.Stdout), errTerminal: isTerminal(os.Stderr),
		start: daemon.Run,
	}
	return p.run(os.Args[1:])
}

// process is what a command uses of the process around it; tests pass their own.
type process struct {
	out, err io.Writer
	environ  []string
	terminal bool // out is a terminal.
	// errTerminal says that err is a terminal: the log is text there, and long work shows its progress.
	errTerminal bool
	start       func(ctx context.Context, cfg config.Config, o daemon.Options) error
}

// commands is the grammar of the command line. gavel without a command is gavel serve.
type commands struct {
	ShowVersion versionFlag `name:"version" help:"Print the version of this binary and of its main dependencies."`

	Serve    serveCommand    `cmd:"" help:"Run a node; gavel without a command does the same."`
	Demo     demoCommand     `cmd:"" help:"Run a node with a demo market and simulated shoppers."`
	Keys     keysCommand     `cmd:"" help:"Generate, create, list and revoke API keys."`
	Admin    adminCommand    `cmd:"" help:"Create, list and remove admins of the console, and reset passwords."`
	Config   configCommand   `cmd:"" help:"Check and print the configuration."`
	Cluster  clusterCommand  `cmd:"" help:"Inspect and change a running cluster, and create certificates."`
	Cells    cellsCommand    `cmd:"" help:"Write the configuration of a load balancer in front of several clusters."`
	Top      topCommand      `cmd:"" help:"Show live what nodes do: auctions, events and money a second, and the raft groups."`
	Profile  profileCommand  `cmd:"" help:"Write a profile of a running node, for go tool pprof or go tool trace."`
	Import   importCommand   `cmd:"" help:"Import products, vendors or campaigns from a CSV or NDJSON file."`
	Export   exportCommand   `cmd:"" help:"Write the journal, conversions, report counters or events of a time to a file."`
	Explain  explainCommand  `cmd:"" help:"Explain the result of auctions: every bid, and why it won or lost."`
	Record   recordCommand   `cmd:"" help:"Export the auctions that a running node recorded."`
	Simulate simulateCommand `cmd:"" help:"Simulate days of a marketplace and compare ways to spend budgets."`
	Check    checkCommand    `cmd:"" help:"Verify the data of a stopped node."`
	Backup   backupCommand   `cmd:"" help:"Write the state of a running cluster to a file."`
	Archive  archiveCommand  `cmd:"" help:"Store the log of a running cluster beside its backups, for a restore to any moment."`
	Restore  restoreCommand  `cmd:"" help:"Create the first node of a new cluster from a backup."`
	Recover  recoverCommand  `cmd:"" help:"Make a stopped node the only voter of a cluster whose majority is lost."`
	Health   healthCommand   `cmd:"" help:"Check whether a running node is ready; exit code 0 when it is, 1 when it is not."`
	Version  versionCommand  `cmd:"" help:"Print the version of this binary and of its main dependencies."`

	Help       helpCommand       `cmd:"" help:"Show the help of a command."`
	Completion completionCommand `cmd:"" help:"Print a script that completes commands and flags in bash, zsh or fish."`
	Manual     manualCommand     `cmd:"" hidden:"" help:"Write the manual pages of all commands to a directory."`
	Complete   completeCommand   `cmd:"" hidden:"" help:"Print what may complete a command line; for the scripts of completion."`
}

// newCommands returns the grammar for a command line. Of the commands that use the configuration, those that the command
// line names have a flag for every setting: kong prepares each flag of each command, and the settings of the others were
// most of the time that gavel took for gavel --version. The two hidden commands that describe all others see all flags.
func newCommands(args []string) *commands {
	everything := slices.Contains(args, "manual") || slices.Contains(args, "complete")
	of := func(command string) settings {
		if everything || slices.Contains(args, command) {
			return newSettings()
		}
		return settings{}
	}
	return &commands{
		Serve:   serveCommand{of("serve")},
		Demo:    demoCommand{settings: of("demo")},
		Restore: restoreCommand{settings: of("restore")},
		Recover: recoverCommand{settings: of("recover")},
		Keys: keysCommand{
			Create: keysCreate{settings: of("create")}, List: keysList{settings: of("list")}, Revoke: keysRevoke{settings: of("revoke")},
		},
		Admin: adminCommand{
			Create: adminCreate{settings: of("create")}, List: adminList{settings: of("list")},
			Remove: adminRemove{settings: of("remove")}, ResetPassword: adminResetPassword{settings: of("reset-password")},
		},
		Export: exportCommand{settings: of("export")},
		Config: configCommand{Check: configCheck{settings: of("check")}, Print: configPrint{settings: of("print")}},
	}
}

const description = `Gavel runs retail media auctions: it answers ad requests from memory, charges every event exactly once, and
never bills above a budget.

Every setting is a flag, a variable and a YAML key, named by one rule: --auction-listen, GAVEL_AUCTION_LISTEN,
auction_listen; --management-cors-origins, GAVEL_MANAGEMENT_CORS_ORIGINS, cors_origins below management. A flag
overrides the variable, the variable overrides the file.`

// usageError is a mistake of the caller: exit code 2.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// errPrinted is an exit code whose reason is printed already.
type errPrinted int

func (e errPrinted) Error() string { return "exit code " + strconv.Itoa(int(e)) }

func (p *process) run(args []string) int {
	args = withCommand(args)
	exited := -1
	parser, err := kong.New(newCommands(args),
		kong.Name("gavel"),
		kong.Description(description),
		kong.Writers(p.out, p.err),
		kong.Exit(func(code int) { exited = code }), // --help and --version call it.
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, WrapUpperBound: 120}),
		kong.Bind(p),
	)
	if err != nil {
		panic("cli: the grammar is wrong: " + err.Error())
	}
	parsed, err := parser.Parse(args)
	if exited >= 0 {
		return exited
	}
	if err != nil {
		fmt.Fprintf(p.err, "gavel: %s\nRun gavel --help, or gavel COMMAND --help.\n", describeMistake(err))
		return exitUsage
	}
	return p.finish(parsed.Run())
}

// missingValue is the form of kong's error for a flag without its value, in which kong names its own tokens.
var missingValue = regexp.MustCompile(`^(--[a-z0-9-]+): expected .* value but got "([^"]*)"`)

// describeMistake returns the text for a command line that kong refuses.
func describeMistake(err error) string {
	found := missingValue.FindStringSubmatch(err.Error())
	switch {
	case found == nil:
		return err.Error()
	case strings.HasPrefix(found[2], "-"):
		return fmt.Sprintf("%s needs a value, and the next word %s is a flag", found[1], found[2])
	}
	return found[1] + " needs a value: the command line ends after it"
}

// withCommand inserts serve before arguments that name no command, so that gavel --groups=4 is gavel serve --groups=4.
// With kong's own default command the suggestions for mistyped commands would be missing.
func withCommand(args []string) []string {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") && args[0] != "-h" && args[0] != "--help" {
		return append([]string{"serve"}, args...)
	}
	return args
}

// finish prints an error once and returns the exit code.
func (p *process) finish(err error) int {
	if err == nil {
		return exitSuccess
	}
	if _, wrong := errors.AsType[usageError](err); wrong {
		fmt.Fprintf(p.err, "%v\n", err)
		return exitUsage
	}
	if code, printed := errors.AsType[errPrinted](err); printed {
		return int(code)
	}
	fmt.Fprintf(p.err, "gavel: %v\n", err)
	return exitFailed
}

// isTerminal reports whether f is a character device other than the null device.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
