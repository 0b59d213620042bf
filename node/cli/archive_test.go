package cli

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// shop is a running demo without shoppers, whose events the test sends itself.
type shop struct {
	*testing.T
	manage, auction  string
	keys             firstKeys
	environ          []string
	clicks, requests int
}

// openShop starts a demo in a directory. It returns the function that stops it, too.
func openShop(t *testing.T, dir string) (s *shop, stop func()) {
	t.Helper()
	keys := filepath.Join(dir, "keys.json")
	s = &shop{T: t}
	out := &output{}
	s.manage, stop = runNodeTo(t, out, "demo", "--products=200", "--vendors=10", "--campaigns=20", "--shoppers=0", "--history-days=0", "--groups=2",
		"--data-dir="+filepath.Join(dir, "first"), "--keys-file="+keys)
	address := regexp.MustCompile(`(http://[0-9.:]+)/v2/auctions`)
	for deadline := time.Now().Add(time.Minute); !strings.Contains(out.String(), "curl"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the demo does not show what to call, which it does when its market is filled:\n%s", out)
		}
	}
	found := address.FindStringSubmatch(out.String())
	if found == nil {
		t.Fatalf("the demo shows no auction:\n%s", out)
	}
	s.auction, s.keys = found[1], keysIn(t, keys)
	s.environ = []string{"GAVEL_MANAGE=" + s.manage, "GAVEL_MANAGE_KEY=" + s.keys.ManagementKey}
	return s, stop
}

