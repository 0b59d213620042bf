package cli

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/gavel-ads/gavel/node/config"
)

// settings gives a command the flags of every setting. kong only collects the texts and writes the help; what they mean
// is decided by node/config, which reads files and variables by the same rule.
//
// The struct kong wants is made from config.Settings at run time, so that a new setting is one field in node/config and
// nothing here.
type settings struct {
	kong.Plugins
}

func newSettings() settings {
	all := config.Settings()
	fields := make([]reflect.StructField, len(all))
	for i, s := range all {
		fields[i] = reflect.StructField{Name: "F" + strconv.Itoa(i), Type: reflect.TypeFor[text](), Tag: tag(s)}
		switch {
		case s.Bool:
			fields[i].Type = reflect.TypeFor[toggle]()
		case s.List:
			fields[i].Type = reflect.TypeFor[list]()
		}
	}
	return settings{Plugins: kong.Plugins{reflect.New(reflect.StructOf(fields)).Interface()}}
}

// tag is the help line of a setting: meaning, default, variable.
func tag(s config.Setting) reflect.StructTag {
	help := s.Help
	if s.Default != "" && !s.Bool {
		help += " Default " + s.Default + "."
	}
	help += " [" + s.Env + "]"
	t := fmt.Sprintf("name:%q help:%q", s.Flag, strings.ReplaceAll(help, "$", "$$"))
	if s.Placeholder != "" {
		t += fmt.Sprintf(" placeholder:%q", s.Placeholder)
	}
	if s.Section != "" {
		t += fmt.Sprintf(" group:%q", "Section "+s.Section+":")
	}
	return reflect.StructTag(t)
}

// given returns the flags that the command line has.
func (s settings) given() map[string]string {
	flags := map[string]string{}
	for i, setting := range config.Settings() {
		var t text
		switch v := reflect.ValueOf(s.Plugins[0]).Elem().Field(i).Interface().(type) {
		case text:
			t = v
		case toggle:
			t = text(v)
		case list:
			t = text(v)
		}
		if t.set {
			flags[setting.Flag] = t.value
		}
	}
	return flags
}

// load reads file, environment and flags over the defaults. Notes go to the caller's standard error; faults are an error
// that says nothing was started.
func (s settings) load(p *process, defaults config.Config) (*config.Loaded, error) {
	l, err := config.Load(config.Input{Defaults: defaults, Environ: p.environ, Flags: s.given(), Check: presetFaults})
	for _, note := range l.Notes {
		fmt.Fprintf(p.err, "gavel: note: %s\n", note)
	}
	if err != nil {
		return nil, usageError{fmt.Errorf("%w\ngavel: %s in the configuration; nothing was started", err, count(err))}
	}
	return l, nil
}

func count(err error) string {
	if n := len(config.Faults(err)); n != 1 {
		return strconv.Itoa(n) + " faults"
	}
	return "1 fault"
}

// text is a flag as it was typed. kong decodes into it.
type text struct {
	value string
	set   bool
}

// Decode takes the flag's value; the last one wins.
func (t *text) Decode(ctx *kong.DecodeContext) error {
	t.set = true
	return ctx.Scan.PopValueInto("value", &t.value)
}

// list is a flag that may be repeated.
type list text

// Decode adds one value.
func (l *list) Decode(ctx *kong.DecodeContext) error {
	var item string
	if err := ctx.Scan.PopValueInto("value", &item); err != nil {
		return err
	}
	if l.set {
		item = l.value + "," + item
	}
	l.value, l.set = item, true
	return nil
}

// toggle is a flag that needs no value.
type toggle text

// IsBool tells kong so.
func (t *toggle) IsBool() bool { return true }

// Decode takes the value behind = if there is one.
func (t *toggle) Decode(ctx *kong.DecodeContext) error {
	t.value, t.set = "true", true
	if ctx.Scan.Peek().Type == kong.FlagValueToken {
		t.value = ctx.Scan.Pop().String()
	}
	return nil
}
