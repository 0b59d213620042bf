package manage_test

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
)

// TestClientsCanRelyOnTheDescription checks every exchange of every script against the description: answers have only
// described statuses, types and members, and a client that knows nothing else could have sent every request that succeeded. Every
// operation has to succeed somewhere: a new one without a script fails here.
func TestClientsCanRelyOnTheDescription(t *testing.T) {
	scripts, err := filepath.Glob("*/testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	own, err := filepath.Glob("testdata/clients/*.txt")
	if err != nil || len(own) == 0 || len(scripts) < 30 {
		t.Fatalf("%d and %d scripts: %v", len(own), len(scripts), err)
	}
	d := managetest.New(t).Description(t) // Every environment has the same one, and reading it takes longer than a script.
	maps.Copy(d.Answered, files(t))
	for _, file := range append(own, scripts...) {
		t.Run(strings.TrimSuffix(file, ".txt"), func(t *testing.T) { managetest.RunScriptWith(t, managetest.New(t), file, d) })
	}
	for path, item := range description(t).Paths.Map() {
		for method, op := range item.Operations() {
			if !d.Answered[op.OperationID] {
				t.Errorf("%s (%s %s) is answered with success by no script", op.OperationID, method, path)
			}
		}
	}
}
