//go:build linux

package main

import (
	"fmt"
	"regexp"
	"time"

	"github.com/prometheus/common/model"
)

// A rule looks at minutes or hours. To see it fire within a run, a copy of the rules looks at a fraction of these times: the
// window of a rate, the offset of a comparison and how long a condition has to last. Thresholds stay as they are, so what is
// tested is that the fault moves the metric beyond the threshold that ships.
var (
	windows = regexp.MustCompile(`\[(\w+)\]`)
	offsets = regexp.MustCompile(`offset (\w+)`)
	persist = regexp.MustCompile(`(?m)^(\s*for: )(\w+)$`)
	groups  = regexp.MustCompile(`(?m)^(\s*- name: )(\S+)$`)
	labels  = regexp.MustCompile(`labels: \{severity: (\w+)\}`)
)

// windowMin is the shortest window of a rate: with a scrape a second, fewer samples make increase jump.
const windowMin = 8 * time.Second

// quicken returns the text of a file of rules whose times are divided by a factor. The label speed of its alerts is "quick".
func quicken(text string, factor int) (string, error) {
	var wrong error
	divide := func(written string, least time.Duration) string {
		d, err := model.ParseDuration(written)
		if err != nil {
			wrong = fmt.Errorf("rules: %q: %w", written, err)
			return written
		}
		quick := max(time.Duration(d)/time.Duration(factor), least).Round(time.Millisecond)
		return model.Duration(quick).String()
	}
	text = windows.ReplaceAllStringFunc(text, func(found string) string {
		return "[" + divide(found[1:len(found)-1], windowMin) + "]"
	})
	text = offsets.ReplaceAllStringFunc(text, func(found string) string {
		return "offset " + divide(found[len("offset "):], windowMin)
	})
	text = persist.ReplaceAllStringFunc(text, func(found string) string {
		part := persist.FindStringSubmatch(found)
		return part[1] + divide(part[2], 0)
	})
	text = groups.ReplaceAllString(text, "${1}quick-${2}")
	return labels.ReplaceAllString(text, "labels: {severity: $1, speed: quick}"), wrong
}
