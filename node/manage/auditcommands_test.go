package manage_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
)

// TestEveryChangeAndItsEntryAreOneCommand runs the scripts of all resources and looks at the commands of every request: the first one
// that changes something carries the request's entry of the audit log, so one Raft entry has both or neither, and the log has one
// entry of the request, which says who requested what and what was answered. A request that changed nothing because it was refused has
// none. Every operation of the description that is no read has to change something in a script, unless it is listed here.
func TestEveryChangeAndItsEntryAreOneCommand(t *testing.T) {
	if testing.Short() {
		t.Skip("runs every script, as TestClientsCanRelyOnTheDescription does")
	}
	files, err := filepath.Glob("*/testdata/*.txt")
	own, missing := filepath.Glob("testdata/clients/*.txt")
	if err != nil || missing != nil || len(files) < 30 || len(own) == 0 {
		t.Fatalf("%d and %d scripts: %v, %v", len(files), len(own), err, missing)
	}
	c := &entryChecker{Description: managetest.New(t).Description(t), changed: map[string]bool{}, repeats: map[string]bool{}, partly: map[string]bool{}}
	for _, file := range append(own, files...) {
		c.w, c.checked = managetest.New(t), map[string]bool{}
		c.w.RecordCommands()
		t.Run(strings.TrimSuffix(file, ".txt"), func(t *testing.T) { managetest.RunScriptWith(t, c.w, file, c) })
	}
	for _, o := range operations(t) {
		if !o.v2() && o.method != http.MethodGet && !slices.Contains(changeNothing, o.id) && !c.changed[o.id] {
			t.Errorf("%s (%s %s) changes something in no script", o.id, o.method, o.path)
		}
	}
	if got := slices.Sorted(maps.Keys(c.repeats)); !slices.Equal(got, repeatedInScripts) {
		t.Errorf("repeats without an entry are of %q, want %q", got, repeatedInScripts)
	}
	if got := slices.Sorted(maps.Keys(c.partly)); !slices.Equal(got, partlyInScripts) {
		t.Errorf("refused after a part was done are %q, want %q", got, partlyInScripts)
	}
}

var (
	// changeNothing are the operations that are POST and change nothing: they answer what follows from their body. An upload of a
	// segment's users is a form, which no script sends; TestAChangeCarriesItsEntry has its commands.
	changeNothing = []string{"explainAuctions", "listModalProductCampaigns", "uploadSegment"}
	// repeatedInScripts are the operations whose change some script repeats, so that the state machine changes nothing.
	repeatedInScripts = []string{"deleteCampaign"}
	// partlyInScripts are the operations that some script has refused after a part of their change was made.
	partlyInScripts []string
)

// entryChecker checks the audit entries of exchanges.
type entryChecker struct {
	*managetest.Description
	w       *managetest.Environment
	checked map[string]bool // The ids of entries that were seen.
	changed map[string]bool // The operations that changed something.
	repeats map[string]bool // The operations of which all commands were repeats.
	partly  map[string]bool // The operations that changed something and were refused.
}

// Check checks one exchange.
func (c *entryChecker) Check(r *http.Request, _ string, rec *httptest.ResponseRecorder) error {
	carried := carriedBy(c.w.Commands())
	if !strings.HasPrefix(r.URL.Path, "/public/v1/") || r.Method == http.MethodGet {
		return nil
	}
	id, operation := rec.Header().Get("X-Request-Id"), c.OperationOf(r)
	entries := c.fresh(r.Context())
	good := rec.Code >= 200 && rec.Code <= 299
	switch {
	case len(entries) > 1:
		return fmt.Errorf("%s has %d entries", operation, len(entries))
	case len(carried) > 0 && carried[0] != id:
		return fmt.Errorf("the first command of %s carries the entry %q", operation, carried[0])
	case len(carried) == 0 && !good && len(entries) > 0:
		return fmt.Errorf("%s was refused without a change, and has an entry", operation)
	case len(carried) > 0 && len(entries) == 0 && good:
		c.repeats[operation] = true
		return nil
	case len(carried) > 0 && len(entries) == 0:
		return fmt.Errorf("%s changed something and has no entry", operation)
	case len(entries) == 0:
		return nil
	}
	if len(carried) > 0 {
		c.changed[operation] = true
		if !good {
			c.partly[operation] = true
		}
	}
	return checkEntry(&entries[0], operation, id, r, rec)
}

