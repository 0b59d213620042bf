package shardtest

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/shard/command"
)

// TestGeneratorReachesEverything ensures that the model test covers what it should: within some hundred short runs,
// every outcome of an event and every refusal that random commands can cause must occur.
func TestGeneratorReachesEverything(t *testing.T) {
	outcomes := make(map[command.Outcome]int)
	refusals := make(map[command.Refusal]int)
	repeats := 0
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		g := NewGenerator(func(n int, _ string) int { return random.IntN(n) })
		if seed%2 == 0 {
			g.Newest() // Otherwise few sequences get far enough for outcomes of the newest level.
		}
		for range 100 {
			if random.IntN(40) == 0 {
				g.Pause(random.IntN(300))
			}
			step := g.Step()
			if strings.HasSuffix(step.Name, "repeated") && step.Result.Refusal == command.Done {
				repeats++
			}
			for _, x := range step.Events {
				outcomes[x.Outcome]++
			}
			if step.Events == nil {
				refusals[step.Result.Refusal]++
			}
		}
	}
	t.Log(outcomes, refusals, repeats)
	if repeats < 200 {
		t.Errorf("%d attempts were repeated", repeats)
	}
	for o := range command.Outcome(command.Outcomes) {
		if outcomes[o] < 20 {
			t.Errorf("outcome %s came up %d times", o, outcomes[o])
		}
	}
	for _, r := range []command.Refusal{
		command.Done, command.NotFound, command.AlreadyExists, command.WrongState, command.InsufficientBalance,
		command.TooMany, command.Cycle, command.TooEarly, command.Expired, command.Conflict,
		command.VendorDeleted, command.NeedsTotal,
	} {
		if refusals[r] < 20 {
			t.Errorf("refusal %s came up %d times", r, refusals[r])
		}
	}
}
