package limits

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// filesUnknown is the number of files to assume if the system does not report a limit.
const filesUnknown = 1024

// memoryUnknown is the number of bytes to assume if the system does not report its memory.
const memoryUnknown = 4 << 30

// A process without a memory limit of its own may use machinePartOf/machineParts of the machine's memory: three quarters. The
// rest is for the system and its page cache, through which the databases read.
const machinePartOf, machineParts = 3, 4

// DefaultMemory returns the default of the setting memory.limit in bytes: the limit of the process's control group, or else
// three quarters of the machine's memory. root is the root of the file system.
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

// groups returns the directories below the control group file systems that may limit this process: those of its own groups
// and of all groups above them.
func groups(file string) []string {
	text, _ := os.ReadFile(file) // The file does not exist if there are no control groups.
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

// number reads a file that contains one number. It returns math.MaxInt64 if there is no file or no number, such as "max".
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

// meminfo returns the memory of the machine in bytes, or math.MaxInt64 if it is not known.
func meminfo(file string) int64 {
	text, _ := os.ReadFile(file) // The file exists only on Linux.
	for line := range strings.Lines(string(text)) {
		columns := strings.Fields(line)
		if len(columns) == 3 && columns[0] == "MemTotal:" {
			if n, err := strconv.ParseInt(columns[1], 10, 64); err == nil {
				return n << 10
			}
		}
	}
	return math.MaxInt64
}
