package auth_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/auth"
)

var (
	secret = [32]byte{1, 2, 3}
	begins = time.UnixMilli(now)
)

// vendorToken returns a token and a table that has its key.
func vendorToken(t *testing.T) (auth.VendorToken, *auth.Table) {
	t.Helper()
	table, k := auth.NewTable(), generate(t, auth.Management)
	put(t, table, k, 7, 0)
	return auth.VendorToken{Marketplace: 7, Vendor: "vendor \" / ä", Key: k.ID}, table
}

func itsSecret() [32]byte { return secret }

func TestVendorToken(t *testing.T) {
	vendor, table := vendorToken(t)
	text := auth.SignVendorToken(secret, vendor, begins)
	for _, header := range []string{"Bearer " + text, "bearer    " + text} {
		if got, ok := table.CheckVendorToken(itsSecret, header, begins.Add(time.Hour-time.Second)); !ok || got != vendor {
			t.Errorf("%q: %+v, %v", header, got, ok)
		}
	}
	if _, ok := table.CheckVendorToken(itsSecret, "Bearer "+text, begins.Add(time.Hour)); ok {
		t.Error("a token outlives its hour")
	}
	if _, ok := table.CheckVendorToken(func() [32]byte { return [32]byte{1} }, "Bearer "+text, begins); ok {
		t.Error("a token of another cluster is good")
	}
	if long := auth.SignVendorToken(secret, auth.VendorToken{Marketplace: 7, Vendor: strings.Repeat("\x01", 1020), Key: vendor.Key}, begins); len(long) > 10<<10 {
		t.Errorf("the longest token has %d bytes", len(long))
	} else if _, ok := table.CheckVendorToken(itsSecret, "Bearer "+long, begins); !ok {
		t.Error("the token of the longest vendor id is not read")
	}
	table.Delete(vendor.Key.String())
	if _, ok := table.CheckVendorToken(itsSecret, "Bearer "+text, begins); ok {
		t.Error("a token outlives its key")
	}
}

// The secret is read from the store, which a request with an invented key must not cost.
func TestOnlyTokensNeedTheSecret(t *testing.T) {
	_, table := vendorToken(t)
	for _, header := range []string{"", "Bearer x", "Bearer a.b.c", "Bearer " + strings.Repeat("x", 20<<10)} {
		table.CheckVendorToken(func() [32]byte { t.Errorf("%.40q asks for the secret", header); return secret }, header, begins)
	}
}

// No other text is accepted: no changed character, no missing part, no other algorithm.
func TestForgedVendorTokens(t *testing.T) {
	vendor, table := vendorToken(t)
	text := auth.SignVendorToken(secret, vendor, begins)
	refused := func(why, text string) {
		t.Helper()
		if _, ok := table.CheckVendorToken(itsSecret, text, begins); ok {
			t.Errorf("%s: %q is good", why, text)
		}
	}
	for i := range text {
		for _, c := range "aB0.-" {
			if changed := text[:i] + string(c) + text[i+1:]; changed != text {
				refused("changed", "Bearer "+changed)
			}
		}
	}
	parts := strings.Split(text, ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`))
	for _, forged := range []string{
		"", ".", "..", parts[0], parts[0] + "." + parts[1], parts[0] + "." + parts[1] + ".", none + "." + parts[1] + ".",
		none + "." + parts[1] + "." + parts[2], text + ".", text + "=", "." + text, parts[0] + "." + parts[2], strings.Repeat("x", 20<<10),
	} {
		refused("forged", "Bearer "+forged)
	}
	refused("no scheme", text)
	refused("another scheme", "Basic "+text)
}

// A token ends with the key that requested it.
func TestLives(t *testing.T) {
	table, k := auth.NewTable(), generate(t, auth.Management)
	put(t, table, k, 3, now+10)
	for _, c := range []struct {
		id          auth.ID
		kind        auth.Kind
		marketplace uint16
		at          int64
		want        bool
	}{
		{k.ID, auth.Management, 3, now, true},
		{k.ID, auth.Management, 3, now + 10, false},
		{k.ID, auth.Management, 2, now, false},
		{k.ID, auth.Auction, 3, now, false},
		{auth.ID{}, auth.Management, 3, now, false},
	} {
		if got := table.Valid(c.id, c.kind, c.marketplace, time.UnixMilli(c.at)); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	table.Delete(k.ID.String())
	if table.Valid(k.ID, auth.Management, 3, time.UnixMilli(now)) {
		t.Error("a revoked key lives")
	}
}
