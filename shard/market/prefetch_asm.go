//go:build amd64 || arm64

package market

// prefetch asks for tags[hash&mask] of n hashes that lie stride bytes apart.
//
//go:noescape
func prefetch(tags *uint64, mask uint64, first *uint64, stride, n uintptr)

// prefetchLines asks for the lines of n addresses.
//
//go:noescape
func prefetchLines(lines *uintptr, n uintptr)
