package hugepages

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"syscall"
)

// From linux/mman.h. MADV_COLLAPSE came with Linux 6.1; older systems refuse it and leave the work to khugepaged.
const (
	madvHugepage = 14
	madvCollapse = 25
)

// Advise marks all writable anonymous memory of the process, the Go heap above all, as worth huge pages. What is touched from
// now on gets them at once, what was touched before gets them from the system by and by. Memory that is mapped later is
// not marked: whoever grows calls it again. It costs microseconds, and does nothing where transparent huge pages are off.
func Advise() (Stats, error) { return each(false) }

// Collapse is Advise, and has what is there already moved into huge pages before it returns: about half a second for a gigabyte.
// It also fills the holes in them, so that the process takes as much memory as its heap has been large.
func Collapse() (Stats, error) { return each(true) }

func each(collapse bool) (s Stats, err error) {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return s, err
	}
	defer func() { _ = maps.Close() }()
	regions, err := read(maps)
	if err != nil {
		return s, err
	}
	for _, r := range regions {
		if madvise(r.from, r.to-r.from, madvHugepage) != 0 {
			continue // Gone meanwhile, or the system knows no huge pages.
		}
		s.Regions++
		for at := r.from; collapse && at < r.to; at += Block {
			if madvise(at, Block, madvCollapse) == 0 {
				s.Collapsed++
			} else {
				s.Refused++
			}
		}
	}
	return s, nil
}

// madvise is harmless on whatever address: it changes how memory is kept and not what is in it.
func madvise(at, size uintptr, advice uintptr) syscall.Errno {
	_, _, errno := syscall.Syscall(syscall.SYS_MADVISE, at, size, advice)
	return errno
}

// region is a run of whole blocks.
type region struct{ from, to uintptr }

// read finds the regions of private, anonymous, writable memory in a list of mappings (proc_pid_maps(5)). BOUND: of a thousand
// mappings; a process has dozens.
func read(maps io.Reader) (all []region, err error) {
	in := bufio.NewScanner(maps)
	for in.Scan() && len(all) < 1000 {
		var from, to uintptr
		var rights string
		var offset, device, inode string
		if n, _ := fmt.Sscanf(in.Text(), "%x-%x %s %s %s %s", &from, &to, &rights, &offset, &device, &inode); n < 6 {
			return nil, fmt.Errorf("a mapping that cannot be read: %q", in.Text())
		}
		r := region{(from + Block - 1) &^ (Block - 1), to &^ (Block - 1)}
		if rights == "rw-p" && inode == "0" && !bytes.Contains(in.Bytes(), []byte("[stack]")) && r.from < r.to {
			all = append(all, r)
		}
	}
	return all, in.Err()
}
