package daemon

import (
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/gavel-ads/gavel/node/config"
)

// logOutput is where a process logs to: standard error, or what a test passes.
type logOutput struct {
	w        io.Writer
	terminal bool // w is a terminal, on which people read.
	colours  bool
}

// standardError logs to standard error as something that is no terminal.
var standardError = logOutput{w: os.Stderr}

// json reports whether the log is JSON: unless the configuration selects a form, it is everywhere but on a terminal.
func (o logOutput) json(c config.Log) bool {
	return c.Format == "json" || c.Format == "auto" && !o.terminal
}

// newLogger returns a logger: JSON, or text for people. On a terminal the log is shown on a screen, which is nil
// otherwise. An unknown level is impossible here, because the configuration refuses it.
func newLogger(c config.Log, o logOutput) (*slog.Logger, *screen) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.Level)); err != nil {
		level = slog.LevelInfo
	}
	if o.json(c) {
		return slog.New(slog.NewJSONHandler(o.w, &slog.HandlerOptions{Level: level, ReplaceAttr: readableDurations})), nil
	}
	if !o.terminal {
		return slog.New(slog.NewTextHandler(o.w, &slog.HandlerOptions{Level: level, ReplaceAttr: readableDurations})), nil
	}
	s := newScreen(o.w)
	return slog.New(&screenHandler{screen: s, level: level, colours: o.colours}), s
}

// readableDurations replaces durations by texts such as 1m30s: JSON has nanoseconds otherwise.
func readableDurations(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(readableDuration(a.Value.Duration()))
	}
	return a
}

// readableDuration returns a duration with at most three digits after the point.
func readableDuration(d time.Duration) string {
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if d >= unit || d <= -unit {
			return d.Round(unit / 1000).String()
		}
	}
	return d.String()
}
