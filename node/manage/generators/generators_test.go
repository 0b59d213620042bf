package generators

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	_ "github.com/oapi-codegen/runtime" // The code that oapi-codegen writes imports it.
)

// description is what a node serves under /openapi.json; a test of node/manage compares the two.
const description = "../testdata/openapi.json"

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%.4000s", name, args, err, out)
	}
}

// TestOapiCodegen writes the types and the client of Go, and checks their types.
func TestOapiCodegen(t *testing.T) {
	dir, err := os.MkdirTemp(".", "generated") // In this module, whose dependencies the code has.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	file := filepath.Join(dir, "client.go")
	run(t, "go", "tool", "oapi-codegen", "-generate", "types,client", "-package", "client", "-o", file, description)
	if info, err := os.Stat(file); err != nil || info.Size() < 1<<20 {
		t.Fatalf("the client is too small for all operations: %v, %v", info, err)
	}
	run(t, "go", "vet", "-atomic", "./"+dir) // It checks all types, which is a fraction of compiling 200,000 lines.
}

// TestOpenAPITypescript writes the types of TypeScript, and checks them.
func TestOpenAPITypescript(t *testing.T) {
	if _, err := os.Stat("node_modules"); err != nil {
		t.Skip("openapi-typescript is not installed: make generators does that, or says why it cannot")
	}
	file := filepath.Join(t.TempDir(), "schema.ts")
	run(t, "npm", "exec", "--", "openapi-typescript", description, "--output", file)
	if info, err := os.Stat(file); err != nil || info.Size() < 1<<18 {
		t.Fatalf("the types are too small for all operations: %v, %v", info, err)
	}
	run(t, "npm", "exec", "--", "tsc", "--noEmit", "--strict", file)
}
