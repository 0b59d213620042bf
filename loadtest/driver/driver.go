// Package driver is what every load program of this repository shares: when a request is due (Plan), one connection that sends
// it (Conn), how long it took (Histogram, SLO), whether its answer and the node's reports are right (CheckAuctions, CompareTotals),
// and the processes that are measured (Fleet, ProcessCPU).
//
// It shares no code with the node, and none with the token scanner of the scenarios, so that it does not repeat a mistake of theirs.
package driver
