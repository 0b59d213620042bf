package wire

import (
	"bytes"
	stdjson "encoding/json"
	"math"
	"math/big"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	gojson "github.com/goccy/go-json"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/event"
)

// The general decoders and the interface differ in these points:
//
//   - The decoders accept invalid UTF-8 and half surrogate pairs and replace them by U+FFFD; the parser answers invalid_json.
//   - The decoders accept 10,000 levels of nesting; the parser accepts 32 and does not read beyond the 33rd.
//   - The decoders accept repeated names, and the last value counts; the parser answers bad_request for known names and
//     ignores unknown ones.
//   - goccy/go-json accepts some texts that are not JSON; the tests use only encoding/json to decide on validity.

// validJSON reports whether body is JSON by the interface's rules, nesting aside.
func validJSON(body []byte) bool {
	return utf8.Valid(body) && stdjson.Valid(body) && !halfPair(body)
}

var escapedPair = regexp.MustCompile(`\\[uU][dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}`)

// halfPair reports whether a valid JSON text has half a surrogate pair among its escapes.
func halfPair(body []byte) bool {
	rest := bytes.ReplaceAll(body, []byte(`\\`), nil)
	rest = escapedPair.ReplaceAll(rest, nil)
	return regexp.MustCompile(`\\u[dD][89a-fA-F]`).Match(rest)
}

// depth returns the number of nesting levels of a valid JSON text.
func depth(body []byte) (deepest int) {
	now, inString := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case !inString && (c == '{' || c == '['):
			now++
			deepest = max(deepest, now)
		case !inString && (c == '}' || c == ']'):
			now--
		}
	}
	return deepest
}

// checkSyntax compares the parser's decision on whether a body is JSON with encoding/json's.
func checkSyntax(t *testing.T, body []byte, code apierr.Code) {
	t.Helper()
	if len(bytes.Trim(body, " \t\r\n")) == 0 {
		if code != apierr.EmptyRequest {
			t.Fatalf("%q: %s", body, code)
		}
		return
	}
	valid := validJSON(body)
	switch {
	case valid && code == apierr.InvalidJSON:
		t.Fatalf("%q is JSON", body)
	case !valid && code == apierr.BadRequest: // Too deep nesting may have stopped the scan before the syntax error.
		if bytes.Count(body, []byte("["))+bytes.Count(body, []byte("{")) <= depthMax {
			t.Fatalf("%q is not JSON and not nested too deeply: %s", body, code)
		}
	case !valid && code != apierr.InvalidJSON:
		t.Fatalf("%q is not JSON: %s", body, code)
	case valid && depth(body) > depthMax && code != apierr.BadRequest:
		t.Fatalf("%q nests %d levels: %s", body, depth(body), code)
	}
}

// checkGoccy compares the trees of the two decoders.
func checkGoccy(t *testing.T, body []byte, want any) {
	t.Helper()
	d := gojson.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var got any
	if err := d.Decode(&got); err != nil {
		t.Fatalf("%q: goccy: %v", body, err)
	}
	if canonical(got) != canonical(want) {
		t.Fatalf("%q\ngoccy %s\n  std %s", body, canonical(got), canonical(want))
	}
}

// metadataText finds the metadata of a bid in what describeRequest prints.
var metadataText = regexp.MustCompile(`( micros )("\{.*")`)

// sameMetadata rewrites metadata as the model prints it, whose tree does not keep how it was written.
func sameMetadata(t *testing.T, description string) string {
	return metadataText.ReplaceAllStringFunc(description, func(line string) string {
		parts := metadataText.FindStringSubmatch(line)
		text, err := strconv.Unquote(parts[2])
		if err != nil {
			t.Fatal(err)
		}
		v, err := decodeStd([]byte(text))
		if err != nil {
			t.Fatalf("metadata %q: %v", text, err)
		}
		return parts[1] + strconv.Quote(canonical(v))
	})
}

func FuzzParseAuctions(f *testing.F) { fuzzParser(f, "mixed") }

func FuzzParseBrands(f *testing.F) { fuzzParser(f, "brands") }

func FuzzParseTravel(f *testing.F) { fuzzParser(f, "travel") }

func fuzzParser(f *testing.F, name string) {
	p := parsers[name]
	for _, body := range readGolden(f, p.files...) {
		if len(body) < 2_000 {
			f.Add(body)
		}
	}
	var pooled auction.Request
	var pooledFault Fault
	f.Fuzz(func(t *testing.T, body []byte) {
		req := auction.Request{Body: body, Seed: 7}
		var fault Fault
		code := p.parse(&req, &fault)
		checkSyntax(t, body, code)
		pooled.Body, pooled.Seed = body, 7
		if again := p.parse(&pooled, &pooledFault); again != code ||
			code == apierr.OK && !equalValues(reflect.ValueOf(req), reflect.ValueOf(pooled)) {
			t.Fatalf("%q: fresh %s %+v, pooled %s %+v", body, code, req.Auctions, again, pooled.Auctions)
		}
		if code != apierr.OK {
			checkFault(t, &fault, code)
			return
		}
		want := tree(body, decodeStd)
		checkGoccy(t, body, want)
		got := sameMetadata(t, describeRequest(&req))
		if got != modelRequest(want, p.model) {
			t.Fatalf("%q\n got%s\nwant%s", body, got, modelRequest(want, p.model))
		}
	})
}

