package login

import (
	"encoding/base32"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The codes are those of RFC 6238, appendix B, of which apps show the last six digits.
func TestCodesOfTheStandard(t *testing.T) {
	secret := []byte("12345678901234567890")
	for at, code := range map[int64]string{
		59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130",
	} {
		step, ok := TOTPStep(secret, code, time.Unix(at, 0), 0)
		if !ok || step != at/30 {
			t.Errorf("%s at %d: step %d, %v", code, at, step, ok)
		}
	}
}

// A code is valid in its period, in the one before and in the one after, and never again once it or a later one was accepted.
func TestACodeIsValidForAMinuteAndOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.SliceOfN(rapid.Byte(), totpSecretLen, totpSecretLen).Draw(t, "secret")
		step := rapid.Int64Range(1_000, 1<<40).Draw(t, "step")
		late := rapid.Int64Range(-3, 3).Draw(t, "periods late")
		accepted := step + rapid.Int64Range(-3, 3).Draw(t, "last accepted")
		code := totpCode(secret, step)
		for near := step - 4; near <= step+4; near++ {
			if near != step && totpCode(secret, near) == code {
				t.Skip("two periods have the same code")
			}
		}
		now := time.Unix((step+late)*30+rapid.Int64Range(0, 29).Draw(t, "second"), 0)
		got, ok := TOTPStep(secret, code, now, accepted)
		if want := late >= -1 && late <= 1 && step > accepted; ok != want || ok && got != step {
			t.Errorf("%d periods late, %d accepted before: step %d, %v, want %v", late, accepted-step, got, ok, want)
		}
	})
}

// What is no code of six digits is never accepted.
func TestWhatIsNoCode(t *testing.T) {
	secret, now := []byte("12345678901234567890"), time.Unix(59, 0)
	for _, code := range []string{"", "287083", "28708", "2870822", " 287082", "287082 ", "94287082", "２８７０８２"} {
		if _, ok := TOTPStep(secret, code, now, 0); ok {
			t.Errorf("%q is accepted", code)
		}
	}
}

// An app reads the secret from the address, whatever characters the account has.
func TestTheAddressForApps(t *testing.T) {
	secret := []byte("12345678901234567890")
	const want = "otpauth://totp/Gavel:a%20+b%3F@example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Gavel"
	if got := TOTPAddress(secret, "Gavel", "a +b?@example.com"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, err := base32.StdEncoding.DecodeString(TOTPText(secret)); string(got) != string(secret) || err != nil {
		t.Errorf("the text reads back as %q, %v", got, err)
	}
	if a, b := NewTOTPSecret(), NewTOTPSecret(); len(a) != totpSecretLen || string(a) == string(b) {
		t.Error("secrets are not random")
	}
}

// Recovery codes differ, and each is found by its hash however it was copied.
func TestRecoveryCodes(t *testing.T) {
	codes, hashes := NewRecoveryCodes()
	seen := map[string]bool{}
	for i, code := range codes {
		seen[code] = true
		for _, copied := range []string{code, strings.ToUpper(code), strings.ReplaceAll(code, "-", " "), " " + strings.ReplaceAll(code, "-", "")} {
			if hash, ok := RecoveryHash(copied); !ok || hash != hashes[i] {
				t.Errorf("%q: %s, %v", copied, hash, ok)
			}
		}
		if strings.Contains(strings.Join(hashes, " "), code) || len(code) != 19 {
			t.Errorf("the code %q", code)
		}
	}
	if len(seen) != RecoveryCodes || len(hashes) != RecoveryCodes {
		t.Errorf("%d codes, %d hashes", len(seen), len(hashes))
	}
	for _, text := range []string{"", "123456", codes[0] + "a", codes[0][:18], "1111-1111-1111-1111"} {
		if _, ok := RecoveryHash(text); ok {
			t.Errorf("%q is taken for a recovery code", text)
		}
	}
}

// A QR code is an SVG with a white border; a text that does not fit is refused.
func TestQRCode(t *testing.T) {
	svg, err := QRCode(TOTPAddress(NewTOTPSecret(), "Gavel", "ada@example.com"))
	if err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(strings.NewReader(svg))
	for err == nil {
		_, err = d.Token()
	}
	if !errors.Is(err, io.EOF) || !strings.HasPrefix(svg, "<svg ") || strings.Contains(svg, "M3 ") || !strings.Contains(svg, "M4 4h1v1h-1z") {
		t.Errorf("%v: %s", err, svg)
	}
	if _, err := QRCode(strings.Repeat("x", 10_000)); err == nil {
		t.Error("a text of 10,000 characters became a QR code")
	}
}
