//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strconv"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
	"github.com/gavel-ads/gavel/loadtest/hostile/attack"
)

const (
	bystanderEvery = 3 * time.Second
	attemptMax     = 10 * time.Second // BOUND: an upload or a change that has not succeeded within this time has failed.
	publicPath     = "/public/v1"
)

// bystander is an honest tenant beside the attackers: every bystanderEvery it changes a campaign, uploads a file and uploads a segment. It
// repeats what was answered 503 or 429 or not at all, as clients do, with a new form where a form may be used only once.
type bystander struct {
	tenant attack.Tenant
	manage string
	api    *attack.Client
	http   *http.Client

	campaign string
	count    int
	marks    []string
	done     map[string]*attempts
	changes  driver.Histogram
	slow     []slowTry
}

// slowTry is an operation of the bystander that took long, so that a reader finds what the node logged at that time.
type slowTry struct {
	Kind     string
	At, Took time.Duration // At is since the storefront started.
}

const (
	slowTries = 100             // BOUND: those that the report has.
	slowFrom  = 3 * time.Second // From here on an operator notices.
)

// attempts counts the operations of one kind. Those counted as Attacked were made in windows with attackers.
type attempts struct {
	Tried, Attacked, Failed, Repeated int
	First                             string         `json:",omitempty"` // How the first failed one failed.
	Reasons                           map[string]int `json:",omitempty"` // Why operations were repeated.
}

// reasonMax bounds the reasons that are told apart. BOUND: in bytes; the message of an answer is shorter.
const reasonMax = 120

// repeat counts one repetition with its reason.
func (a *attempts) repeat(status int, answer []byte, err error) {
	a.Repeated++
	if a.Reasons == nil {
		a.Reasons = map[string]int{}
	}
	reason := strconv.Itoa(status)
	var said struct{ Message string }
	switch {
	case err != nil:
		reason = err.Error()
	case json.Unmarshal(answer, &said) == nil:
		reason += " " + said.Message
	}
	a.Reasons[reason[:min(len(reason), reasonMax)]]++
}

func newBystander(n *node, t attack.Tenant) *bystander {
	b := &bystander{tenant: t, manage: n.manage, done: map[string]*attempts{}, http: &http.Client{Timeout: attemptMax}}
	b.api = attack.NewClient(n.manage, t.ManagementKey, attack.NewSources(0))
	for _, kind := range []string{"change", "file", "segment"} {
		b.done[kind] = &attempts{}
	}
	return b
}

func (b *bystander) prepare(ctx context.Context) error {
	var made struct{ CampaignID string }
	for _, step := range []struct{ method, path, body string }{
		{"PUT", "/catalog-search-service/catalogs/vendors", `{"vendors":[{"id":"v1","name":"One"}]}`},
		{"PUT", "/segment-service/segments", `{"segments":[{"id":"loyal","name":"Loyal"}]}`},
		{"POST", "/campaign-service/campaigns?vendor_id=v1", `{"name":"Mine","campaignType":"manual","bids":[{"target":{"type":"product","id":"p1"},"amount":5}]}`},
	} {
		answer, err := b.api.Need(ctx, step.method, publicPath+step.path, []byte(step.body))
		if err != nil {
			return err
		}
		_ = json.Unmarshal(answer, &made) // Only the last answer has an id; it is checked below.
	}
	if made.CampaignID == "" {
		return errors.New("the campaign of the bystander was made without an id")
	}
	b.campaign = made.CampaignID
	return nil
}

func (b *bystander) run(ctx context.Context, start time.Time, windows []window) {
	for ctx.Err() == nil && time.Since(start) < windows[len(windows)-1].End {
		attacked := windows[windowAt(windows, time.Since(start))].Attack
		b.count++
		for _, o := range []struct {
			kind string
			do   func(context.Context) (int, []byte, error)
		}{{"change", b.change}, {"file", b.file}, {"segment", b.segment}} {
			begin := time.Now()
			b.try(ctx, o.kind, attacked, o.do)
			if took := time.Since(begin); took >= slowFrom && len(b.slow) < slowTries {
				b.slow = append(b.slow, slowTry{o.kind, begin.Sub(start), took})
			}
		}
		select {
		case <-time.After(bystanderEvery):
		case <-ctx.Done():
		}
	}
}

