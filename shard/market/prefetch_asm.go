//go:build amd64 || arm64

package market

// prefetch prefetches tags[hash&mask] for n hashes. The first hash is at first, each further one stride bytes behind
// the last.
//
//go:noescape
func prefetch(tags *uint64, mask uint64, first *uint64, stride, n uintptr)

// prefetchLines prefetches the cache lines of n addresses.
//
//go:noescape
func prefetchLines(lines *uintptr, n uintptr)
