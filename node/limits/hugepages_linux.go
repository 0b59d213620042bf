package limits

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"syscall"
)

// These values are from linux/mman.h. MADV_COLLAPSE exists since Linux 6.1; older systems refuse it, and khugepaged collapses
// pages over time.
const (
	madvHugepage   = 14
	madvNoHugepage = 15
	madvCollapse   = 25
)

// AdviseHugePages asks for huge pages for all writable anonymous memory of the process, mainly the Go heap. Memory that is touched for
// the first time afterwards gets them at once, other memory gets them from the system over time. Memory that is mapped later
// is not covered, so the caller repeats the call when the heap has grown. It costs microseconds, and has no effect if
// transparent huge pages are off. The error is that of reading /proc/self/maps.
func AdviseHugePages() (HugePageStats, error) { return adviseAll(madvHugepage, false) }

// CollapseHugePages does what Advise does, and also moves existing memory into huge pages before it returns, which takes about half a
// second for a gigabyte. It fills the unused parts of these pages too, so the process then occupies as much memory as its
// heap had at its largest.
func CollapseHugePages() (HugePageStats, error) { return adviseAll(madvHugepage, true) }

// ForbidHugePages takes the advice back for all memory that is mapped now. Huge pages that exist stay, until the runtime gives back
// a part of them. From then on memory that was given back is not filled with a block of 2 MiB any more.
func ForbidHugePages() (HugePageStats, error) { return adviseAll(madvNoHugepage, false) }

func adviseAll(advice uintptr, collapse bool) (s HugePageStats, err error) {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return s, err
	}
	defer func() { _ = maps.Close() }()
	regions, err := parseMaps(maps)
	if err != nil {
		return s, err
	}
	for _, r := range regions {
		if madvise(r.from, r.to-r.from, advice) != 0 {
			continue // The region was unmapped meanwhile, or the system has no huge pages.
		}
		s.Regions++
		for at := r.from; collapse && at < r.to; at += HugePageSize {
			if madvise(at, HugePageSize, madvCollapse) == 0 {
				s.Collapsed++
			} else {
				s.Refused++
			}
		}
	}
	return s, nil
}

// madvise is harmless for any address: these advices change the pages of memory and not its content.
func madvise(at, size uintptr, advice uintptr) syscall.Errno {
	_, _, errno := syscall.Syscall(syscall.SYS_MADVISE, at, size, advice)
	return errno
}

// region is a range of addresses that begins and ends at multiples of Block.
type region struct{ from, to uintptr }

// parseMaps returns the regions of private, anonymous, writable memory in a list of mappings (proc_pid_maps(5)). BOUND: at
// most a thousand regions; a process has dozens.
func parseMaps(maps io.Reader) (all []region, err error) {
	in := bufio.NewScanner(maps)
	for in.Scan() && len(all) < 1000 {
		var from, to uintptr
		var rights string
		var offset, device, inode string
		if n, _ := fmt.Sscanf(in.Text(), "%x-%x %s %s %s %s", &from, &to, &rights, &offset, &device, &inode); n < 6 {
			return nil, fmt.Errorf("a mapping that cannot be read: %q", in.Text())
		}
		r := region{(from + HugePageSize - 1) &^ (HugePageSize - 1), to &^ (HugePageSize - 1)}
		if rights == "rw-p" && inode == "0" && !bytes.Contains(in.Bytes(), []byte("[stack]")) && r.from < r.to {
			all = append(all, r)
		}
	}
	return all, in.Err()
}
