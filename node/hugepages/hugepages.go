// Package hugepages asks the system to keep the process's memory in pages of 2 MiB.
//
// An auction reads a few dozen lines that lie scattered over hundreds of megabytes. In pages of 4 KiB nearly every one of them also
// misses in the table of translations, and in a virtual machine finding a translation takes more reads than the line itself.
// Go leaves the choice to the system, and most systems leave it to the process.
package hugepages

// Stats says what Collapse found and did.
type Stats struct {
	Regions   int // Mappings that were advised.
	Collapsed int // Blocks of 2 MiB that are one page now.
	Refused   int // Blocks that the system did not make one, for want of memory or because nothing is in them.
}

// Block is the size of a huge page.
const Block = 2 << 20
