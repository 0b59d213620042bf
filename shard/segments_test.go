package shard_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// TestSegmentsAgreeWithSets applies random uploads, complete and incomplete ones, and compares with Go sets. Some users are
// erased from a segment. After a
// restart the feed must receive the same segments.
func TestSegmentsAgreeWithSets(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(command.AppendSetFeature(nil, benchNow, command.SetFeature{Level: command.LevelUsers}))
	random := rand.New(rand.NewPCG(1, 2))
	sets := map[string]map[uint64]bool{}
	for n := range 200 {
		name := fmt.Sprint("s", random.IntN(3))
		x := command.CommitSegment{Marketplace: 1, Segment: name, Upload: ids.UUID{1, byte(n >> 8), byte(n)}, Action: command.SegmentAction(random.IntN(3))}
		if random.IntN(15) == 0 {
			x.Action = command.SegmentDrop
		}
		sent := map[uint64]bool{}
		if x.Action != command.SegmentDrop {
			x.Pieces, sent = upload(t, r, random, &x)
		}
		want := expected(sets, name, sent, x.Action)
		for range 2 {
			if got := commit(t, r, &x); got != want {
				t.Fatalf("upload %d, action %d: %+v, want %+v", n, x.Action, got, want)
			}
			if x.Action == command.SegmentDrop {
				break
			}
		}
		if user := uint64(1 + random.IntN(29)); random.IntN(2) == 0 {
			cmd := command.AppendForgetUser(nil, benchNow, &command.ForgetUser{Marketplace: 1, User: user, Segment: name})
			expect(t, "erased from a segment", result(t, r.Do(cmd)), command.Result{})
			delete(sets[name], user)
			if got, want := r.Queries().SegmentSize(1, name), len(sets[name]); got != want {
				t.Fatalf("upload %d: %s has the size %d, want %d", n, name, got, want)
			}
			for with, users := range sets {
				if slices.Contains(r.Queries().SegmentsWith(1, user), with) != users[user] {
					t.Fatalf("upload %d: user %d is found in %v, not as in %v", n, user, r.Queries().SegmentsWith(1, user), sets)
				}
			}
		}
		if n%50 == 0 {
			r = open(t, r.KV)
		}
		for name, users := range sets {
			if got, want := r.Feed.Current["segment 1 "+name], fmt.Sprint(slices.Sorted(maps.Keys(users))); got != want {
				t.Fatalf("upload %d: auctions were told %s of %s, want %s", n, got, name, want)
			}
		}
	}
}

// upload stages a few users in pieces of at most three, in any order, and stages some pieces twice.
func upload(t *testing.T, r *shardtest.Replica, random *rand.Rand, x *command.CommitSegment) (pieces uint32, sent map[uint64]bool) {
	sent = map[uint64]bool{}
	for range random.IntN(12) {
		sent[uint64(random.IntN(30))] = true
	}
	var cmds [][]byte
	for some := range slices.Chunk(slices.Sorted(maps.Keys(sent)), 3) {
		cmds = append(cmds, command.AppendStageSegment(nil, benchNow, &command.StageSegment{
			Marketplace: 1, Segment: x.Segment, Upload: x.Upload, Piece: pieces, Users: some,
		}))
		pieces++
	}
	for _, i := range append(random.Perm(len(cmds)), random.Perm(len(cmds))...) {
		expect(t, "staged", result(t, r.Do(cmds[i])), command.Result{})
	}
	return pieces, sent
}

func commit(t *testing.T, r *shardtest.Replica, x *command.CommitSegment) command.SegmentResult {
	got, err := command.ReadSegmentResult(r.Do(command.AppendCommitSegment(nil, benchNow, x)))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func expected(sets map[string]map[uint64]bool, name string, sent map[uint64]bool, action command.SegmentAction) (r command.SegmentResult) {
	before, after := sets[name], map[uint64]bool{}
	for u := range before {
		after[u] = action == command.SegmentAdd || sent[u] && action == command.SegmentReplace || !sent[u] && action == command.SegmentRemove
	}
	for u := range sent {
		after[u] = after[u] || action == command.SegmentAdd || action == command.SegmentReplace
	}
	maps.DeleteFunc(after, func(_ uint64, in bool) bool { return !in })
	for u := range before {
		if !after[u] {
			r.Removed++
		}
	}
	for u := range after {
		if !before[u] {
			r.Added++
		}
	}
	r.Size = uint32(len(after))
	sets[name] = after
	if action == command.SegmentDrop {
		delete(sets, name)
	}
	return r
}

func TestSegmentUploadIsWholeOrNothing(t *testing.T) {
	r := open(t, shardtest.NewKV())
	stage := func(upload byte, piece uint32, users ...uint64) {
		cmd := command.AppendStageSegment(nil, benchNow, &command.StageSegment{
			Marketplace: 1, Segment: "s", Upload: ids.UUID{upload}, Piece: piece, Users: users,
		})
		expect(t, "staged", result(t, r.Do(cmd)), command.Result{})
	}
	x := command.CommitSegment{Marketplace: 1, Segment: "s", Pieces: 2}
	apply := func(upload byte) command.SegmentResult {
		x.Upload = ids.UUID{upload}
		return commit(t, r, &x)
	}
	stage(1, 1, 5, 6)
	expect(t, "a piece is missing", apply(1), command.SegmentResult{Refusal: command.NotFound})
	stage(1, 0, 5)
	expect(t, "pieces overlap", apply(1), command.SegmentResult{Refusal: command.Invalid})
	stage(1, 0, 4)
	expect(t, "applied", apply(1), command.SegmentResult{Added: 3, Size: 3})
	expect(t, "told", r.Feed.Current["segment 1 s"], "[4 5 6]")

	// An upload that is not committed is dropped after the next hour, also after another restart.
	stage(2, 0, 7)
	stage(2, 1, 8)
	r = open(t, r.KV)
	before := r.KV.Len()
	r.Do(command.AppendAdvance(nil, benchNow+3_600_000, &command.Advance{}))
	expect(t, "records after an hour", r.KV.Len(), before)
	r.Do(command.AppendAdvance(nil, benchNow+2*3_600_000, &command.Advance{}))
	expect(t, "records after two hours", r.KV.Len(), before-2)
	expect(t, "too late", apply(2), command.SegmentResult{Refusal: command.NotFound})
}

// A million users need sixteen pieces. With one more user the whole upload is refused.
func TestSegmentIsBounded(t *testing.T) {
	r := open(t, shardtest.NewKV())
	all := make([]uint64, model.SegmentUsersMax+1)
	for i := range all {
		all[i] = uint64(i)
	}
	send := func(upload byte, users []uint64) command.SegmentResult {
		x := command.CommitSegment{Marketplace: 1, Segment: "s", Upload: ids.UUID{upload}}
		for some := range slices.Chunk(users, model.SegmentChunkMax) {
			r.Do(command.AppendStageSegment(nil, benchNow, &command.StageSegment{
				Marketplace: 1, Segment: "s", Upload: x.Upload, Piece: x.Pieces, Users: some,
			}))
			x.Pieces++
		}
		return commit(t, r, &x)
	}
	expect(t, "the largest", send(1, all[1:]), command.SegmentResult{Added: model.SegmentUsersMax, Size: model.SegmentUsersMax})
	expect(t, "one more", send(2, all[:1]), command.SegmentResult{Refusal: command.TooMany})
	r = open(t, r.KV)
	if err := r.Queries().Verify(); err != nil {
		t.Error(err)
	}
}
