package command

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/shard/ids"
)

// An entry is as long as its lengths say, and has an id and a value. A command that ends in anything else is not read,
// because its body would be taken for another one.
func TestAMalformedAuditEntryIsUnreadable(t *testing.T) {
	deposit := func() []byte {
		return AppendAdjustWallet(nil, now, &AdjustWallet{Request: ids.UUID{1}, Marketplace: 2, VendorID: "v", Amount: 3})
	}
	for name, e := range map[string]AuditEntry{
		"no id":    {Marketplace: 2, Value: []byte("x")},
		"no value": {Marketplace: 2, ID: "a"},
		"long id":  {Marketplace: 2, ID: strings.Repeat("a", AuditIDMax+1), Value: []byte("x")},
		"too long": {Marketplace: 2, ID: "a", Value: make([]byte, AuditValueMax+1)},
	} {
		if _, err := Open(AppendAuditEntry(deposit(), &e)); !errors.Is(err, ErrUnreadable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	longest := AuditEntry{Marketplace: 2, ID: strings.Repeat("a", AuditIDMax), Value: bytes.Repeat([]byte("x"), AuditValueMax)}
	c, err := Open(AppendAuditEntry(deposit(), &longest))
	if err != nil || c.Entry.ID != longest.ID || c.Entry.Marketplace != 2 || !bytes.Equal(c.Entry.Value, longest.Value) {
		t.Errorf("the longest: %v", err)
	}
	if needs, known := Needs(AppendAuditEntry(deposit(), &longest)); needs != LevelAuditEntries || !known {
		t.Errorf("a command with an entry needs level %d (known: %t)", needs, known)
	}
	if needs, _ := Needs(deposit()); needs != LevelFormat1 {
		t.Errorf("the same command without one needs level %d", needs)
	}
}

// Every command that may be an attempt may carry an entry, and is read as it is without one.
func TestEveryManagementCommandCarriesAnEntry(t *testing.T) {
	e := AuditEntry{1, "entry", []byte("who")}
	for _, x := range commands {
		c, err := Open(x.cmd)
		if err != nil || c.Attempted {
			continue
		}
		got, err := Open(AppendAuditEntry(bytes.Clone(x.cmd), &e))
		if !c.Op.mayBeAttempt() {
			if !errors.Is(err, ErrUnknownVersion) {
				t.Errorf("%s with an entry: %v", x.name, err)
			}
			continue
		}
		if err != nil || got.Entry == nil || got.Needs != max(c.Needs, LevelAuditEntries) {
			t.Errorf("%s with an entry: %v, %+v", x.name, err, got.Entry)
			continue
		}
		if value, err := x.read(&got); err != nil {
			t.Errorf("%s with an entry is read as %+v, %v", x.name, value, err)
		}
	}
}
