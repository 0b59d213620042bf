package auction

import "github.com/gavel-ads/gavel/shard/market"

// This file changes the auctions of users who take part in an experiment of the marketplace (market.Experiment).

// beginExperiment prepares a request whose marketplace may have an experiment.
func (s *Scratch) beginExperiment() {
	s.experiment = s.v.Experiment(s.t.Marketplace)
	s.rules, s.noAds, s.unpaced = s.v.Floors(s.t.Marketplace), false, false
}

// treat makes the auction go by the experiment, or by the marketplace's settings, as the arm of its user says.
func (s *Scratch) treat() {
	e := s.experiment
	if e == nil {
		return
	}
	s.settings, s.rules, s.noAds, s.unpaced = s.v.Marketplace(s.t.Marketplace), s.v.Floors(s.t.Marketplace), false, false
	if e.Arms.Arm(s.a.User) == market.HeldOut {
		s.settings, s.rules, s.noAds, s.unpaced = &e.Settings, e.Floors, e.NoAds, e.Unpaced
	}
}
