package tally

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
)

// pendingMax bounds the campaigns and hours that wait for a group. BOUND: 14 MB for each group; a group of 65,000 campaigns
// that serve can be without a leader for an hour before counts are dropped.
const pendingMax = 1 << 16

var errRefused = errors.New("the group refused the counts")

// report is what one group has not counted yet. Its run proposes; add comes from the collection.
type report struct {
	t     *Tally
	group ids.Group
	due   chan struct{} // Receives when there may be something to propose.

	mu      sync.Mutex // LOCKS: guards pending and users.
	pending map[cell]*counts
	users   []command.Enrolment

	// The command that is under way: it is repeated until its outcome is known. number is its number, or that of the last
	// one. Only run uses them, and after it Close.
	command  []byte
	number   uint64
	numbered bool // The command has a number.
}

// cell is one hour of a campaign.
type cell struct{ campaign, hour uint32 }

// counts are auctions that were won, and by reason those that were lost.
type counts struct {
	won  uint64
	lost [market.LossReasonsMax]uint64
}

func newReport(t *Tally, g ids.Group) *report {
	return &report{t: t, group: g, due: make(chan struct{}, 1), pending: map[cell]*counts{}}
}

// add adds the counts of a campaign. Before the group knows the command, they are left out.
func (r *report) add(x *market.AuctionCounts, hour uint32) {
	if r.t.c.Groups.Level(r.group) < command.LevelReports {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := cell{x.Ordinal, hour}
	sum := r.pending[key]
	if sum == nil {
		if len(r.pending) >= pendingMax {
			r.t.stats.dropped.Add(1)
			return
		}
		sum = &counts{}
		r.pending[key] = sum
	}
	sum.won += uint64(x.Won)
	for reason, n := range &x.Lost {
		sum.lost[reason] += uint64(n)
	}
}

// enrolPendingMax bounds the users that wait for a group. BOUND: 2 MB. Further ones are dropped, whatever their arm.
const enrolPendingMax = 1 << 16

// enrol adds a user who takes part in the measurement of a holdout. Before the group knows the command, the user is left out.
func (r *report) enrol(x *market.Enrolled) {
	if r.t.c.Groups.Level(r.group) < command.LevelHoldouts {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.users) >= enrolPendingMax {
		r.t.stats.dropped.Add(1)
		return
	}
	r.users = append(r.users, command.Enrolment{Campaign: x.Ordinal, Percent: x.Percent, User: x.User, Millis: x.Millis})
}

// takeUsers makes the next command of the users who wait.
func (r *report) takeUsers() bool {
	n := min(len(r.users), command.EnrolUsersMax)
	if n == 0 {
		return false
	}
	r.command = command.AppendEnrolUsers(nil, r.t.c.Now().UnixMilli(), &command.EnrolUsers{Users: r.users[:n]})
	r.numbered = false
	r.users = slices.Delete(r.users, 0, n)
	return true
}

// wake makes run propose what is pending.
func (r *report) wake() {
	select {
	case r.due <- struct{}{}:
	default:
	}
}

// run proposes when it is woken, until ctx ends.
func (r *report) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.due:
			r.send(ctx)
		}
	}
}

// send proposes all that is pending, and reports whether the group has counted it. After a failure it returns, and the next
// call repeats the command.
func (r *report) send(ctx context.Context) bool {
	for ctx.Err() == nil && (r.command != nil || r.take()) {
		err := r.propose(ctx)
		if err == nil {
			r.command = nil
			r.t.stats.proposed.Add(1)
			continue
		}
		r.t.stats.failed.Add(1)
		if !errors.Is(err, errRefused) {
			r.t.c.Log.Debug("auction_counts_not_proposed", slog.Int("group", int(r.group)), slog.Any("err", err))
			return false
		}
		r.t.c.Log.Error("auction_counts_refused", slog.Int("group", int(r.group)), slog.Any("err", err))
		r.t.stats.dropped.Add(1)
		r.command = nil
		if r.numbered {
			r.number-- // The group did not count it.
		}
		return false
	}
	return ctx.Err() == nil
}

// take makes the next command of what is pending. It returns false when nothing is.
func (r *report) take() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pending) == 0 {
		return r.takeUsers()
	}
	keys := slices.SortedFunc(maps.Keys(r.pending), func(a, b cell) int {
		return cmp.Or(cmp.Compare(a.hour, b.hour), cmp.Compare(a.campaign, b.campaign))
	})
	r.number++
	r.numbered = true
	x := command.CountAuctions{Node: r.t.c.Node, Start: r.t.c.Start, Number: r.number}
	for _, key := range keys[:min(len(keys), command.CountAuctionsMax)] {
		x.Campaigns = append(x.Campaigns, r.pending[key].of(key))
		delete(r.pending, key)
	}
	r.command = command.AppendCountAuctions(nil, r.t.c.Now().UnixMilli(), &x)
	return true
}

// of returns the counts of an hour of a campaign as a command has them.
func (c *counts) of(key cell) command.CampaignAuctions {
	x := command.CampaignAuctions{Campaign: key.campaign, Cell: key.hour, Won: min(c.won, command.AuctionsMax)}
	for reason, n := range &c.lost {
		if n > 0 {
			x.Lost = append(x.Lost, command.LostAuctions{Reason: uint8(reason), Auctions: min(n, command.AuctionsMax)}) // Below LossReasonsMax.
		}
	}
	return x
}

// propose proposes the command. It returns errRefused when the group has certainly not counted it and never will.
func (r *report) propose(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, proposeTimeout)
	defer cancel()
	answer, err := r.t.c.Groups.Propose(ctx, r.group, r.command)
	if err != nil {
		return err
	}
	result, err := command.ReadResult(answer)
	if err == nil && result.Refusal != command.Done {
		err = errors.Join(errRefused, errors.New(result.Refusal.String()))
	}
	return err
}
