package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"
)

// pgConn is a connection with PostgreSQL's protocol (version 3), to a server that trusts its clients.
type pgConn struct {
	socket net.Conn
	in     *bufio.Reader
	out    []byte
	start  int // Where the length of the message begins that is being made.
	body   []byte
}

// dialPG connects as a user to the database postgres.
func dialPG(address, user string) (*pgConn, error) {
	socket, err := net.DialTimeout("tcp", address, exchangeMax)
	if err != nil {
		return nil, err
	}
	c := &pgConn{socket: socket, in: bufio.NewReaderSize(socket, 64<<10)}
	const version3 = 3 << 16
	c.start = 0
	c.out = binary.BigEndian.AppendUint32(make([]byte, 4), version3) // This message alone has no type.
	for _, word := range []string{"user", user, "database", "postgres", ""} {
		c.text(word)
	}
	c.end()
	if _, err := c.send(); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *pgConn) close() { _ = c.socket.Close() } // All answers have been read, or an error was returned.

// message begins a message of a type.
func (c *pgConn) message(kind byte) {
	c.out = append(c.out, kind)
	c.start = len(c.out)
	c.out = append(c.out, 0, 0, 0, 0)
}

// end ends the message: its length, which counts itself, is known now.
func (c *pgConn) end() { binary.BigEndian.PutUint32(c.out[c.start:], uint32(len(c.out)-c.start)) }

func (c *pgConn) text(s string) { c.out = append(append(c.out, s...), 0) }

func (c *pgConn) count(n int) { c.out = binary.BigEndian.AppendUint16(c.out, uint16(n)) }

// prepare parses a statement, which has no name.
func (c *pgConn) prepare(sql string) error {
	c.out = c.out[:0]
	c.message('P')
	c.text("")
	c.text(sql)
	c.count(0) // The server finds the types of the parameters.
	c.end()
	c.sync()
	_, err := c.send()
	return err
}

// bind makes the messages that execute the prepared statement with parameters in text form; send sends them.
func (c *pgConn) bind(parameters ...[]byte) {
	c.out = c.out[:0]
	c.message('B')
	c.text("") // The portal.
	c.text("") // The statement.
	c.count(0) // All parameters are text.
	c.count(len(parameters))
	for _, p := range parameters {
		c.out = append(binary.BigEndian.AppendUint32(c.out, uint32(len(p))), p...)
	}
	c.count(0) // All columns are text.
	c.end()
	c.message('E')
	c.text("")
	c.out = append(c.out, 0, 0, 0, 0) // All rows.
	c.end()
	c.sync()
}

func (c *pgConn) sync() {
	c.message('S')
	c.end()
}

// query runs a statement without parameters and returns the first column of its last row.
func (c *pgConn) query(sql string) ([]byte, error) {
	c.out = c.out[:0]
	c.message('Q')
	c.text(sql)
	c.end()
	answer, err := c.send()
	return answer.column, err
}

// pgAnswer is the answer to a statement. OWNERSHIP: it is valid until the next send.
type pgAnswer struct {
	column []byte // The first column of the last row; nil: there is none, or it is null.
	tag    []byte // What was done, such as UPDATE 1.
}

// send sends what was made, without forgetting it, and reads until the server is ready for more.
func (c *pgConn) send() (answer pgAnswer, err error) {
	if err := c.socket.SetDeadline(time.Now().Add(exchangeMax)); err != nil {
		return answer, err
	}
	if _, err := c.socket.Write(c.out); err != nil {
		return answer, err
	}
	var failed error
	for {
		kind, body, err := c.read()
		if err != nil {
			return answer, err
		}
		switch kind {
		case 'Z': // Ready for the next query.
			return answer, failed
		case 'R': // Authentication; 0 is success.
			if len(body) != 4 || binary.BigEndian.Uint32(body) != 0 {
				return answer, fmt.Errorf("postgres asks for authentication %x", body)
			}
		case 'D':
			answer.column = firstColumn(body)
		case 'C':
			answer.tag = bytes.Clone(bytes.TrimRight(body, "\x00"))
		case 'E':
			if failed = pgError(body); answer.tag == nil && c.start == 0 {
				return answer, failed // The server ends a connection that it refuses.
			}
		}
	}
}

// read reads one message. OWNERSHIP: the body is valid until the next read.
func (c *pgConn) read() (kind byte, body []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return 0, nil, err
	}
	length := int(binary.BigEndian.Uint32(head[1:])) - 4
	if length < 0 || length > 1<<20 {
		return 0, nil, errProtocol
	}
	if cap(c.body) < length {
		c.body = make([]byte, length)
	}
	c.body = c.body[:length]
	_, err = io.ReadFull(c.in, c.body)
	return head[0], c.body, err
}

// firstColumn returns a copy of the first column of a row.
func firstColumn(row []byte) []byte {
	if len(row) < 6 || binary.BigEndian.Uint16(row) == 0 {
		return nil
	}
	length := int(int32(binary.BigEndian.Uint32(row[2:])))
	if length < 0 || 6+length > len(row) {
		return nil
	}
	return bytes.Clone(row[6 : 6+length])
}

// pgError makes an error of the fields of an error message.
func pgError(body []byte) error {
	var code, text []byte
	for field := range bytes.SplitSeq(body, []byte{0}) {
		switch {
		case len(field) > 0 && field[0] == 'C':
			code = bytes.Clone(field[1:])
		case len(field) > 0 && field[0] == 'M':
			text = bytes.Clone(field[1:])
		}
	}
	return fmt.Errorf("postgres: %s (%s)", text, code)
}
