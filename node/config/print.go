package config

import (
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"text/tabwriter"
)

// WriteSources prints every key with its effective value and where it was set, one per line. Secrets are masked.
func (l *Loaded) WriteSources(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "KEY\tVALUE\tSOURCE")
	for _, e := range l.Effective() {
		value := e.Value
		if value == "" {
			value = `""`
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", e.Key, value, e.Source)
	}
	return t.Flush()
}

// Effective is a setting with its value and where it was set. A secret is masked.
type Effective struct{ Key, Value, Source string }

// Effective returns every setting in the order of the documentation.
func (l *Loaded) Effective() []Effective {
	var all []Effective
	for _, s := range Settings() {
		all = append(all, Effective{s.Key, withoutUserinfo(s.text(&l.Config)), l.Origin(s.Key).Name})
	}
	return all
}

// WriteYAML prints the configuration as a file that Load reads back to the same values, with the help of each key above
// it. Keys without a value, and secrets, are written as comments, because a file should not hold secrets.
func (l *Loaded) WriteYAML(w io.Writer) error {
	var b strings.Builder
	section := ""
	for _, s := range Settings() {
		depth := strings.Count(s.Key, ".") // A section inside of another follows the settings of that one.
		if s.Section != section {
			section = s.Section
			fmt.Fprintf(&b, "\n%s%s:\n", strings.Repeat("  ", depth-1), section[strings.LastIndexByte(section, '.')+1:])
		}
		indent, name := strings.Repeat("  ", depth), s.Key[strings.LastIndexByte(s.Key, '.')+1:]
		value := yamlText(&s, withoutUserinfo(s.text(&l.Config)))
		fmt.Fprintf(&b, "%s# %s\n", indent, s.Help)
		if s.Secret || s.Key == "config" || value == "" {
			indent += "# "
		}
		if s.Secret {
			value = ""
		}
		fmt.Fprintf(&b, "%s%s:%s\n", indent, name, strings.TrimRight(" "+value, " "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// yamlText quotes texts that YAML could read as another type.
func yamlText(s *Setting, text string) string {
	if s.List {
		items := strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
		for i := range items {
			items[i] = strconv.Quote(items[i])
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	if text != "" && s.kind() == reflect.String {
		return strconv.Quote(text)
	}
	return text
}

func (s *Setting) kind() reflect.Kind {
	return reflect.TypeFor[Config]().FieldByIndex(s.index).Type.Kind()
}
