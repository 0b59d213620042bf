package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

// VendorToken is the credential of a vendor's page: it allows the vendors' dialog, for this vendor, for an hour. It is issued for a
// management key and becomes invalid with that key.
//
// Its text is a JSON Web Token (RFC 7519) with HMAC-SHA-256.
type VendorToken struct {
	Marketplace uint16
	Vendor      string
	Key         ID // The management key that requested it.
}

const (
	tokenLifetime = time.Hour
	// BOUND: a vendor id has at most 1,020 bytes, which JSON and base64 make four times as long at worst.
	tokenMax = 10 << 10
	issuer   = "gavel"
	audience = "modal-service"
)

// header is the only accepted header. It is compared as text, so a client cannot choose an algorithm.
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

// SignVendorToken returns the text of a token that expires after an hour. secret is a secret of the cluster.
func SignVendorToken(secret [32]byte, t VendorToken, now time.Time) string {
	text, err := json.Marshal(claims{
		Issuer: issuer, Audience: audience, Vendor: t.Vendor, Marketplace: t.Marketplace, Key: t.Key.String(),
		Issued: now.Unix(), Expires: now.Add(tokenLifetime).Unix(),
	})
	if err != nil {
		panic("auth: the claims of a token cannot be encoded as JSON: " + err.Error())
	}
	signed := header + "." + base64.RawURLEncoding.EncodeToString(text)
	return signed + "." + base64.RawURLEncoding.EncodeToString(sign(secret, signed))
}

// CheckVendorToken reads the value of an Authorization header. It reports false for everything but an unexpired token that was signed
// with the secret for a key that is still Valid. The secret is asked for only when the header begins like a token.
func (t *Table) CheckVendorToken(secret func() [32]byte, authorization string, now time.Time) (VendorToken, bool) {
	token, ok := verifyVendorToken(secret, authorization, now)
	return token, ok && t.Valid(token.Key, Management, token.Marketplace, now)
}

// verifyVendorToken is CheckVendorToken without the check of the token's key.
func verifyVendorToken(secret func() [32]byte, authorization string, now time.Time) (VendorToken, bool) {
	credentials, ok := bearer([]byte(authorization))
	text := string(credentials)
	at := strings.LastIndexByte(text, '.')
	if !ok || at < 0 || len(text) > tokenMax || !strings.HasPrefix(text, header+".") {
		return VendorToken{}, false
	}
	mac, err := base64.RawURLEncoding.Strict().DecodeString(text[at+1:])
	if err != nil || !hmac.Equal(mac, sign(secret(), text[:at])) {
		return VendorToken{}, false
	}
	// The signature is valid, so SignVendorToken made the text.
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(text[:at], header+"."))
	var c claims
	if err != nil || json.Unmarshal(raw, &c) != nil || c.Audience != audience || now.Unix() >= c.Expires {
		return VendorToken{}, false
	}
	t := VendorToken{Marketplace: c.Marketplace, Vendor: c.Vendor}
	return t, copy(t.Key[:], c.Key) == len(t.Key)
}

// sign authenticates a text with a key that is derived for tokens alone, so that nothing else that is signed with the secret can
// pass for a token.
func sign(secret [32]byte, text string) []byte {
	key := hmac.New(sha256.New, secret[:])
	key.Write([]byte("gavel modal token"))
	mac := hmac.New(sha256.New, key.Sum(nil))
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
