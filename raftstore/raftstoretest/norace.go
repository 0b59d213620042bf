//go:build !race

package raftstoretest

// RPCsInFlight is that of the configurations of tests: the default.
const RPCsInFlight = 0
