package raftstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

// found starts nodes with their groups and returns the stores and errors of those that finished within a minute. Groups
// with a 0 in front are a proposal.
func found(t *testing.T, c *raftstoretest.Cluster, groups [][]uint16) (stores []*raftstore.Store, failed []error, chosen [][]uint16) {
	t.Helper()
	n := len(groups)
	stores, failed, chosen = make([]*raftstore.Store, n), make([]error, n), make([][]uint16, n)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	opened := make(chan int)
	for i := range groups {
		config := c.ConfigOf(i, c.Seeds(n))
		config.Groups = groups[i]
		if groups[i][0] == 0 {
			config.AnyGroups, config.Groups = true, groups[i][1:]
			config.GroupsChosen = func(groups []uint16) { chosen[i] = groups }
		}
		config.Machine = func(uint16) raftstore.StateMachine { return raftstoretest.NewLedger() }
		go func() {
			time.Sleep(time.Duration(i) * 300 * time.Millisecond)
			stores[i], failed[i] = raftstore.OpenContext(ctx, config)
			opened <- i
		}()
	}
	for range groups {
		<-opened
	}
	return stores, failed, chosen
}

// Founders that insist on different numbers of groups all end, whichever notices first, and name both numbers.
func TestFoundersWithOtherGroupsAllEnd(t *testing.T) {
	for _, groups := range [][][]uint16{
		{{1}, {1, 2}},
		{{1, 2}, {1}, {1}},
		{{1}, {1}, {1, 2}},
	} {
		t.Run(fmt.Sprint(groups), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, failed, _ := found(t, raftstoretest.NewCluster(t, 51, len(groups)), groups)
				for i, err := range failed {
					if !errors.Is(err, raftstore.ErrForeign) {
						t.Errorf("n%d: %v", i+1, err)
						continue
					}
					for _, want := range []string{fmt.Sprintf("this node one of %d", len(groups[i])), fmt.Sprintf("cluster of %d groups", 3-len(groups[i]))} {
						if !strings.Contains(err.Error(), want) {
							t.Errorf("n%d does not say %q: %v", i+1, want, err)
						}
					}
				}
			})
		})
	}
}

// Founders that only propose a number adopt the founder's, or that of one that insists; so does a node that joins
// later. After a restart all go on with it, whatever they would propose then.
func TestGroupsAreAdopted(t *testing.T) {
	for _, test := range []struct {
		groups [][]uint16
		want   []uint16
	}{
		{[][]uint16{{0, 1}, {0, 1, 2}, {0, 1, 2, 3}}, []uint16{1}},
		{[][]uint16{{0, 1, 2}, {0, 1}, {0, 1}}, []uint16{1, 2}},
		{[][]uint16{{0, 1}, {1, 2}, {0, 1}}, []uint16{1, 2}},
		{[][]uint16{{1, 2}, {0, 1}, {1, 2}}, []uint16{1, 2}},
	} {
		t.Run(fmt.Sprint(test.groups), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := raftstoretest.NewCluster(t, 52, 3)
				stores, failed, chosen := found(t, c, test.groups)
				for i, s := range stores {
					if s == nil {
						t.Fatalf("n%d: %v", i+1, failed[i])
					}
					if ids := groupsOf(s); !slices.Equal(ids, test.want) || chosen[i] != nil && !slices.Equal(chosen[i], test.want) {
						t.Errorf("n%d has groups %v and GroupsChosen got %v", i+1, ids, chosen[i])
					}
				}
				late := c.Add()
				config := c.ConfigOf(3, []string{c.Nodes[0].Address})
				config.Groups, config.AnyGroups, config.Expect = []uint16{1, 2, 3, 4}, true, 0
				config.Machine = func(uint16) raftstore.StateMachine { return raftstoretest.NewLedger() }
				s, err := raftstore.OpenContext(t.Context(), config)
				if err != nil || !slices.Equal(groupsOf(s), test.want) {
					t.Fatalf("%s joins with %v", late.ID, err)
				}
				for _, s := range append(stores, s) {
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				}
				for i := range c.Nodes { // A node without the others opens, and waits for them.
					config := c.ConfigOf(i, c.Seeds(3))
					config.Groups, config.AnyGroups = []uint16{7}, true
					config.Machine = func(uint16) raftstore.StateMachine { return raftstoretest.NewLedger() }
					s, err := raftstore.OpenContext(t.Context(), config)
					if err != nil || !slices.Equal(groupsOf(s), test.want) {
						t.Fatalf("n%d after a restart: %v", i+1, err)
					}
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

func groupsOf(s *raftstore.Store) (ids []uint16) {
	for _, g := range s.Cluster().Groups {
		ids = append(ids, g.Group)
	}
	return ids
}
