package manage_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
)

const newKey = `{"kind":"auction","name":"x"}`

func TestIdempotencyKey(t *testing.T) {
	w := managetest.New(t)
	post := func(body, key string, headers ...string) (int, string) {
		t.Helper()
		rec := call(w, "POST", keys, key, body, headers...)
		return rec.Code, rec.Body.String()
	}
	status, first := post(newKey, "management", "Idempotency-Key", "a")
	if status != 201 {
		t.Fatalf("%d %s", status, first)
	}
	if status, again := post(newKey, "management", "Idempotency-Key", "a"); status != 201 || again != first {
		t.Errorf("the same request: %d %s", status, again)
	}
	if status, body := post(`{"kind":"auction","name":"y"}`, "management", "Idempotency-Key", "a"); status != 409 || !strings.Contains(body, "invalid_operation") {
		t.Errorf("another body: %d %s", status, body)
	}
	if status, body := post(newKey, "other", "Idempotency-Key", "a"); status != 201 || body == first {
		t.Errorf("another caller's key means something else: %d %s", status, body)
	}
	if _, body := post(newKey, "management", "Idempotency-Key", "b"); body == first {
		t.Error("another idempotency key is another request")
	}
	if status, _ := post(newKey, "management", "Idempotency-Key", strings.Repeat("k", 64)); status != 201 {
		t.Errorf("64 characters: %d", status)
	}
	if status, body := post(newKey, "management", "Idempotency-Key", strings.Repeat("k", 65)); status != 400 || !strings.Contains(body, "bad_request") {
		t.Errorf("65 characters: %d %s", status, body)
	}
	w.Advance(24*time.Hour - time.Second)
	if _, again := post(newKey, "management", "Idempotency-Key", "a"); again != first {
		t.Error("forgotten before a day was over")
	}
	w.Advance(time.Second)
	if _, again := post(newKey, "management", "Idempotency-Key", "a"); again == first {
		t.Error("remembered for more than a day")
	}
}

// TestUnavailableIsNotRemembered: a request that failed without a leader can be repeated with the same key until it succeeds.
func TestUnavailableIsNotRemembered(t *testing.T) {
	w := managetest.New(t)
	w.FailWrites(true)
	if rec := call(w, "POST", keys, "management", newKey, "Idempotency-Key", "a"); rec.Code != 503 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	w.FailWrites(false)
	if rec := call(w, "POST", keys, "management", newKey, "Idempotency-Key", "a"); rec.Code != 201 {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

// TestRepeatsAtTheSameMoment: of many equal requests at once one is carried out, and all get its answer.
func TestRepeatsAtTheSameMoment(t *testing.T) {
	w := managetest.New(t)
	bodies := make([]string, 10)
	var all sync.WaitGroup
	for i := range bodies {
		all.Go(func() { bodies[i] = call(w, "POST", keys, "management", newKey, "Idempotency-Key", "a").Body.String() })
	}
	all.Wait()
	for _, b := range bodies {
		if b != bodies[0] {
			t.Fatalf("two answers: %s and %s", bodies[0], b)
		}
	}
	if list := call(w, "GET", keys, "management", "").Body.String(); strings.Count(list, `"name":"x"`) != 1 {
		t.Errorf("carried out more than once: %s", list)
	}
}

// TestARotationIsRepeated: a repeat gets the new key of the first request, although the old one has ended by it.
func TestARotationIsRepeated(t *testing.T) {
	w := managetest.New(t)
	var made struct{ KeyID string }
	if err := json.Unmarshal(call(w, "POST", keys, "management", newKey).Body.Bytes(), &made); err != nil {
		t.Fatal(err)
	}
	path := keys + "/" + made.KeyID + "/rotate"
	rotate := func(key string) (int, string) {
		rec := call(w, "POST", path, "management", `{"overlapHours":0}`, "Idempotency-Key", key)
		return rec.Code, rec.Body.String()
	}
	status, first := rotate("a")
	if again, body := rotate("a"); status != 201 || again != 201 || body != first {
		t.Errorf("%d %s, and then %d %s", status, first, again, body)
	}
	if status, body := rotate("b"); status != 409 || !strings.Contains(body, "has expired") {
		t.Errorf("another request: %d %s", status, body)
	}
}
