package limits

import "runtime/metrics"

// MemoryUse is what the process has of the machine's memory, in bytes.
type MemoryUse struct {
	Resident int64 // All that is in memory, by the system.
	Shared   int64 // The part of Resident that is files, such as the program itself.
	Mapped   int64 // What the Go runtime has ever got from the system.
	Released int64 // The part of Mapped that the runtime has given back.
}

// marginPart is the part of the memory limit that Hold leaves free, because the process is measured once a second and grows
// between two measurements.
const marginPart = 16

// Hold returns what keeps the process below its memory limit: the limit of the Go heap, and whether huge pages may be used.
//
// The runtime's own limit counts what the runtime has mapped and not given back. It is not all that is resident: the program is
// not in it, and with huge pages neither is memory that was given back in small pieces. The system fills whole blocks of 2 MiB,
// so that such a piece becomes resident again although the runtime does not use it, and will not give it back a second time. So
// the heap gets less by what is resident beyond the runtime's count, and huge pages end before they can fill more than there
// is: from then on memory that is given back stays given back.
func (s *Shares) Hold(memory int64, u MemoryUse) (heap int64, hugePages bool) {
	most := memory - memory/marginPart
	beyond := max(u.Resident-(u.Mapped-u.Released), 0)
	heap = min(s.Heap, max(most-beyond, memory/2))
	return heap, u.Mapped+u.Shared <= most
}

// readRuntime sets what the runtime knows.
func (u *MemoryUse) readRuntime() {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	u.Mapped, u.Released = int64(samples[0].Value.Uint64()), int64(samples[1].Value.Uint64()) // Far below 2^63.
}
