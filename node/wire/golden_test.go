package wire

import (
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/money"
)

var rewrite = flag.Bool("rewrite", false, "write what the parsers answer into the golden files")

// goldenNow is the node's clock of the golden events: 2026-03-01T12:00:00Z.
const goldenNow = 1_772_366_400_000

// TestGolden answers the bodies of testdata/*.txt. A case is lines of # what it shows, one line with the body, and lines
// with the answer: => code: message, or => ok and what was parsed. In a body ⟨3×"p",⟩ stands for three times "p", and
// ⟨0xff⟩ for bytes that no editor keeps. Read the diff after -rewrite.
func TestGolden(t *testing.T) {
	for file, answer := range map[string]func([]byte) string{
		"auctions.txt": answerAuctions, "auctions-json.txt": answerAuctions, "auctions-demand.txt": answerAuctions,
		"events.txt": answerEvents, "events-time.txt": answerEvents,
	} {
		t.Run(file, func(t *testing.T) { golden(t, filepath.Join("testdata", file), answer) })
	}
}

func golden(t *testing.T, path string, answer func([]byte) string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for block := range strings.SplitSeq(strings.TrimRight(string(text), "\n"), "\n\n") {
		head, want, _ := strings.Cut(block, "\n=>")
		got := answer(bodyOf(t, head))
		fmt.Fprintf(&out, "%s\n=>%s\n\n", head, got)
		if got != want && !*rewrite {
			t.Errorf("%s\n got:%s\nwant:%s", head, got, want)
		}
	}
	if *rewrite {
		if err := os.WriteFile(path, []byte(strings.TrimRight(out.String(), "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// bodyOf returns the body of a case, what is before its answer.
func bodyOf(t testing.TB, head string) []byte {
	body, found := head, true
	for found && strings.HasPrefix(body, "#") {
		_, body, found = strings.Cut(body, "\n")
	}
	return expand(t, body)
}

// readGolden returns the bodies of golden files, which other tests use as a corpus.
func readGolden(t testing.TB, files ...string) (list [][]byte) {
	t.Helper()
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		for block := range strings.SplitSeq(string(text), "\n\n") {
			head, _, _ := strings.Cut(block, "\n=>")
			list = append(list, bodyOf(t, head))
		}
	}
	return list
}

var macro = regexp.MustCompile(`⟨(?:(\d+)×(.*?)|0x([0-9a-f]+))⟩`)

func expand(t testing.TB, body string) []byte {
	return macro.ReplaceAllFunc([]byte(body), func(m []byte) []byte {
		parts := macro.FindSubmatch(m)
		if len(parts[3]) > 0 {
			raw, err := hex.DecodeString(string(parts[3]))
			if err != nil {
				t.Fatal(err)
			}
			return raw
		}
		n, err := strconv.Atoi(string(parts[1]))
		if err != nil {
			t.Fatal(err)
		}
		return []byte(strings.Repeat(string(parts[2]), n))
	})
}

func refusal(code apierr.Code, f *Fault) string {
	return fmt.Sprintf(" %s: %s", code, f.AppendMessage(nil))
}

func answerAuctions(body []byte) string {
	req := auction.Request{Body: body, Seed: 7}
	var f Fault
	if code := ParseAuctions(&req, &f); code != apierr.OK {
		return refusal(code, &f)
	}
	return " ok" + describeRequest(&req)
}

// describeRequest prints what was parsed, without what has its default.
func describeRequest(req *auction.Request) string {
	var b strings.Builder
	texts := func(name string, list []auction.ID) {
		if len(list) == 0 {
			return
		}
		fmt.Fprintf(&b, " %s=[", name)
		for i, id := range list {
			if i > 0 {
				b.WriteByte(' ')
			}
			if i == 6 {
				fmt.Fprintf(&b, "… %d in all", len(list))
				break
			}
			fmt.Fprintf(&b, "%q", req.Text(id.Span))
		}
		b.WriteByte(']')
	}
	text := func(name string, sp auction.Span) {
		if sp.Len > 0 {
			fmt.Fprintf(&b, " %s=%q", name, shorten(req.Text(sp)))
		}
	}
	for i := range req.Auctions {
		a := &req.Auctions[i]
		fmt.Fprintf(&b, "\n%s slots=%d", [...]string{auction.Listings: "listings", auction.Banners: "banners"}[a.Kind], a.Slots)
		texts("products", a.Products)
		if len(a.Quality) > 0 {
			fmt.Fprintf(&b, " quality=%d", a.Quality)
		}
		texts([...]string{"", "category", "all-categories", "disjunctions"}[a.Category.Form], a.Category.IDs)
		if len(a.Category.Ends) > 0 {
			fmt.Fprintf(&b, " ends=%d", a.Category.Ends)
		}
		text("search", a.Search)
		texts("locations", a.Locations)
		text("user", a.UserID)
		if a.Placement > 0 {
			fmt.Fprintf(&b, " placement=%d", a.Placement)
		}
		b.WriteString([...]string{"", " device=desktop", " device=mobile"}[a.Device])
		text("slot", a.SlotID.Span)
		text("variant", a.Variant)
		if a.Filter.Set {
			fmt.Fprintf(&b, " filter-or=%t", a.Filter.Or)
		}
		texts("attributes", a.Filter.Attributes)
		texts("promotions", a.Filter.Promotions)
		for _, sp := range a.Sources {
			text("source", sp)
		}
		for i, bid := range a.External {
			if i == 3 {
				fmt.Fprintf(&b, "\n  … %d bids in all", len(a.External))
				break
			}
			fmt.Fprintf(&b, "\n  bid %q on %q %d micros %s", req.Text(bid.Source), req.Text(bid.Product.Span), bid.Amount,
				shorten(req.Text(bid.Metadata)))
		}
	}
	return b.String()
}

func shorten(text []byte) []byte {
	if len(text) > 60 {
		return append(text[:60:60], "…"...)
	}
	return text
}

func answerEvents(body []byte) string {
	batch := event.Batch{Body: body}
	var f Fault
	if code := ParseEvents(&batch, goldenNow, &f); code != apierr.OK {
		return refusal(code, &f)
	}
	return " ok" + describeBatch(&batch)
}

func describeBatch(batch *event.Batch) string {
	var b strings.Builder
	text := func(name string, value []byte) {
		if value != nil {
			fmt.Fprintf(&b, " %s=%q", name, shorten(value))
		}
	}
	for i := range batch.Events {
		e := &batch.Events[i]
		if i == 4 {
			fmt.Fprintf(&b, "\n… %d events in all", len(batch.Events))
			break
		}
		fmt.Fprintf(&b, "\n%s[%d] id=%q at=%d user=%q", e.Kind, e.Index, shorten(e.ID), e.OccurredMillis, shorten(e.UserID))
		text("token", e.ResolvedBidID)
		text("campaign", e.ExternalCampaign)
		text("vendor", e.ExternalVendor)
		if e.EntityType != event.NoEntity {
			fmt.Fprintf(&b, " entity=%d %q", e.EntityType, shorten(e.EntityID))
		}
		if e.Device > 0 {
			fmt.Fprintf(&b, " device=%d", e.Device)
		}
		text("channel", e.Channel)
		text("click", e.ClickType)
		text("page", e.PageType)
		for j, it := range batch.Items[e.FirstItem : e.FirstItem+e.Items] {
			if j == 3 {
				fmt.Fprintf(&b, "\n  … %d items in all", e.Items)
				break
			}
			fmt.Fprintf(&b, "\n  %d × %q", it.Quantity, shorten(it.ProductID))
			text("vendor", it.VendorID)
			if it.HasPrice {
				fmt.Fprintf(&b, " at %s", money.AppendDecimal(nil, it.UnitPrice))
			}
		}
	}
	return b.String()
}
