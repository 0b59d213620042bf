package acmecert

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A failed order is repeated after longer and longer waits, for its host only, within the limits of authorities.
func TestFailedOrdersAreRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pair, err := selfSigned([]string{"a.example"}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		var first, second []time.Duration
		m := &Manager{
			hosts: []string{"a.example", "b.example"}, log: slog.New(slog.DiscardHandler), fallback: pair, newest: map[string]*tls.Certificate{},
		}
		m.get = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if hello.ServerName == "a.example" {
				first = append(first, time.Since(begin))
				return pair, nil
			}
			if second = append(second, time.Since(begin)); len(second) < 8 {
				return nil, errors.New("the authority does not reach the listener")
			}
			return pair, nil
		}
		m.Run(t.Context())
		if !slices.Equal(first, []time.Duration{0}) {
			t.Errorf("the host whose order succeeded is ordered at %v", first)
		}
		minutes := make([]float64, len(second))
		for i, at := range second {
			minutes[i] = at.Minutes()
		}
		if want := []float64{0, 2, 6, 14, 30, 62, 122, 182}; !slices.Equal(minutes, want) {
			t.Errorf("orders after %v minutes, want %v", minutes, want)
		}
	})
}

// The end of the node ends the waits.
func TestOrdersEndWithTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		orders := 0
		m := &Manager{hosts: []string{"a.example"}, log: slog.New(slog.DiscardHandler), newest: map[string]*tls.Certificate{}}
		m.get = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			orders++
			return nil, errors.New("no")
		}
		ended := make(chan struct{})
		go func() {
			m.Run(ctx)
			close(ended)
		}()
		synctest.Wait()
		cancel()
		<-ended
		if orders != 1 {
			t.Errorf("%d orders, want 1", orders)
		}
	})
}

// A handshake makes no order, whatever name it has, and only that of an authority about a name of the settings is looked
// up: names of clients neither reach the authority nor the disk.
func TestHandshakesMakeNoOrders(t *testing.T) {
	pair, err := selfSigned([]string{"a.example"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	m := &Manager{hosts: []string{"a.example"}, log: slog.New(slog.DiscardHandler), fallback: pair, newest: map[string]*tls.Certificate{}}
	m.get = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		asked = append(asked, hello.ServerName)
		return nil, errors.New("there is no order")
	}
	for _, name := range []string{"", "another.example", "a.example"} {
		if got, err := m.Certificate(&tls.ClientHelloInfo{ServerName: name}); got != pair || err != nil {
			t.Errorf("a client that names %q does not get the certificate for the time until there is one: %v", name, err)
		}
		hello := &tls.ClientHelloInfo{ServerName: name, SupportedProtos: []string{Protocol}}
		if got, err := m.Certificate(hello); got != nil || err == nil {
			t.Errorf("an authority that names %q is answered", name)
		}
	}
	if !slices.Equal(asked, []string{"a.example"}) {
		t.Errorf("looked up: %q, want what the authority asked about a.example", asked)
	}
}
