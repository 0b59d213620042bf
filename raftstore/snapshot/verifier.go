package snapshot

import "io"

// Verifier checks a stream, header included, while its bytes are passed to Add. It is not safe for concurrent use.
type Verifier struct {
	w      *io.PipeWriter
	result chan error // The result of the check.
	ended  bool
}

// NewVerifier returns a verifier that expects the first byte of a stream. The caller must call End or Stop.
func NewVerifier() *Verifier {
	r, w := io.Pipe()
	v := &Verifier{w: w, result: make(chan error, 1)}
	go func() {
		_, err := ReadHeader(r)
		if err == nil {
			err = Read(r, func(_, _ []byte) error { return nil })
		}
		v.result <- err
		_ = r.CloseWithError(err) // Never fails.
	}()
	return v
}

// Add checks the next bytes, and returns an error as soon as the stream is known to be corrupt. OWNERSHIP: p is not
// kept.
func (v *Verifier) Add(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	_, err := v.w.Write(p)
	return err
}

// End says that the stream is complete, and returns ErrCorrupt when it is not whole. A second call returns nil.
func (v *Verifier) End() error {
	if v.ended {
		return nil
	}
	v.ended = true
	_ = v.w.Close() // Never fails.
	return <-v.result
}

// Stop ends the check of a stream that is given up.
func (v *Verifier) Stop() { _ = v.End() } // Its error does not matter.
