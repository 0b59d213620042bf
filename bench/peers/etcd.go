package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// etcd is an etcd cluster of one or three nodes, with default settings but for the largest size of its database.
type etcd struct {
	unprepared
	nodes     int
	processes []*process
	clients   []string // The addresses of the nodes.
}

// The methods, and the keys: events under e/, budgets under b/. 0 is the character after /.
const (
	methodPut   = "/etcdserverpb.KV/Put"
	methodTxn   = "/etcdserverpb.KV/Txn"
	methodRange = "/etcdserverpb.KV/Range"

	eventsFrom, eventsTo   = "e/", "e0"
	budgetsFrom, budgetsTo = "b/", "b0"
)

func (p *etcd) start(ctx context.Context, dir string) error {
	program, err := exec.LookPath("etcd")
	if err != nil {
		return &missing{"etcd", "etcd-server"}
	}
	ports, err := freePorts(2 * p.nodes)
	if err != nil {
		return err
	}
	url := func(port int) string { return fmt.Sprintf("http://127.0.0.1:%d", port) }
	var members []string
	for i := range p.nodes {
		members = append(members, fmt.Sprintf("n%d=%s", i, url(ports[p.nodes+i])))
	}
	for i := range p.nodes {
		name := fmt.Sprintf("n%d", i)
		node, err := startProcess(dir, name, nil, program,
			"--name", name, "--data-dir", filepath.Join(dir, name), "--log-level", "error", "--quota-backend-bytes", "8589934592",
			"--listen-client-urls", url(ports[i]), "--advertise-client-urls", url(ports[i]),
			"--listen-peer-urls", url(ports[p.nodes+i]), "--initial-advertise-peer-urls", url(ports[p.nodes+i]),
			"--initial-cluster", strings.Join(members, ","), "--initial-cluster-state", "new", "--initial-cluster-token", "peers")
		if err != nil {
			return err
		}
		p.processes = append(p.processes, node)
		p.clients = append(p.clients, fmt.Sprintf("127.0.0.1:%d", ports[i]))
	}
	for i, node := range p.processes {
		c := dialGRPC(p.clients[i])
		err := node.await(ctx, func() error {
			_, err := c.call(methodPut, putRequest("ready", "yes"))
			return err
		})
		c.close()
		if err != nil {
			return err
		}
	}
	return nil
}

// dial connects to the nodes in turn, and makes the budgets of the connection.
func (p *etcd) dial(i int) (client, error) {
	c := &etcdClient{grpcConn: dialGRPC(p.clients[i%len(p.clients)]), source: newSource(0)}
	for k := range campaignsEach {
		key := budgetsFrom + string(c.source.prefix) + strconv.Itoa(k)
		answer, err := c.call(methodPut, putRequest(key, "0"))
		if err != nil {
			c.close()
			return nil, err
		}
		c.budgets = append(c.budgets, etcdBudget{key: []byte(key), revision: revisionOf(answer)})
	}
	return c, nil
}

func (p *etcd) count(context.Context) (n counts, err error) {
	c := dialGRPC(p.clients[0])
	defer c.close()
	answer, err := c.call(methodRange, appendNumber(rangeRequest(eventsFrom, eventsTo), 9, 1)) // Field 9: only the number of keys.
	if err != nil {
		return n, err
	}
	ok := eachField(answer, func(field int, number uint64, _ []byte) {
		if field == 4 {
			n.Events = int64(number)
		}
	})
	if answer, err = c.call(methodRange, rangeRequest(budgetsFrom, budgetsTo)); err != nil || !ok {
		return n, errors.Join(err, damaged(ok))
	}
	ok = eachField(answer, func(field int, _ uint64, kv []byte) {
		if field != 2 {
			return
		}
		eachField(kv, func(field int, _ uint64, value []byte) {
			if field == 5 {
				var spent int64
				spent, err = strconv.ParseInt(string(value), 10, 64)
				n.Charged += spent / price
			}
		})
	})
	return n, errors.Join(err, damaged(ok))
}

func damaged(ok bool) error {
	if ok {
		return nil
	}
	return errProtocol
}

