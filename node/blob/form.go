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

// FormTTL is how long after it was issued a form may begin an upload. BOUND: the interface's.
const FormTTL = 15 * time.Minute

// Policy says what one upload may do. The client carries it, so nothing in it counts before its signature is verified.
type Policy struct {
	Method      string `json:"method"`
	Path        string `json:"path"` // The address of the upload.
	Marketplace uint16 `json:"marketplace"`
	Subject     string `json:"subject"` // The id of the asset or job that the file belongs to.
	Object      string `json:"object"`  // The name under which the file is stored.
	Type        string `json:"type"`    // The declared content type; empty when the file's content decides.
	MaxBytes    int64  `json:"maxBytes"`
	Expires     int64  `json:"expires"` // Unix milliseconds. No upload may begin later.
	Nonce       string `json:"nonce"`   // The upload that begins spends it, so that a form works once.
}

// Key signs policies. Every node derives the same key from a secret of the cluster, so any node accepts an upload.
type Key [32]byte

// KeyOf derives the key for a purpose. Keys for different purposes are independent.
func KeyOf(secret [32]byte, purpose string) Key {
	h := hmac.New(sha256.New, secret[:])
	h.Write([]byte("blob " + purpose))
	return Key(h.Sum(nil))
}

// Errors of Key.Verify.
var (
	ErrForged  = errors.New("the signature of the upload is not valid")
	ErrExpired = errors.New("the permission to upload has expired")
)

// Sign returns a policy as text, and its signature.
func (k Key) Sign(p Policy) (policy, signature string) {
	text, err := json.Marshal(p)
	if err != nil {
		panic("blob: a policy cannot be encoded as JSON: " + err.Error())
	}
	policy = base64.RawURLEncoding.EncodeToString(text)
	return policy, hex.EncodeToString(k.mac(policy))
}

// Verify returns the policy of a request. ErrForged when it is not signed, or not for this method and path; ErrExpired when its
// time is over.
func (k Key) Verify(policy, signature, method, path string, now time.Time) (Policy, error) {
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
