package console

import (
	"embed"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// The pages as they were built from web/. A file may have its gzipped form beside it, with the further ending .gz.
//
//go:embed all:dist
var embedded embed.FS

// pagePolicy lets the pages load only what this listener serves. Styles may be inline, because the component library sets them on
// elements; scripts may not. Nothing may show the console in a frame.
const pagePolicy = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

const (
	indexFile = "index.html"
	assetsDir = "assets/" // The names of files below it contain a hash of their content.
)

// file is one file of the pages.
type file struct {
	kind, cache   string
	plain, zipped []byte // zipped is nil for a file that has no gzipped form.
}

// files are the files of the pages, by their paths below Base.
type files struct{ byPath map[string]*file }

func newFiles(from fs.FS) (*files, error) {
	f := &files{map[string]*file{}}
	zipped := map[string][]byte{}
	err := fs.WalkDir(from, "dist", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(from, name)
		name = strings.TrimPrefix(name, "dist/")
		if of, found := strings.CutSuffix(name, ".gz"); found {
			zipped[of] = body
			return err
		}
		f.byPath[name] = &file{kind: kindOf(name), cache: cacheOf(name), plain: body}
		return err
	})
	for name, body := range zipped {
		if f.byPath[name] == nil {
			return nil, fmt.Errorf("dist/%s.gz has no dist/%s beside it", name, name)
		}
		f.byPath[name].zipped = body
	}
	if err == nil && f.byPath[indexFile] == nil {
		err = fmt.Errorf("dist has no %s", indexFile)
	}
	return f, err
}

// kindOf returns the media type of a file. The types of scripts are fixed, because the tables of an operating system may be wrong.
func kindOf(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js", ".mjs":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".woff2":
		return "font/woff2"
	}
	if kind := mime.TypeByExtension(path.Ext(name)); kind != "" {
		return kind
	}
	return "application/octet-stream"
}

func cacheOf(name string) string {
	switch {
	case strings.HasPrefix(name, assetsDir):
		return "public, max-age=31536000, immutable"
	case name == indexFile:
		return "no-store" // It names the assets of one version.
	default:
		return "public, max-age=3600"
	}
}

// find returns the file for a path below Base. Paths without a file are those of pages, which the script of the index shows; only an
// asset may be missing, when the page is of another version than this node.
func (f *files) find(name string) *file {
	if found := f.byPath[name]; found != nil {
		return found
	}
	if strings.HasPrefix(name, assetsDir) || strings.HasPrefix(name, "api/") { // The latter with an encoded slash.
		return nil
	}
	return f.byPath[indexFile]
}

// serve answers a request for a page or a file of one.
func (f *files) serve(w http.ResponseWriter, r *http.Request) {
	found := f.find(r.PathValue("path"))
	h := w.Header()
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Referrer-Policy", "no-referrer")
	if found == nil {
		http.Error(w, "there is no such file; it may be of another version of the console: reload the page", http.StatusNotFound)
		return
	}
	body := found.plain
	if found.zipped != nil {
		h.Set("Vary", "Accept-Encoding")
		if acceptsGzip(r.Header.Get("Accept-Encoding")) {
			body = found.zipped
			h.Set("Content-Encoding", "gzip")
		}
	}
	h.Set("Cache-Control", found.cache)
	h.Set("Content-Type", found.kind)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // The client may have disconnected.
}

// acceptsGzip reports whether a client takes gzip. A weight of zero refuses it.
func acceptsGzip(accepted string) bool {
	for part := range strings.SplitSeq(accepted, ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(name, "gzip") {
			q, _ := strings.CutPrefix(strings.TrimSpace(weight), "q=")
			n, err := strconv.ParseFloat(q, 32)
			return err != nil || n > 0
		}
	}
	return false
}