func (p *etcd) pids() (all []int) {
	for _, node := range p.processes {
		all = append(all, node.cmd.Process.Pid)
	}
	return all
}

func (p *etcd) version() string { return versionOf("etcd") }

func (p *etcd) stop() (err error) {
	for _, node := range p.processes {
		err = errors.Join(err, node.stop(syscall.SIGTERM))
	}
	return err
}

// etcdBudget is a budget key of one connection: what was spent, and the revision of the write that said so.
type etcdBudget struct {
	key      []byte
	spent    int64
	revision int64
	events   int // In the request that is being made.
}

// etcdClient makes one transaction for each request: if none of the events exists and no budget was changed, write all of them.
type etcdClient struct {
	*grpcConn
	source                  source
	budgets                 []etcdBudget
	request                 []byte
	key, value, part, outer []byte
}

func (c *etcdClient) charge(n int) (int, error) {
	c.request = c.request[:0]
	var puts []byte
	for i := range c.budgets {
		c.budgets[i].events = 0
	}
	for range n {
		id, campaign := c.source.next()
		c.budgets[campaign].events++
		c.key = append(append(c.key[:0], eventsFrom...), id...)
		c.compare(c.key, targetCreate, 0)
		puts = c.put(puts, c.key, []byte{'1'})
	}
	for i := range c.budgets {
		b := &c.budgets[i]
		if b.events == 0 {
			continue
		}
		c.compare(b.key, targetMod, b.revision)
		c.value = strconv.AppendInt(c.value[:0], b.spent+int64(b.events)*price, 10)
		puts = c.put(puts, b.key, c.value)
	}
	c.request = append(c.request, puts...)
	answer, err := c.call(methodTxn, c.request)
	if err != nil || !succeeded(answer) {
		return 0, err
	}
	for i := range c.budgets {
		if b := &c.budgets[i]; b.events > 0 {
			b.spent, b.revision = b.spent+int64(b.events)*price, revisionOf(answer)
		}
	}
	return n, nil
}

func (c *etcdClient) repeat() error {
	answer, err := c.call(methodTxn, c.request)
	if err == nil && succeeded(answer) {
		err = errRepeatCharged
	}
	return err
}

// What a comparison is about, and the number of the field of Compare that has the value.
const (
	targetCreate = 1 // The revision at which the key was created; 0: it does not exist.
	targetMod    = 2 // The revision at which it was changed last.

	fieldCreate = 5
	fieldMod    = 6
)

// compare appends a comparison to the request: Compare{result: EQUAL, target, key, revision}.
func (c *etcdClient) compare(key []byte, target, revision int64) {
	field := fieldCreate
	if target == targetMod {
		field = fieldMod
	}
	c.part = appendNumber(c.part[:0], 2, target)
	c.part = appendField(c.part, 3, key)
	c.part = appendNumber(c.part, field, revision)
	c.request = appendField(c.request, 1, c.part)
}

// put appends a write to those of the request: RequestOp{request_put: PutRequest{key, value}}, in field success.
func (c *etcdClient) put(dst, key, value []byte) []byte {
	c.part = appendField(appendField(c.part[:0], 1, key), 2, value)
	c.outer = appendField(c.outer[:0], 2, c.part)
	return appendField(dst, 2, c.outer)
}

func putRequest(key, value string) []byte {
	return appendField(appendField(nil, 1, []byte(key)), 2, []byte(value))
}

func rangeRequest(from, to string) []byte {
	return appendField(appendField(nil, 1, []byte(from)), 2, []byte(to))
}

// succeeded reads whether the comparisons of a transaction held.
func succeeded(answer []byte) (yes bool) {
	eachField(answer, func(field int, number uint64, _ []byte) { yes = yes || field == 2 && number == 1 })
	return yes
}

// revisionOf reads the revision in the header of an answer, which is that of the write.
func revisionOf(answer []byte) (revision int64) {
	eachField(answer, func(field int, _ uint64, header []byte) {
		if field == 1 {
			eachField(header, func(field int, number uint64, _ []byte) {
				if field == 3 {
					revision = int64(number)
				}
			})
		}
	})
	return revision
}
