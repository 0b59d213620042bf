package manage_test

import (
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/manage"
	"github.com/gavel-ads/gavel/node/manage/managetest"
)

const guide = `# First <steps>

From here to ` + "`there`" + `.

## Parts & pieces

A **bold** word, ` + "`code with <b> and [no](link)`" + `, [next](second.md#part), [runbook](../RUNBOOK.md),
[API](/docs), [figures][results] and [source](../../cli/cli.go). <script>alert(1)</script> [bad](javascript:x)

- one
  and more
- two

1. first
2. second

| Name | Value |
|---|---|
| a | ` + "`b`" + ` |

` + "```sh\ncurl -d '{\"a\":\"<b>\"}'\n```" + `

[results]: ../../../bench/results/figures.md
`

// The guides are listed, and served as HTML in which nothing of their text is markup. Links lead to what this listener serves;
// files of the repository are named.
func TestGuidePages(t *testing.T) {
	w := managetest.NewWith(t, manage.Config{Guides: []manage.Guide{{Name: "first", Text: guide}, {Name: "second", Text: "# Second\n\nMore.\n"}}})
	for path, wanted := range map[string][]string{
		"/docs/guides": {
			`<a href="/docs/guides/first">First &lt;steps&gt;<span>From here to there.</span></a>`, `<a href="/docs/guides/second">`,
		},
		"/docs/guides/first": {
			"<title>First &lt;steps&gt; · Gavel</title>", "<h1 id=\"first-steps\">First &lt;steps&gt;</h1>", "<p>From here to <code>there</code>.</p>",
			`<h2 id="parts--pieces">Parts &amp; pieces</h2>`, "<strong>bold</strong>", "<code>code with &lt;b&gt; and [no](link)</code>",
			`<a href="/docs/guides/second#part">next</a>`, `<a href="/docs/runbook">runbook</a>`, `<a href="/docs">API</a>`,
			"figures (<code>bench/results/figures.md</code>)", "source (<code>node/cli/cli.go</code>)", "&lt;script&gt;alert(1)", "bad (<code>node/operator/guides/javascript:x</code>)",
			"<ul>\n<li>one\n  and more</li>\n<li>two</li>\n</ul>", "<ol>\n<li>first</li>\n<li>second</li>\n</ol>",
			"<tr><th>Name</th><th>Value</th></tr>\n<tr><td>a</td><td><code>b</code></td></tr>",
			"<pre>curl -d &#39;{&#34;a&#34;:&#34;&lt;b&gt;&#34;}&#39;</pre>",
		},
		"/docs/guides/second": {"<h1 id=\"second\">Second</h1>\n<p>More.</p>"},
	} {
		rec := call(w, "GET", path, "", "")
		if rec.Code != 200 || rec.Header().Get("Content-Type") != "text/html; charset=utf-8" || !strings.HasPrefix(rec.Header().Get("Content-Security-Policy"), "default-src 'none';") {
			t.Errorf("GET %s: %d %v", path, rec.Code, rec.Header())
		}
		for _, want := range wanted {
			if !strings.Contains(rec.Body.String(), want) {
				t.Errorf("GET %s lacks %s:\n%s", path, want, rec.Body)
			}
		}
	}
	if rec := call(w, "GET", "/docs/guides/third", "", ""); rec.Code != 404 {
		t.Errorf("an unknown guide: %d", rec.Code)
	}
}
