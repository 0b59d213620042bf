package creative

import (
	"bytes"
	"image"
	_ "image/gif"  // Registers the decoder that reads the size of an image from its header.
	_ "image/jpeg" // See above.
	_ "image/png"  // See above.
	"strings"
	"unicode/utf8"
)

const (
	// headLen is how many bytes of a file are inspected before any of it is stored. The dimensions of a JPEG follow its
	// metadata, which may be this long.
	headLen = 64 << 10
	// pixelsMax is the most pixels of an image. BOUND: a browser needs 4 bytes for each.
	pixelsMax = 50_000_000
	fileMax   = 5 << 20  // BOUND: bytes. It is the interface's.
	videoMax  = 50 << 20 // BOUND: bytes. It is the interface's.
)

// maxBytes is the largest file of a type, in bytes.
func maxBytes(mimeType string) int64 {
	if mimeType == "" || strings.HasPrefix(mimeType, "video/") {
		return videoMax
	}
	return fileMax
}

// sniffed are tests of the first bytes for each type. Formats with a signature come first, because text formats have none.
var sniffed = []struct {
	mimeType string
	fits     func(head []byte) bool
}{
	{"image/jpeg", prefix("\xff\xd8\xff")},
	{"image/png", prefix("\x89PNG\r\n\x1a\n")},
	{"image/gif", func(h []byte) bool {
		return bytes.HasPrefix(h, []byte("GIF87a")) || bytes.HasPrefix(h, []byte("GIF89a"))
	}},
	{"image/webp", func(h []byte) bool { return len(h) > 15 && string(h[:4]) == "RIFF" && string(h[8:15]) == "WEBPVP8" }},
	{"video/quicktime", func(h []byte) bool { return isMovie(h, true) }},
	{"video/mp4", func(h []byte) bool { return isMovie(h, false) }},
	{"text/vtt", func(h []byte) bool {
		rest, ok := bytes.CutPrefix(textOf(h), []byte("WEBVTT"))
		return ok && (len(rest) == 0 || bytes.ContainsRune([]byte(" \t\r\n"), rune(rest[0])))
	}},
	{"application/json", func(h []byte) bool { t := textOf(h); return len(t) > 0 && (t[0] == '{' || t[0] == '[') }},
	{"text/html", func(h []byte) bool {
		t := bytes.ToLower(textOf(h))
		return len(t) > 1 && t[0] == '<' && !bytes.HasPrefix(t, []byte("<svg")) && !bytes.HasPrefix(t, []byte("<?xml"))
	}},
}

func prefix(magic string) func([]byte) bool {
	return func(h []byte) bool { return bytes.HasPrefix(h, []byte(magic)) }
}

// sniff returns the type that the first bytes of a file have, or the empty string.
func sniff(head []byte) string {
	for _, s := range sniffed {
		if s.fits(head) {
			return s.mimeType
		}
	}
	return ""
}

// isMovie checks the first box of an ISO base media file. QuickTime files have their own brand, or none.
func isMovie(h []byte, quicktime bool) bool {
	if len(h) < 12 {
		return false
	}
	switch string(h[4:8]) {
	case "ftyp":
		return (string(h[8:12]) == "qt  ") == quicktime
	case "moov", "mdat", "wide", "free", "skip":
		return quicktime
	default:
		return false
	}
}

// textOf returns a text without its byte order mark and leading white space, or nil if the bytes are not UTF-8 text.
func textOf(h []byte) []byte {
	h = bytes.TrimPrefix(h, []byte("\xef\xbb\xbf"))
	whole := h
	for range utf8.UTFMax - 1 { // The bytes may end within a character.
		if utf8.Valid(whole) {
			break
		}
		whole = whole[:max(0, len(whole)-1)]
	}
	if !utf8.Valid(whole) || bytes.ContainsFunc(whole, func(c rune) bool { return c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f' }) {
		return nil
	}
	return bytes.TrimLeft(h, " \t\r\n\f")
}

// oversize reports whether an image has more than pixelsMax pixels, and whether its size can be read. Files other than images are
// readable.
func oversize(mimeType string, head []byte) (tooLarge, readable bool) {
	if !strings.HasPrefix(mimeType, "image/") {
		return false, true
	}
	width, height := webpSize(head)
	if mimeType != "image/webp" {
		c, _, err := image.DecodeConfig(bytes.NewReader(head))
		if err != nil {
			return false, false
		}
		width, height = c.Width, c.Height
	}
	return width > 0 && height > pixelsMax/width, width > 0 && height > 0
}

// webpSize reads the size of a WebP image from the header of its first chunk, which has one of three forms.
func webpSize(h []byte) (width, height int) {
	if len(h) < 30 {
		return 0, 0
	}
	le := func(at, n int) (v int) {
		for i := n - 1; i >= 0; i-- {
			v = v<<8 | int(h[at+i])
		}
		return v
	}
	switch string(h[12:16]) {
	case "VP8 ":
		return le(26, 2) & 0x3fff, le(28, 2) & 0x3fff
	case "VP8L":
		bits := le(21, 4)
		return bits&0x3fff + 1, bits>>14&0x3fff + 1
	case "VP8X":
		return le(24, 3) + 1, le(27, 3) + 1
	default:
		return 0, 0
	}
}
