//go:build !linux

package hugepages

// Advise does nothing: what Linux is asked for here, other systems do unasked or not at all.
func Advise() (Stats, error) { return Stats{}, nil }

// Collapse does nothing either.
func Collapse() (Stats, error) { return Stats{}, nil }
