package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"syscall"
)

// redis is a Redis server: with a file to which every command is appended and synced before its answer, or without files.
type redis struct {
	unprepared
	durable bool
	process *process
	address string
	script  []byte // The SHA-1 of the script.
}

// chargeScript remembers an event for 72 hours and takes its price from the budget, if both is possible.
const chargeScript = `if not redis.call('SET', KEYS[1], '1', 'NX', 'EX', 259200) then return 0 end
if tonumber(redis.call('GET', KEYS[2]) or '0') < tonumber(ARGV[1]) then return 0 end
redis.call('DECRBY', KEYS[2], ARGV[1])
return 1`

func (p *redis) start(ctx context.Context, dir string) error {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return &missing{"redis-server", "redis-server"}
	}
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	p.address = fmt.Sprintf("127.0.0.1:%d", ports[0])
	args := []string{"--port", strconv.Itoa(ports[0]), "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--daemonize", "no"}
	if p.durable {
		args = append(args, "--appendonly", "yes", "--appendfsync", "always")
	}
	if p.process, err = startProcess(dir, "redis", nil, program, args...); err != nil {
		return err
	}
	return p.process.await(ctx, p.load)
}

// load loads the script and makes the campaigns.
func (p *redis) load() error {
	c, err := dialRESP(p.address)
	if err != nil {
		return err
	}
	defer c.close()
	if _, p.script, err = c.do("SCRIPT", "LOAD", chargeScript); err != nil {
		return err
	}
	for i := range campaigns {
		if _, _, err := c.do("SET", budgetKey(i), strconv.Itoa(budget)); err != nil {
			return err
		}
	}
	return nil
}

func budgetKey(campaign int) string { return "b:" + strconv.Itoa(campaign) }

func (p *redis) dial(i int) (client, error) {
	c, err := dialRESP(p.address)
	if err != nil {
		return nil, err
	}
	r := &redisClient{respConn: c, source: newSource(i), script: p.script, price: []byte(strconv.Itoa(price))}
	for k := range campaignsEach {
		r.budgets = append(r.budgets, []byte(budgetKey(r.source.campaign+k)))
	}
	return r, nil
}

func (p *redis) count(context.Context) (n counts, err error) {
	c, err := dialRESP(p.address)
	if err != nil {
		return n, err
	}
	defer c.close()
	keys, _, err := c.do("DBSIZE")
	if err != nil {
		return n, err
	}
	n.Events = keys - campaigns
	for i := range campaigns {
		_, text, err := c.do("GET", budgetKey(i))
		if err != nil {
			return n, err
		}
		left, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil {
			return n, err
		}
		n.Charged += (budget - left) / price
	}
	return n, nil
}

func (p *redis) pids() []int { return []int{p.process.cmd.Process.Pid} }

func (p *redis) version() string { return versionOf("redis-server") }

func (p *redis) stop() error {
	if p.process == nil {
		return nil
	}
	return p.process.stop(syscall.SIGTERM)
}

// redisClient runs the script once for each event. The events of a request are pipelined.
type redisClient struct {
	*respConn
	source  source
	script  []byte
	price   []byte
	budgets [][]byte
	event   []byte
}

var (
	evalsha = []byte("EVALSHA")
	twoKeys = []byte("2")
)

func (c *redisClient) charge(n int) (int, error) {
	c.begin()
	for range n {
		id, campaign := c.source.next()
		c.event = append(append(c.event[:0], "e:"...), id...)
		c.add(evalsha, c.script, twoKeys, c.event, c.budgets[campaign-c.source.campaign], c.price)
	}
	charged, err := c.send()
	return int(charged), err
}

var errRepeatCharged = errors.New("a repeated event was charged again")

func (c *redisClient) repeat() error {
	charged, err := c.send()
	if err == nil && charged > 0 {
		err = errRepeatCharged
	}
	return err
}
