package resource

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"sort"
	"strings"

	"github.com/gavel-ads/gavel/node/store"
)

// cursorMax is the longest cursor in characters. BOUND: the interface's.
const cursorMax = 512

const (
	macLen     = 16 // Half of an HMAC-SHA-256: a forgery succeeds once in 2^128 tries.
	positionIn = cursorMax/4*3 - macLen
)

// Cursors encodes and decodes page cursors. A cursor is a position in a list, authenticated with a key of the cluster and bound to
// the operation, the filters and the marketplace. A cursor of another list, of other filters or of another tenant is refused, and no
// client can make one that leads to positions which the list would not lead to.
type Cursors struct {
	key   [32]byte
	scope [32]byte
}

// CursorsFor returns the cursors of an operation of the caller's marketplace with the filters of the request.
func CursorsFor(ctx context.Context, key [32]byte, operation string, filters ...string) Cursors {
	h := sha256.New()
	var n [8]byte
	binary.BigEndian.PutUint16(n[:], CallerOf(ctx).Marketplace)
	h.Write(n[:])
	for _, part := range append([]string{operation}, filters...) {
		binary.BigEndian.PutUint64(n[:], uint64(len(part))) // So that ("a","bc") and ("ab","c") differ.
		h.Write(n[:])
		h.Write([]byte(part))
	}
	return Cursors{key: key, scope: [32]byte(h.Sum(nil))}
}

// Encode returns the cursor of a position. REQUIRES: position has at most positionIn bytes.
func (c Cursors) Encode(position string) string {
	return base64.RawURLEncoding.EncodeToString(append(c.mac(position), position...))
}

// Decode returns the position of a cursor. The empty cursor is the first page. A cursor that is not of this list is a 422.
func (c Cursors) Decode(cursor string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) < macLen || len(cursor) > cursorMax || !hmac.Equal(raw[:macLen], c.mac(string(raw[macLen:]))) {
		return "", Invalid(At("value_error", "is not a cursor of this list", "query", "next_page"))
	}
	return string(raw[macLen:]), nil
}

// Restart returns a cursor of the position at which the page of a cursor starts.
func (c Cursors) Restart(cursor string) string {
	if cursor == "" {
		return c.Encode("")
	}
	return cursor
}

// NewestFirst makes a list position of a time and an id, so that later times come first.
func NewestFirst(millis int64, id string) string {
	return fmt.Sprintf("%016x", math.MaxInt64-millis) + id
}

func (c Cursors) mac(position string) []byte {
	h := hmac.New(sha256.New, c.key[:])
	h.Write(c.scope[:])
	h.Write([]byte(position))
	return h.Sum(nil)[:macLen]
}

// Page is the end of every list answer.
type Page struct {
	HasMore  bool   `json:"hasMore"`
	NextPage string `json:"nextPage,omitempty" minLength:"1" maxLength:"512" doc:"Cursor of the next page, exactly when hasMore is true."`
}

// List fetches one page of a list that the store keeps in the order of its ids: the items after the cursor, at most limit.
func List[T any](
	cursors Cursors, cursor string, limit int, id func(T) string,
	fetch func(store.Page) ([]T, bool, error),
) ([]T, Page, error) {
	position, err := cursors.Decode(cursor)
	if err != nil {
		return nil, Page{}, err
	}
	after, err := resume(position, id, fetch)
	if err != nil {
		return nil, Page{}, err
	}
	all, more, err := fetch(store.Page{After: after, Limit: limit})
	if err != nil || !more || len(all) == 0 {
		return all, Page{}, err
	}
	return all, Page{HasMore: true, NextPage: cursors.Encode(positionOf(id(all[len(all)-1])))}, nil
}

// ListOrPeek is List for operations that allow a limit of 0, which asks whether the list has items: it returns an empty page, whose
// cursor continues at the start of that page.
func ListOrPeek[T any](
	cursors Cursors, cursor string, limit int, id func(T) string,
	fetch func(store.Page) ([]T, bool, error),
) ([]T, Page, error) {
	all, end, err := List(cursors, cursor, max(1, limit), id, fetch)
	if err != nil || limit > 0 || len(all) == 0 {
		return all, end, err
	}
	return nil, Page{HasMore: true, NextPage: cursors.Restart(cursor)}, nil
}

// An id of 255 characters may have 1,020 bytes, which no cursor of 512 characters can carry. The position of an id that
// is too long is a mark, the start of the id, and the hash of the whole id.
const (
	longMark = "\x00"
	hashLen  = sha256.Size
	prefixIn = positionIn - len(longMark) - hashLen
)

func positionOf(id string) string {
	if len(id) <= positionIn && !strings.HasPrefix(id, longMark) {
		return id
	}
	hash := sha256.Sum256([]byte(id))
	return longMark + string(hash[:]) + id[:min(len(id), prefixIn)]
}

// resume returns the id after which a position continues. For a long id it searches the ids with the same prefix, which
// are few. If the id was deleted in between, the page starts again at the first of them: items repeat, but none is lost.
func resume[T any](position string, id func(T) string, fetch func(store.Page) ([]T, bool, error)) (string, error) {
	if !strings.HasPrefix(position, longMark) {
		return position, nil
	}
	hash, prefix := position[len(longMark):len(longMark)+hashLen], position[len(longMark)+hashLen:]
	const step = 100
	for after := prefix; ; {
		all, more, err := fetch(store.Page{After: after, Limit: step})
		if err != nil {
			return "", err
		}
		for _, item := range all {
			after = id(item)
			if sum := sha256.Sum256([]byte(after)); string(sum[:]) == hash {
				return after, nil
			}
			if !strings.HasPrefix(after, prefix) {
				return prefix, nil
			}
		}
		if !more {
			return prefix, nil
		}
	}
}

// Sorted returns a fetch function for List over items in memory. REQUIRES: they are sorted by id.
func Sorted[T any](all []T, id func(T) string) func(store.Page) ([]T, bool, error) {
	return func(p store.Page) ([]T, bool, error) {
		from := sort.Search(len(all), func(i int) bool { return id(all[i]) > p.After || p.After == "" })
		to := min(len(all), from+p.Limit)
		return all[from:to:to], to < len(all), nil
	}
}
