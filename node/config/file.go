package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// reader reads the settings from the syntax tree of one file.
//
// It does not decode into Config with a strict decoder, because that stops at the first unknown key, loses the
// positions of values, and parses sizes and lists in a second way. The tree gives every fault with its line, and the
// values go through the same parse as flags and variables.
type reader struct {
	name   string
	lines  []string
	into   *Loaded
	faults []*Fault
}

// readYAML reads the settings of a file. Unknown keys, repeated keys, and values of a wrong kind are faults.
func (l *Loaded) readYAML(name string, text []byte) []*Fault {
	r := reader{name: name, lines: strings.Split(string(text), "\n"), into: l}
	file, err := parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return []*Fault{r.syntax(err)}
	}
	for i, doc := range file.Docs {
		switch body := doc.Body.(type) {
		case nil, *ast.NullNode, *ast.CommentGroupNode: // An empty file sets nothing.
		default:
			if i > 0 {
				r.fault(body.GetToken(), "", "a second YAML document; a file holds one configuration")
				return r.faults
			}
			r.mapping(body, "")
		}
	}
	return r.faults
}

func (r *reader) syntax(err error) *Fault {
	if e, ok := errors.AsType[yaml.Error](err); ok && e.GetToken() != nil {
		return r.at(e.GetToken(), "").fault("", quoted.ReplaceAllString(e.GetMessage(), `"`+mask+`"`))
	}
	return &Fault{Where: r.name, Problem: "the file is not YAML"}
}

// quoted matches the parts of the file that a syntax error quotes, which may be secrets. A single character is no
// secret.
var quoted = regexp.MustCompile(`"[^"]{2,}"`)

// mapping reads the keys of the top level (section "") or of one section, and those of the sections in it.
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
			r.fault(pair.Key.GetToken(), key, "the key occurs twice")
		case r.setting(key) != nil:
			r.value(r.setting(key), pair.Value)
		case isSection(key):
			if _, empty := pair.Value.(*ast.NullNode); !empty {
				r.mapping(pair.Value, key)
			}
		default:
			r.unknown(pair.Key.GetToken(), section, name)
		}
		seen[name] = true
	}
}

func (r *reader) unknown(at *token.Token, section, name string) {
	problem := fmt.Sprintf("unknown key %q", name)
	if !possibleKey.MatchString(name) {
		problem = "unknown key " + mask
	}
	if section != "" {
		problem += " in " + section
	}
	if near := closest(name, namesIn(section)); near != "" {
		problem += "; did you mean " + near + "?"
	}
	r.fault(at, "", problem)
}

// value sets one setting. An empty value keeps the default.
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
		r.faults = r.into.setValue(s, text, r.at(node.GetToken(), s.Key), r.faults)
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
	r.faults = append(r.faults, r.at(at, key).fault(key, problem))
}

func (r *reader) at(t *token.Token, key string) Origin {
	if t == nil || t.Position == nil {
		return Origin{Name: r.name}
	}
	return Origin{Name: fmt.Sprintf("%s:%d:%d", r.name, t.Position.Line, t.Position.Column), snippet: r.snippet(t, key)}
}

func (r *reader) setting(key string) *Setting {
	for i := range Settings() {
		if s := &Settings()[i]; s.Key == key {
			return s
		}
	}
	return nil
}

// snippet returns the line of a token and a caret under it. It leaves out the lines around, because they may hold
// secrets, even under a misspelled key or inside a longer text, which no list of names would find.
func (r *reader) snippet(t *token.Token, key string) string {
	at := t.Position.Line - 1
	if at < 0 || at >= len(r.lines) {
		return ""
	}
	head := fmt.Sprintf("> %2d | ", t.Position.Line)
	return head + r.printableLine(r.lines[at], key) + "\n" + strings.Repeat(" ", len(head)+max(0, t.Position.Column-1)) + "^"
}

// printableLine returns a line of the file as it may be printed. The value is included only when the line holds nothing
// but a setting that is no secret; otherwise only the key is.
func (r *reader) printableLine(line, key string) string {
	line = strings.TrimRight(line, " \t\r")
	name, value, isPair := strings.Cut(line, ":")
	s := r.setting(key)
	own := s != nil && !s.Secret && key[strings.LastIndexByte(key, '.')+1:] == strings.TrimSpace(name)
	switch {
	case own && !strings.ContainsAny(value, "{#|>"):
		return withoutUserinfo(line)
	case isPair && keyForm.MatchString(name):
		return name + ": " + mask
	}
	return line[:len(line)-len(strings.TrimLeft(line, " "))] + mask
}

// possibleKey matches what may be a misspelled name of a setting. A longer text, or one with digits, may be a secret in
// the place of a key.
var possibleKey = regexp.MustCompile(`^[A-Za-z_.-]{1,40}$`)

// keyForm matches a key and no value.
var keyForm = regexp.MustCompile(`^ *[a-z_]+$`)

func isSection(name string) bool {
	for _, s := range Settings() {
		if s.Section == name {
			return name != ""
		}
	}
	return false
}

// namesIn returns the names that are valid in a section, those of the sections in it included.
func namesIn(section string) []string {
	if section != "" {
		section += "."
	}
	var names []string
	for _, s := range Settings() {
		if rest, inside := strings.CutPrefix(s.Key, section); inside {
			name, _, _ := strings.Cut(rest, ".")
			names = append(names, name)
		}
	}
	return names
}
