package raftstore_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

// A leader stops in time although its peers accept its calls and never answer.
func TestCloseWithHungPeers(t *testing.T) {
	for hung := 1; hung <= 2; hung++ {
		t.Run(fmt.Sprint("hung=", hung), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := raftstoretest.NewCluster(t, 41, 3)
				startAll(t, c, 3)
				place(t, c, 0, 1)
				lead := leader(c)
				for k := range hung {
					c.Net.Cut(c.Nodes[(lead+1+k)%3].Address, c.Nodes[lead].Address, true)
				}
				time.Sleep(100 * time.Millisecond)
				began := time.Now()
				c.Stop(lead)
				if took := time.Since(began); took > 4*time.Second {
					t.Errorf("closed after %s", took)
				}
				c.Net.Heal()
				stopAll(c)
			})
		})
	}
}

// Every caller that reads while the store closes gets an answer, and Close returns: Raft alone never answers calls that
// were made just before its shutdown.
func TestCloseAnswersReaders(t *testing.T) {
	for range 20 {
		s, err := raftstore.Open(raftstore.Config{
			Dir: "node", FS: vfs.NewMem(), NodeID: "n1", Groups: []uint16{1}, Expect: 1,
			Machine: func(uint16) raftstore.StateMachine { return raftstoretest.NewLedger() },
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Group(1).WaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
		var readers sync.WaitGroup
		for range 64 {
			readers.Go(func() {
				for err := error(nil); err == nil; {
					err = s.Group(1).ReadBarrier(t.Context())
				}
			})
		}
		done := make(chan error)
		go func() {
			time.Sleep(time.Millisecond)
			err := s.Close()
			readers.Wait()
			done <- err
		}()
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("a caller still waits for an answer")
		}
	}
}
