package control

import (
	"bytes"
	"context"
	"errors"
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
		if read(bytes.NewReader([]byte{0, 1, 0, 0}), &question{}) == nil {
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
		New(Config{Context: t.Context()}).Serve(there)
		if waited := time.Since(began); waited != questionTimeout {
			t.Errorf("a question that does not come was waited for for %s, want %s", waited, questionTimeout)
		}
	})
}

func TestMessagesAreRead(t *testing.T) {
	want := question{Operation: "hello", From: Peer{Node: strings.Repeat("n", 20_000)}}
	var b bytes.Buffer
	if err := write(&b, want); err != nil {
		t.Fatal(err)
	}
	var got question
	if err := read(bytes.NewReader(b.Bytes()), &got); err != nil || got.Operation != want.Operation || got.From != want.From {
		t.Errorf("%+v, %v", got, err)
	}
	if err := read(bytes.NewReader(b.Bytes()[:b.Len()-1]), &got); err == nil {
		t.Error("a message without its last byte was read")
	}
	if err := read(bytes.NewReader([]byte{0, 1, 0, 1}), &got); err == nil || !strings.Contains(err.Error(), "65537 bytes") {
		t.Errorf("a message that is too large: %v", err)
	}
}

type sum struct{ A, B int }

var add = Define[sum, int]("add")

// The asking node gets the answer, who gave it, and the errors that a refusal names, beside the answer; other
// operations are refused.
func TestOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		final, other := errors.New("final"), errors.New("other")
		reasons := []Reason{{"final", final}, {"other", other}}
		b := New(Config{Self: Peer{"b", "2"}, Context: t.Context(), Reasons: reasons})
		a := New(Config{Self: Peer{"a", "1"}, Context: t.Context(), Reasons: reasons, Dial: func(context.Context, string) (net.Conn, error) {
			here, there := net.Pipe()
			go func() {
				defer there.Close()
				b.Serve(there)
			}()
			return here, nil
		}})
		add.Handle(b, Anyone, func(_ context.Context, from Peer, q sum) (int, error) {
			if from != (Peer{"a", "1"}) {
				t.Errorf("asked by %v", from)
			}
			if q.A == 0 {
				return -1, errors.Join(errors.New("zero"), final)
			}
			return q.A + q.B, nil
		})
		if got, by, err := add.Ask(t.Context(), a, "there", sum{1, 2}); got != 3 || by != (Peer{"b", "2"}) || err != nil {
			t.Errorf("%d by %v, %v", got, by, err)
		}
		got, _, err := add.Ask(t.Context(), a, "there", sum{})
		refused, is := errors.AsType[*Refusal](err)
		if got != -1 || !errors.Is(err, final) || errors.Is(err, other) || !is || refused.Address != "there" || !strings.Contains(refused.Text, "zero") {
			t.Errorf("refused: %d, %v", got, err)
		}
		if _, _, err := Define[sum, int]("sub").Ask(t.Context(), a, "there", sum{}); err == nil || !strings.Contains(err.Error(), `unknown question "sub"`) {
			t.Errorf("an unknown operation: %v", err)
		}
	})
}

// A node asks in its own name only, and only what its certificate allows.
func TestCertificatesAllowQuestions(t *testing.T) {
	p := New(Config{Context: t.Context()})
	asked := 0
	add.Handle(p, func(from Peer, q sum) bool { return q.A == 1 }, func(context.Context, Peer, sum) (int, error) {
		asked++
		return 0, nil
	})
	for _, tc := range []struct {
		names   []string
		secured bool
		body    string
		allowed bool
	}{
		{[]string{"n1"}, true, `{"A":1}`, true},
		{[]string{"x", "n1"}, true, `{"A":1}`, true},
		{[]string{"n1"}, true, `{"A":2}`, false},
		{[]string{"n2"}, true, `{"A":1}`, false},
		{nil, false, `{"A":2}`, true},
	} {
		before := asked
		got := p.answer(t.Context(), tc.names, tc.secured, question{Operation: "add", From: Peer{Node: "n1"}, Body: []byte(tc.body)})
		if (got.Refusal == nil) != tc.allowed || (asked > before) != tc.allowed {
			t.Errorf("%+v: %+v", tc, got.Refusal)
		}
	}
}
