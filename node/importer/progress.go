package importer

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"strconv"
)

// progress is the content of the progress file: what of the file is done. It is replaced after every batch that the node has
// acknowledged, so after an interruption at most one batch is sent again, which changes nothing.
type progress struct {
	Version    int    `json:"version"`
	Kind       string `json:"kind"`
	Format     string `json:"format,omitempty"` // parquet: the offset counts rows, and the hash is of the whole file.
	Run        string `json:"run"`              // Random; the Idempotency-Keys of campaigns follow from it.
	Offset     int64  `json:"offset"`           // Bytes of the file that are done.
	SHA256     string `json:"sha256"`           // Of these bytes.
	Lines      int64  `json:"lines"`            // Line ends in these bytes.
	Rows       int64  `json:"rows"`             // Rows in these bytes,
	Failed     int64  `json:"failed"`           // and how many of them failed.
	Errors     string `json:"errors"`           // The file of errors,
	ErrorsSize int64  `json:"errorsSize"`       // and the bytes that these rows have there.
	Done       bool   `json:"done"`             // The end of the file was reached.

	file *os.File  // The file that is imported.
	path string    // Of the progress file.
	hash hash.Hash // Of the bytes that are done.
}

const progressVersion = 1

// openProgress reads the progress of a file, or begins a new one.
func openProgress(f *os.File, o *Options, t *table) (*progress, error) {
	s := &progress{path: o.File + ".progress", file: f}
	if err := s.checkErrors(o.Errors); err != nil {
		return nil, err
	}
	content, err := os.ReadFile(s.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil || o.Restart {
		return s, s.begin(o)
	}
	if err := json.Unmarshal(content, s); err != nil || s.Version != progressVersion {
		return nil, fmt.Errorf("%s is no progress file of this version; --restart sends every row again and replaces it", s.path)
	}
	if s.Kind != o.Kind {
		return nil, fmt.Errorf("%s belongs to an import of %s; --restart sends every row again and replaces it", s.path, s.Kind)
	}
	if now := wholeFormat(o); s.Format != now {
		return nil, fmt.Errorf("%s belongs to an import of another --format; --restart sends every row again and replaces it", s.path)
	}
	before := s.SHA256
	if err := s.sum(s.Offset); err != nil {
		return nil, err
	}
	switch {
	case s.SHA256 == before:
	case s.Done && t.list != "": // Sending all rows of another version of a catalog is what an upsert is for.
		return s, s.begin(o)
	case s.Format == parquetFormat:
		return nil, fmt.Errorf("%s has changed since %d of its rows were imported; --restart sends every row again", o.File, s.Offset)
	default:
		return nil, fmt.Errorf("%s has changed in the %d bytes that were imported; --restart sends every row again", o.File, s.Offset)
	}
	if s.Errors != o.Errors {
		return nil, fmt.Errorf("the import wrote its errors to %s, not to %s; --restart sends every row again", s.Errors, o.Errors)
	}
	return s, s.cutErrors()
}

// begin starts at the beginning of the file. The progress is stored before anything is sent, because a campaign that was sent
// is recognised by it.
func (s *progress) begin(o *Options) error {
	run := make([]byte, 16)
	_, _ = rand.Read(run) // It never fails.
	*s = progress{
		Version: progressVersion, Kind: o.Kind, Format: wholeFormat(o), Run: hex.EncodeToString(run), Errors: o.Errors, file: s.file, path: s.path,
	}
	if err := s.sum(0); err != nil {
		return err
	}
	if err := s.cutErrors(); err != nil {
		return err
	}
	return s.save()
}

// wholeFormat returns the format if a position in it is no offset in the file, "" otherwise.
func wholeFormat(o *Options) string {
	if f := o.format(); f == parquetFormat {
		return f
	}
	return ""
}

// sum sets the hash to that of the bytes up to an offset, or of the whole file.
func (s *progress) sum(offset int64) error {
	if s.Format == parquetFormat {
		offset = 1 << 62
	}
	s.hash = sha256.New()
	_, err := io.Copy(s.hash, io.NewSectionReader(s.file, 0, offset))
	s.SHA256 = hex.EncodeToString(s.hash.Sum(nil))
	return err
}

// advance records that a batch is done: first its faults, then the position after it.
func (s *progress) advance(batch []*row) error {
	if err := s.writeFaults(batch); err != nil {
		return err
	}
	end := batch[len(batch)-1].end
	if s.Format != parquetFormat {
		if err := s.addBytes(end); err != nil {
			return err
		}
	}
	s.Offset = end
	s.Rows += int64(len(batch))
	for _, r := range batch {
		if len(r.faults) > 0 {
			s.Failed++
		}
	}
	s.Done = false
	return s.save()
}

// addBytes adds the bytes up to an offset to the hash and counts their line ends.
func (s *progress) addBytes(end int64) error {
	var done bytes.Buffer
	if _, err := io.Copy(&done, io.NewSectionReader(s.file, s.Offset, end-s.Offset)); err != nil {
		return err
	}
	if int64(done.Len()) != end-s.Offset {
		return errors.New("the file became shorter while it was imported")
	}
	_, _ = s.hash.Write(done.Bytes()) // It never fails.
	s.Lines += int64(bytes.Count(done.Bytes(), []byte{'\n'}))
	s.SHA256 = hex.EncodeToString(s.hash.Sum(nil))
	return nil
}

// finish records that the end of the file was reached.
func (s *progress) finish() error {
	s.Done = true
	return s.save()
}

// save replaces the progress file.
func (s *progress) save() error {
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	next := s.path + ".new"
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(next, s.path)
}

// checkErrors refuses a file of errors that is the imported file, or none that can be cut.
func (s *progress) checkErrors(name string) error {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	imported, err := s.file.Stat()
	if err == nil && (os.SameFile(info, imported) || !info.Mode().IsRegular()) {
		err = fmt.Errorf("%s cannot hold the errors: it must be a regular file, and another than the imported one", name)
	}
	return err
}

// cutErrors removes from the file of errors what belongs to rows that are not done, or to an earlier import.
func (s *progress) cutErrors() error {
	info, err := os.Stat(s.Errors)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.ErrorsSize = 0
		return nil
	case err != nil:
		return err
	}
	s.ErrorsSize = min(s.ErrorsSize, info.Size())
	return os.Truncate(s.Errors, s.ErrorsSize)
}

// writeFaults appends the faults of a batch to the file of errors.
func (s *progress) writeFaults(batch []*row) error {
	var lines bytes.Buffer
	to := json.NewEncoder(&lines)
	to.SetEscapeHTML(false)
	for _, r := range batch {
		for _, x := range r.faults {
			x.Line = r.line
			if err := to.Encode(x); err != nil {
				return err
			}
		}
	}
	if lines.Len() == 0 {
		return nil
	}
	f, err := os.OpenFile(s.Errors, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(lines.Bytes())
	s.ErrorsSize += int64(lines.Len())
	return errors.Join(err, f.Sync(), f.Close())
}

// keyOf returns the Idempotency-Key of a row: at most 64 characters, the same whenever this import sends the row.
func (s *progress) keyOf(r *row) string { return s.Run + "-" + strconv.FormatInt(r.offset, 10) }