// checkFault checks that a message names its member, is short, and fits into the error object as JSON.
func checkFault(t *testing.T, f *Fault, code apierr.Code) {
	t.Helper()
	message := f.AppendMessage(nil)
	if f.Code() != code || len(message) == 0 || len(message) > 256 || !utf8.Valid(message) || bytes.ContainsAny(message, "#\n") && f.value == nil {
		t.Fatalf("%s: %q", code, message)
	}
	if !stdjson.Valid(apierr.Append(nil, code, message, "https://ads.example")) {
		t.Fatalf("%s: %q makes the error object invalid JSON", code, message)
	}
}

func FuzzParseEvents(f *testing.F) {
	for _, body := range readGolden(f, "events.txt", "events-time.txt") {
		if len(body) < 2_000 {
			f.Add(body)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		batch := event.Batch{Body: body}
		var fault Fault
		code := ParseEvents(&batch, goldenNow, &fault)
		checkSyntax(t, body, code)
		if code != apierr.OK {
			checkFault(t, &fault, code)
			return
		}
		want := tree(body, decodeStd)
		checkGoccy(t, body, want)
		if got := describeBatch(&batch); got != modelBatch(want) {
			t.Fatalf("%q\n got%s\nwant%s", body, got, modelBatch(want))
		}
	})
}

// FuzzString compares one string with both decoders.
func FuzzString(f *testing.F) {
	for _, seed := range []string{"", "plain", "12345678", "1234567\\n", "é1234567", `\ud83d\ude00`, `\ud83d`, "\xff", `\u0000`, `a"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		body := append(append([]byte(`"`), text...), `"      `...) // With the white space the last word of eight bytes is complete.
		var s scanner
		s.begin(body, nil, 0)
		got := string(s.text(s.str()))
		s.finish()
		var want, goccy string
		valid := stdjson.Unmarshal(body, &want) == nil && validJSON(body)
		if valid != (s.stop == apierr.OK) {
			t.Fatalf("%q: valid %v, scanner %s", body, valid, s.stop)
		}
		if err := gojson.Unmarshal(body, &goccy); valid && (err != nil || got != want || got != goccy) {
			t.Fatalf("%q: %q, encoding/json %q, goccy %q %v", body, got, want, goccy, err)
		}
	})
}

// FuzzNumber compares the grammar of numbers with encoding/json and integers with math/big.
func FuzzNumber(f *testing.F) {
	for _, seed := range []string{"0", "-0", "01", "1.", "1.5e+7", "-", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "1e", "1E-0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var s scanner
		s.begin([]byte(text), nil, 0)
		got := s.number()
		good := s.stop == apierr.OK && len(got) == len(text)
		want := stdjson.Valid([]byte(text)) && strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune("+-.0123456789eE", r) }) < 0
		if good != want {
			t.Fatalf("%q: %v, want %v", text, good, want)
		}
		if !good {
			return
		}
		n, ok := integer(got)
		exact, isInteger := new(big.Int).SetString(text, 10)
		if isInteger = isInteger && len(text) <= numberLenMax; ok != isInteger {
			t.Fatalf("%s: integer %v, want %v", text, ok, isInteger)
		}
		if ok && exact.IsInt64() && exact.Int64() != n && exact.CmpAbs(big.NewInt(math.MaxInt64-18)) < 0 {
			t.Fatalf("%s: %d", text, n)
		}
		if ok && !exact.IsInt64() && int64(exact.Sign())*math.MaxInt64 != n {
			t.Fatalf("%s saturates to %d", text, n)
		}
	})
}

// FuzzInstant compares times with package time.
func FuzzInstant(f *testing.F) {
	for _, seed := range []string{
		"2026-03-01T12:00:00Z", "2026-03-01t12:00:00.123456789z", "2024-02-29T23:59:60+05:30", "0000-02-29T00:00:00-0000",
		"1900-02-29T00:00:00Z", "9999-12-31T23:59:59,9", "2026-03-01T12:00:00", "2026-03-01T24:00:00Z", "2026-03-01T12:00:00+24:00",
		"2026-03-01T12:00:00.Z", "2026-03-01T12:00:61Z", "2026-03-01T12:60:00Z", "2026-04-31T12:00:00Z", "2026-03-01T12:00:00+05", "2026-13-01T12:00:00Z", "-026-03-01T12:00:00Z", "2026-03-01 12:00:00Z",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		millis, ok := instant([]byte(text))
		want, wantOK := stdInstant(text)
		if ok != wantOK {
			t.Fatalf("%q: %v, package time %v", text, ok, wantOK)
		}
		if ok && millis != want.UnixMilli() {
			t.Fatalf("%q: %d, package time %d", text, millis, want.UnixMilli())
		}
	})
}
