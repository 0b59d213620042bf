package config

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Origin says where a value was set.
type Origin struct {
	Name string // "default", "gavel.yaml:4:3", "env GAVEL_GROUPS", "flag --groups".

	snippet string // The line of the file; see reader.snippet.
}

// Input is everything that Load reads. Members may be empty, except Defaults.
type Input struct {
	Defaults Config            // Default() for serve; the demo has its own.
	Environ  []string          // In the form of os.Environ.
	Flags    map[string]string // Text by flag name without dashes; lists are comma-separated.
	// Check returns further faults of the whole configuration: those of rules that need packages which this one does
	// not import. It may be nil.
	Check func(Config) []*Fault
}

// Loaded is a configuration and the provenance of its values.
type Loaded struct {
	Config
	// Warnings describe possible mistakes: variables that start with GAVEL_ and are similar to a setting's name.
	// Unknown variables are no faults, because orchestrators set such names themselves.
	Warnings []string

	origins map[string]Origin // By key; absent: default.
}

// Origin returns where the value of a key was set.
func (l *Loaded) Origin(key string) Origin {
	if o, ok := l.origins[key]; ok {
		return o
	}
	return Origin{Name: "default"}
}

// Load builds the configuration from the defaults, then the file named by the flag or variable "config", then the
// environment, then the flags. The error joins one *Fault per mistake, in that order; the Loaded must not be used when
// there is one.
func Load(in Input) (*Loaded, error) {
	l := &Loaded{Config: in.Defaults, origins: map[string]Origin{}}
	env := environment(in.Environ)
	var faults []*Fault

	if file := fileName(in, env); file != "" {
		faults = append(faults, l.readFile(file)...)
	}
	for i := range Settings() {
		s := &Settings()[i]
		if text := env[s.Env]; text != "" {
			faults = l.setValue(s, text, Origin{Name: "env " + s.Env}, faults)
		}
	}
	for i := range Settings() {
		s := &Settings()[i]
		if text, ok := in.Flags[s.Flag]; ok {
			faults = l.setValue(s, text, Origin{Name: "flag --" + s.Flag}, faults)
		}
	}
	l.Warnings = misspelledVariables(env)
	wrong := l.Config.faults()
	if in.Check != nil {
		wrong = append(wrong, in.Check(l.Config)...)
	}
	return l, join(append(faults, l.locate(wrong)...))
}

// setValue sets one value. A value that cannot be parsed keeps the earlier one, so that it causes one fault only.
func (l *Loaded) setValue(s *Setting, text string, from Origin, faults []*Fault) []*Fault {
	if err := s.set(&l.Config, text); err != nil {
		return append(faults, from.fault(s.Key, err.Error()))
	}
	l.origins[s.Key] = from
	return faults
}

// locate adds to faults where the values of their settings were set.
func (l *Loaded) locate(faults []*Fault) []*Fault {
	for i, f := range faults {
		faults[i] = l.Origin(f.Key).fault(f.Key, f.Problem)
	}
	return faults
}

func (o Origin) fault(key, problem string) *Fault {
	return &Fault{Where: o.Name, Key: key, Problem: problem, Snippet: o.snippet}
}

func fileName(in Input, env map[string]string) string {
	if file, ok := in.Flags["config"]; ok {
		return file
	}
	if file := env["GAVEL_CONFIG"]; file != "" {
		return file
	}
	return in.Defaults.Config
}

func (l *Loaded) readFile(name string) []*Fault {
	text, err := os.ReadFile(name)
	if err != nil {
		return []*Fault{{Key: "config", Problem: fmt.Sprintf("cannot read the file: %v", err)}}
	}
	return l.readYAML(name, text)
}

func environment(environ []string) map[string]string {
	env := map[string]string{}
	for _, line := range environ {
		if name, value, ok := strings.Cut(line, "="); ok && strings.HasPrefix(name, "GAVEL_") {
			env[name] = value
		}
	}
	return env
}

func misspelledVariables(env map[string]string) []string {
	names := make([]string, 0, len(Settings()))
	for _, s := range Settings() {
		names = append(names, s.Env)
	}
	var notes []string
	for name := range env {
		if slices.Contains(names, name) {
			continue
		}
		// The common prefix is not compared, because with it every short name would be similar to another.
		if near := nearest(name[len("GAVEL_"):], withoutPrefix(names)); near != "" {
			notes = append(notes, fmt.Sprintf("the variable %s is not a setting; did you mean GAVEL_%s?", name, near))
		}
	}
	slices.Sort(notes)
	return notes
}

func withoutPrefix(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = n[len("GAVEL_"):]
	}
	return out
}
