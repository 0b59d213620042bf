package cli

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/alecthomas/kong"

	"github.com/gavel-ads/gavel/node/config"
)

// settings gives a command a flag for every setting. kong only collects the texts and prints the help; node/config
// parses them, by the same rule as files and variables.
//
// The struct that kong needs is built from config.Settings at run time, so that a new setting is one field in
// node/config and needs no change here.
//
// INVARIANT: newCommands fills it in for every command that the command line names. For others it is empty, and its methods
// must not be called.
type settings struct {
	kong.Plugins
}

func newSettings() settings {
	return settings{Plugins: kong.Plugins{reflect.New(settingsType()).Interface()}}
}

// settingsType is a struct with a field for each setting, whose tag is that of its flag.
var settingsType = sync.OnceValue(func() reflect.Type {
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
	return reflect.StructOf(fields)
})

// tag returns the struct tag of a setting: its name, its help with default and variable, and its section.
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

// flags returns the flags that are set on the command line.
func (s settings) flags() map[string]string {
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

// load is read, and prints warnings to standard error.
func (s settings) load(p *process, defaults config.Config) (*config.Loaded, error) {
	l, err := s.read(p, defaults)
	if err == nil {
		p.warn(l.Warnings)
	}
	return l, err
}

// warn prints warnings about the configuration.
func (p *process) warn(warnings []string) {
	for _, warning := range warnings {
		fmt.Fprintf(p.err, "gavel: warning: %s\n", warning)
	}
}

// read reads file, environment and flags over the defaults. Faults are a usageError, which says that nothing was started;
// with them the warnings are printed.
func (s settings) read(p *process, defaults config.Config) (*config.Loaded, error) {
	l, err := config.Load(config.Input{Defaults: defaults, Environ: p.environ, Flags: s.flags(), Check: presetFaults})
	if err != nil {
		p.warn(l.Warnings)
		return nil, usageError{fmt.Errorf("%w\ngavel: %s in the configuration; nothing was started", err, count(err))}
	}
	return l, nil
}

func count(err error) string { return plural(len(config.Faults(err)), "fault") }

// plural returns a number and a noun: "1 fault", "2 faults".
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// text is the text of a flag; kong decodes into it.
type text struct {
	value string
	set   bool
}

// Decode stores the flag's value; the last one is used.
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

// toggle is a flag that may stand without a value.
type toggle text

// IsBool makes kong accept the flag without a value.
func (t *toggle) IsBool() bool { return true }

// Decode stores the value after = if there is one, else true.
func (t *toggle) Decode(ctx *kong.DecodeContext) error {
	t.value, t.set = "true", true
	if ctx.Scan.Peek().Type == kong.FlagValueToken {
		t.value = ctx.Scan.Pop().String()
	}
	return nil
}
