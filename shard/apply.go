package shard

import (
	"errors"

	"github.com/gavel-ads/gavel/shard/command"
)

// Apply applies one command and returns its encoded answer. command.ReadEventResults reads the answer to an Events
// command, command.ReadSegmentResult that to a CommitSegment, and command.ReadResult all others. Apply never fails: a
// command that cannot be read is answered with Invalid and changes nothing. OWNERSHIP: the answer belongs to the
// caller.
//
// Apply panics on an intact command of a version that this binary does not know. Skipping a command that other replicas
// apply would make this replica differ from them, so the node must not run until it is upgraded.
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
	if c.Needs > m.state.level { // A defect of the proposer, which checks command.Needs first.
		return answer(refused(command.TooEarly, 0))
	}
	if c.Op == command.OpEvents {
		return m.applyEvents(&c)
	}
	m.managed = true
	managed := c // The generic calls below make their command escape to the heap; the copy keeps an Events command on the stack.
	if managed.Attempted {
		return m.applyIdempotent(&managed)
	}
	return m.applyManaged(&managed)
}

// applyManaged applies every command but Events.
func (m *Machine) applyManaged(c *command.Command) []byte {
	m.repeated = false
	if c.Op == command.OpCommitSegment {
		r := m.applyCommitSegment(c)
		m.storeCarried(c, r.Refusal)
		return command.AppendSegmentResult(make([]byte, 0, 16), &r)
	}
	r := m.manage(c)
	m.storeCarried(c, r.Refusal)
	return answer(r)
}

func answer(r command.Result) []byte { return command.AppendResult(make([]byte, 0, 16), &r) }

func refused(why command.Refusal, index int) command.Result {
	return command.Result{Refusal: why, Index: index}
}

// manage applies the commands that are answered by a Result. A command for data that this group does not carry is a
// defect of the proposer and is refused as Invalid.
func (m *Machine) manage(c *command.Command) command.Result {
	switch c.Op {
	case command.OpNoop:
		return command.Result{}
	case command.OpAdvance:
		return applyDecoded(c, command.ReadAdvance, m.advance)
	case command.OpBootstrap:
		return applyIfCarried(m.meta, c, command.ReadBootstrap, m.bootstrap)
	case command.OpPutMarketplace:
		return applyDecoded(c, command.ReadPutMarketplace, m.replaceMarketplace)
	case command.OpPutRecords:
		return applyDecoded(c, command.ReadPutRecords, m.putCarriedRecords)
	case command.OpPutCategories:
		return applyIfOpen(m, m.meta, c, command.ReadPutCategories, m.putCategories)
	case command.OpPutProducts:
		return applyIfOpen(m, m.meta, c, command.ReadPutProducts, m.putProducts)
	case command.OpDeleteCatalog:
		return applyIfOpen(m, m.meta, c, command.ReadDeleteCatalog, m.deleteCatalog)
	case command.OpAdjustWallet:
		return applyIfOpen(m, m.data(), c, command.ReadAdjustWallet, m.adjustWallet)
	case command.OpCreateCampaign:
		return applyIfOpen(m, m.data(), c, command.ReadCreateCampaign, m.createCampaign)
	case command.OpPatchCampaign:
		return applyIfOpen(m, m.data(), c, command.ReadPatchCampaign, m.patchCampaign)
	case command.OpPutBids:
		return applyIfOpen(m, m.data(), c, command.ReadPutBids, m.putBids)
	case command.OpPatchBid:
		return applyIfOpen(m, m.data(), c, command.ReadPatchBid, m.patchBid)
	case command.OpPatchProducts:
		return applyIfOpen(m, m.meta, c, command.ReadPatchProducts, m.patchProducts)
	case command.OpMarkVendors:
		return applyIfCarried(m.data(), c, command.ReadMarkVendors, m.markVendors)
	case command.OpStageSegment:
		return applyIfOpen(m, m.meta, c, command.ReadStageSegment, m.stageSegment)
	case command.OpOpenAccount:
		return applyIfOpen(m, m.data(), c, command.ReadOpenAccount, m.openAccount)
	case command.OpTransfer:
		return applyIfOpen(m, m.data(), c, command.ReadTransfer, m.transfer)
	case command.OpForgetEmptied:
		return applyIfCarried(m.data(), c, command.ReadForgetEmptied, m.forgetEmptied)
	case command.OpForgetNotices:
		return applyIfCarried(m.data(), c, command.ReadForgetNotices, m.forgetNotices)
	case command.OpPace:
		return applyIfCarried(m.data(), c, command.ReadPace, m.paceCampaigns)
	case command.OpTraffic:
		return applyIfCarried(m.meta, c, command.ReadTraffic, m.learnTraffic)
	case command.OpCountAuctions:
		return applyIfCarried(m.data(), c, command.ReadCountAuctions, m.countAuctions)
	case command.OpDecideCredits:
		return applyIfCarried(m.data(), c, command.ReadDecideCredits, m.decideCredits)
	case command.OpApplyCredits:
		return applyIfCarried(m.data(), c, command.ReadApplyCredits, m.applyCredits)
	case command.OpCloseCredits:
		return applyIfCarried(m.data(), c, command.ReadCloseCredits, m.closeCredits)
	case command.OpApplyReturns:
		return applyIfCarried(m.data(), c, command.ReadApplyReturns, m.applyReturns)
	case command.OpCloseReturns:
		return applyIfCarried(m.data(), c, command.ReadCloseReturns, m.closeReturns)
	case command.OpReverse:
		return applyIfOpen(m, m.data(), c, command.ReadReverse, m.reverse)
	case command.OpLinkUsers:
		return applyIfOpen(m, m.data(), c, command.ReadLinkUsers, m.linkUsers)
	case command.OpForgetUser:
		return applyIfOpen(m, true, c, command.ReadForgetUser, m.forgetUser)
	case command.OpWatchUsers:
		return applyIfCarried(m.data(), c, command.ReadWatchUsers, m.watchUsers)
	case command.OpForgetMarks:
		return applyIfCarried(m.data(), c, command.ReadForgetMarks, m.forgetMarks)
	case command.OpDefineSegment:
		return applyIfOpen(m, m.meta, c, command.ReadDefineSegment, m.defineSegment)
	case command.OpDecideMembers:
		return applyIfCarried(m.meta, c, command.ReadDecideMembers, m.decideMembers)
	case command.OpEnrolUsers:
		return applyIfCarried(m.data(), c, command.ReadEnrolUsers, m.enrolUsers)
	case command.OpSetFeature:
		return applyDecoded(c, command.ReadSetFeature, m.setFeature)
	default:
		return refused(command.Invalid, 0)
	}
}

// applyIfCarried is applyDecoded for a command on data that only some groups carry; it refuses it as Invalid elsewhere.
func applyIfCarried[T any](carried bool, c *command.Command, read func(*command.Command) (T, error), do func(*T) command.Result) command.Result {
	if !carried {
		return refused(command.Invalid, 0)
	}
	return applyDecoded(c, read, do)
}

// applyDecoded decodes a command and applies it; it refuses one that cannot be decoded as Invalid.
func applyDecoded[T any](c *command.Command, read func(*command.Command) (T, error), do func(*T) command.Result) command.Result {
	x, err := read(c)
	if err != nil {
		return refused(command.Invalid, 0)
	}
	return do(&x)
}
