package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// completionCommand prints a script that completes commands and flags in a shell. The script asks gavel itself for the
// words, so it stays right when commands and settings change.
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish. Load it in the shell's start file: source <(gavel completion bash), or gavel completion fish | source."`
}

// completionScripts are the scripts by shell. Where gavel proposes nothing, the shell proposes files.
var completionScripts = map[string]string{
	"bash": `_gavel() {
	local IFS=$'\n'
	COMPREPLY=($(gavel complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o bashdefault -o default -F _gavel gavel
`,
	"zsh": `#compdef gavel
_gavel() {
	local -a found
	found=(${(f)"$(gavel complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
	if (( $#found )); then compadd -a found; else _files; fi
}
compdef _gavel gavel
`,
	"fish": `function __gavel_complete
	set -l typed (commandline -opc)
	set -l current (commandline -ct)
	gavel complete -- $typed[2..-1] "$current" 2>/dev/null
end
complete -c gavel -a '(__gavel_complete)'
`,
}

// Run prints the script.
func (c *completionCommand) Run(p *process) error {
	fmt.Fprint(p.out, completionScripts[c.Shell])
	return nil
}

// completeCommand is what the scripts of completionCommand call: it prints what may stand for the last word, one
// proposal in a line.
type completeCommand struct {
	Words []string `arg:"" optional:"" help:"The words of the command line after gavel."`
}

// Run prints the proposals.
func (c *completeCommand) Run(p *process, app *kong.Kong) error {
	last := ""
	if n := len(c.Words); n > 0 {
		last, c.Words = c.Words[n-1], c.Words[:n-1]
	}
	for _, word := range proposals(app.Model.Node, c.Words, last) {
		fmt.Fprintln(p.out, word)
	}
	return nil
}

// proposals returns what the last word may become after the typed words: commands, flags, or the values of a flag or an
// argument that has a fixed list of them.
func proposals(root *kong.Node, typed []string, last string) []string {
	node, pending := root, (*kong.Flag)(nil) // pending is a flag whose value is the next word.
	for _, word := range typed {
		if pending != nil {
			pending = nil
			continue
		}
		name, isFlag := strings.CutPrefix(word, "--")
		if isFlag {
			pending = valueFlag(node, name)
		} else if child := childNamed(node, word); child != nil {
			node = child
		}
	}
	var words []string
	switch {
	case pending != nil:
		words = pending.EnumSlice()
	case strings.HasPrefix(last, "-"):
		for _, f := range flagsOf(node) {
			words = append(words, "--"+f.Name)
		}
	default:
		for _, child := range node.Children {
			if !child.Hidden {
				words = append(words, child.Name)
			}
		}
		for _, argument := range node.Positional {
			words = append(words, argument.EnumSlice()...)
		}
	}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" || !strings.HasPrefix(w, last) })
	slices.Sort(words)
	return words
}

func childNamed(node *kong.Node, name string) *kong.Node {
	for _, child := range node.Children {
		if child.Name == name {
			return child
		}
	}
	return nil
}

// flagsOf returns the flags that may follow a command. Without a command they are those of serve.
func flagsOf(node *kong.Node) []*kong.Flag {
	if node.Type == kong.ApplicationNode {
		node = childNamed(node, "serve")
	}
	return slices.Concat(node.AllFlags(true)...)
}

// valueFlag returns the flag of a name if its value is the next word, else nil.
func valueFlag(node *kong.Node, name string) *kong.Flag {
	for _, f := range flagsOf(node) {
		if f.Name == name && !f.IsBool() {
			return f
		}
	}
	return nil
}
