package operator

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"

	"github.com/gavel-ads/gavel/node/apierr"
)

// LocalSocket is the name of the unix socket in a node's data directory, on which a running node serves LocalHandler.
// Only the node's user and root can connect to it: that is the authorization of its requests, which carry no key. So
// whoever can administer the machine can make a key when all keys are lost.
const LocalSocket = "gavel.sock"

// LocalSocketPath returns the path of the socket of a data directory.
func LocalSocketPath(dataDir string) string { return filepath.Join(dataDir, LocalSocket) }

// Key is an API key; Text is set only in the answer to its creation.
type Key struct {
	ID            string `json:"keyId"`
	Text          string `json:"key,omitempty"`
	Kind          string `json:"kind"`
	Name          string `json:"name"`
	CreatedMillis int64  `json:"createdMs"`
	ExpiresMillis int64  `json:"expiresMs,omitempty"` // 0: never.
}

// KeyRequest asks for a new key.
type KeyRequest struct {
	Kind string `json:"kind"` // "auction" or "management".
	Name string `json:"name"`
}

// Local is what whoever administers the machine of a node may do without a key.
type Local interface {
	Keys
	Admins
	Exports
}

// Keys creates, lists and revokes the API keys of a marketplace. An empty marketplace id is the first one. ErrNoSuch is
// returned for an unknown marketplace or key, and an error that is Refused when the rules of keys forbid the change.
type Keys interface {
	CreateKey(ctx context.Context, marketplace string, r KeyRequest) (Key, error)
	ListKeys(ctx context.Context, marketplace string) ([]Key, error)
	RevokeKey(ctx context.Context, marketplace, id string) error
}

// ErrNoSuch means that what a request names does not exist.
var ErrNoSuch = errors.New("there is no such marketplace or key")

// keysPath is the path of the requests on the socket.
const keysPath = "/operator/v1/keys"

// LocalHandler serves Local. REQUIRES: everybody who can call it may do everything.
func LocalHandler(l Local, publicURL string) http.Handler {
	h := localHandler{handler{url: publicURL}, l}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+keysPath, h.answer(h.create))
	mux.HandleFunc("GET "+keysPath, h.answer(h.list))
	mux.HandleFunc("DELETE "+keysPath+"/{id}", h.answer(h.revoke))
	mux.HandleFunc("GET "+exportPath, h.export)
	mux.HandleFunc("POST "+adminsPath, h.answer(h.createAdmin))
	mux.HandleFunc("GET "+adminsPath, h.answer(h.listAdmins))
	mux.HandleFunc("DELETE "+adminsPath+"/{email}", h.answer(h.removeAdmin))
	mux.HandleFunc("POST "+adminsPath+"/{email}/password", h.answer(h.resetPassword))
	return mux
}

type localHandler struct {
	handler
	local Local
}

// answer writes the JSON of what serve returns, or its error.
func (h localHandler) answer(serve func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), changeTimeout)
		defer cancel()
		body, err := serve(r.WithContext(ctx))
		var text []byte
		if err == nil {
			text, err = json.Marshal(body)
		}
		var final refused
		switch {
		case err == nil:
			write(w, http.StatusOK, text)
		case errors.Is(err, errBody):
			h.refuse(w, apierr.BadRequest, err)
		case errors.Is(err, ErrNoSuch), errors.Is(err, ErrNoUser):
			h.refuse(w, apierr.ResourceNotFound, err)
		case errors.As(err, &final):
			h.refuse(w, apierr.InvalidOperation, err)
		default:
			h.refuse(w, apierr.ServiceUnavailable, err)
		}
	}
}

func marketplaceOf(r *http.Request) string { return r.URL.Query().Get("marketplace") }

func (h localHandler) create(r *http.Request) (any, error) {
	k, err := read[KeyRequest](r)
	if err != nil {
		return nil, err
	}
	return h.local.CreateKey(r.Context(), marketplaceOf(r), k)
}

func (h localHandler) list(r *http.Request) (any, error) {
	return h.local.ListKeys(r.Context(), marketplaceOf(r))
}

func (h localHandler) revoke(r *http.Request) (any, error) {
	return struct{}{}, h.local.RevokeKey(r.Context(), marketplaceOf(r), r.PathValue("id"))
}
