package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/printer"
	"github.com/goccy/go-yaml/token"
)

// reader walks the syntax tree of one file.
//
// Why not Decode with Strict into Config: it stops at the first unknown key, forgets where the values stood, and would
// be a second opinion on how a size or a list is written. The tree gives every fault with its line, and the values go
// through the same parse as flags and variables.
type reader struct {
	name   string
	into   *Loaded
	faults []*Fault
}

// readYAML takes the settings of a file. Keys outside of Config, repeated keys, and values of a wrong shape are faults.
func (l *Loaded) readYAML(name string, text []byte) []*Fault {
	r := reader{name: name, into: l}
	file, err := parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return []*Fault{r.syntax(err)}
	}
	for i, doc := range file.Docs {
		switch body := doc.Body.(type) {
		case nil, *ast.NullNode, *ast.CommentGroupNode: // An empty file is the defaults.
		default:
			if i > 0 {
				r.fault(body.GetToken(), "", "a second document; one file is one configuration")
				return r.faults
			}
			r.mapping(body, "")
		}
	}
	return r.faults
}

func (r *reader) syntax(err error) *Fault {
	if e, ok := errors.AsType[yaml.Error](err); ok && e.GetToken() != nil {
		return r.at(e.GetToken()).fault("", e.GetMessage())
	}
	return &Fault{Where: r.name, Problem: err.Error()}
}

// mapping reads the keys of the top level (section "") or of one section.
func (r *reader) mapping(node ast.Node, section string) {
	pairs, ok := node.(*ast.MappingNode)
	if !ok {
		r.fault(node.GetToken(), section, "expected keys and values here")
		return
	}
	seen := map[string]bool{}
	for _, pair := range pairs.Values {
		name := pair.Key.GetToken().Value
		key := name
		if section != "" {
			key = section + "." + name
		}
		switch {
		case seen[name]:
			r.fault(pair.Key.GetToken(), key, "the key comes twice")
		case r.setting(key) != nil:
			r.value(r.setting(key), pair.Value)
		case section == "" && isSection(name):
			if _, empty := pair.Value.(*ast.NullNode); !empty {
				r.mapping(pair.Value, name)
			}
		default:
			r.unknown(pair.Key.GetToken(), section, name)
		}
		seen[name] = true
	}
}

func (r *reader) unknown(at *token.Token, section, name string) {
	problem := fmt.Sprintf("unknown key %q", name)
	if section != "" {
		problem += " in " + section
	}
	if near := closest(name, namesIn(section)); near != "" {
		problem += "; did you mean " + near + "?"
	}
	r.fault(at, "", problem)
}

// value sets one setting. A value left empty leaves the default.
func (r *reader) value(s *Setting, node ast.Node) {
	if s.Key == "config" {
		r.fault(node.GetToken(), s.Key, "a file cannot name another file")
		return
	}
	var text string
	var ok bool
	switch n := node.(type) {
	case *ast.NullNode:
		return
	case *ast.SequenceNode:
		text, ok = r.list(s, n)
	default:
		text, ok = r.scalar(s, n)
	}
	if ok {
		r.faults = r.into.take(s, text, r.at(node.GetToken()), r.faults)
	}
}

func (r *reader) list(s *Setting, node *ast.SequenceNode) (string, bool) {
	if !s.List {
		r.fault(node.GetToken(), s.Key, "one value is expected here, not a list")
		return "", false
	}
	items := make([]string, 0, len(node.Values))
	for _, item := range node.Values {
		text, ok := r.scalar(s, item)
		if !ok {
			return "", false
		}
		items = append(items, text)
	}
	return strings.Join(items, ","), true
}

func (r *reader) scalar(s *Setting, node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	}
	what := "a plain value is expected here"
	if s.List {
		what = "a list of plain values is expected here"
	}
	r.fault(node.GetToken(), s.Key, what)
	return "", false
}

func (r *reader) fault(at *token.Token, key, problem string) {
	r.faults = append(r.faults, r.at(at).fault(key, problem))
}

func (r *reader) at(t *token.Token) Origin {
	if t == nil || t.Position == nil {
		return Origin{Name: r.name}
	}
	return Origin{Name: fmt.Sprintf("%s:%d:%d", r.name, t.Position.Line, t.Position.Column), token: t}
}

func (r *reader) setting(key string) *Setting {
	for i := range Settings() {
		if s := &Settings()[i]; s.Key == key {
			return s
		}
	}
	return nil
}

// snippet prints the lines before a token, its own, and a caret under it.
func snippet(t *token.Token) string {
	if t == nil {
		return ""
	}
	var p printer.Printer
	var kept []string
	for line := range strings.Lines(p.PrintErrorToken(t, false)) {
		line = masked(strings.TrimRight(line, "\n"))
		kept = append(kept, line)
		if strings.TrimLeft(line, " ") == "^" {
			break // What follows the mistake does not explain it.
		}
	}
	return strings.Join(kept, "\n")
}

// masked hides the value of a secret that stands in the lines around a mistake.
func masked(line string) string {
	for _, s := range Settings() {
		if before, _, found := strings.Cut(line, s.Key+":"); found && s.Secret {
			return before + s.Key + ": " + mask
		}
	}
	return line
}

func isSection(name string) bool {
	for _, s := range Settings() {
		if s.Section == name {
			return name != ""
		}
	}
	return false
}

// namesIn lists the names valid in a section, the sections included at the top level.
func namesIn(section string) []string {
	var names []string
	for _, s := range Settings() {
		switch {
		case s.Section == section:
			names = append(names, strings.TrimPrefix(s.Key, section+"."))
		case section == "":
			names = append(names, s.Section)
		}
	}
	return names
}
