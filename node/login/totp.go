package login

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // RFC 6238 and the apps of phones use HMAC with SHA-1, which collisions do not weaken.
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"time"
)

// The parameters of time-based one-time passwords (RFC 6238). They are those that every app of a phone supports.
const (
	totpSecretLen = 20 // Bytes, as long as the hash (RFC 4226, section 4).
	totpDigits    = 6
	totpModulus   = 1_000_000 // 10 to the power of totpDigits.
	totpPeriod    = 30 * time.Second
	// totpSkew is how many periods the clock of a phone may differ. Every period more is one more code that a guess may hit.
	totpSkew = 1
)

var base32Text = base32.StdEncoding.WithPadding(base32.NoPadding)

// NewTOTPSecret returns a new secret of 160 random bits that an app and the node share.
func NewTOTPSecret() []byte {
	secret := make([]byte, totpSecretLen)
	_, _ = rand.Read(secret) // crypto/rand never returns an error.
	return secret
}

// TOTPText returns a secret as people type it into an app.
func TOTPText(secret []byte) string { return base32Text.EncodeToString(secret) }

// TOTPAddress returns the otpauth address of a secret, which apps read as a QR code. The issuer and the account name it in the list of
// the app.
func TOTPAddress(secret []byte, issuer, account string) string {
	u := url.URL{Scheme: "otpauth", Host: "totp", Path: "/" + issuer + ":" + account}
	u.RawQuery = "secret=" + TOTPText(secret) + "&issuer=" + url.PathEscape(issuer)
	return u.String()
}

// TOTPStep returns the period of time, counted from 1970, whose code was sent. ok is false for a code that is none of the present
// periods, and for one of the period after or an earlier one: whoever stores the last step that was accepted and passes it as after
// accepts no code twice, nor one that is older than an accepted one (RFC 6238, section 5.2).
func TOTPStep(secret []byte, code string, now time.Time, after int64) (step int64, ok bool) {
	present := now.Unix() / int64(totpPeriod/time.Second)
	for at := present - totpSkew; at <= present+totpSkew; at++ {
		same := subtle.ConstantTimeCompare([]byte(totpCode(secret, at)), []byte(code)) == 1
		if same && at > after {
			step, ok = at, true // All are compared, so the time does not tell which one it was.
		}
	}
	return step, ok
}

// totpCode returns the code of a period (RFC 4226, section 5.3).
func totpCode(secret []byte, step int64) string {
	mac := hmac.New(sha1.New, secret)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(step))) // Times before 1970 have no codes anyway.
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 0xf
	number := binary.BigEndian.Uint32(sum[offset:]) &^ (1 << 31)
	return fmt.Sprintf("%0*d", totpDigits, number%totpModulus)
}
