package config

import (
	"reflect"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Setting describes one key of the configuration and its three names.
type Setting struct {
	Key         string // YAML: "management.cors_origins".
	Flag        string // Without leading dashes: "management-cors-origins".
	Env         string // "GAVEL_MANAGEMENT_CORS_ORIGINS".
	Section     string // "management" or "management.acme"; empty at the top level.
	Help        string // One or two sentences.
	Placeholder string // The kind of value: "HOST:PORT".
	Default     string // Default as text; empty when there is none.
	Bool        bool   // A flag without a value.
	List        bool   // Comma-separated in a flag or variable, a sequence in YAML.
	Secret      bool   // The field is a Secret: never printed.

	index    []int // Index of the field, for reflect.Value.FieldByIndex.
	min, max int64 // Bounds of numbers, sizes and durations; no bounds when min > max.
	oneOf    []string
}

// Settings returns all settings in the order of the fields of Config.
func Settings() []Setting { return settings() }

// settings is computed once, because the struct type does not change.
var settings = sync.OnceValue(func() []Setting {
	var all []Setting
	collectSettings(reflect.TypeFor[Config](), nil, "", &all)
	return all
})

func collectSettings(t reflect.Type, index []int, section string, all *[]Setting) {
	defaults := reflect.ValueOf(Default())
	for f := range t.Fields() {
		at := append(append([]int(nil), index...), f.Index...)
		name := strings.Join(splitName(f.Name), "_")
		key := name
		if section != "" {
			key = section + "." + name
		}
		if f.Type.Kind() == reflect.Struct {
			collectSettings(f.Type, at, key, all)
			continue
		}
		s := Setting{
			Key: key, Section: section,
			Flag:        strings.NewReplacer(".", "-", "_", "-").Replace(key),
			Env:         "GAVEL_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_")),
			Help:        f.Tag.Get("help"),
			Placeholder: f.Tag.Get("placeholder"),
			Default:     format(defaults.FieldByIndex(at)),
			Bool:        f.Type.Kind() == reflect.Bool,
			List:        f.Type.Kind() == reflect.Slice,
			Secret:      f.Type == reflect.TypeFor[Secret](),
			index:       at, min: 0, max: -1,
		}
		s.bound(f)
		*all = append(*all, s)
	}
}

// bound reads the bounds of a field from its tags. It panics on a tag that does not parse; the tests of this package
// read all of them.
func (s *Setting) bound(f reflect.StructField) {
	if list := f.Tag.Get("oneof"); list != "" {
		s.oneOf = strings.Split(list, ",")
	}
	least, most := f.Tag.Get("min"), f.Tag.Get("max")
	if least == "" {
		return
	}
	for _, b := range []struct {
		text string
		to   *int64
	}{{least, &s.min}, {most, &s.max}} {
		v := reflect.New(f.Type).Elem()
		if err := parse(v, b.text); err != nil {
			panic("config: bound of " + s.Key + ": " + err.Error())
		}
		*b.to = v.Int()
	}
}

// splitName splits a Go name into words: AuctionListen is auction listen, CORSOrigins is cors origins.
func splitName(name string) []string {
	r := []rune(name)
	var out []string
	start := 0
	for i := 1; i < len(r); i++ {
		lowerToUpper := unicode.IsUpper(r[i]) && unicode.IsLower(r[i-1])
		endOfInitials := i+1 < len(r) && unicode.IsUpper(r[i]) && unicode.IsUpper(r[i-1]) && unicode.IsLower(r[i+1])
		if lowerToUpper || endOfInitials {
			out = append(out, strings.ToLower(string(r[start:i])))
			start = i
		}
	}
	return append(out, strings.ToLower(string(r[start:])))
}

// set parses text into the setting's field of c and checks its bounds. The error describes the problem without the name
// of the setting.
func (s *Setting) set(c *Config, text string) error {
	v := reflect.ValueOf(c).Elem().FieldByIndex(s.index)
	parsed := reflect.New(v.Type()).Elem()
	if err := parse(parsed, text); err != nil {
		return err
	}
	if err := s.check(parsed); err != nil {
		return err
	}
	v.Set(parsed)
	return nil
}

// text returns the setting's value in c in the form that parse reads.
func (s *Setting) text(c *Config) string {
	return format(reflect.ValueOf(c).Elem().FieldByIndex(s.index))
}

// limit formats a bound in the unit of the setting.
func limit(t reflect.Type, bound int64) string {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return durationText(time.Duration(bound))
	case reflect.TypeFor[Bytes]():
		return Bytes(bound).String()
	default:
		v := reflect.New(t).Elem()
		v.SetInt(bound)
		return format(v)
	}
}
