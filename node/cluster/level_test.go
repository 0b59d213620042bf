package cluster

import (
	"context"
	"errors"
	"testing"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

func TestCommonLevelIsTheLowest(t *testing.T) {
	known := map[string]command.Level{"new": command.LevelNewest, "newer": command.LevelNewest + 5, "old": command.LevelFormat1}
	l := newLevels(Levels{Supported: func(_ context.Context, node string) (command.Level, error) {
		if level, there := known[node]; there {
			return level, nil
		}
		return command.LevelNewest, errors.New("no answer")
	}}, nil)
	for _, x := range []struct {
		nodes []string
		want  command.Level
	}{
		{nil, command.LevelNewest},
		{[]string{"new", "newer"}, command.LevelNewest},
		{[]string{"new", "old"}, command.LevelFormat1},
		{[]string{"newer", "away"}, command.LevelFormat1},
	} {
		if got := l.common(t.Context(), x.nodes); got != x.want {
			t.Errorf("%v: %d, want %d", x.nodes, got, x.want)
		}
	}
}

func TestCommandsWaitForTheirLevel(t *testing.T) {
	level, fails := command.LevelFormat1, false
	reads := 0
	l := newLevels(Levels{Reached: func(ids.Group) (command.Level, error) {
		reads++
		if fails {
			return 0, errors.New("closed")
		}
		return level, nil
	}}, []ids.Group{1})
	old := command.AppendNoop(nil, 1)
	future := append([]byte{command.Version + 1}, old[1:]...)
	if err := l.check(1, old); err != nil || reads != 0 {
		t.Errorf("a command of the first level: %v after %d reads", err, reads)
	}
	if err := l.check(1, future); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a command that this binary cannot read: %v", err)
	}
	if l.level(1) != command.LevelFormat1 {
		t.Error("a level that was not reached")
	}
	level = command.LevelNewest
	if l.level(1) != command.LevelNewest {
		t.Error("the level was reached")
	}
	fails, level = true, command.LevelFormat1
	before := reads
	if l.level(1) != command.LevelNewest || reads != before {
		t.Error("a level never goes back, and the newest is not read again")
	}
}
