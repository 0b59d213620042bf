package raftstore

import (
	"bytes"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A question that is announced and does not arrive costs little memory, and its connection only for a short time.
func TestQuestionThatDoesNotComeCostsLittle(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 1000 {
		if readMessage(bytes.NewReader([]byte{0, 1, 0, 0}), &question{}) == nil {
			t.Fatal("a question of no bytes was read")
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / 1000; each > 4<<10 {
		t.Errorf("the announcement of a question costs %d bytes", each)
	}
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer here.Close()
		began := time.Now()
		(&Store{}).serveControl(there)
		if waited := time.Since(began); waited != questionTimeout {
			t.Errorf("a question that does not come was waited for for %s, want %s", waited, questionTimeout)
		}
	})
}

func TestMessagesAreRead(t *testing.T) {
	want := question{Op: "hello", Node: strings.Repeat("n", 20_000)}
	var b bytes.Buffer
	if err := writeMessage(&b, want); err != nil {
		t.Fatal(err)
	}
	var got question
	if err := readMessage(bytes.NewReader(b.Bytes()), &got); err != nil || got.Op != want.Op || got.Node != want.Node {
		t.Errorf("%+v, %v", got, err)
	}
	if err := readMessage(bytes.NewReader(b.Bytes()[:b.Len()-1]), &got); err == nil {
		t.Error("a message without its last byte was read")
	}
	if err := readMessage(bytes.NewReader([]byte{0, 1, 0, 1}), &got); err == nil || !strings.Contains(err.Error(), "65537 bytes") {
		t.Errorf("a message that is too large: %v", err)
	}
}
