package daemon

import (
	"encoding/json"

	"github.com/gavel-ads/gavel/node/operator"
)

// about is what this node tells other nodes of itself when an operator asks one of them for the state of the cluster.
func (n *node) about() []byte {
	a := operator.About{Version: n.version}
	text, err := json.Marshal(a)
	if err != nil {
		panic("daemon: what a node tells is plain data: " + err.Error())
	}
	return text
}
