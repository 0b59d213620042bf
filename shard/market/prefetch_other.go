//go:build !amd64 && !arm64

package market

// prefetch does nothing on this architecture; the tags are loaded when they are tested.
func prefetch(_ *uint64, _ uint64, _ *uint64, _, _ uintptr) {}

// prefetchLines does nothing on this architecture.
func prefetchLines(*uintptr, uintptr) {}