// ask sends a request and returns status and body. It may be called by several goroutines.
func (s *shop) ask(method, url, key, body string) (code int, text string, err error) {
	r, err := http.NewRequestWithContext(s.Context(), method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	all, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(all), errors.Join(err, answer.Body.Close())
}

// status is ask for a request that has to be answered.
func (s *shop) status(method, url, key, body string) (code int, text string) {
	s.Helper()
	code, text, err := s.ask(method, url, key, body)
	if err != nil {
		s.Fatal(err)
	}
	return code, text
}

// call is status for a request that has to succeed.
func (s *shop) call(method, url, key, body string) string {
	s.Helper()
	code, text := s.status(method, url, key, body)
	if code >= 300 {
		s.Fatalf("%s %s: %d: %s", method, url, code, text)
	}
	return text
}

var tokens = regexp.MustCompile(`"resolvedBidId":"([^"]+)"`)

// wins runs an auction and returns the events of a click on each winner, with ids of their own.
func (s *shop) wins() (clicks []string) {
	s.Helper()
	var products []string
	for i := range 20 {
		products = append(products, fmt.Sprintf(`"p%d"`, 1+(s.requests*20+i)%200))
	}
	s.requests++
	won := s.call(http.MethodPost, s.auction+"/v2/auctions", s.keys.AuctionKey,
		`{"auctions":[{"type":"listings","slots":3,"products":{"ids":[`+strings.Join(products, ",")+`]}}]}`)
	for _, token := range tokens.FindAllStringSubmatch(won, -1) {
		s.clicks++
		clicks = append(clicks, fmt.Sprintf(`{"clicks":[{"id":"click-%d","occurredAt":%q,"opaqueUserId":"shopper-%d","resolvedBidId":%q}]}`,
			s.clicks, time.Now().UTC().Format(time.RFC3339), s.clicks, token[1]))
	}
	return clicks
}

// sell runs some auctions, and clicks what won.
func (s *shop) sell(auctions int) {
	s.Helper()
	for range auctions {
		for _, click := range s.wins() {
			s.call(http.MethodPost, s.auction+"/v2/events", s.keys.AuctionKey, click)
		}
	}
}

var freshness = regexp.MustCompile(`"completeThrough":"[^"]*"`)

// reportAt returns the address of the marketplace's report of the days around now.
func reportAt(manage string) string {
	now := time.Now().UTC()
	return manage + "/public/v1/reporting-service/marketplace/hourly?start_date=" + now.AddDate(0, 0, -1).Format(time.DateOnly) +
		"&end_date=" + now.AddDate(0, 0, 1).Format(time.DateOnly)
}

// report returns that report, without its freshness, as the node at an address gives it.
func (s *shop) report(manage string) string {
	s.Helper()
	return freshness.ReplaceAllString(s.call(http.MethodGet, reportAt(manage), s.keys.ManagementKey, ""), "")
}

// moment returns a moment, and the report of that moment: nothing is sent meanwhile, and the report before it is the one
// after it.
func (s *shop) moment() (at time.Time, shown string) {
	s.Helper()
	for range 100 {
		before := s.report(s.manage)
		time.Sleep(50 * time.Millisecond)
		at = time.Now()
		time.Sleep(50 * time.Millisecond)
		if shown = s.report(s.manage); shown == before && strings.Contains(shown, fmt.Sprintf(`"clicks":{"total":%d,`, s.clicks)) {
			return at, shown
		}
	}
	s.Fatalf("the report does not come to rest at %d clicks: %s", s.clicks, shown)
	return at, shown
}

// mustRun runs a command that has to succeed.
func (s *shop) mustRun(environ []string, args ...string) *commandResult {
	s.Helper()
	r := gavel(environ, args...)
	if r.code != exitSuccess {
		s.Fatalf("%q: code %d: %s%s", args, r.code, r.out, r.err)
	}
	return r
}

// With a backup and the archive of the log, a restore has the report of any moment to the micro-unit, whether the files are
// encrypted or not. What comes later is not in it.
func TestRestoreToAMoment(t *testing.T) {
	dir := t.TempDir()
	s, stop := openShop(t, dir)
	recipient, secretKey := identity(t)
	plain, secret := filepath.Join(dir, "plain"), filepath.Join(dir, "secret")
	archive := func() {
		s.mustRun(s.environ, "archive", "--dir", plain)
		s.mustRun(s.environ, "archive", "--dir", secret, "--encrypt-to", recipient)
	}
	for _, place := range []string{plain, secret} {
		if err := os.Mkdir(place, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	archive()
	s.sell(5)
	s.mustRun(s.environ, "backup", "--out", filepath.Join(plain, "b.bak"))
	s.mustRun(s.environ, "backup", "--out", filepath.Join(secret, "b.bak.age"), "--encrypt-to", recipient)
	s.sell(5)
	archive()
	s.sell(5)
	first, firstReport := s.moment()
	s.sell(5)
	archive()
	s.sell(5)
	second, secondReport := s.moment()
	s.sell(1)
	archive()
	stop()
	if firstReport == secondReport || s.clicks < 20 {
		t.Fatalf("%d clicks, and the reports are %s and %s", s.clicks, firstReport, secondReport)
	}
	try := 0
	for _, c := range []struct {
		backup string
		args   []string
		at     time.Time
		want   string
	}{
		{filepath.Join(plain, "b.bak"), nil, first, firstReport},
		{filepath.Join(plain, "b.bak"), []string{"--log", plain}, second, secondReport},
		{filepath.Join(secret, "b.bak.age"), []string{"--identity", secretKey}, first, firstReport},
	} {
		try++
		into := filepath.Join(dir, fmt.Sprint("restored-", try))
		args := append([]string{"restore", "--data-dir", into, "--in", c.backup, "--at", c.at.UTC().Format(time.RFC3339Nano)}, c.args...)
		r := s.mustRun(nil, args...)
		if !strings.Contains(r.out, "every balance matches the journal") || !strings.Contains(r.out, "segments follow the backup") {
			t.Errorf("%q: %s", args, r.out)
		}
		manage, stopRestored := runNode(t, "serve", "--data-dir="+into)
		if got := s.report(manage); got != c.want {
			t.Errorf("%q: the report is\n%s, it was\n%s", args, got, c.want)
		}
		stopRestored()
	}
	s.refusals(dir, plain)
}

// refusals asks for moments that the archive does not have, and for archives that are damaged or lack a file.
func (s *shop) refusals(dir, plain string) {
	s.Helper()
	into, backup := filepath.Join(dir, "refused"), filepath.Join(plain, "b.bak")
	refused := func(code int, want string, args ...string) {
		s.Helper()
		r := gavel(nil, append([]string{"restore", "--data-dir", into, "--in", backup}, args...)...)
		if _, err := os.Stat(into); r.code != code || !strings.Contains(r.err, want) || err == nil {
			s.Errorf("%q: code %d, %v: %s", args, r.code, err, r.err)
		}
	}
	refused(exitUsage, "--log needs --at", "--log", plain)
	refused(exitUsage, `--at is "noon"`, "--at", "noon")
	refused(exitUsage, "choose an older backup", "--at", "2026-01-01T00:00:00Z")
	refused(exitFailed, "--at latest replays all of it", "--at", time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	refused(exitFailed, "no segment", "--at", latest, "--log", dir)
	files, err := filepath.Glob(filepath.Join(plain, "*.log.zst"))
	if err != nil || len(files) != 4 {
		s.Fatalf("segments: %q, %v", files, err)
	}
	third, err := os.ReadFile(files[2])
	if err != nil {
		s.Fatal(err)
	}
	changed := append([]byte(nil), third...)
	changed[len(changed)/2] ^= 1
	if err := os.WriteFile(files[2], changed, 0o600); err != nil {
		s.Fatal(err)
	}
	refused(exitFailed, "is damaged or none", "--at", latest)
	if err := os.Remove(files[2]); err != nil {
		s.Fatal(err)
	}
	refused(exitFailed, "entries are missing", "--at", latest)
	if err := os.WriteFile(files[2], third, 0o600); err != nil {
		s.Fatal(err)
	}
	r := s.mustRun(nil, "restore", "--dry-run", "--data-dir", into, "--in", backup, "--at", latest)
	if !strings.Contains(r.out, "dry run: the backup can be restored") {
		s.Errorf("dry run: %s", r.out)
	}
}

// An archive that cannot be continued, here of another cluster, begins anew with a warning; --every goes on while a node is
// away; and what no backup needs is deleted with the old backups.
func TestArchiveGoesOn(t *testing.T) {
	dir := t.TempDir()
	place := filepath.Join(dir, "place")
	if err := os.Mkdir(place, 0o700); err != nil {
		t.Fatal(err)
	}
	s, stop := openShop(t, dir)
	s.mustRun(s.environ, "archive", "--dir", place)
	stop()
	if r := gavel(s.environ, "archive", "--dir", place); r.code != exitFailed || len(namesIn(t, place)) != 2 {
		t.Errorf("a stopped node: code %d: %s; left %q", r.code, r.err, namesIn(t, place))
	}
	other, _ := openShop(t, filepath.Join(dir, "other"))
	r := other.mustRun(other.environ, "archive", "--dir", place)
	if !strings.Contains(r.err, "WARNING: the archive cannot be continued, and begins anew: ") || !strings.Contains(r.err, "409 Conflict") {
		t.Errorf("another cluster: %s%s", r.out, r.err)
	}
	if r := other.mustRun(other.environ, "archive", "--dir", place); r.err != "" {
		t.Errorf("then: %s", r.err)
	}
	if r := gavel(other.environ, "archive", "--dir", place, "--every", "10ms"); r.code != exitUsage || !strings.Contains(r.err, "at least 1s") {
		t.Errorf("code %d: %s", r.code, r.err)
	}
	old := filepath.Join(place, "gavel-20260101T000000.000Z.log.zst")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := other.mustRun(other.environ, "backup", "--dir", place, "--keep", "1"); !strings.Contains(r.out, old+": deleted") {
		t.Errorf("backup: %s", r.out)
	}
	if names := namesIn(t, place); len(names) != 5 { // Three segments, a position, a backup.
		t.Errorf("left %q", names)
	}
	found, err := filepath.Glob(filepath.Join(place, "*.bak"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%q, %v", found, err)
	}
	other.mustRun(other.environ, "archive", "--dir", place)
	// The segments of the former cluster are not an hour old, and belong to no backup of this one.
	r = other.mustRun(nil, "restore", "--dry-run", "--data-dir", filepath.Join(dir, "new"), "--in", found[0], "--at", latest)
	if !strings.Contains(r.out, "3 segments follow the backup") {
		t.Errorf("restore: %s", r.out)
	}
	if err := os.WriteFile(filepath.Join(place, "gavel-archive.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := gavel(other.environ, "archive", "--dir", place); r.code != exitFailed || !strings.Contains(r.err, "gavel-archive.json does not say where the archive ends") {
		t.Errorf("a damaged position: code %d: %s", r.code, r.err)
	}
}
