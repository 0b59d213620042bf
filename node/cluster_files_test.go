package main_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/nodetest"
)

// TestUploadsSurviveTheirNode uploads an image and a list of an audience to a node that is then killed. The other nodes
// serve the image, and the job reads the whole list, although each node stores files in its own directory.
func TestUploadsSurviveTheirNode(t *testing.T) {
	t.Parallel()
	c := &cluster{T: t, nodes: nodetest.StartCluster(t, 3, nodetest.Options{}), client: &http.Client{Timeout: waitMax}}
	taker := c.leader()
	next, last := (taker+1)%3, (taker+2)%3
	c.manage(taker, 200, "PUT", "/catalog-search-service/catalogs/vendors", `{"vendors":[{"id":"v1","name":"Vendor"}]}`)

	asset := c.manage(taker, 201, "POST", "/assets/asset?vendor_id=v1", `{"name":"Banner","mimetype":"image/gif"}`).body
	image := append([]byte("GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"), bytes.Repeat([]byte{0}, 300_000)...)
	var form bytes.Buffer
	fields := multipart.NewWriter(&form)
	for name, value := range asset["fields"].(map[string]any) {
		_ = fields.WriteField(name, value.(string)) // It writes to memory.
	}
	part, err := fields.CreateFormFile("file", "banner.gif")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = part.Write(image) // It writes to memory.
	_ = fields.Close()       // It writes to memory.
	c.file(taker, 204, "POST", asset["uploadUrl"].(string), fields.FormDataContentType(), form.String())

	audience := c.manage(taker, 202, "POST", "/offsite-ads/audiences/user-list?vendor_id=v1", `{"name":"Buyers","dsp":["meta"]}`).body
	var list strings.Builder
	list.WriteString("hashed_email\n")
	for i := range 20_000 {
		fmt.Fprintf(&list, "%064x\n", i)
	}
	c.file(taker, 200, "PUT", audience["url"].(string), "text/csv", list.String())
	if err := c.nodes[taker].Kill(); err != nil {
		t.Fatal(err)
	}

	took := c.eventually("another node leads", func() bool {
		s, err := c.send("POST", c.nodes[next].ManageURL+"/public/v1/assets/asset/"+asset["id"].(string)+"/review", c.nodes[next].Keys.ManagementKey, `{"status":"approved"}`)
		return err == nil && s.status == http.StatusOK
	})
	t.Logf("n%d took the files; without it the image was approved after %s", taker+1, took)
	address, err := url.Parse(asset["url"].(string))
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range []int{next, last} {
		// A browser's GET of an image reads the replica of the node, which may apply the approval a little later than the leader.
		c.eventually(fmt.Sprintf("the image on n%d", node+1), func() bool {
			status, text, err := c.get(c.nodes[node].ManageURL + address.RequestURI())
			if err != nil {
				t.Fatal(err)
			}
			if status == http.StatusOK && text != string(image) {
				t.Fatalf("n%d shows %d bytes, want %d", node+1, len(text), len(image))
			}
			return status == http.StatusOK
		})
	}
	var status string
	took = c.eventually("the job ends", func() bool {
		job, err := c.send("GET", c.nodes[last].ManageURL+"/public/v1/offsite-ads/jobs/"+audience["jobId"].(string), c.nodes[last].Keys.ManagementKey, "")
		if err != nil {
			t.Fatal(err)
		}
		status, _ = job.body["status"].(string) // Missing while a new leader is elected.
		return status == "completed" || status == "failed"
	})
	t.Logf("the job was done %s later", took)
	if status != "completed" {
		t.Errorf("the job is %s", status)
	}
}

// get sends a GET without a key.
func (c *cluster) get(address string) (status int, text string, err error) {
	r, err := http.NewRequestWithContext(c.Context(), http.MethodGet, address, nil)
	if err != nil {
		return 0, "", err
	}
	resp, err := c.client.Do(r)
	if err != nil {
		return 0, "", err
	}
	b, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // It was read to its end.
	return resp.StatusCode, string(b), err
}

// file sends a request without a key for a file to the path of a URL on a node.
func (c *cluster) file(node, want int, method, address, contentType, body string) string {
	c.Helper()
	u, err := url.Parse(address)
	if err != nil {
		c.Fatal(err)
	}
	r, err := http.NewRequestWithContext(c.Context(), method, c.nodes[node].ManageURL+u.RequestURI(), strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	resp, err := c.client.Do(r)
	if err != nil {
		c.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // It was read to its end.
	if err != nil || resp.StatusCode != want {
		c.Fatalf("n%d: %s %s: %d %v %.300s, want %d", node+1, method, u.Path, resp.StatusCode, err, text, want)
	}
	return string(text)
}
