//go:build !amd64 && !arm64

package market

// prefetch does nothing: the loads come when the tags are tested.
func prefetch(_ *uint64, _ uint64, _ *uint64, _, _ uintptr) {}

// prefetchLines does nothing.
func prefetchLines(*uintptr, uintptr) {}
