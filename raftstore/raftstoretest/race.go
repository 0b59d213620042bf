//go:build race

package raftstoretest

// RPCsInFlight is that of the configurations of tests under the race detector: with 1 Raft opens no pipeline. hashicorp/raft 1.8.0
// has a race in pipelineSend, which would be all that the detector finds.
const RPCsInFlight = 1
