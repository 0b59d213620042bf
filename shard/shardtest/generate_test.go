package shardtest

import (
	"math/rand/v2"
	"testing"

	"github.com/gavel-ads/gavel/shard/command"
)

// TestGeneratorReachesEverything keeps the model test from becoming hollow: within some hundred short worlds every
// outcome of an event and every refusal that random commands can meet must come up.
func TestGeneratorReachesEverything(t *testing.T) {
	outcomes := make(map[command.Outcome]int)
	refusals := make(map[command.Refusal]int)
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		g := NewGenerator(func(n int, _ string) int { return random.IntN(n) })
		for range 100 {
			step := g.Step()
			for _, x := range step.Events {
				outcomes[x.Outcome]++
			}
			if step.Events == nil {
				refusals[step.Result.Refusal]++
			}
		}
	}
	t.Log(outcomes, refusals)
	for o := range command.Outcome(command.Outcomes) {
		if outcomes[o] < 20 {
			t.Errorf("outcome %s came up %d times", o, outcomes[o])
		}
	}
	for _, r := range []command.Refusal{
		command.Done, command.NotFound, command.AlreadyExists, command.WrongState, command.InsufficientBalance,
		command.TooMany, command.Cycle,
	} {
		if refusals[r] < 20 {
			t.Errorf("refusal %s came up %d times", r, refusals[r])
		}
	}
}
