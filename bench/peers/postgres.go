package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// postgres is a PostgreSQL server with its default settings, which wait for the disk before a commit is answered.
type postgres struct {
	process *process
	address string
	program string
	batch   int
}

// pgUser is the user of the database. The server refuses to run as root, so then it runs as the user that Debian's package makes.
const (
	pgUser  = "gavel"
	runUser = "postgres"
)

// The statements. An event of one request is a statement of its own; several are one statement as well, because that is the fastest way to
// write many rows. Both are one transaction.
const (
	chargeOne = `WITH e AS (INSERT INTO events (id, campaign) VALUES ($1::text, $2::int) ON CONFLICT DO NOTHING RETURNING campaign)
UPDATE budgets b SET spent = b.spent + $3::bigint FROM e WHERE b.campaign = e.campaign AND b.spent + $3::bigint <= b.budget`
	chargeMany = `WITH e AS (INSERT INTO events (id, campaign) SELECT * FROM unnest($1::text[], $2::int[]) ON CONFLICT DO NOTHING RETURNING campaign),
n AS (SELECT campaign, count(*) AS n FROM e GROUP BY campaign),
u AS (UPDATE budgets b SET spent = b.spent + n.n * $3::bigint FROM n
	WHERE b.campaign = n.campaign AND b.spent + n.n * $3::bigint <= b.budget RETURNING n.n)
SELECT coalesce(sum(n), 0) FROM u`
	tables = `CREATE TABLE events (id text PRIMARY KEY, campaign int NOT NULL);
CREATE TABLE budgets (campaign int PRIMARY KEY, budget bigint NOT NULL, spent bigint NOT NULL) WITH (fillfactor = 50);
INSERT INTO budgets SELECT i, %d, 0 FROM generate_series(0, %d) i`
)

func (p *postgres) start(ctx context.Context, dir string) error {
	bin, err := pgBinaries()
	if err != nil {
		return err
	}
	p.program = filepath.Join(bin, "postgres")
	var as *syscall.Credential
	if os.Geteuid() == 0 {
		if as, err = credential(runUser); err != nil {
			return err
		}
		if err := os.Chown(dir, int(as.Uid), int(as.Gid)); err != nil {
			return err
		}
	}
	data := filepath.Join(dir, "data")
	initialize := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, "-U", pgUser, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	initialize.Dir = dir
	if as != nil {
		initialize.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	}
	if text, err := initialize.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, text)
	}
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	p.address = fmt.Sprintf("127.0.0.1:%d", ports[0])
	p.process, err = startProcess(dir, "postgres", as, p.program,
		"-D", data, "-p", strconv.Itoa(ports[0]), "-h", "127.0.0.1", "-k", "", "-c", "max_connections=200")
	if err != nil {
		return err
	}
	if err := p.process.await(ctx, func() error { return p.ask("SELECT 1", nil) }); err != nil {
		return err
	}
	return p.ask(fmt.Sprintf(tables, budget, campaigns-1), nil)
}

// pgBinaries returns the directory of the newest PostgreSQL that is installed. Debian does not put it on the path.
func pgBinaries() (string, error) {
	if found, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(found), nil
	}
	all, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(all) == 0 {
		return "", &missing{"PostgreSQL server", "postgresql"}
	}
	return filepath.Dir(slices.Max(all)), nil
}

// credential returns the ids of a user.
func credential(name string) (*syscall.Credential, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, &missing{"user " + name, "postgresql"}
	}
	uid, errUID := strconv.ParseUint(u.Uid, 10, 32)
	gid, errGID := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(errUID, errGID) // They have 32 bits.
}

// ask runs a statement, and reads the first column of its last row into a number unless n is nil.
func (p *postgres) ask(sql string, n *int64) error {
	c, err := dialPG(p.address, pgUser)
	if err != nil {
		return err
	}
	defer c.close()
	text, err := c.query(sql)
	if err == nil && n != nil {
		*n, err = strconv.ParseInt(string(text), 10, 64)
	}
	return err
}

func (p *postgres) prepare(_ context.Context, _, batch int) error {
	p.batch = batch
	return nil
}

func (p *postgres) dial(i int) (client, error) {
	c, err := dialPG(p.address, pgUser)
	if err != nil {
		return nil, err
	}
	statement := chargeOne
	if p.batch > 1 {
		statement = chargeMany
	}
	if err := c.prepare(statement); err != nil {
		c.close()
		return nil, err
	}
	return &pgClient{pgConn: c, source: newSource(i), many: p.batch > 1, price: []byte(strconv.Itoa(price))}, nil
}

func (p *postgres) count(context.Context) (n counts, err error) {
	return n, errors.Join(
		p.ask("SELECT count(*) FROM events", &n.Events),
		p.ask(fmt.Sprintf("SELECT (sum(spent) / %d)::bigint FROM budgets", price), &n.Charged),
	)
}

func (p *postgres) pids() []int { return []int{p.process.cmd.Process.Pid} }

func (p *postgres) version() string { return versionOf(p.program) }

func (p *postgres) stop() error {
	if p.process == nil {
		return nil
	}
	return p.process.stop(syscall.SIGINT) // Without waiting for connections.
}

// pgClient executes one prepared statement for each request.
type pgClient struct {
	*pgConn
	source         source
	many           bool
	price          []byte
	ids, campaigns []byte
}

func (c *pgClient) charge(n int) (int, error) {
	if !c.many {
		id, campaign := c.source.next()
		c.campaigns = strconv.AppendInt(c.campaigns[:0], int64(campaign), 10)
		c.bind(id, c.campaigns, c.price)
		return c.execute()
	}
	c.ids, c.campaigns = append(c.ids[:0], '{'), append(c.campaigns[:0], '{')
	for i := range n {
		id, campaign := c.source.next()
		if i > 0 {
			c.ids, c.campaigns = append(c.ids, ','), append(c.campaigns, ',')
		}
		c.ids = append(c.ids, id...)
		c.campaigns = strconv.AppendInt(c.campaigns, int64(campaign), 10)
	}
	c.ids, c.campaigns = append(c.ids, '}'), append(c.campaigns, '}')
	c.bind(c.ids, c.campaigns, c.price)
	return c.execute()
}

// execute sends the statement that was bound and returns how many events it charged.
func (c *pgClient) execute() (int, error) {
	answer, err := c.send()
	if err != nil {
		return 0, err
	}
	text := answer.column
	if !c.many {
		var ok bool
		if text, ok = bytes.CutPrefix(answer.tag, []byte("UPDATE ")); !ok {
			return 0, errProtocol
		}
	}
	return strconv.Atoi(string(text))
}

func (c *pgClient) repeat() error {
	charged, err := c.execute()
	if err == nil && charged > 0 {
		err = errRepeatCharged
	}
	return err
}
