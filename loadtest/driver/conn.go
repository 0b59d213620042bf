package driver

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"time"
)

// The errors of an answer that this client cannot read. The connection is closed after each of them.
var (
	ErrFraming = errors.New("the answer has no valid Content-Length")
	ErrTooLong = errors.New("the answer is longer than 8 MiB")
)

// BodyMax bounds the body of an answer in bytes; 5 auctions of 40 winners with metadata need far less. BOUND: the memory of one connection.
const BodyMax = 8 << 20

// Conn is one keep-alive HTTP/1.1 connection of a worker, as cheap per request as a client can be. It dials on first use and again
// after an error. It belongs to one goroutine.
//
// Generator and server share the same few cores, so every microsecond the generator spends on a request is missing from
// the figure it reports. A request is one write of a prepared head and the body; an answer is read as status line,
// Content-Length and body, the other headers are skipped. There is no pool, no lock, no redirect and above all no
// hidden retry: whether a request whose outcome is unknown is sent again is for the caller to decide and to count.
type Conn struct {
	address string
	head    []byte // From " HTTP/1.1" to "Content-Length: ".
	timeout time.Duration

	socket net.Conn
	in     *bufio.Reader
	out    []byte
	body   []byte
}

// NewConn prepares a connection to a base URL such as http://127.0.0.1:8080. Timeout bounds the dial and each exchange. The error says that the
// URL is not supported.
func NewConn(base, key string, timeout time.Duration) (*Conn, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" || u.Host == "" {
		return nil, fmt.Errorf("base address %q: want http://host:port", base)
	}
	address := u.Host
	if u.Port() == "" {
		address = net.JoinHostPort(u.Hostname(), "80")
	}
	c := &Conn{address: address, timeout: timeout, in: bufio.NewReaderSize(nil, 64<<10)}
	c.head = fmt.Appendf(nil, " HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: ",
		u.Host, key)
	return c, nil
}

// Post sends one request and reads its answer. An error means that the outcome is unknown: the server may have acted on
// the request. OWNERSHIP: the answer is valid until the next Post.
func (c *Conn) Post(path string, body []byte) (status int, answer []byte, err error) {
	if c.socket == nil {
		if c.socket, err = net.DialTimeout("tcp", c.address, c.timeout); err != nil {
			return 0, nil, err
		}
		c.in.Reset(c.socket)
	}
	status, answer, keep, err := c.exchange(path, body)
	if err != nil || !keep {
		c.Close()
	}
	return status, answer, err
}

// Close closes the connection; the next Post dials again.
func (c *Conn) Close() {
	if c.socket != nil {
		_ = c.socket.Close() // The answer has been read, or Post returns an error.
		c.socket = nil
	}
}

func (c *Conn) exchange(path string, body []byte) (status int, answer []byte, keep bool, err error) {
	if err := c.socket.SetDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, nil, false, err
	}
	c.out = append(c.out[:0], "POST "...)
	c.out = append(c.out, path...)
	c.out = append(c.out, c.head...)
	c.out = strconv.AppendInt(c.out, int64(len(body)), 10)
	c.out = append(c.out, "\r\n\r\n"...)
	c.out = append(c.out, body...)
	if _, err := c.socket.Write(c.out); err != nil {
		return 0, nil, false, err
	}
	for {
		var length int
		if status, length, keep, err = c.readHead(); err != nil {
			return 0, nil, false, err
		}
		if status >= 200 {
			answer, err = c.readBody(length)
			return status, answer, keep, err
		}
	}
}

// readHead reads one status line and its headers. A 1xx answer has no body and is followed by the final answer.
func (c *Conn) readHead() (status, length int, keep bool, err error) {
	line, err := c.readLine()
	if err != nil {
		return 0, 0, false, err
	}
	// "HTTP/1.1 200 OK"
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return 0, 0, false, ErrFraming
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, 0, false, ErrFraming
	}
	length, keep = -1, true
	for {
		if line, err = c.readLine(); err != nil {
			return 0, 0, false, err
		}
		if len(line) == 0 {
			break
		}
		if value, ok := header(line, "content-length"); ok {
			if length, err = strconv.Atoi(string(value)); err != nil || length < 0 {
				return 0, 0, false, ErrFraming
			}
		} else if value, ok := header(line, "connection"); ok {
			keep = !bytes.EqualFold(value, []byte("close"))
		} else if _, ok := header(line, "transfer-encoding"); ok {
			return 0, 0, false, ErrFraming
		}
	}
	if length < 0 && status >= 200 && status != 204 {
		return 0, 0, false, ErrFraming
	}
	return status, max(length, 0), keep, nil
}

func (c *Conn) readLine() ([]byte, error) {
	line, err := c.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return nil, ErrFraming
	}
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

// header returns the value of a header line when it has the name, given in lower case.
func header(line []byte, name string) ([]byte, bool) {
	if len(line) <= len(name) || line[len(name)] != ':' || !bytes.EqualFold(line[:len(name)], []byte(name)) {
		return nil, false
	}
	return bytes.TrimSpace(line[len(name)+1:]), true
}

func (c *Conn) readBody(length int) ([]byte, error) {
	if length > BodyMax {
		return nil, ErrTooLong
	}
	if cap(c.body) < length {
		c.body = make([]byte, length)
	}
	c.body = c.body[:length]
	_, err := io.ReadFull(c.in, c.body)
	return c.body, err
}
