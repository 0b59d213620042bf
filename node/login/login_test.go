package login

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// A password has its hash and no other has; the hash says how it was made, and an empty one is nobody's.
func TestPasswords(t *testing.T) {
	h := NewHasher()
	hash, err := h.Hash(t.Context(), "correct horse battery")
	if err != nil || !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Fatalf("%q, %v", hash, err)
	}
	again, _ := h.Hash(t.Context(), "correct horse battery")
	if again == hash {
		t.Error("two hashes of a password are equal: the salt is not random")
	}
	cheap := encodeHash(parameters{8, 1, 1}, make([]byte, argonSalt), parameters{8, 1, 1}.key("old password", make([]byte, argonSalt)))
	for _, c := range []struct {
		password, hash string
		ok, outdated   bool
	}{
		{"correct horse battery", hash, true, false},
		{"correct horse batterY", hash, false, false},
		{"", hash, false, false},
		{"", "", false, false},
		{strings.Repeat("x", PasswordMax+1), hash, false, false},
		{"old password", cheap, true, true},
		{"new password", cheap, false, true},
	} {
		ok, outdated, err := h.Verify(t.Context(), c.password, c.hash)
		if ok != c.ok || outdated != c.outdated || err != nil {
			t.Errorf("%.30q with %q: %v, outdated %v, %v", c.password, c.hash, ok, outdated, err)
		}
	}
}

// A stored text that is no hash, or that would take all memory, is refused before anything is computed.
func TestUnreadableHashes(t *testing.T) {
	const rest = "$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	if _, _, _, err := decodeHash(phcPrefix + "m=8,t=1,p=1" + rest); err != nil {
		t.Fatalf("the form that the cases vary is refused: %v", err)
	}
	for _, text := range []string{
		"x", "$argon2i$v=19$m=8,t=1,p=1" + rest, phcPrefix + "m=8,t=1" + rest, phcPrefix + "m=262145,t=1,p=1" + rest,
		phcPrefix + "m=8,t=17,p=1" + rest, phcPrefix + "m=8,t=0,p=1" + rest, phcPrefix + "m=8,t=1,p=0" + rest,
		phcPrefix + "m=8,t=1,p=1$AAAA$AAAA", phcPrefix + "m=8,t=1,p=1$!$AAAA",
	} {
		if _, _, err := NewHasher().Verify(t.Context(), "password", text); !errors.Is(err, errHash) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The bounds of a password are named in the error.
func TestWhatMayBecomeAPassword(t *testing.T) {
	for text, want := range map[string]string{
		"elevenchars":              "at least 12 characters, this has 11",
		"twelve chars":             "",
		strings.Repeat("ä", 256):   "",
		strings.Repeat("ä", 257):   "at most 256 characters, this has 257",
		"not UTF-8 \xff at all ok": "UTF-8",
	} {
		err := CheckPassword(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", text, err, want)
		}
	}
}

// Only hashesAtOnce hashes are made at a time, hashesWaiting callers wait, and more are refused at once.
func TestHashingIsBounded(t *testing.T) {
	h := NewHasher()
	var ends []func()
	for range hashesAtOnce {
		end, err := h.begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, end)
	}
	ctx, cancel := context.WithCancel(t.Context())
	waited := make(chan error, hashesWaiting)
	for range hashesWaiting {
		go func() { _, err := h.Hash(ctx, "correct horse battery"); waited <- err }()
	}
	for len(h.waiting) < hashesAtOnce+hashesWaiting {
		time.Sleep(time.Millisecond)
	}
	if _, err := h.Hash(t.Context(), "correct horse battery"); !errors.Is(err, ErrBusy) {
		t.Errorf("one caller too many: %v", err)
	}
	cancel()
	for range hashesWaiting {
		if err := <-waited; !errors.Is(err, context.Canceled) {
			t.Errorf("a waiting caller: %v", err)
		}
	}
	for _, end := range ends {
		end()
	}
	if _, err := h.Hash(t.Context(), "correct horse battery"); err != nil || len(h.waiting) != 0 {
		t.Errorf("afterwards: %v, %d wait", err, len(h.waiting))
	}
}

// A secret leads to its key; a text that is no secret leads to none.
func TestSecrets(t *testing.T) {
	a, b := NewSecret(), NewSecret()
	one, ok := KeyOf(a)
	other, _ := KeyOf(b)
	if !ok || one == other || len(a) != 43 {
		t.Errorf("%q and %q have the keys %x and %x", a, b, one, other)
	}
	for _, text := range []string{"", "x", a + "A", a[:42], a[:42] + "=", strings.Repeat("!", 43)} {
		if _, ok := KeyOf(text); ok {
			t.Errorf("%q is taken for a secret", text)
		}
	}
}

