package limits

// HugePageStats is the result of Advise or Collapse.
type HugePageStats struct {
	Regions   int // How many mappings were advised.
	Collapsed int // How many blocks of 2 MiB are one page now.
	Refused   int // How many blocks the system did not collapse, for lack of memory or because they are empty.
}

// HugePageSize is the size of a huge page in bytes.
const HugePageSize = 2 << 20
