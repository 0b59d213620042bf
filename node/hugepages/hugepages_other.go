//go:build !linux

package hugepages

// Advise does nothing on systems other than Linux: they use huge pages without advice or not at all.
func Advise() (Stats, error) { return Stats{}, nil }

// Collapse does nothing on systems other than Linux.
func Collapse() (Stats, error) { return Stats{}, nil }
