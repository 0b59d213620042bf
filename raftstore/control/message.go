package control

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// A message is a length of 4 bytes, big-endian, and so many bytes of JSON.

// question is what one node asks another.
type question struct {
	Operation string          `json:"operation"`
	From      Peer            `json:"from"`
	Body      json.RawMessage `json:"body"`
}

// answer is the answer to a question. Refusal is not nil when the node refuses.
type answer struct {
	From    Peer            `json:"from"`
	Refusal *refusal        `json:"refusal,omitempty"`
	Body    json.RawMessage `json:"body,omitempty"`
}

// refusal is why a node refuses: a text, and the names of Config.Reasons that apply.
type refusal struct {
	Text    string   `json:"text"`
	Reasons []string `json:"reasons,omitempty"`
}

func write(w io.Writer, m any) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}

// read reads a message. Its buffer grows with the bytes that arrive: a sender of four bytes must not cost BytesMax.
func read(r io.Reader, m any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > BytesMax {
		return fmt.Errorf("a control message of %d bytes, at most %d", n, BytesMax)
	}
	b, err := io.ReadAll(io.LimitReader(r, int64(n)))
	if err != nil {
		return err
	}
	if len(b) < int(n) {
		return io.ErrUnexpectedEOF
	}
	return json.Unmarshal(b, m)
}
