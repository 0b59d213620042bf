//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/gavel-ads/gavel/loadtest/hostile/attack"
)

// attackersCommand is the argument with which this program runs as the process of the attackers.
const attackersCommand = "attackers"

// order is a line of JSON to that process: the first order has a target, which is prepared; then there is one order for each window.
type order struct {
	Target *attack.Target `json:",omitempty"`
	Names  []string       `json:",omitempty"`
	Attack time.Duration  `json:",omitempty"`
}

// attackersProcess carries out the orders on its input, writes the results so far after each order, and returns the exit code. It runs in a
// process of its own so that the work of the attackers does not delay the goroutines that measure the storefront.
func attackersProcess(ctx context.Context, in io.Reader, out, stderr io.Writer) int {
	orders, results := json.NewDecoder(in), json.NewEncoder(out)
	var set *attack.Set
	for {
		var o order
		err := orders.Decode(&o)
		if errors.Is(err, io.EOF) {
			return exitOK
		}
		if err == nil && set == nil {
			if o.Target == nil {
				err = errors.New("the first order has no target")
			} else {
				set, err = attack.NewSet(o.Target, o.Names)
			}
			if err == nil {
				err = set.Prepare(ctx)
			}
			if err == nil {
				err = results.Encode(set.Results())
			}
		} else if err == nil {
			set.Attack(ctx, o.Attack)
			err = results.Encode(set.Results())
		}
		if err != nil {
			_, _ = fmt.Fprintln(stderr, "hostile attackers:", err)
			return exitFailed
		}
	}
}

// attackerProcess is the run's side of the process of the attackers.
type attackerProcess struct {
	cmd     *exec.Cmd
	orders  io.WriteCloser
	encoder *json.Encoder
	results *json.Decoder
	last    []attack.Result
}

// niceness is that of the process of the attackers. Real attackers use the processors of other machines, so the node and the storefront get
// those of this machine first.
const niceness = "10"

// startAttackers starts the process and returns when all attackers are prepared.
func startAttackers(t *attack.Target, names []string, stderr io.Writer) (*attackerProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &attackerProcess{cmd: exec.Command("nice", "-n", niceness, self, attackersCommand)}
	s.cmd.Stderr = stderr
	if s.orders, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	s.encoder, s.results = json.NewEncoder(s.orders), json.NewDecoder(bufio.NewReader(out))
	if err := errors.Join(s.encoder.Encode(order{Target: t, Names: names}), s.results.Decode(&s.last)); err != nil {
		return nil, errors.Join(fmt.Errorf("the attackers are not prepared: %w", err), s.stop())
	}
	return s, nil
}

// attack runs one window of this length and returns when all attackers have stopped.
func (s *attackerProcess) attack(length time.Duration) error {
	if err := s.encoder.Encode(order{Attack: length}); err != nil {
		return err
	}
	s.last = nil
	return s.results.Decode(&s.last)
}

// stop closes the input of the process, which then exits, and waits for it.
func (s *attackerProcess) stop() error { return errors.Join(s.orders.Close(), s.cmd.Wait()) }
