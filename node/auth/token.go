package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

// VendorToken is what a page of a vendor has in place of a key: it opens the vendors' dialog, for this vendor, until it ends.
// It is handed out for a management key and dies with that key.
//
// Its text is a JSON Web Token (RFC 7519) of the one kind that is made here.
type VendorToken struct {
	Marketplace uint16
	Vendor      string
	Key         ID // The management key that asked for it.
}

const (
	tokenLifetime = time.Hour
	// BOUND: a vendor id has at most 1,020 bytes, which JSON and base64 make four times as long at worst.
	tokenMax = 10 << 10
	issuer   = "gavel"
	audience = "modal-service"
)

// header is the only one that there is. Comparing it as text leaves nobody a choice of algorithm.
var header = base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`))

// claims are the members of the token; the registered names are those of RFC 7519.
type claims struct {
	Issuer      string `json:"iss"`
	Audience    string `json:"aud"`
	Vendor      string `json:"sub"`
	Marketplace uint16 `json:"mkt"`
	Key         string `json:"kid"`
	Issued      int64  `json:"iat"`
	Expires     int64  `json:"exp"`
}

// SignVendorToken makes the text of a token that ends in an hour. secret is a secret of the cluster.
func SignVendorToken(secret [32]byte, t VendorToken, now time.Time) string {
	text, err := json.Marshal(claims{
		Issuer: issuer, Audience: audience, Vendor: t.Vendor, Marketplace: t.Marketplace, Key: t.Key.String(),
		Issued: now.Unix(), Expires: now.Add(tokenLifetime).Unix(),
	})
	if err != nil {
		panic("the claims of a token are texts and numbers: " + err.Error())
	}
	signed := header + "." + base64.RawURLEncoding.EncodeToString(text)
	return signed + "." + base64.RawURLEncoding.EncodeToString(seal(secret, signed))
}

// VerifyVendorToken reads the value of an Authorization header. It reports false for whatever is no token of this cluster, and for one
// that has ended.
func VerifyVendorToken(secret [32]byte, authorization string, now time.Time) (VendorToken, bool) {
	credentials, ok := bearer([]byte(authorization))
	text := string(credentials)
	at := strings.LastIndexByte(text, '.')
	if !ok || at < 0 || len(text) > tokenMax || !strings.HasPrefix(text, header+".") {
		return VendorToken{}, false
	}
	mac, err := base64.RawURLEncoding.Strict().DecodeString(text[at+1:])
	if err != nil || !hmac.Equal(mac, seal(secret, text[:at])) {
		return VendorToken{}, false
	}
	// From here on the text is ours.
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(text[:at], header+"."))
	var c claims
	if err != nil || json.Unmarshal(raw, &c) != nil || c.Audience != audience || now.Unix() >= c.Expires {
		return VendorToken{}, false
	}
	t := VendorToken{Marketplace: c.Marketplace, Vendor: c.Vendor}
	return t, copy(t.Key[:], c.Key) == len(t.Key)
}

// seal authenticates a text with a key of its own, so that nothing else that the cluster signs with the secret can pass for
// a token.
func seal(secret [32]byte, text string) []byte {
	key := hmac.New(sha256.New, secret[:])
	key.Write([]byte("gavel modal token"))
	mac := hmac.New(sha256.New, key.Sum(nil))
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
