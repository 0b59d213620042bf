//go:build !amd64

package market

// prefetch does nothing: the loads come when the tags are tested.
func prefetch(_ *uint64, _ uint64, _ *uint64, _, _ uintptr) {}
