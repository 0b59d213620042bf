package operator

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
)

func (p *fakeCluster) Backup(_ context.Context, w io.Writer, local bool) error {
	if local {
		p.calls = append(p.calls, "local")
	}
	for part := p.backup; len(part) > 0; part = part[min(len(part), 1_000):] {
		if _, err := w.Write(part[:min(len(part), 1_000)]); err != nil {
			return err
		}
	}
	return p.fail
}

// A client gets a complete backup or an error, also when the backup fails after the status was sent.
func TestABackupIsCompleteOrAnError(t *testing.T) {
	p := &fakeCluster{backup: bytes.Repeat([]byte("backup"), 50_000)}
	server := httptest.NewServer(Handler(p, "http://gavel.test"))
	defer server.Close()
	c := Client{URL: server.URL, Key: "key"}
	var got bytes.Buffer
	if err := c.Backup(t.Context(), &got, true); err != nil || !bytes.Equal(got.Bytes(), p.backup) || len(p.calls) != 1 {
		t.Errorf("%d bytes, %v, did %v", got.Len(), err, p.calls)
	}
	p.fail = errors.New("group 1 has no leader")
	if err := c.Backup(t.Context(), io.Discard, false); err == nil || !strings.Contains(err.Error(), "is incomplete") {
		t.Errorf("failed after %d bytes: %v", len(p.backup), err)
	}
	p.backup = nil
	if err := c.Backup(t.Context(), io.Discard, false); err == nil || !strings.Contains(err.Error(), "503 Service Unavailable: group 1 has no leader") {
		t.Errorf("failed before the first byte: %v", err)
	}
}
