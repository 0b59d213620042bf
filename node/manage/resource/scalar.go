package resource

import (
	"bytes"
	"math/big"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/shard/ids"
)

// numberLen is the longest number in characters. BOUND: the interface's.
const numberLen = 32

// scalar checks a string, number or boolean, and lets free-form values pass.
func (c *checker) scalar(text []byte, s *huma.Schema) {
	switch s.Type {
	case huma.TypeString:
		if text[0] != '"' {
			c.violation("string_type", "must be a string")
			return
		}
		c.text(unquote(text), s)
	case huma.TypeInteger:
		if !number(text) || bytes.ContainsAny(text, ".eE") {
			c.violation("int_type", "must be an integer, written as one")
			return
		}
		c.bounds(string(text), s)
	case huma.TypeNumber:
		if !number(text) {
			c.violation("float_type", "must be a number of at most 32 characters")
			return
		}
		c.bounds(string(text), s)
	case huma.TypeBoolean:
		if text[0] != 't' && text[0] != 'f' {
			c.violation("bool_type", "must be true or false")
		}
	}
}

func number(text []byte) bool {
	return (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && len(text) <= numberLen
}

// text checks a string against its schema.
func (c *checker) text(s string, schema *huma.Schema) {
	length := utf8.RuneCountInString(s)
	switch {
	case len(schema.Enum) > 0 && !slices.Contains(schema.Enum, any(s)):
		c.violation("enum", c.enumText(schema))
	case schema.MinLength != nil && length < *schema.MinLength:
		c.violation("string_too_short", "must have at least "+counted(*schema.MinLength, "character"))
	case schema.MaxLength != nil && length > *schema.MaxLength:
		c.violation("string_too_long", "must have at most "+counted(*schema.MaxLength, "character"))
	case schema.Pattern != "" && !c.kit.patterns[schema.Pattern].MatchString(s):
		c.violation("string_pattern_mismatch", "must match "+schema.Pattern)
	default:
		c.format(s, schema.Format)
	}
}

// enumText names the allowed words. The member's description follows, because it says why others are not allowed.
func (c *checker) enumText(s *huma.Schema) string {
	names := make([]string, len(s.Enum))
	for i, v := range s.Enum {
		names[i] = v.(string) //nolint:forcetypeassert // made from a tag of a string member.
	}
	text := "must be one of " + strings.Join(names, ", ")
	if len(names) == 1 {
		text = "must be " + names[0]
	}
	if s.Description != "" && !c.kit.general[s.Description] {
		text += ". " + strings.TrimSuffix(s.Description, ".")
	}
	return text
}

// counted writes a number and a noun, in plural unless the number is 1.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// format checks the formats that the management API uses.
func (c *checker) format(s, format string) {
	switch format {
	case "date-time":
		if _, err := time.Parse(time.RFC3339, s); err != nil {
			c.violation("datetime_parsing", "must be an RFC 3339 date-time")
		}
	case "date":
		if _, err := time.Parse(time.DateOnly, s); err != nil {
			c.violation("date_parsing", "must be a date, YYYY-MM-DD")
		}
	case "uuid":
		if _, err := ids.Parse(s); err != nil {
			c.violation("uuid_parsing", "must be a UUID")
		}
	case "uri":
		if u, err := url.Parse(s); err != nil || !u.IsAbs() || u.Host == "" {
			c.violation("url_parsing", "must be an absolute URL")
		}
	case "email":
		if a, err := mail.ParseAddress(s); err != nil || a.Address != s {
			c.violation("email_parsing", "must be an e-mail address")
		}
	}
}

// bounds checks the value of a number whose form was checked.
func (c *checker) bounds(text string, s *huma.Schema) {
	n, ok := rational(text)
	if !ok {
		c.violation("less_than_equal", "is out of range")
		return
	}
	switch {
	case s.Minimum != nil && below(n, *s.Minimum):
		c.violation("greater_than_equal", "must be at least "+plain(*s.Minimum))
	case s.ExclusiveMinimum != nil && !above(n, *s.ExclusiveMinimum):
		c.violation("greater_than", "must be greater than "+plain(*s.ExclusiveMinimum))
	case s.Maximum != nil && above(n, *s.Maximum):
		c.violation("less_than_equal", "must be at most "+plain(*s.Maximum))
	case s.ExclusiveMaximum != nil && !below(n, *s.ExclusiveMaximum):
		c.violation("less_than", "must be less than "+plain(*s.ExclusiveMaximum))
	case s.Type == huma.TypeInteger && !n.Num().IsInt64():
		c.violation("less_than_equal", "is out of range")
	}
}

// exponentMax bounds the exponent of a number before it is expanded. BOUND: 1e99 has 100 digits, 1e999999999 a gigabyte.
const exponentMax = 99

// rational reads a JSON number exactly.
func rational(text string) (*big.Rat, bool) {
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		if e, err := strconv.Atoi(text[at+1:]); err != nil || e > exponentMax || e < -exponentMax {
			return nil, false
		}
	}
	return new(big.Rat).SetString(text)
}

func below(n *big.Rat, bound float64) bool { return n.Cmp(exact(bound)) < 0 }
func above(n *big.Rat, bound float64) bool { return n.Cmp(exact(bound)) > 0 }

// exact is a bound as its tag writes it: exactly 0.1, not the nearest binary fraction.
func exact(bound float64) *big.Rat {
	r, ok := new(big.Rat).SetString(plain(bound))
	if !ok {
		panic("a bound is a number")
	}
	return r
}

func plain(bound float64) string { return strconv.FormatFloat(bound, 'f', -1, 64) }
