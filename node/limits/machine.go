package limits

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// filesUnknown stands for a limit of files that the system does not tell.
const filesUnknown = 1024

// memoryUnknown stands for a machine that does not tell its memory.
const memoryUnknown = 4 << 30

// machinePart is the part of a machine's memory that a process without a limit of its own takes for its limit: three quarters, the rest
// is for the system and its page cache, which the databases read through.
const machinePartOf, machineParts = 3, 4

// DefaultMemory is what memory.limit is when it is not set: the limit of the process's control group, else three quarters of the
// machine's memory. root is the root of the file system.
func DefaultMemory(root string) int64 {
	machine := meminfo(filepath.Join(root, "proc/meminfo"))
	limit := int64(math.MaxInt64)
	for _, dir := range groups(filepath.Join(root, "proc/self/cgroup")) {
		for _, name := range []string{"memory.max", "memory.limit_in_bytes"} {
			limit = min(limit, number(filepath.Join(root, "sys/fs/cgroup", dir, name)))
		}
	}
	if machine == math.MaxInt64 && limit == math.MaxInt64 {
		return memoryUnknown
	}
	if limit < machine {
		return limit
	}
	return machine / machineParts * machinePartOf
}

// groups are the directories below the control file systems that limit this process: its own group and those above.
func groups(file string) []string {
	text, _ := os.ReadFile(file) // Absent where there are no control groups.
	all := []string{"", "memory"}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 || parts[1] != "" && !strings.Contains(parts[1], "memory") {
			continue
		}
		base := ""
		if parts[1] != "" {
			base = "memory"
		}
		for dir := filepath.Clean("/" + parts[2]); dir != "/"; dir = filepath.Dir(dir) {
			all = append(all, filepath.Join(base, dir))
		}
	}
	return all
}

// number reads a file with one number; the largest one where there is none, such as for "max".
func number(file string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return math.MaxInt64
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n <= 0 {
		return math.MaxInt64
	}
	return n
}

// meminfo reads the memory of the machine.
func meminfo(file string) int64 {
	text, _ := os.ReadFile(file) // Absent on other systems than Linux.
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 3 && words[0] == "MemTotal:" {
			if n, err := strconv.ParseInt(words[1], 10, 64); err == nil {
				return n << 10
			}
		}
	}
	return math.MaxInt64
}
