package raftstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

// A member receives what another one sends, up to the largest report, and its error; nobody else does.
func TestReportsReachMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := raftstoretest.NewCluster(t, 21, 3)
		var mu sync.Mutex
		received := map[string]int{}
		c.Configure = func(i int, config *raftstore.Config) {
			config.Report = func(_ context.Context, from string, report []byte) error {
				mu.Lock()
				defer mu.Unlock()
				received[fmt.Sprint(from, " to ", i)] += len(report)
				if report[0] == '!' {
					return errors.New("refused")
				}
				return nil
			}
			if i == 2 {
				config.Report = nil
			}
		}
		startAll(t, c, 3)
		from, _ := c.Store(0)
		id := func(i int) string { return c.Nodes[i].ID }
		if err := from.SendReport(t.Context(), id(1), bytes.Repeat([]byte{0xfb}, raftstore.ReportBytesMax)); err != nil {
			t.Error(err)
		}
		if n := received[id(0)+" to 1"]; n != raftstore.ReportBytesMax || len(received) != 1 {
			t.Errorf("received %v", received)
		}
		for what, err := range map[string]error{
			"too large":     from.SendReport(t.Context(), id(1), make([]byte, raftstore.ReportBytesMax+1)),
			"refused":       from.SendReport(t.Context(), id(1), []byte("!")),
			"not taken":     from.SendReport(t.Context(), id(2), []byte("x")),
			"not a member ": from.SendReport(t.Context(), "n9", []byte("x")),
		} {
			if err == nil {
				t.Errorf("%s: no error", what)
			}
		}
		stopAll(c)
	})
}
