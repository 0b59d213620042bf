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
)

var rewrite = flag.Bool("rewrite", false, "write what the parsers answer into the golden files")

// goldenNow is the node's clock of the golden events: 2026-03-01T12:00:00Z.
const goldenNow = 1_772_366_400_000

// TestGolden parses the bodies of testdata/*.txt and compares the answers. A case consists of lines that begin with # and
// say what it shows, one line with the body, and lines with the answer: => code: message, or => ok and the parsed values.
// In a body ⟨3×"p",⟩ means three times "p", and ⟨0xff⟩ a byte that editors do not keep. Read the diff after -rewrite.
func TestGolden(t *testing.T) {
	for file, answer := range map[string]func([]byte) string{
		"auctions.txt": answer("mixed"), "auctions-json.txt": answer("mixed"), "auctions-demand.txt": answer("mixed"),
		"brands.txt": answer("brands"), "travel.txt": answer("travel"),
		"events.txt": answerEvents, "events-time.txt": answerEvents, "link.txt": answerLink,
	} {
		t.Run(file, func(t *testing.T) { golden(t, filepath.Join("testdata", file), answer) })
	}
}

func answerLink(body []byte) string {
	var l Link
	var f Fault
	if code := ParseLink(body, &l, &f); code != apierr.OK {
		return " " + code.String() + ": " + string(f.AppendMessage(nil))
	}
	return fmt.Sprintf(" ok\n%q is %q", l.From, l.To)
}

func golden(t *testing.T, path string, answer func([]byte) string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for block := range strings.SplitSeq(strings.TrimRight(string(text), "\n"), "\n\n") {
		head, want, _ := strings.Cut(block, "\n=>")
		got := abbreviate(answer(bodyOf(t, head)))
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

// abbreviate truncates a long answer to eight lines of at most 200 bytes.
func abbreviate(answer string) string {
	lines := strings.Split(answer, "\n")
	for i, line := range lines {
		if len(line) > 200 {
			lines[i] = fmt.Sprintf("%s… %d bytes", strings.ToValidUTF8(line[:200], ""), len(line))
		}
	}
	if len(lines) > 8 {
		lines = append(lines[:7:7], fmt.Sprintf("… %d lines", len(lines)))
	}
	return strings.Join(lines, "\n")
}

// bodyOf returns the body of a case from the part before its answer.
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

// parsers are the parsers of auctions, each with its golden files and the model of an element.
var parsers = map[string]struct {
	parse func(*auction.Request, *Fault) apierr.Code
	files []string
	model func(map[string]any) string
}{
	"mixed":  {ParseAuctions, []string{"auctions.txt", "auctions-json.txt", "auctions-demand.txt"}, modelAuction},
	"brands": {ParseBrands, []string{"brands.txt", "auctions-json.txt"}, modelBrand},
	"travel": {ParseTravel, []string{"travel.txt", "auctions-json.txt"}, modelTravel},
}

func answer(parser string) func([]byte) string {
	return func(body []byte) string {
		req := auction.Request{Body: body, Seed: 7}
		var f Fault
		if code := parsers[parser].parse(&req, &f); code != apierr.OK {
			return refusal(code, &f)
		}
		return " ok" + describeRequest(&req)
	}
}

func answerEvents(body []byte) string {
	batch := event.Batch{Body: body}
	var f Fault
	if code := ParseEvents(&batch, goldenNow, &f); code != apierr.OK {
		return refusal(code, &f)
	}
	return " ok" + describeBatch(&batch)
}
