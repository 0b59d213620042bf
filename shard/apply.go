package shard

import (
	"errors"

	"github.com/gavel-ads/gavel/shard/command"
)

// Apply applies one command and returns its answer: command.ReadEventResults reads that of an Events command,
// command.ReadResult all others. It never fails: a command that cannot be read is answered with Invalid and changes
// nothing. OWNERSHIP: the answer belongs to the caller.
//
// It panics on an intact command of a version it does not know: skipping what other replicas apply would make this one
// differ from them, so the node has to stay out until it is upgraded.
func (m *Machine) Apply(b Batch, cmd []byte) []byte {
	m.b = b
	c, err := command.Open(cmd)
	if errors.Is(err, command.ErrUnknownVersion) {
		panic("shard: " + err.Error() + ": this node must be upgraded before it can go on")
	}
	if err != nil {
		return answer(refused(command.Invalid, 0))
	}
	m.state.now = max(m.state.now, c.NowMillis)
	if c.Needs > m.state.level { // A proposer does not let it come to this.
		return answer(refused(command.TooEarly, 0))
	}
	if c.Op == command.OpEvents {
		return m.applyEvents(&c)
	}
	managed := c // The generic calls let their command escape to the heap; an Events command stays on the stack.
	if managed.Attempted {
		return m.once(&managed)
	}
	return m.applyManaged(&managed)
}

// applyManaged applies every command but Events.
func (m *Machine) applyManaged(c *command.Command) []byte {
	if c.Op == command.OpCommitSegment {
		return m.applyCommitSegment(c)
	}
	return answer(m.manage(c))
}

func answer(r command.Result) []byte { return command.AppendResult(make([]byte, 0, 16), &r) }

func refused(why command.Refusal, index int) command.Result {
	return command.Result{Refusal: why, Index: index}
}

// manage applies the commands that are answered by a Result. A command that this group does not carry is a defect of the proposer.
func (m *Machine) manage(c *command.Command) command.Result {
	switch c.Op {
	case command.OpNoop:
		return command.Result{}
	case command.OpAdvance:
		return decoded(c, command.ReadAdvance, m.advance)
	case command.OpBootstrap:
		return only(m.meta, c, command.ReadBootstrap, m.bootstrap)
	case command.OpPutMarketplace:
		return decoded(c, command.ReadPutMarketplace, m.replaceMarketplace)
	case command.OpPutRecords:
		return only(m.meta, c, command.ReadPutRecords, m.putRecords)
	case command.OpPutCategories:
		return only(m.meta, c, command.ReadPutCategories, m.putCategories)
	case command.OpPutProducts:
		return only(m.meta, c, command.ReadPutProducts, m.putProducts)
	case command.OpDeleteCatalog:
		return only(m.meta, c, command.ReadDeleteCatalog, m.deleteCatalog)
	case command.OpAdjustWallet:
		return only(m.data(), c, command.ReadAdjustWallet, m.adjustWallet)
	case command.OpCreateCampaign:
		return only(m.data(), c, command.ReadCreateCampaign, m.createCampaign)
	case command.OpPatchCampaign:
		return only(m.data(), c, command.ReadPatchCampaign, m.patchCampaign)
	case command.OpPutBids:
		return only(m.data(), c, command.ReadPutBids, m.putBids)
	case command.OpPatchBid:
		return only(m.data(), c, command.ReadPatchBid, m.patchBid)
	case command.OpPatchProducts:
		return only(m.meta, c, command.ReadPatchProducts, m.patchProducts)
	case command.OpStageSegment:
		return only(m.meta, c, command.ReadStageSegment, m.stageSegment)
	case command.OpOpenAccount:
		return only(m.data(), c, command.ReadOpenAccount, m.openAccount)
	case command.OpTransfer:
		return only(m.data(), c, command.ReadTransfer, m.transfer)
	case command.OpForgetEmptied:
		return only(m.data(), c, command.ReadForgetEmptied, m.forgetEmptied)
	case command.OpSetFeature:
		return decoded(c, command.ReadSetFeature, m.setFeature)
	default:
		return refused(command.Invalid, 0)
	}
}

func only[T any](carried bool, c *command.Command, read func(*command.Command) (T, error), do func(*T) command.Result) command.Result {
	if !carried {
		return refused(command.Invalid, 0)
	}
	return decoded(c, read, do)
}

func decoded[T any](c *command.Command, read func(*command.Command) (T, error), do func(*T) command.Result) command.Result {
	x, err := read(c)
	if err != nil {
		return refused(command.Invalid, 0)
	}
	return do(&x)
}
