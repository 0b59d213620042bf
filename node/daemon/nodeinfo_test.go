package daemon

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/operator"
)

// While no node has answered, as during a start, the status of a group lists no replicas. A client that goes through them
// must not find a null there.
func TestAGroupOfSilentNodesHasNoReplicas(t *testing.T) {
	nodes := []operator.Node{{ID: "n1"}, {ID: "n2"}}
	text, err := json.Marshal(group(nodes, operator.Group{Group: 3}))
	if err != nil || !strings.Contains(string(text), `"replicas":[]`) {
		t.Errorf("%s, %v", text, err)
	}
	nodes[1].Replicas = []operator.ReplicaState{{Group: 2, Applied: 9}, {Group: 3, Applied: 7}}
	if g := group(nodes, operator.Group{Group: 3}); len(g.Replicas) != 1 || g.Replicas[0].Node != "n2" || g.Replicas[0].Applied != 7 {
		t.Errorf("with one that answers: %+v", g)
	}
}
