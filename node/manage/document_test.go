package manage_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/gavel-ads/gavel/node/manage/managetest"
)

// golden compares with a file of testdata, or with -rewrite accepts the present content.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *managetest.Rewrite {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Errorf("%s differs from what is served; if that is meant: go test ./node/manage -rewrite, then read the diff", file)
	}
}

// described is the description that every environment without options serves. Reading it takes longer than most tests.
var described struct {
	once sync.Once
	doc  *openapi3.T
	err  error
}

// description returns what all tests read and none may change.
func description(t *testing.T) *openapi3.T {
	t.Helper()
	described.once.Do(func() {
		var text []byte
		if text, described.err = managetest.New(t).OpenAPI(); described.err == nil {
			described.doc, described.err = openapi3.NewLoader().LoadFromData(text)
		}
	})
	if described.err != nil {
		t.Fatal(described.err)
	}
	return described.doc
}

// TestDocument reads the description with another library than the one that wrote it.
func TestDocument(t *testing.T) {
	w := managetest.New(t)
	doc := description(t)
	if err := doc.Validate(t.Context()); err != nil {
		t.Errorf("the description is not valid: %v", err)
	}
	spec, err := w.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, spec, "", "  "); err != nil {
		t.Fatal(err)
	}
	pretty.WriteByte('\n')
	golden(t, "testdata/openapi.json", pretty.Bytes())
}

// TestNamesOfGeneratedCode: generators of clients write names of members without signs between the words, and two members of an
// object may not become one.
func TestNamesOfGeneratedCode(t *testing.T) {
	objects := 0
	for name, s := range description(t).Components.Schemas {
		seen := map[string]string{}
		for member, m := range s.Value.Properties {
			written := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(member))
			if own, ok := m.Value.Extensions["x-go-name"].(string); ok {
				written = strings.ToLower(own)
			}
			if seen[written] != "" {
				t.Errorf("%s has the members %s and %s, which are one in generated code", name, member, seen[written])
			}
			seen[written] = member
		}
		objects += min(1, len(seen))
	}
	if objects < 100 {
		t.Errorf("only %d objects were looked at", objects)
	}
}

// TestServersOfOperations: what both listeners answer names the auction listener first, everything else the management listener.
func TestServersOfOperations(t *testing.T) {
	doc, auctions := description(t), 0
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if !strings.HasPrefix(path, "/v2/") && path != "/healthz" {
				if op.Servers != nil {
					t.Errorf("%s %s has servers of its own: %v", method, path, *op.Servers)
				}
				continue
			}
			auctions++
			var urls []string
			if op.Servers != nil {
				for _, server := range *op.Servers {
					urls = append(urls, server.URL)
				}
			}
			if want := []string{"http://gavel.test:8080", doc.Servers[0].URL}; !slices.Equal(urls, want) {
				t.Errorf("%s %s has the servers %q, want %q", method, path, urls, want)
			}
		}
	}
	if auctions < 5 {
		t.Errorf("only %d operations of the auction listener", auctions)
	}
}

// TestRoutes lists every operation, so that a change of the API is one line in a diff.
func TestRoutes(t *testing.T) {
	var lines []string
	for _, o := range operations(t) {
		lines = append(lines, fmt.Sprintf("%-6s %-85s %s", o.method, o.path, o.id))
	}
	slices.Sort(lines)
	golden(t, "testdata/routes.txt", []byte(strings.Join(lines, "\n")+"\n"))
}

// TestEveryOperationIsDocumented: what a caller must send and may get is in the description of each operation.
func TestEveryOperationIsDocumented(t *testing.T) {
	for _, o := range operations(t) {
		key := o.key("management")
		if o.operators() {
			key = "operator"
		}
		wanted := []string{"400", "401", "403", "503"}
		if o.v2() {
			key = "auction"
		} else {
			wanted = append(wanted, "404", "409", "413", "415", "422", "429", "500")
		}
		if len(*o.op.Security) != 1 || (*o.op.Security)[0][key] == nil {
			t.Errorf("%s does not ask for a key of kind %s", o.id, key)
		}
		for _, status := range wanted {
			if o.op.Responses.Value(status) == nil {
				t.Errorf("%s does not document %s", o.id, status)
			}
		}
		for status, r := range o.op.Responses.Map() {
			if !o.v2() && r.Value.Headers["X-RateLimit-Remaining"] == nil {
				t.Errorf("%s does not document the rate limit on %s", o.id, status)
			}
		}
		if o.op.Summary == "" || len(o.op.Tags) != 1 {
			t.Errorf("%s has no summary or no group", o.id)
		}
	}
}
