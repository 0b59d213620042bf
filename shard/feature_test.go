package shard_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

func setFeature(level command.Level) []byte {
	return command.AppendSetFeature(nil, benchNow, command.SetFeature{Level: level})
}

func TestFeatureLevelNeverGoesBack(t *testing.T) {
	r := open(t, shardtest.NewKV())
	expect(t, "level at first", r.Queries().FeatureLevel(), command.LevelFormat1)
	for _, level := range []command.Level{command.LevelNewest, command.LevelProducts, command.LevelFormat1} {
		expect(t, "set", result(t, r.Do(setFeature(level))), command.Result{})
		expect(t, "level", r.Queries().FeatureLevel(), command.LevelNewest)
	}
	expect(t, "level after a restart", open(t, r.KV).Queries().FeatureLevel(), command.LevelNewest)
}

// A state with a level that this binary does not know is refused with ErrLevel, whatever else a newer binary stored in
// it, and not as corrupt, because package raftstore would rebuild a corrupt state.
func TestLoadRefusesNewerLevel(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(setFeature(command.LevelNewest))
	state, _ := r.KV.Get([]byte{0x02})
	newer := append([]byte{}, state...)
	const at = 8 + 4 + 4 + 8 + 8 + 16 // The offset of the level.
	binary.LittleEndian.PutUint16(newer[at:], uint16(command.LevelNewest)+1)
	for _, value := range [][]byte{newer, append(newer, "more"...)} {
		kv := r.KV.Copy()
		kv.Put([]byte{0x02}, value)
		_, err := shardtest.NewReplica(1, true, kv)
		if !errors.Is(err, shard.ErrLevel) || errors.Is(err, shard.ErrCorrupt) {
			t.Errorf("a newer level: %v", err)
		}
		says, ok := errors.AsType[interface {
			error
			NewerState() bool
		}](err)
		if !ok || !says.NewerState() {
			t.Errorf("the replication is not told: %v", err)
		}
	}
}

func TestUnknownLevelPanics(t *testing.T) {
	r := open(t, shardtest.NewKV())
	defer func() {
		if recover() == nil {
			t.Fatal("an unknown level was skipped")
		}
	}()
	r.Do(setFeature(command.LevelNewest + 1))
}
