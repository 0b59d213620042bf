package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// exchangeMax is how long a peer may take to answer a request. BOUND: after it the outcome counts as unknown.
const exchangeMax = 20 * time.Second

// respConn is a connection with Redis' protocol (RESP2). Commands are collected and sent together.
type respConn struct {
	socket   net.Conn
	in       *bufio.Reader
	out      []byte
	commands int // How many commands out has.
}

func dialRESP(address string) (*respConn, error) {
	socket, err := net.DialTimeout("tcp", address, exchangeMax)
	if err != nil {
		return nil, err
	}
	return &respConn{socket: socket, in: bufio.NewReaderSize(socket, 64<<10)}, nil
}

func (c *respConn) close() { _ = c.socket.Close() } // All answers have been read, or an error was returned.

// begin drops the commands that were collected.
func (c *respConn) begin() { c.out, c.commands = c.out[:0], 0 }

// add collects a command.
func (c *respConn) add(args ...[]byte) {
	c.commands++
	c.out = appendLength(c.out, '*', len(args))
	for _, arg := range args {
		c.out = appendLength(c.out, '$', len(arg))
		c.out = append(append(c.out, arg...), '\r', '\n')
	}
}

func appendLength(dst []byte, kind byte, n int) []byte {
	return append(strconv.AppendInt(append(dst, kind), int64(n), 10), '\r', '\n')
}

// send sends the collected commands, without forgetting them, and sums the numbers that they are answered with.
func (c *respConn) send() (sum int64, err error) {
	if err := c.socket.SetDeadline(time.Now().Add(exchangeMax)); err != nil {
		return 0, err
	}
	if _, err := c.socket.Write(c.out); err != nil {
		return 0, err
	}
	for range c.commands {
		n, _, err := c.read()
		if err != nil {
			return sum, err
		}
		sum += n
	}
	return sum, nil
}

// do sends one command of words and returns its answer.
func (c *respConn) do(words ...string) (n int64, text []byte, err error) {
	c.begin()
	var args [][]byte
	for _, word := range words {
		args = append(args, []byte(word))
	}
	c.add(args...)
	if err := c.socket.SetDeadline(time.Now().Add(exchangeMax)); err != nil {
		return 0, nil, err
	}
	if _, err := c.socket.Write(c.out); err != nil {
		return 0, nil, err
	}
	return c.read()
}

var errProtocol = errors.New("the answer does not follow the protocol")

// read reads one answer: a number, a text, or nothing. An error of the server is an error.
func (c *respConn) read() (n int64, text []byte, err error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return 0, nil, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return 0, nil, errProtocol
	}
	kind, rest := line[0], string(line[1:len(line)-2])
	switch kind {
	case '+':
		return 0, []byte(rest), nil
	case '-':
		return 0, nil, fmt.Errorf("redis: %s", rest)
	case ':':
		n, err = strconv.ParseInt(rest, 10, 64)
		return n, nil, err
	case '$':
		length, err := strconv.Atoi(rest)
		if err != nil || length > 1<<20 {
			return 0, nil, errProtocol
		}
		if length < 0 {
			return 0, nil, nil // There is no such key.
		}
		text = make([]byte, length+2)
		_, err = io.ReadFull(c.in, text)
		return 0, text[:length], err
	}
	return 0, nil, errProtocol
}
