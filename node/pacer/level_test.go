package pacer

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
)

// oldGroup is a group of this node that has not reached the feature level of pacing.
type oldGroup struct{ t *testing.T }

func (o oldGroup) Groups() []ids.Group           { return []ids.Group{1} }
func (o oldGroup) Meta() ids.Group               { return 1 }
func (o oldGroup) Leads(ids.Group) bool          { return true }
func (o oldGroup) Level(ids.Group) command.Level { return command.LevelPacing - 1 }
func (o oldGroup) Leader(ids.Group) string       { return "n2" }
func (o oldGroup) Members() int                  { return 3 }

func (o oldGroup) Propose(context.Context, ids.Group, []byte) ([]byte, error) {
	o.t.Error("something was proposed")
	return nil, errors.New("refused")
}

func (o oldGroup) Read(ids.Group, func(shard.Reader) error) error {
	o.t.Error("the state was read")
	return nil
}

func (o oldGroup) Send(context.Context, string, []byte) error {
	o.t.Error("something was reported")
	return nil
}

// A group below the feature level is left alone: nothing is reported or proposed, wins take nothing off, and reports are
// refused, also before the start.
func TestGroupsBelowTheLevelAreLeftAlone(t *testing.T) {
	m := market.New(1)
	c := model.Campaign{Ordinal: 1, Group: 1, Marketplace: 1, Active: true, Status: model.Approved, Budget: 5}
	p := New(Config{
		Market: m, Node: "n1", Number: 1, ReportBytesMax: 1_000, Now: time.Now,
		Zone: func(uint16) *time.Location { return time.UTC }, Log: slog.New(slog.DiscardHandler),
	})
	report := message([]report{{group: 1, node: 2, start: 1, number: 1}})
	if p.Receive(report) == nil {
		t.Error("a report was taken before the start")
	}
	p.PutCampaign(&c, m.PutCampaign(&c))
	m.Publish()
	m.View().AddWin(1, 7)
	p.Start(t.Context(), oldGroup{t}, oldGroup{t}, 1)
	p.once(t.Context())
	p.leader(1).tick(t.Context())
	if p.Receive(report) == nil || m.View().ServingNodes() != 0 || p.Stats() != (Stats{ReportsRefused: 1}) {
		t.Errorf("%d serving nodes, %+v", m.View().ServingNodes(), p.Stats())
	}
	p.Close()
}
