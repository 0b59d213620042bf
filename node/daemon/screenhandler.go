package daemon

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// screenHandler writes log records for people: the time of day, the level in a colour, the message, and its attributes
// as key=value.
type screenHandler struct {
	screen  *screen
	level   slog.Level
	colours bool
	group   string // Names of open groups, each followed by a point.
	attrs   string // Attributes of the logger, each after a space.
}

// Enabled reports whether records of a level are shown.
func (h *screenHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

// Handle shows a record.
func (h *screenHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Time.Format(time.TimeOnly))
	b.WriteByte(' ')
	b.WriteString(h.levelText(r.Level))
	b.WriteByte(' ')
	b.WriteString(r.Message)
	b.WriteString(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		appendAttr(&b, h.group, a)
		return true
	})
	b.WriteByte('\n')
	return h.screen.log([]byte(b.String()), r.Level >= slog.LevelWarn)
}

// WithAttrs returns a handler whose records have more attributes.
func (h *screenHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var b strings.Builder
	for _, a := range attrs {
		appendAttr(&b, h.group, a)
	}
	more := *h
	more.attrs += b.String()
	return &more
}

// WithGroup returns a handler whose further attributes have a prefix.
func (h *screenHandler) WithGroup(name string) slog.Handler {
	more := *h
	if name != "" {
		more.group += name + "."
	}
	return &more
}

// levelText returns the level in five columns.
func (h *screenHandler) levelText(l slog.Level) string {
	text := l.String()
	text += strings.Repeat(" ", max(0, len("ERROR")-len(text)))
	if !h.colours {
		return text
	}
	colour := "36" // Cyan.
	switch {
	case l >= slog.LevelError:
		colour = "31" // Red.
	case l >= slog.LevelWarn:
		colour = "33" // Yellow.
	case l < slog.LevelInfo:
		colour = "90" // Grey.
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

func appendAttr(b *strings.Builder, group string, a slog.Attr) {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindGroup:
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, inner := range v.Group() {
			appendAttr(b, group, inner)
		}
		return
	case slog.KindDuration:
		v = slog.StringValue(readableDuration(v.Duration()))
	case slog.KindTime:
		v = slog.StringValue(v.Time().Format(time.RFC3339))
	default:
	}
	text := v.String()
	if text == "" || strings.ContainsFunc(text, mustQuote) {
		text = strconv.Quote(text)
	}
	b.WriteString(" " + group + a.Key + "=" + text)
}

// mustQuote reports whether a value with this character is quoted: it would look like the end of the value, or move the
// cursor of the terminal.
func mustQuote(c rune) bool { return c == ' ' || c == '"' || c == '=' || !unicode.IsPrint(c) }
