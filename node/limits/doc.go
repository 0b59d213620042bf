// Package limits divides what the process may use of its machine among its parts: files, memory, and the CPU time of
// work that a rate limit of requests does not bound.
//
// Derive divides the limit of open files and the memory among the connections of each listener, the files of the
// databases, and the bytes of request bodies.
//
// # Background work
//
// A Scheduler bounds the CPU time of reports, explanations and forecasts. Such work waits for a permit, runs in short
// slices beside auctions, ends within a slice of the end of its context, and uses a budget of CPU time of its
// marketplace. DESIGN.md has the reasons for the numbers.
//
// # Huge pages
//
// AdviseHugePages asks the system to keep the process's memory in pages of 2 MiB. An auction reads a few dozen cache
// lines that are scattered over hundreds of megabytes. With pages of 4 KiB nearly every one of them also misses the
// translation lookaside buffer, and in a virtual machine an address translation takes more memory reads than the line
// itself. Go leaves the choice of pages to the system, and most systems leave it to the process.
package limits