// guess makes failed attempts until one is refused, at most most of them, and returns how many were allowed.
func guess(a *Attempts, from func(i int) netip.Addr, account func(i int) string, now time.Time, most int) int {
	for i := range most {
		if _, _, allowed := a.Begin(from(i), account(i), now); !allowed {
			return i
		}
	}
	return most
}

// Guessing is locked out for an address and an account, for an address whatever it guesses, and for an account whoever guesses.
func TestLockOut(t *testing.T) {
	now := time.Date(2026, 3, 17, 9, 0, 0, 0, time.UTC)
	same, ada := func(int) netip.Addr { return netip.MustParseAddr("192.0.2.1") }, func(int) string { return "ada@example.com" }
	others := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}) }
	names := func(i int) string { return strings.Repeat("x", i) }
	neighbours := func(i int) netip.Addr { return netip.AddrFrom16([16]byte{0x20, 1, 15: byte(i)}) }
	for name, c := range map[string]struct {
		from    func(int) netip.Addr
		account func(int) string
		want    int
	}{
		"one address, one account":            {same, ada, failuresOfPair},
		"one address, many accounts":          {same, names, failuresOfAddress},
		"many addresses, one account":         {others, ada, failuresOfAccount},
		"many addresses of one IPv6 network":  {neighbours, names, failuresOfAddress},
		"many addresses and accounts in turn": {others, names, 200},
	} {
		a := NewAttempts()
		if got := guess(a, c.from, c.account, now, 200); got != c.want {
			t.Errorf("%s: %d attempts, want %d", name, got, c.want)
		}
		_, until, allowed := a.Begin(c.from(0), c.account(0), now)
		if locked := c.want < 200 && name != "one address, many accounts"; locked && (allowed || !until.Equal(now.Add(LockWindow))) {
			t.Errorf("%s: locked until %s", name, until)
		}
		if _, _, allowed := a.Begin(c.from(0), c.account(0), now.Add(LockWindow)); !allowed {
			t.Errorf("%s: locked after the window", name)
		}
	}
	a := NewAttempts()
	guess(a, same, ada, now, failuresOfPair)
	if _, _, allowed := a.Begin(others(1), "ADA@example.com ", now); !allowed {
		t.Error("the owner of an account is locked out because one other address guessed")
	}
}

// A success is no failure, and does not clear what the address did to other accounts.
func TestSuccessTakesItsAttemptBack(t *testing.T) {
	a, now, from := NewAttempts(), time.Unix(1e9, 0), netip.MustParseAddr("192.0.2.1")
	for range 500 {
		x, _, allowed := a.Begin(from, "own@example.com", now)
		if !allowed {
			t.Fatal("somebody who knows the password is locked out")
		}
		x.Succeeded()
	}
	guess(a, func(int) netip.Addr { return from }, func(int) string { return "ada@example.com" }, now, failuresOfPair)
	x, _, _ := a.Begin(from, "own@example.com", now)
	x.Succeeded()
	if _, _, allowed := a.Begin(from, "ada@example.com", now); allowed {
		t.Error("signing in to an own account clears the failures for another")
	}
}

// A password without the second factor is no failure, and does not clear the codes that were guessed.
func TestAPasswordAloneClearsNothing(t *testing.T) {
	a, now, from := NewAttempts(), time.Unix(1e9, 0), netip.MustParseAddr("192.0.2.1")
	for range 500 {
		x, _, allowed := a.Begin(from, "own@example.com", now)
		if !allowed {
			t.Fatal("somebody who knows the password is locked out")
		}
		x.Withdraw()
	}
	guesses := 0
	for ; guesses < 100; guesses++ {
		x, _, allowed := a.Begin(from, "own@example.com", now)
		if allowed {
			x.Withdraw()
			_, _, allowed = a.Begin(from, "own@example.com", now)
		}
		if !allowed {
			break
		}
	}
	if guesses != failuresOfPair {
		t.Errorf("%d codes were guessed with the password between them, want %d", guesses, failuresOfPair)
	}
}

// The table of counters is bounded, whoever fills it.
func TestCountersAreBounded(t *testing.T) {
	a, now := NewAttempts(), time.Unix(1e9, 0)
	for i := range 30_000 {
		from := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		if _, _, allowed := a.Begin(from, from.String(), now); !allowed {
			t.Fatal("a full table refuses everybody")
		}
	}
	if len(a.counters) > countersMax {
		t.Errorf("%d counters, at most %d", len(a.counters), countersMax)
	}
}
