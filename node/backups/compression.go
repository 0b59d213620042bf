package backups

import (
	"io"

	"github.com/klauspost/compress/zstd"
)

// windowMax bounds the memory of a reader in bytes. BOUND: four times the window of the writer.
const windowMax = 32 << 20

// Compressed returns a writer that compresses what it gets (zstd) and writes it to w. The caller closes it, which writes the
// end and leaves w open.
func Compressed(w io.Writer) (io.WriteCloser, error) {
	return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
}

// Decompressed returns what was written to Compressed. Its errors are those of r, or of what is not as it was written. The
// caller closes it, which leaves r open.
func Decompressed(r io.Reader) (io.ReadCloser, error) {
	d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(windowMax))
	if err != nil {
		return nil, err
	}
	return d.IOReadCloser(), nil
}
