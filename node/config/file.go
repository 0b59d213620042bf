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

// reader walks the syntax tree of one file.
//
// Why not Decode with Strict into Config: it stops at the first unknown key, forgets where the values stood, and would
// be a second opinion on how a size or a list is written. The tree gives every fault with its line, and the values go
// through the same parse as flags and variables.
type reader struct {
	name   string
	lines  []string
	into   *Loaded
	faults []*Fault
}

// readYAML takes the settings of a file. Keys outside of Config, repeated keys, and values of a wrong shape are faults.
func (l *Loaded) readYAML(name string, text []byte) []*Fault {
	r := reader{name: name, lines: strings.Split(string(text), "\n"), into: l}
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
		return r.at(e.GetToken(), "").fault("", quoted.ReplaceAllString(e.GetMessage(), `"`+mask+`"`))
	}
	return &Fault{Where: r.name, Problem: "the file is not YAML"}
}

// quoted matches what a syntax error repeats of the file, which may be a secret; a single character is none.
var quoted = regexp.MustCompile(`"[^"]{2,}"`)

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
	if !mistyped.MatchString(name) {
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
		r.faults = r.into.take(s, text, r.at(node.GetToken(), s.Key), r.faults)
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

// snippet prints the line of a token and a caret under it. Lines around it are not printed: they may hold secrets, also
// under a misspelt key or as a part of a longer text, which no list of names finds.
func (r *reader) snippet(t *token.Token, key string) string {
	at := t.Position.Line - 1
	if at < 0 || at >= len(r.lines) {
		return ""
	}
	head := fmt.Sprintf("> %2d | ", t.Position.Line)
	return head + r.shown(r.lines[at], key) + "\n" + strings.Repeat(" ", len(head)+max(0, t.Position.Column-1)) + "^"
}

// shown is a line of the file as it may be printed. Its value is shown where the line says nothing but a setting that is no
// secret; of any other line the key alone is.
func (r *reader) shown(line, key string) string {
	line = strings.TrimRight(line, " \t\r")
	name, value, isPair := strings.Cut(line, ":")
	s := r.setting(key)
	own := s != nil && !s.Secret && key[strings.LastIndexByte(key, '.')+1:] == strings.TrimSpace(name)
	switch {
	case own && !strings.ContainsAny(value, "{#|>"):
		return withoutUserinfo(line)
	case isPair && word.MatchString(name):
		return name + ": " + mask
	}
	return line[:len(line)-len(strings.TrimLeft(line, " "))] + mask
}

// mistyped matches what may be the name of a setting with a mistake in it. What is longer or has digits may be a secret
// that stands where a key belongs.
var mistyped = regexp.MustCompile(`^[A-Za-z_.-]{1,40}$`)

// word matches what can be a key and is no value.
var word = regexp.MustCompile(`^ *[a-z_]+$`)

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
