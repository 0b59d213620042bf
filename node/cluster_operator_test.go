package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"github.com/gavel-ads/gavel/node/nodetest"
	"github.com/gavel-ads/gavel/node/operator"
)

// gavel runs gavel cluster against a node and returns its output.
func (c *cluster) gavel(asked int, args ...string) (string, error) {
	cmd := exec.CommandContext(c.Context(), nodetest.Binary(c), append([]string{"cluster"}, args...)...)
	cmd.Env = append(os.Environ(), "GAVEL_MANAGE="+c.nodes[asked].ManageURL, "GAVEL_MANAGE_KEY="+c.nodes[asked].Keys.ManagementKey)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// status returns the output of gavel cluster status.
func (c *cluster) status(asked int) (s operator.Status) {
	c.Helper()
	out, err := c.gavel(asked, "status", "--json")
	if err == nil {
		err = json.Unmarshal([]byte(out), &s)
	}
	if err != nil {
		c.Fatalf("gavel cluster status: %v %s", err, out)
	}
	return s
}

// repeatCommand repeats a command until its purpose is reached: a refusal may be temporary, and a command that timed
// out may have succeeded.
func (c *cluster) repeatCommand(asked int, done func(operator.Status) bool, args func(attempt int) []string) {
	c.Helper()
	attempt := 0
	c.eventually(fmt.Sprint("gavel cluster ", args(0)), func() bool {
		out, err := c.gavel(asked, args(attempt)...)
		c.Logf("gavel cluster %v: %v %s", args(attempt), err, out)
		attempt++
		return done(c.status(asked))
	})
}

func member(s operator.Status, id string) *operator.Node {
	at := slices.IndexFunc(s.Nodes, func(n operator.Node) bool { return n.ID == id })
	if at < 0 {
		return nil
	}
	return &s.Nodes[at]
}

// runOperatorCommands runs the commands of an operator and checks their effect.
func (c *cluster) runOperatorCommands() {
	c.eventually("gavel cluster status finds nothing wrong", func() bool { // The command fails when there are warnings.
		_, err := c.gavel(0, "status")
		return err == nil
	})
	before := c.status(0)
	leader, moved := c.leader(), ""
	c.repeatCommand(1, func(s operator.Status) bool { return s.Groups[0].Leader == moved }, func(attempt int) []string {
		moved = fmt.Sprintf("n%d", (leader+1+attempt%2)%3+1) // A node that missed one transfer is not selected again for a minute.
		return []string{"transfer", strconv.Itoa(int(before.Groups[0].Group)), moved}
	})

	c.repeatCommand(0, func(s operator.Status) bool { return member(s, "n3") == nil }, func(int) []string { return []string{"remove", "n3"} })
	if err := c.nodes[2].Kill(); err != nil {
		c.Fatal(err)
	}
	if err := c.nodes[2].Start(); err != nil { // A restart does not make it a member again.
		c.Fatal(err)
	}
	for began := time.Now(); time.Since(began) < 6*time.Second; time.Sleep(100 * time.Millisecond) { // Nodes check their membership every 2 to 4 s.
		if s, err := c.send("GET", c.nodes[2].ManageURL+"/readyz", "", ""); err == nil && s.status == http.StatusOK {
			c.Fatal("a node that was removed is ready")
		}
	}
	if s := c.status(0); len(s.Nodes) != 2 {
		c.Errorf("the members are %+v after n3 was removed", s.Nodes)
	}

	address := member(before, "n3").Address
	c.eventually("gavel cluster join succeeds while n3 runs", func() bool {
		out, err := c.gavel(1, "join", "n3", address)
		c.Logf("gavel cluster join n3: %v %s", err, out)
		return err == nil
	})
	c.eventually("n3 is a member again", func() bool { return member(c.status(1), "n3") != nil })
	c.eventually("n3 votes again", func() bool {
		n := member(c.status(0), "n3")
		return n != nil && n.Voter && n.Reachable
	})
	c.waitReady(2)
	if total, _ := c.clicks(2, ""); total != 6 {
		c.Errorf("the node that was let in again reports %v clicks, want 6", total)
	}
}