// try repeats an operation until it succeeds, is refused, or attemptMax has passed, and counts it.
func (b *bystander) try(ctx context.Context, kind string, attacked bool, do func(context.Context) (int, []byte, error)) {
	d := b.done[kind]
	begin := time.Now()
	limited, cancel := context.WithTimeout(ctx, attemptMax)
	defer cancel()
	for {
		status, answer, err := do(limited)
		if err == nil && status/100 == 2 {
			break
		}
		if ctx.Err() != nil {
			return // The run has ended, so this operation is not counted.
		}
		repeatable := err != nil || status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests
		if !repeatable || time.Since(begin) > attemptMax-time.Second {
			d.Failed++
			if d.First == "" {
				d.First = fmt.Sprintf("status %d after %v, %v", status, time.Since(begin).Round(time.Millisecond), err)
			}
			break
		}
		d.repeat(status, answer, err)
		time.Sleep(time.Second)
	}
	d.Tried++
	if attacked {
		d.Attacked++
	}
	if kind == "change" {
		b.changes.Record(time.Since(begin))
	}
}

// change renames the campaign, with a mark by which the entry is found in the audit log.
func (b *bystander) change(ctx context.Context) (int, []byte, error) {
	mark := fmt.Sprintf("mark-%d", b.count)
	status, answer, err := b.api.Call(ctx, "PATCH", publicPath+"/campaign-service/campaigns/"+b.campaign+"?mark="+mark, fmt.Appendf(nil, `{"name":%q}`, mark),
		"X-Request-Id", mark)
	if err == nil && status/100 == 2 {
		b.marks = append(b.marks, mark)
	}
	return status, answer, err
}

// picture is a minimal GIF file.
var picture = []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00;")

// file creates an asset, uploads its file with the form of the answer, and deletes the asset.
func (b *bystander) file(ctx context.Context) (int, []byte, error) {
	status, answer, err := b.api.Call(ctx, "POST", publicPath+"/assets/asset?vendor_id=v1", []byte(`{"name":"File","mimetype":"image/gif"}`))
	if err != nil || status/100 != 2 {
		return status, answer, err
	}
	var asset struct {
		ID, UploadURL string
		Fields        map[string]string
	}
	if err := json.Unmarshal(answer, &asset); err != nil {
		return status, answer, err
	}
	status, answer, err = b.form(ctx, asset.UploadURL, "", asset.Fields, picture)
	if err == nil && status/100 == 2 {
		_, _, err = b.api.Call(ctx, "DELETE", publicPath+"/assets/asset/"+asset.ID, nil) // The status does not matter; deleting is not checked.
	}
	return status, answer, err
}

func (b *bystander) segment(ctx context.Context) (int, []byte, error) {
	list := fmt.Appendf(nil, "user-%d\nuser-%d\n", b.count, b.count+1)
	url := "http://" + b.manage + publicPath + "/segment-service/segments/loyal/upload"
	return b.form(ctx, url, b.tenant.ManagementKey, map[string]string{"action": "add"}, list)
}

// form posts fields and a file, and returns status and answer.
func (b *bystander) form(ctx context.Context, url, key string, fields map[string]string, file []byte) (int, []byte, error) {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, value := range fields {
		if err := w.WriteField(name, value); err != nil {
			return 0, nil, err
		}
	}
	part, err := w.CreateFormFile("file", "file")
	if err == nil {
		_, err = part.Write(file)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		return 0, nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, &body)
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", w.FormDataContentType())
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := b.http.Do(r)
	if err != nil {
		return 0, nil, err
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // BOUND: answers have some hundred bytes.
	return resp.StatusCode, answer, errors.Join(err, resp.Body.Close())
}
