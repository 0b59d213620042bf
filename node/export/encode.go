package export

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
)

// Format is how rows are written.
type Format string

// The formats.
const (
	NDJSON     Format = "ndjson"     // One JSON object a line.
	NDJSONZstd Format = "ndjson.zst" // The same, compressed with Zstandard.
	Parquet    Format = "parquet"    // Apache Parquet, its pages compressed with Zstandard.
)

// rowGroupMax is the weight of the rows at which a row group of a Parquet file ends. BOUND: the writer keeps one in memory, some
// 20 MB, and the rows of one call of encode.
const rowGroupMax = 1 << 16

// encoder writes rows to a writer. The same rows in the same order give the same bytes.
type encoder[R row] interface {
	encode(rows []R) error
	// close writes what is left. The encoder must not be used after it.
	close() error
}

func newEncoder[R row](f Format, w io.Writer) (encoder[R], error) {
	switch f {
	case Parquet:
		return &parquetEncoder[R]{w: parquet.NewGenericWriter[R](w,
			parquet.Compression(&parquet.Zstd), parquet.CreatedBy("gavel", strconv.Itoa(SchemaVersion), ""),
		)}, nil
	case NDJSONZstd:
		// Several threads would cut blocks at other places, and so write other bytes, on machines with more CPUs.
		packed, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		return newJSONEncoder[R](packed, packed.Close), nil
	default:
		buffered := bufio.NewWriter(w)
		return newJSONEncoder[R](buffered, buffered.Flush), nil
	}
}

type parquetEncoder[R row] struct {
	w    *parquet.GenericWriter[R]
	held int // Weight of the rows of the row group.
}

func (e *parquetEncoder[R]) encode(rows []R) error {
	if _, err := e.w.Write(rows); err != nil {
		return err
	}
	for i := range rows {
		e.held += rows[i].weight()
	}
	if e.held < rowGroupMax {
		return nil
	}
	e.held = 0
	return e.w.Flush()
}

func (e *parquetEncoder[R]) close() error { return e.w.Close() }

type jsonEncoder[R row] struct {
	lines *json.Encoder
	end   func() error
}

func newJSONEncoder[R row](w io.Writer, end func() error) jsonEncoder[R] {
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	return jsonEncoder[R]{lines, end}
}

func (e jsonEncoder[R]) encode(rows []R) error {
	for i := range rows {
		if err := e.lines.Encode(&rows[i]); err != nil {
			return err
		}
	}
	return nil
}

func (e jsonEncoder[R]) close() error { return e.end() }
