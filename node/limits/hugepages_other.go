//go:build !linux

package limits

// AdviseHugePages does nothing on systems other than Linux: they use huge pages without advice or not at all.
func AdviseHugePages() (HugePageStats, error) { return HugePageStats{}, nil }

// ForbidHugePages does nothing on systems other than Linux.
func ForbidHugePages() (HugePageStats, error) { return HugePageStats{}, nil }

// CollapseHugePages does nothing on systems other than Linux.
func CollapseHugePages() (HugePageStats, error) { return HugePageStats{}, nil }
