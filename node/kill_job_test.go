package main_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/nodetest"
)

// TestKilledLeaderOfAJob replaces an audience by a long list, and kills the node that does the work during it, twice if
// the list is long enough. Another node continues: the job completes once, with the right counts, and all nodes agree.
// The nodes share the directory of the list. GAVEL_JOB_ROWS=1000000 go test -run KilledLeaderOfAJob -v ./node for the
// full size.
func TestKilledLeaderOfAJob(t *testing.T) {
	rows := 250_000 // Three steps of the job.
	if text := os.Getenv("GAVEL_JOB_ROWS"); text != "" {
		var err error
		if rows, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	} else if testing.Short() {
		t.Skip("starts four processes")
	}
	files := t.TempDir()
	c := &cluster{T: t, client: &http.Client{Timeout: time.Minute}}
	c.nodes = nodetest.StartCluster(t, 3, nodetest.Options{Args: []string{
		"--groups", "1", "--blob-dir", files, "--ratelimit-management", "0", "--ratelimit-catalog", "0", "--disk-reserve", "1MiB",
	}})
	c.manage(0, 200, "PUT", "/catalog-search-service/catalogs/vendors", `{"vendors":[{"id":"v1","name":"Vendor"}]}`)
	first := c.manage(1, 202, "POST", "/offsite-ads/audiences/user-list?vendor_id=v1", `{"name":"A","dsp":["google_ads"]}`).body
	c.upload(first["url"].(string), []byte("hashed_email\n"+strings.Repeat("0", 64)+"\n"))
	c.eventually("the first list", func() bool { return c.job(0, first).body["status"] == "completed" })

	second := c.manage(2, 202, "PUT", "/offsite-ads/audiences/"+first["audienceId"].(string), `{}`).body
	c.upload(second["url"].(string), longList(rows))
	killed, parts := 0, countFiles(t, files)
	for begun := time.Now(); killed < 2 && time.Since(begun) < waitMax; time.Sleep(time.Millisecond) {
		if now := countFiles(t, files); now <= parts {
			if c.tryJob(second) == "completed" {
				break
			}
			continue
		}
		leader := c.leader()
		if c.tryJob(second) != "in_progress" {
			break
		}
		if err := c.nodes[leader].Kill(); err != nil {
			t.Fatal(err)
		}
		killed++
		parts = countFiles(t, files) + 2 // The next leader must do some work before it is killed.
		c.restart(leader)
	}
	if killed == 0 {
		t.Error("no leader was killed: the test says nothing")
	}
	c.eventually("the job's end", func() bool { return c.tryJob(second) == "completed" })
	t.Logf("%d rows, %d leaders killed", rows, killed)
	bad := rows / 10
	want := fmt.Sprintf(`{"synced":[],"rows":%d,"accepted":%d,"rejected":%d}`, rows, rows-bad, bad)
	for n := range c.nodes {
		if got := c.job(n, second).body; got["status"] != "completed" || got["result"] != want {
			t.Errorf("n%d: %v, want %s", n+1, got, want)
		}
		all := c.manage(n, 200, "GET", "/offsite-ads/audiences", "").body["audiences"].([]any)
		if size := all[0].(map[string]any)["estimatedSize"].(float64); len(all) != 1 || int(size) != rows-bad {
			t.Errorf("n%d: %v", n+1, all)
		}
	}
}

// longList returns a list in which every tenth row is invalid.
func longList(rows int) []byte {
	var b bytes.Buffer
	b.WriteString("hashed_email,note\n")
	for i := range rows {
		if i%10 == 9 {
			fmt.Fprintf(&b, "bad-%d,\n", i)
			continue
		}
		fmt.Fprintf(&b, "%064x,\n", i)
	}
	return b.Bytes()
}

// upload sends a list to a signed URL, which needs no key.
func (c *cluster) upload(url string, list []byte) {
	c.Helper()
	r, err := http.NewRequestWithContext(c.Context(), http.MethodPut, url, bytes.NewReader(list))
	if err != nil {
		c.Fatal(err)
	}
	r.Header.Set("Content-Type", "text/csv")
	resp, err := c.client.Do(r)
	if err != nil {
		c.Fatal(err)
	}
	_ = resp.Body.Close() // Only the status matters.
	if resp.StatusCode != http.StatusOK {
		c.Fatalf("the list was answered %d", resp.StatusCode)
	}
}

func (c *cluster) job(node int, made map[string]any) clusterAnswer {
	c.Helper()
	return c.manage(node, 200, "GET", "/offsite-ads/jobs/"+made["jobId"].(string), "")
}

// tryJob returns the status of a job from any node that answers.
func (c *cluster) tryJob(made map[string]any) string {
	for _, n := range c.nodes {
		s, err := c.send("GET", n.ManageURL+"/public/v1/offsite-ads/jobs/"+made["jobId"].(string), n.Keys.ManagementKey, "")
		if err == nil && s.status == http.StatusOK {
			return s.body["status"].(string)
		}
	}
	return ""
}

// countFiles counts the files below a directory, while some may be deleted.
func countFiles(t *testing.T, dir string) (count int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, _ error) error {
		if entry != nil && entry.Type().IsRegular() {
			count++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return count
}
