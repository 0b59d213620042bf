package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
)

// pgServer answers as PostgreSQL does, for the statements of pgClient. It keeps the ids that it has charged.
type pgServer struct {
	t       *testing.T
	user    string
	refuse  string // An error that ends every connection.
	charged map[string]bool
	bound   [][]string // The parameters of all executions.
}

func (s *pgServer) handle(c net.Conn) {
	in := bufio.NewReader(c)
	_, start := pgMessage(in, false)
	if want := "\x00\x03\x00\x00user\x00" + s.user + "\x00database\x00postgres\x00\x00"; string(start) != want {
		s.t.Errorf("start-up message %q, want %q", start, want)
	}
	if s.refuse != "" {
		s.write(c, 'E', "SFATAL\x00C57P03\x00M"+s.refuse+"\x00\x00")
		return
	}
	s.write(c, 'R', "\x00\x00\x00\x00")
	s.write(c, 'S', "server_version\x0015\x00")
	s.write(c, 'Z', "I")
	var statement string
	for {
		kind, body := pgMessage(in, true)
		switch kind {
		case 0:
			return
		case 'P':
			_, rest, _ := strings.Cut(string(body), "\x00")
			statement, _, _ = strings.Cut(rest, "\x00")
			s.write(c, '1', "")
		case 'B':
			s.bound = append(s.bound, parameters(body))
			s.write(c, '2', "")
		case 'E':
			s.execute(c, statement == chargeMany)
		case 'Q':
			if strings.Contains(string(body), "wrong") {
				s.write(c, 'E', "SERROR\x00C42601\x00Msyntax error\x00\x00")
			} else {
				s.write(c, 'D', "\x00\x02\x00\x00\x00\x0242\x00\x00\x00\x01x")
				s.write(c, 'C', "SELECT 1\x00")
			}
			s.write(c, 'Z', "I")
		case 'S':
			s.write(c, 'Z', "I")
		}
	}
}

func (s *pgServer) write(c net.Conn, kind byte, body string) {
	_, _ = c.Write(append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4)), body...)) // The client sees what is missing.
}

// pgMessage reads a message; its type is 0 at the end.
func pgMessage(in *bufio.Reader, typed bool) (kind byte, body []byte) {
	if typed {
		kind, _ = in.ReadByte()
	}
	var length [4]byte
	if _, err := io.ReadFull(in, length[:]); err != nil {
		return 0, nil
	}
	body = make([]byte, binary.BigEndian.Uint32(length[:])-4)
	if _, err := io.ReadFull(in, body); err != nil {
		return 0, nil
	}
	return kind, body
}

// parameters reads those of a Bind message without names and formats.
func parameters(body []byte) (all []string) {
	n := binary.BigEndian.Uint16(body[4:])
	body = body[6:]
	for range n {
		length := binary.BigEndian.Uint32(body)
		all = append(all, string(body[4:4+length]))
		body = body[4+length:]
	}
	return all
}

func (s *pgServer) execute(c net.Conn, many bool) {
	last := s.bound[len(s.bound)-1]
	ids := strings.Split(strings.Trim(last[0], "{}"), ",")
	if len(ids) != len(strings.Split(strings.Trim(last[1], "{}"), ",")) || last[2] != strconv.Itoa(price) {
		s.t.Errorf("parameters %q", last)
	}
	n := 0
	for _, id := range ids {
		if !s.charged[id] {
			s.charged[id] = true
			n++
		}
	}
	if !many {
		s.write(c, 'C', "UPDATE "+strconv.Itoa(n)+"\x00")
		return
	}
	text := strconv.Itoa(n)
	s.write(c, 'D', "\x00\x01\x00\x00\x00"+string(rune(len(text)))+text)
	s.write(c, 'C', "SELECT 1\x00")
}

// One event is one execution, several are one as well; a repeat has the same ids and charges nothing.
func TestPostgresClient(t *testing.T) {
	for _, n := range []int{1, 50} {
		server := &pgServer{t: t, user: pgUser, charged: map[string]bool{}}
		p := &postgres{address: serve(t, server.handle), batch: n}
		c, err := p.dial(2)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if charged, err := c.charge(n); err != nil || charged != n {
				t.Errorf("%d events: %d charged, %v", n, charged, err)
			}
		}
		if err := c.repeat(); err != nil {
			t.Error(err)
		}
		c.close()
		if len(server.charged) != 2*n || len(server.bound) != 3 {
			t.Errorf("%d events in %d executions, want %d in 3", len(server.charged), len(server.bound), 2*n)
		}
		if campaign := server.bound[0][1]; !strings.Contains(campaign, strconv.Itoa(2*campaignsEach+1)) {
			t.Errorf("connection 2 charges the campaigns %s", campaign)
		}
	}
}

// A repeat that is charged again is an error.
func TestPostgresRepeatThatIsCharged(t *testing.T) {
	server := &pgServer{t: t, user: pgUser, charged: map[string]bool{}}
	c, err := (&postgres{address: serve(t, server.handle), batch: 1}).dial(0)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if _, err := c.charge(1); err != nil {
		t.Fatal(err)
	}
	clear(server.charged)
	if err := c.repeat(); !errors.Is(err, errRepeatCharged) {
		t.Errorf("got %v", err)
	}
}

func TestPostgresQueries(t *testing.T) {
	server := &pgServer{t: t, user: pgUser, charged: map[string]bool{}}
	p := &postgres{address: serve(t, server.handle)}
	var n int64
	if err := p.ask("SELECT 42, 'x'", &n); err != nil || n != 42 {
		t.Errorf("%d %v", n, err)
	}
	if err := p.ask("wrong", nil); err == nil || !strings.Contains(err.Error(), "syntax error (42601)") {
		t.Errorf("got %v", err)
	}
	refused := &pgServer{t: t, user: pgUser, refuse: "the database system is starting up"}
	if err := (&postgres{address: serve(t, refused.handle)}).ask("SELECT 1", nil); err == nil || !strings.Contains(err.Error(), "starting up") {
		t.Errorf("got %v", err)
	}
}
