package config

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bytes is a size in bytes, written with its unit: 64KiB, 4MiB, 1GiB.
type Bytes int64

// The units of Bytes.
const (
	KiB Bytes = 1 << 10
	MiB Bytes = 1 << 20
	GiB Bytes = 1 << 30
)

var byteUnits = []struct {
	name string
	size Bytes
}{{"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB}, {"B", 1}}

// String returns the size in the largest unit that divides it.
func (b Bytes) String() string {
	for _, u := range byteUnits {
		if b%u.size == 0 && (b != 0 || u.size == 1) {
			return strconv.FormatInt(int64(b/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10) + "B"
}

func parseBytes(text string) (Bytes, error) {
	for _, u := range byteUnits {
		digits, found := strings.CutSuffix(text, u.name)
		if !found {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/int64(u.size) {
			break
		}
		return Bytes(n) * u.size, nil
	}
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		return 0, fmt.Errorf("%s has no unit; write %sB, or use KiB, MiB or GiB", text, text)
	}
	return 0, fmt.Errorf("%q is not a size such as 64KiB or 4MiB", text)
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil {
		return d, nil
	}
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		return 0, fmt.Errorf("%s has no unit; write %ss for seconds, or use ms, m or h", text, text)
	}
	return 0, fmt.Errorf("%q is not a duration such as 5s or 1m30s", text)
}

// durationText formats a duration without the zero parts that time.Duration prints: 1m and not 1m0s.
func durationText(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// parse reads text into v, a field of Config. All sources use it, so values are written in the same way everywhere.
func parse(v reflect.Value, text string) error {
	switch p := v.Addr().Interface().(type) {
	case *string:
		*p = text
	case *Secret:
		*p = Secret(text)
	case *bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is not true or false", text)
		}
		*p = b
	case *int:
		n, err := strconv.Atoi(text)
		if errors.Is(err, strconv.ErrRange) {
			return fmt.Errorf("%s is out of range", text)
		}
		if err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
		*p = n
	case *[]string:
		*p = nil
		for item := range strings.SplitSeq(text, ",") {
			if item = strings.TrimSpace(item); item != "" {
				*p = append(*p, item)
			}
		}
	case *time.Duration:
		d, err := parseDuration(text)
		*p = d
		return err
	case *Bytes:
		b, err := parseBytes(text)
		*p = b
		return err
	default:
		return fmt.Errorf("config: settings of type %s are not supported", v.Type())
	}
	return nil
}

// format is the inverse of parse.
func format(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case []string:
		return strings.Join(x, ",")
	case time.Duration:
		return durationText(x)
	default:
		return fmt.Sprint(x)
	}
}

// check checks a parsed value against the bounds of its setting.
func (s *Setting) check(v reflect.Value) error {
	if s.oneOf != nil && !slices.Contains(s.oneOf, v.String()) {
		hint := ""
		if near := nearest(v.String(), s.oneOf); near != "" {
			hint = "; did you mean " + near + "?"
		}
		return fmt.Errorf("%q is not one of %s%s", v.String(), strings.Join(s.oneOf, ", "), hint)
	}
	if s.min > s.max {
		return nil
	}
	switch n := v.Int(); {
	case n < s.min:
		return fmt.Errorf("%s is below the lower limit %s", format(v), limit(v.Type(), s.min))
	case n > s.max:
		return fmt.Errorf("%s is above the upper limit %s", format(v), limit(v.Type(), s.max))
	}
	return nil
}
