package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

func TestArguments(t *testing.T) {
	for _, args := range [][]string{
		{},
		{"nothing"},
		{"writes", "visibility"},
		{"--workers", "0", "writes"},
		{"--changes", "3", "visibility"},
		{"--duration", "0s", "writes"},
		{"--revocations", "0", "visibility"},
		{"--consoles", "21", "consoles"},
		{"--pairs", "0", "consoles"},
		{"--shape", "9x9", "consoles"},
		{"--page", "nothing", "consoles"},
		{"--campaigns", "0", "spending"},
		{"--rows", "0", "import"},
		{"--kills", "-1", "import"},
	} {
		if err := command(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%v: accepted", args)
		}
	}
}

func TestProductsBody(t *testing.T) {
	ids := productsOf(7, 500)
	var body struct {
		Products []struct {
			ID      string
			Vendors []string
			Price   json.Number
		}
	}
	if err := json.Unmarshal(productsBody("v", ids, 93), &body); err != nil {
		t.Fatal(err)
	}
	if len(body.Products) != 500 || body.Products[499].ID != ids[499] || body.Products[0].Price != "4.5" || body.Products[3].Vendors[0] != "v" {
		t.Errorf("%+v", body.Products[:4])
	}
}

// An observer reports each expected winner once, when an answer shows it and not before.
func TestWatcher(t *testing.T) {
	var winner atomic.Pointer[string]
	winner.Store(new("mine"))
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, `{"results":[{"winners":[{"id":%q}]}]}`, *winner.Load())
	}))
	defer node.Close()
	w := &observer{saw: make(chan time.Time, 1)}
	w.want.Store(&expectation{winner: "mine"})
	ended := make(chan error, 1)
	go func() { ended <- w.watch(t.Context(), node.URL, "key") }()
	<-w.saw
	for _, next := range []string{"other", "mine", "other"} {
		w.want.Store(&expectation{winner: next})
		select {
		case <-w.saw:
			t.Fatalf("%s was seen before it was there", next)
		case <-time.After(20 * time.Millisecond):
		}
		turned := time.Now()
		winner.Store(new(next))
		if at := <-w.saw; at.Before(turned) {
			t.Errorf("%s was seen %v before it was there", next, turned.Sub(at))
		}
	}
	node.CloseClientConnections()
	node.Close()
	if err := <-ended; err == nil {
		t.Error("a node that is gone is no error")
	}
}
