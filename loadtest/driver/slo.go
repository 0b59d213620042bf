package driver

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// SLO is one target such as p99=5ms: the quantile must not exceed the limit.
type SLO struct {
	Name     string // As it was written: "p99".
	Quantile float64
	Limit    time.Duration
}

// ParseSLO reads targets separated by commas: "p50=1ms,p99.9=20ms,max=1s". Empty text has none.
func ParseSLO(text string) ([]SLO, error) {
	var all []SLO
	for part := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		name, limit, found := strings.Cut(strings.TrimSpace(part), "=")
		bad := fmt.Errorf("target %q: want p99=5ms or max=1s", part)
		s := SLO{Name: name, Quantile: 1}
		if percent, isQuantile := strings.CutPrefix(name, "p"); isQuantile {
			v, err := strconv.ParseFloat(percent, 64)
			if err != nil || !(v > 0 && v <= 100) {
				return nil, bad
			}
			s.Quantile = v / 100
		} else if name != "max" {
			return nil, bad
		}
		d, err := time.ParseDuration(limit)
		if !found || err != nil || d <= 0 {
			return nil, bad
		}
		s.Limit = d
		all = append(all, s)
	}
	return all, nil
}

// Met reports whether a histogram meets the target. One without any recorded duration does not.
func (s SLO) Met(h *Histogram) bool { return h.Count() > 0 && h.Quantile(s.Quantile) <= s.Limit }