// checkEntry compares an entry with its exchange.
func checkEntry(e *store.AuditEntry, operation, id string, r *http.Request, rec *httptest.ResponseRecorder) error {
	var faults []error
	want := func(what string, got, want any) {
		if got != want {
			faults = append(faults, fmt.Errorf("%s: the entry's %s is %v, want %v", operation, what, got, want))
		}
	}
	want("operation", e.Operation, operation)
	want("method", e.Method, r.Method)
	want("request id", e.RequestID, id)
	want("status", e.Status, rec.Code)
	want("length of the key's id", len(e.KeyID), 8)
	if path := r.URL.RequestURI(); !strings.Contains(e.Path, "{") && !strings.HasSuffix(e.Path, " bytes more)") { // A person's, or a long one.
		want("path", e.Path, path)
	}
	if answer := rec.Body.Bytes(); len(answer) > store.AuditPartMax || !json.Valid(answer) {
		want("answer", strings.HasPrefix(string(e.After), `{"omittedBytes":`), len(answer) > 0)
	} else if !strings.Contains(string(e.After), "(redacted)") && !strings.HasPrefix(string(e.After), `{"omittedBytes":`) {
		want("answer", sorted(e.After), sorted(answer))
	}
	return errors.Join(faults...)
}

// sorted is a JSON text with the members of objects in the order of their names.
func sorted(text []byte) string {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	_ = d.Decode(&v) // An empty one is null.
	out, _ := json.Marshal(v)
	return string(out)
}

// fresh returns the entries that were not in any log before.
func (c *entryChecker) fresh(ctx context.Context) (all []store.AuditEntry) {
	const marketplaces = 10 // More than any script creates.
	for m := uint16(managetest.Main); m <= marketplaces; m++ {
		log, _, err := c.w.Store.Tenant(m).AuditLog(ctx, store.Page{Limit: 100_000}, func(e *store.AuditEntry) bool { return !c.checked[e.ID.String()] })
		if err != nil {
			panic(err)
		}
		for i := range log {
			c.checked[log[i].ID.String()] = true
		}
		all = append(all, log...)
	}
	return all
}

// carriedBy returns, for each command that changes something, the request id of the entry that it carries, or "". Left out are what
// belongs to no change: staged users, stored answers, and entries that get their answer.
func carriedBy(commands [][]byte) (all []string) {
	for _, cmd := range commands {
		x, err := command.Open(cmd)
		if err != nil {
			panic(err)
		}
		var entry []byte
		if x.Entry != nil {
			entry = x.Entry.Value
		}
		if x.Op == command.OpPutRecords {
			p, err := command.ReadPutRecords(&x)
			if err != nil {
				panic(err)
			}
			isEntry := func(r command.Record) bool { return r.Kind == command.RecordAudit }
			if i := slices.IndexFunc(p.Records, isEntry); i >= 0 {
				entry = p.Records[i].Value
			}
			if !slices.ContainsFunc(p.Records, func(r command.Record) bool { return !isEntry(r) }) ||
				slices.ContainsFunc(p.Records, func(r command.Record) bool { return r.Kind == command.RecordAnswer }) {
				continue
			}
		}
		if x.Op == command.OpStageSegment {
			continue
		}
		var e store.AuditEntry
		if entry != nil {
			if err := json.Unmarshal(entry, &e); err != nil {
				panic(err)
			}
		}
		all = append(all, e.RequestID)
	}
	return all
}
