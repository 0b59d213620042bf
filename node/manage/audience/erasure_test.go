package audience_test

import (
	"bytes"
	"encoding/binary"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
)

// statusOf sends a request and returns the status of the answer.
func statusOf(t *testing.T, w *managetest.Environment, key, method, path, body string) (status int) {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+w.Keys[key])
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	return rec.Code
}

// recordsWith counts the records of all groups that contain a text, in the key or in the value.
func recordsWith(t *testing.T, w *managetest.Environment, texts ...[]byte) (n int) {
	t.Helper()
	for _, g := range w.Store.Groups.Groups() {
		err := w.Store.Groups.Read(g, func(r shard.Reader) error {
			r.Scan([]byte{0}, []byte{0xff}, func(key, value []byte) bool {
				for _, text := range texts {
					if bytes.Contains(key, text) || bytes.Contains(value, text) {
						n++
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// An erased user is in no record of any group, neither hashed nor, by the audit log, in clear. Others stay. A repeat and
// an unknown user are erased just as well.
func TestErasedUsersAreInNoRecord(t *testing.T) {
	w := newEnvironment(t)
	const id, path = "j/ane ü", "/public/v1/user-service/users/j%2Fane%20%C3%BC"
	hash := serving.UserHasher(w.Store.Tenant(managetest.Main).UserSecret(), managetest.Main)
	forms := func(id string) [][]byte {
		h := hash([]byte(id))
		return [][]byte{binary.BigEndian.AppendUint64(nil, h), binary.LittleEndian.AppendUint64(nil, h), binary.AppendUvarint(nil, h), []byte(id)}
	}
	for _, body := range []string{`{"from":"` + id + `","to":"peter"}`, `{"from":"tablet","to":"` + id + `"}`} {
		if status := statusOf(t, w, "auction", "POST", "/v2/events/beta/link-users", body); status != 204 {
			t.Fatalf("a link is answered %d", status)
		}
	}
	if rec := send(w, "s/upload", text("file", id+"\npeter\n")); rec.Code != 200 {
		t.Fatal(rec.Code, rec.Body)
	}
	if n := recordsWith(t, w, forms(id)...); n < 5 {
		t.Fatalf("%d records have the user, want two for each link and one of the segment", n)
	}
	for range 2 {
		if status := statusOf(t, w, "management", "DELETE", path, ""); status != 204 {
			t.Errorf("an erasure is answered %d", status)
		}
	}
	if n := recordsWith(t, w, forms(id)...); n > 0 {
		t.Errorf("%d records still have the user", n)
	}
	if n := recordsWith(t, w, []byte("j%2Fane")); n > 0 {
		t.Errorf("%d records have the path of the request", n)
	}
	if n := recordsWith(t, w, []byte("eraseUser")); n != 2 {
		t.Errorf("the audit log has %d entries of the erasures, want 2", n)
	}
	if n := recordsWith(t, w, forms("peter")...); n != 1 {
		t.Errorf("%d records have another user, want that of the segment", n)
	}
}

// What cannot be done is refused: another key, an id that is too long, and a cluster with a node that does not know the
// command.
func TestErasuresThatAreRefused(t *testing.T) {
	w := newEnvironment(t)
	for name, x := range map[string]struct {
		key, path string
		status    int
	}{
		"an auction key": {"auction", "u", 403},
		"no key":         {"", "u", 401},
		"91 characters":  {"management", strings.Repeat("u", 91), 422},
		"90 characters":  {"management", strings.Repeat("u", 90), 204},
	} {
		if status := statusOf(t, w, x.key, "DELETE", "/public/v1/user-service/users/"+x.path, ""); status != x.status {
			t.Errorf("%s: %d, want %d", name, status, x.status)
		}
	}
	old := managetest.NewAt(t, command.LevelUsers-1)
	if status := statusOf(t, old, "management", "DELETE", "/public/v1/user-service/users/u", ""); status != 503 {
		t.Errorf("before the level: %d, want 503", status)
	}
	if status := statusOf(t, old, "auction", "POST", "/v2/events/beta/link-users", `{"from":"a","to":"b"}`); status != 503 {
		t.Errorf("a link before the level: %d, want 503", status)
	}
}
