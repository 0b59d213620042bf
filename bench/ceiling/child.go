package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// child is a server process.
type child struct {
	process   *exec.Cmd
	in        io.WriteCloser
	out       *bufio.Reader
	addr, key string
}

func startChild(binary string, args ...string) (c *child, err error) {
	c = &child{process: exec.Command(binary, args...)}
	c.process.Stderr = os.Stderr
	if c.in, err = c.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	if err = c.process.Start(); err != nil {
		return nil, err
	}
	if _, err = fmt.Fscanln(c.out, &c.addr, &c.key); err != nil {
		c.stop()
		return nil, fmt.Errorf("the server %q did not start: %w", args, err)
	}
	return c, nil
}

// stop closes the input of the process, which makes it exit, and waits for it.
func (c *child) stop() {
	_ = c.in.Close()
	_ = c.process.Wait()
}

// usage is the CPU time and the number of heap allocations of a server process.
type usage struct {
	cpuNanos int64
	mallocs  uint64
}

// ask sends a line and returns the server's usage so far.
func (c *child) ask(line string) (u usage, err error) {
	if _, err = io.WriteString(c.in, line+"\n"); err == nil {
		_, err = fmt.Fscanln(c.out, &u.cpuNanos, &u.mallocs)
	}
	return u, err
}
