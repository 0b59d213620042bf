package importer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// kind is the form of a column's values.
type kind uint8

const (
	text    kind = iota
	word         // One of a few words.
	digits       // A text of decimal digits.
	list         // Texts; in CSV separated by |.
	decimal      // A number in major units or without a unit.
	integer
	boolean
	moment // A time in RFC 3339.
	object // A JSON object.
	array  // A JSON array.
)

// numberLen bounds the text of a number. BOUND: 2 times what the largest amount with all its decimals needs.
const numberLen = 40

// column is a column of CSV or a member of NDJSON.
type column struct {
	name     string
	kind     kind
	required bool
	words    []string // Of word.
	// least and most bound the value of a number, the characters of a text, the bytes of an object, and the items of a list
	// or an array.
	least, most float64
}

// cell converts a cell of CSV to JSON. What is not right stays a wrong value, which check finds.
func (c *column) cell(value string) json.RawMessage {
	switch c.kind {
	case text, word, digits, moment:
		return mustMarshal(value)
	case list:
		items := []string{}
		for item := range strings.SplitSeq(value, "|") {
			if item = strings.TrimSpace(item); item != "" {
				items = append(items, item)
			}
		}
		return mustMarshal(items)
	default:
		return json.RawMessage(strings.TrimSpace(value))
	}
}

// check returns what is wrong with a value, "" for nothing.
func (c *column) check(value json.RawMessage) string {
	if !json.Valid(value) {
		value = json.RawMessage("null") // No kind accepts it, and each says what it wants.
	}
	first := value[0]
	switch c.kind {
	case text, word, digits, moment:
		var s string
		if first != '"' || json.Unmarshal(value, &s) != nil {
			return "must be a text"
		}
		return c.checkText(s)
	case list:
		var items []string
		if first != '[' || json.Unmarshal(value, &items) != nil {
			return "must be a list of texts"
		}
		return c.checkList(items)
	case decimal, integer:
		return c.checkNumber(string(value))
	case boolean:
		if first != 't' && first != 'f' {
			return "must be true or false"
		}
	case object:
		if first != '{' {
			return "must be a JSON object"
		}
		if float64(len(value)) > c.most {
			return fmt.Sprintf("must have at most %s bytes, has %d", number(c.most), len(value))
		}
	case array:
		var items []json.RawMessage
		if first != '[' || json.Unmarshal(value, &items) != nil {
			return "must be a JSON array"
		}
		return c.within(len(items), "items")
	}
	return ""
}

func (c *column) checkText(s string) string {
	switch c.kind {
	case word:
		if !slices.Contains(c.words, s) {
			return "must be one of " + strings.Join(c.words, ", ")
		}
		return ""
	case moment:
		if _, err := time.Parse(time.RFC3339, s); err != nil {
			return "must be a time as in 2026-11-23T09:00:00Z"
		}
		return ""
	case digits:
		if strings.Trim(s, "0123456789") != "" {
			return "must have digits only"
		}
	default: // A text has no other rule than its length.
	}
	return c.within(utf8.RuneCountInString(s), "characters")
}

func (c *column) checkList(items []string) string {
	for _, item := range items {
		if n := utf8.RuneCountInString(item); n < 1 || n > idLen {
			return fmt.Sprintf("has an item of %d characters, must be 1 to %d", n, idLen)
		}
	}
	return c.within(len(items), "items")
}

// checkNumber checks a number, which must be one of JSON.
func (c *column) checkNumber(s string) string {
	x, err := strconv.ParseFloat(s[:min(len(s), numberLen)], 64)
	if len(s) > numberLen || err != nil {
		return "must be a number of at most " + strconv.Itoa(numberLen) + " characters"
	}
	if _, err := strconv.ParseInt(s, 10, 64); c.kind == integer && err != nil {
		return "must be an integer"
	}
	if x < c.least || x > c.most {
		return fmt.Sprintf("must be %s to %s", number(c.least), number(c.most))
	}
	return ""
}

// within checks a count with the bounds.
func (c *column) within(n int, unit string) string {
	if float64(n) < c.least || float64(n) > c.most {
		return fmt.Sprintf("must have %s to %s %s, has %d", number(c.least), number(c.most), unit, n)
	}
	return ""
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// isNull reports whether a value is absent.
func isNull(value json.RawMessage) bool { return bytes.Equal(bytes.TrimSpace(value), []byte("null")) }
