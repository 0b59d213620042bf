// Package hugepages asks the system to keep the process's memory in pages of 2 MiB.
//
// An auction reads a few dozen cache lines that are scattered over hundreds of megabytes. With pages of 4 KiB nearly every one
// of them also misses the translation lookaside buffer, and in a virtual machine an address translation takes more memory
// reads than the line itself. Go leaves the choice of pages to the system, and most systems leave it to the process.
package hugepages

// Stats is the result of Advise or Collapse.
type Stats struct {
	Regions   int // How many mappings were advised.
	Collapsed int // How many blocks of 2 MiB are one page now.
	Refused   int // How many blocks the system did not collapse, for lack of memory or because they are empty.
}

// Block is the size of a huge page in bytes.
const Block = 2 << 20
