package blob

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"
)

// FormTTL is how long after it was made a form may begin an upload. BOUND: of the interface.
const FormTTL = 15 * time.Minute

// Policy says what one upload may do. The client carries it, so everything in it is data of ours that came through foreign
// hands: nothing counts before the signature does.
type Policy struct {
	Method      string `json:"method"`
	Path        string `json:"path"` // The address of the upload.
	Marketplace uint16 `json:"marketplace"`
	Subject     string `json:"subject"` // The id of the asset or job that the file belongs to.
	Object      string `json:"object"`  // The name under which the file is stored.
	Type        string `json:"type"`    // The declared content type; empty: whatever the file shows to be.
	MaxBytes    int64  `json:"maxBytes"`
	Expires     int64  `json:"expires"` // Unix milliseconds; later no upload begins.
	Nonce       string `json:"nonce"`   // Spent by the upload that begins, so that a form serves once.
}

// Key signs policies. Every node derives the same one from a secret of the cluster, so any node accepts an upload.
type Key [32]byte

// KeyOf derives the key for a purpose. Keys of two purposes tell nothing of one another.
func KeyOf(secret [32]byte, purpose string) Key {
	h := hmac.New(sha256.New, secret[:])
	h.Write([]byte("blob " + purpose))
	return Key(h.Sum(nil))
}

// Errors of Open.
var (
	ErrForged  = errors.New("the upload's signature is not ours")
	ErrExpired = errors.New("the upload's time is over")
)

// Seal returns a policy as text and its signature.
func (k Key) Seal(p Policy) (policy, signature string) {
	text, err := json.Marshal(p)
	if err != nil {
		panic("blob: a plain struct does not become JSON: " + err.Error())
	}
	policy = base64.RawURLEncoding.EncodeToString(text)
	return policy, hex.EncodeToString(k.mac(policy))
}

// Open returns the policy of a request, which must be signed, unexpired, and made for this method and path.
func (k Key) Open(policy, signature, method, path string, now time.Time) (Policy, error) {
	sum, err := hex.DecodeString(signature)
	if err != nil || !hmac.Equal(sum, k.mac(policy)) {
		return Policy{}, ErrForged
	}
	text, err := base64.RawURLEncoding.DecodeString(policy)
	if err != nil {
		return Policy{}, ErrForged
	}
	var p Policy
	if err := json.Unmarshal(text, &p); err != nil || p.Method != method || p.Path != path {
		return Policy{}, ErrForged
	}
	if now.UnixMilli() >= p.Expires {
		return Policy{}, ErrExpired
	}
	return p, nil
}

func (k Key) mac(text string) []byte {
	h := hmac.New(sha256.New, k[:])
	h.Write([]byte(text))
	return h.Sum(nil)
}
