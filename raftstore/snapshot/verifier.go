package snapshot

import "io"

// Verifier checks a stream as its bytes pass by, header and all.
type Verifier struct {
	w       *io.PipeWriter
	verdict chan error
	ended   bool
}

// NewVerifier begins at the first byte of a stream. End or Stop must follow.
func NewVerifier() *Verifier {
	r, w := io.Pipe()
	v := &Verifier{w: w, verdict: make(chan error, 1)}
	go func() {
		_, err := ReadHeader(r)
		if err == nil {
			err = Read(r, func(_, _ []byte) error { return nil })
		}
		v.verdict <- err
		_ = r.CloseWithError(err) // Never fails.
	}()
	return v
}

// Add takes the next bytes, and returns an error as soon as the stream is known to be corrupt.
func (v *Verifier) Add(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	_, err := v.w.Write(p)
	return err
}

// End says that the stream is complete, and returns what is wrong with it. A second call returns nil.
func (v *Verifier) End() error {
	if v.ended {
		return nil
	}
	v.ended = true
	_ = v.w.Close() // Never fails.
	return <-v.verdict
}

// Stop says that no more will come of a stream that nobody wants any more.
func (v *Verifier) Stop() { _ = v.End() } // Whatever is wrong with it.
