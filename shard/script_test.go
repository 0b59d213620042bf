package shard_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/gavel-ads/gavel/shard/shardtest"
)

var rewrite = flag.Bool("rewrite", false, "accept the answers of the scripts as they are now")

// TestScripts runs testdata/*.txt. The digests in them also fix the stored form: they must be the same in every process
// and in every later binary that writes format 1.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	check(t, err)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			want, err := os.ReadFile(file)
			check(t, err)
			got, err := shardtest.Script(string(want))
			check(t, err)
			if *rewrite {
				check(t, os.WriteFile(file, []byte(got), 0o600))
				return
			}
			if got != string(want) {
				t.Fatalf("answers differ; run with -rewrite and read the diff:\n%s", got)
			}
		})
	}
}
