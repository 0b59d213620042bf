package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
)

// serve accepts connections on loopback until the test ends, and gives each to a handler.
func serve(t *testing.T, handle func(net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				handle(c)
			}()
		}
	}()
	return l.Addr().String()
}

// readCommand reads a command as Redis does; nil at the end.
func readCommand(in *bufio.Reader) (words []string) {
	line := func(kind byte) int {
		text, err := in.ReadString('\n')
		if err != nil || text[0] != kind {
			return -1
		}
		n, err := strconv.Atoi(strings.TrimSuffix(text[1:], "\r\n"))
		if err != nil {
			return -1
		}
		return n
	}
	for range max(line('*'), 0) {
		n := line('$')
		if n < 0 {
			return nil
		}
		word := make([]byte, n+2)
		if _, err := io.ReadFull(in, word); err != nil || string(word[n:]) != "\r\n" {
			return nil
		}
		words = append(words, string(word[:n]))
	}
	return words
}

// A client runs the script once for each event, with a new key and a budget of its own, and sums the answers. What it repeats has the same keys.
func TestRedisClient(t *testing.T) {
	seen := make(map[string]int)
	address := serve(t, func(c net.Conn) {
		in := bufio.NewReader(c)
		for {
			words := readCommand(in)
			if words == nil {
				return
			}
			if len(words) != 6 || words[0] != "EVALSHA" || words[1] != "sha" || words[2] != "2" || words[5] != strconv.Itoa(price) {
				_, _ = fmt.Fprintf(c, "-ERR %q\r\n", words)
				continue
			}
			seen[words[3]]++
			seen[words[4]]++
			_, _ = fmt.Fprintf(c, ":%d\r\n", map[bool]int{true: 1}[seen[words[3]] == 1])
		}
	})
	one, err := (&redis{address: address, script: []byte("sha")}).dial(5)
	if err != nil {
		t.Fatal(err)
	}
	defer one.close()
	for _, n := range []int{1, 50} {
		if charged, err := one.charge(n); err != nil || charged != n {
			t.Errorf("%d events: %d charged, %v", n, charged, err)
		}
	}
	if err := one.repeat(); err != nil {
		t.Error(err)
	}
	for k := range campaignsEach {
		if budget := budgetKey(5*campaignsEach + k); seen[budget] < 50/campaignsEach {
			t.Errorf("%s was charged %d times", budget, seen[budget])
		}
	}
	if want := 51 + campaignsEach; len(seen) != want {
		t.Errorf("%d keys, want %d", len(seen), want)
	}
}

func TestRedisAnswers(t *testing.T) {
	for _, c := range []struct {
		answer string
		n      int64
		text   string
		err    string // A part of the error; empty: there is none.
	}{
		{":17\r\n", 17, "", ""},
		{"+OK\r\n", 0, "OK", ""},
		{"$5\r\na\r\nbc\r\n", 0, "a\r\nbc", ""},
		{"$-1\r\n", 0, "", ""},
		{"-NOSCRIPT none\r\n", 0, "", "NOSCRIPT none"},
		{"*2\r\n", 0, "", errProtocol.Error()},
		{":x\r\n", 0, "", "invalid syntax"},
		{"$9\r\nab\r\n", 0, "", "EOF"},
		{"17\n", 0, "", errProtocol.Error()},
		{"", 0, "", "EOF"},
	} {
		n, text, err := (&respConn{in: bufio.NewReader(strings.NewReader(c.answer))}).read()
		if c.err == "" && (err != nil || n != c.n || string(text) != c.text) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%q: %d %q %v", c.answer, n, text, err)
		}
	}
}
