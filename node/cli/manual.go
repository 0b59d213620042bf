package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"
)

// manualCommand writes the manual pages of all commands, for make release. They are made of the command tree, so they
// say what the help says.
type manualCommand struct {
	Dir string `arg:"" help:"Directory to write to; created when missing."`
}

// Run writes gavel.1, and gavel-COMMAND.1 for every command.
func (c *manualCommand) Run(app *kong.Kong) error {
	if err := os.MkdirAll(c.Dir, 0o755); err != nil { //nolint:gosec // Documents are for everybody.
		return err
	}
	pages := map[string]string{"gavel": manualPage("gavel", description, app.Model.Node)}
	for _, leaf := range app.Model.Leaves(true) {
		name := "gavel-" + strings.ReplaceAll(leaf.Path(), " ", "-")
		pages[name] = manualPage(name, leaf.Help, leaf)
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(c.Dir, name+".1"), []byte(text), 0o644); err != nil { //nolint:gosec // As above.
			return err
		}
	}
	return nil
}

// manualPage returns a page in the macros of man(7).
func manualPage(name, about string, n *kong.Node) string {
	var b strings.Builder
	first, _, _ := strings.Cut(about, "\n")
	fmt.Fprintf(&b, ".TH %s 1 \"\" %s \"Gavel\"\n", strings.ToUpper(name), roff(version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(strings.TrimSuffix(first, ".")))
	synopsis := "gavel " + n.Summary()
	if n.Type == kong.ApplicationNode {
		synopsis = "gavel COMMAND [flags]"
	}
	fmt.Fprintf(&b, ".SH SYNOPSIS\n%s\n", roff(synopsis))
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s\n", roff(about))
	for _, argument := range n.Positional {
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(argument.Summary()), roff(argument.Help))
	}
	if n.Type == kong.ApplicationNode {
		b.WriteString(".SH COMMANDS\n")
		for _, leaf := range n.Leaves(true) {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff("gavel "+leaf.Path()), roff(leaf.Help))
		}
	}
	var options strings.Builder
	for _, flag := range n.Flags {
		if !flag.Hidden {
			fmt.Fprintf(&options, ".TP\n.B %s\n%s\n", roff(flag.Summary()), roff(flag.Help))
		}
	}
	if options.Len() > 0 {
		b.WriteString(".SH OPTIONS\n" + options.String())
	}
	b.WriteString(".SH EXIT STATUS\n0 after success, 1 after a failure, 2 after a mistake in the command line or the configuration, " +
		"70 when the disk failed.\n")
	return b.String()
}

// roff escapes a text: backslashes, dashes, and lines that would begin a request.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
