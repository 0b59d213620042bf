package operator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
)

func (p *fakeCluster) ArchiveLog(_ context.Context, w io.Writer, r LogRequest) error {
	p.logRequest = r
	if len(p.backup) == 0 {
		return p.fail
	}
	if _, err := w.Write(p.backup); err != nil {
		return err
	}
	return p.fail
}

// The node gets what the client asks for, and the client the whole part of the log or an error; a refusal can be told from
// a failure that may pass.
func TestAPartOfTheLogIsCompleteOrAnError(t *testing.T) {
	p := &fakeCluster{backup: bytes.Repeat([]byte("log"), 50_000)}
	server := httptest.NewServer(Handler(p, "http://gavel.test"))
	defer server.Close()
	c := Client{URL: server.URL, Key: "key"}
	for _, r := range []LogRequest{
		{After: map[uint16]uint64{}},
		{Cluster: "00000000000000c1", After: map[uint16]uint64{0: 7, 1: 1 << 40, 65535: 0}, Local: true},
	} {
		var got bytes.Buffer
		if err := c.ArchiveLog(t.Context(), &got, r); err != nil || !bytes.Equal(got.Bytes(), p.backup) || !reflect.DeepEqual(p.logRequest, r) {
			t.Errorf("%d bytes, %v, asked %+v instead of %+v", got.Len(), err, p.logRequest, r)
		}
	}
	p.fail = errors.New("group 1 has no leader")
	if err := c.ArchiveLog(t.Context(), io.Discard, LogRequest{}); err == nil || !strings.Contains(err.Error(), "is incomplete") || IsRefused(err) {
		t.Errorf("failed after the first byte: %v", err)
	}
	p.backup = nil
	if err := c.ArchiveLog(t.Context(), io.Discard, LogRequest{}); err == nil || !strings.Contains(err.Error(), "503 Service Unavailable: group 1") || IsRefused(err) {
		t.Errorf("failed before the first byte: %v", err)
	}
	p.fail = fmt.Errorf("group 1: %w", Refused(errors.New("the entries 4 to 9 were deleted")))
	if err := c.ArchiveLog(t.Context(), io.Discard, LogRequest{}); err == nil || !strings.Contains(err.Error(), "entries 4 to 9") || !IsRefused(err) {
		t.Errorf("refused: %v", err)
	}
}

func TestInvalidLogRequests(t *testing.T) {
	h := Handler(&fakeCluster{}, "http://gavel.test")
	for _, after := range []string{"1", "1:", ":1", "65536:1", "1:-1", "1:2,", "1:18446744073709551616", strings.Repeat("1:2,", 3)} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, Base+"/log?after="+after, http.NoBody))
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "after is") {
			t.Errorf("after=%s: %d %s", after, w.Code, w.Body)
		}
	}
}
