package config

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Origin says where a value came from.
type Origin struct {
	Name string // "default", "gavel.yaml:4:3", "env GAVEL_GROUPS", "flag --groups".

	snippet string // Of the file; see reader.snippet.
}

// Input is everything Load reads. Members left out are empty, except Defaults.
type Input struct {
	Defaults Config            // Default() for serve; the demo has its own.
	Environ  []string          // As of os.Environ.
	Flags    map[string]string // Flag name without dashes to its text; lists comma-separated.
	// Check finds more faults in the whole: rules that need rooms which this one does not know. nil finds none.
	Check func(Config) []*Fault
}

// Loaded is a configuration and the story of its values.
type Loaded struct {
	Config
	// Notes are things that look like mistakes and are none for certain: variables that start with GAVEL_ and are close
	// to a setting's name. Unknown variables are no fault because orchestrators inject such names on their own.
	Notes []string

	origins map[string]Origin // By key; absent: default.
}

// Origin returns where the value of a key came from.
func (l *Loaded) Origin(key string) Origin {
	if o, ok := l.origins[key]; ok {
		return o
	}
	return Origin{Name: "default"}
}

// Load builds the configuration: defaults, then the file named by the flag or variable "config", then the environment,
// then the flags. The error joins one *Fault per mistake, in that order; the Loaded beside it is then not to be used.
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
			faults = l.take(s, text, Origin{Name: "env " + s.Env}, faults)
		}
	}
	for i := range Settings() {
		s := &Settings()[i]
		if text, ok := in.Flags[s.Flag]; ok {
			faults = l.take(s, text, Origin{Name: "flag --" + s.Flag}, faults)
		}
	}
	l.Notes = strangeVariables(env)
	wrong := l.Config.faults()
	if in.Check != nil {
		wrong = append(wrong, in.Check(l.Config)...)
	}
	return l, join(append(faults, l.place(wrong)...))
}

// take sets one value. A value that does not parse leaves the earlier one, so that it raises one fault only.
func (l *Loaded) take(s *Setting, text string, from Origin, faults []*Fault) []*Fault {
	if err := s.set(&l.Config, text); err != nil {
		return append(faults, from.fault(s.Key, err.Error()))
	}
	l.origins[s.Key] = from
	return faults
}

// place writes where the values of faults came from.
func (l *Loaded) place(faults []*Fault) []*Fault {
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

func strangeVariables(env map[string]string) []string {
	names := make([]string, 0, len(Settings()))
	for _, s := range Settings() {
		names = append(names, s.Env)
	}
	var notes []string
	for name := range env {
		if slices.Contains(names, name) {
			continue
		}
		// Only the part behind the common prefix is compared, or every short name would be near another.
		if near := nearest(name[len("GAVEL_"):], trimAll(names)); near != "" {
			notes = append(notes, fmt.Sprintf("the variable %s names no setting; did you mean GAVEL_%s?", name, near))
		}
	}
	slices.Sort(notes)
	return notes
}

func trimAll(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = n[len("GAVEL_"):]
	}
	return out
}
