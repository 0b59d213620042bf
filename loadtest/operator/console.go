package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// consoleSet is a number of consoles at one node, each signed in for itself, and what they were answered so far.
type consoleSet struct {
	node        string
	marketplace string
	pages       []*consolePage
	sessions    []*session
	values      map[string]string // Of the names in braces in paths.

	reads, messages, samples, bytes atomic.Int64
}

// newConsoleSet signs in a number of consoles at a node.
func newConsoleSet(ctx context.Context, node string, pages []*consolePage, values map[string]string) (*consoleSet, error) {
	o := &consoleSet{node: node, pages: pages, values: values}
	for range pages {
		s, err := signIn(ctx, node, adminEmail, adminPassword)
		if err != nil {
			return nil, err
		}
		s.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 6}} // A browser has six connections to a host.
		o.sessions = append(o.sessions, s)
		var answer struct{ Marketplaces []struct{ ID string } }
		if err := s.must(ctx, "GET", node+consoleAPI+"/session", "", &answer); err != nil {
			return nil, err
		}
		if len(answer.Marketplaces) == 0 {
			return nil, errors.New("the admin has no marketplace")
		}
		o.marketplace = answer.Marketplaces[0].ID
	}
	return o, nil
}

// open opens all consoles. The function that it returns closes them and returns what failed: a console that is refused measures nothing.
func (o *consoleSet) open(ctx context.Context) (closeAll func() error) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	var mu sync.Mutex
	var faults []error
	keep := func(err error) {
		if err != nil && ctx.Err() == nil {
			mu.Lock()
			defer mu.Unlock()
			faults = append(faults, err)
		}
	}
	for i, page := range o.pages {
		if page.stream != "" {
			running.Go(func() { keep(o.follow(ctx, o.sessions[i], page.stream)) })
		}
		for _, read := range page.reads {
			running.Go(func() { keep(o.poll(ctx, o.sessions[i], read)) })
		}
	}
	return func() error {
		cancel()
		running.Wait()
		for _, s := range o.sessions {
			s.client.CloseIdleConnections()
		}
		return errors.Join(faults...)
	}
}

// get sends a request of a page.
func (o *consoleSet) get(ctx context.Context, s *session, path string) (*http.Response, error) {
	for name, value := range o.values {
		path = strings.ReplaceAll(path, "{"+name+"}", value)
	}
	path = strings.ReplaceAll(path, "{marketplace}", o.marketplace)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, o.node+consoleAPI+path, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("X-Gavel-Marketplace", o.marketplace)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.AddCookie(s.cookie)
	answer, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		_ = answer.Body.Close() // The status says enough.
		return nil, fmt.Errorf("GET %s answered %d", path, answer.StatusCode)
	}
	return answer, nil
}

// poll repeats a request at its interval, from a random moment of the interval on: people do not open their pages together.
func (o *consoleSet) poll(ctx context.Context, s *session, read consoleRead) error {
	wait := rand.N(read.every)
	after := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		wait = read.every
		answer, err := o.get(ctx, s, strings.ReplaceAll(read.path, afterNewest, after))
		if err != nil {
			return err
		}
		var body bytes.Buffer
		n, err := body.ReadFrom(answer.Body)
		_ = answer.Body.Close() // It was read to its end, or the error says why not.
		if err != nil {
			return err
		}
		o.reads.Add(1)
		o.bytes.Add(n)
		if strings.Contains(read.path, afterNewest) {
			if after, err = newest(body.Bytes(), after); err != nil {
				return err
			}
		}
	}
}

// newest returns the parameter that asks for what is newer than the newest request of an answer; the one of before when there is none.
func newest(answer []byte, before string) (string, error) {
	var page struct{ Recent []struct{ At string } }
	if err := json.Unmarshal(answer, &page); err != nil || len(page.Recent) == 0 {
		return before, err
	}
	return "&after=" + url.QueryEscape(page.Recent[0].At), nil
}

// follow reads a stream of events until ctx ends.
func (o *consoleSet) follow(ctx context.Context, s *session, path string) error {
	answer, err := o.get(ctx, s, path)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // The context ended it.
	lines := bufio.NewReader(answer.Body)
	for {
		line, err := lines.ReadSlice('\n')
		o.bytes.Add(int64(len(line)))
		switch {
		case errors.Is(err, bufio.ErrBufferFull): // The start of a long line.
		case err != nil:
			return fmt.Errorf("the stream %s ended: %w", path, err)
		case bytes.Equal(line, []byte("event: auction\n")):
			o.samples.Add(1)
		case bytes.HasPrefix(line, []byte("event: ")):
			o.messages.Add(1)
		}
	}
}

// plural names a count of things: "4 live auctions".
func plural(count int, name string) string { return strconv.Itoa(count) + " " + name }
