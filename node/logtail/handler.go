package logtail

import (
	"context"
	"log/slog"
	"slices"
	"time"
)

// handler keeps each record in a Tail and passes it on.
type handler struct {
	tail       *Tail
	next       slog.Handler
	group      string      // Names of open groups, each followed by a point.
	attributes []Attribute // Of the logger. OWNERSHIP: it is never changed; With copies it.
}

// Beside returns a handler that keeps what another one logs.
func (t *Tail) Beside(next slog.Handler) slog.Handler { return &handler{tail: t, next: next} }

// Enabled reports whether the other handler logs a level.
func (h *handler) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

// Handle keeps a record and passes it on.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	kept := Record{At: r.Time, Level: r.Level, Message: cut(r.Message, attributeMax), Attributes: slices.Clone(h.attributes)}
	r.Attrs(func(a slog.Attr) bool {
		kept.Attributes = appendAttribute(kept.Attributes, h.group, a)
		return true
	})
	left := recordBytesMax
	for i, a := range kept.Attributes {
		if left -= len(a.Name) + len(a.Value); left < 0 {
			kept.Attributes = kept.Attributes[:i]
			break
		}
	}
	h.tail.add(kept)
	return h.next.Handle(ctx, r)
}

// WithAttrs returns a handler whose records have more attributes.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	more := *h
	more.next = h.next.WithAttrs(attrs)
	more.attributes = slices.Clone(h.attributes)
	for _, a := range attrs {
		more.attributes = appendAttribute(more.attributes, h.group, a)
	}
	return &more
}

// WithGroup returns a handler whose further attributes have a prefix.
func (h *handler) WithGroup(name string) slog.Handler {
	more := *h
	more.next = h.next.WithGroup(name)
	if name != "" {
		more.group += name + "."
	}
	return &more
}

// appendAttribute appends an attribute as text, and each attribute of a group.
func appendAttribute(all []Attribute, group string, a slog.Attr) []Attribute {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindGroup:
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, inner := range v.Group() {
			all = appendAttribute(all, group, inner)
		}
		return all
	case slog.KindTime:
		v = slog.StringValue(v.Time().UTC().Format(time.RFC3339Nano))
	default:
	}
	return append(all, Attribute{cut(group+a.Key, attributeMax), cut(v.String(), attributeMax)})
}
