package main_test

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/nodetest"
)

// A single node that was started with the address at which peers will find it becomes the first of three when it is started
// again with their list: it keeps its data, the others join and vote, and then any of the three may be lost. The Helm chart
// grows in this way from one replica to three.
func TestOneNodeBecomesThree(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts four processes, one after the other")
	}
	addresses := peerAddresses(t, 3)
	dir := filepath.Join(t.TempDir(), "n1")
	alone := nodetest.Start(t, nodetest.Options{Dir: dir, Args: []string{"--peer-listen", addresses[0], "--peer-advertise", addresses[0]}})
	c := &cluster{T: t, nodes: []*nodetest.Node{alone}, client: &http.Client{Timeout: 10 * time.Second}}
	c.market(0)
	if err := alone.Terminate(); err != nil {
		t.Fatal(err)
	}

	c.nodes = nil
	for i, address := range addresses {
		o := nodetest.Options{Keys: &alone.Keys, Args: []string{
			"--node-id", fmt.Sprintf("n%d", i+1), "--peer-listen", address, "--peer-advertise", address,
			"--join", strings.Join(addresses, ","), "--bootstrap-expect", "3", "--peer-insecure", "--ratelimit-management", "0",
		}}
		if i == 0 {
			o.Dir = dir
		}
		n := nodetest.New(t, o)
		if err := n.Start(); err != nil {
			t.Fatal(err)
		}
		c.nodes = append(c.nodes, n)
	}
	for i := range c.nodes {
		c.waitReady(i)
	}
	c.eventually("three voters without a lag", func() bool {
		voters := 0
		for _, n := range c.status(2).Nodes {
			if n.Voter && n.Lag == 0 {
				voters++
			}
		}
		return voters == 3
	})
	for i := range c.nodes {
		c.eventually("the campaign wins on every node", func() bool { return c.auction(i) != "" })
	}
	if err := c.nodes[0].Kill(); err != nil {
		t.Fatal(err)
	}
	c.eventually("the two that joined accept a change", func() bool {
		s, err := c.send("PUT", c.nodes[2].ManageURL+"/public/v1/catalog-search-service/catalogs/vendors", c.nodes[2].Keys.ManagementKey,
			`{"vendors":[{"id":"v2","name":"Later"}]}`)
		return err == nil && s.status == http.StatusOK
	})
}

// peerAddresses returns addresses of this machine on which nothing listens.
func peerAddresses(t *testing.T, count int) []string {
	t.Helper()
	var all []string
	for range count {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }() // It stays open until all are found, so that they differ.
		all = append(all, l.Addr().String())
	}
	return all
}
