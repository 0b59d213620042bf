package console

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// maskedSlowly decodes a body, masks it, and returns it decoded.
func maskedSlowly(body string) (v any) {
	if json.Unmarshal([]byte(body), &v) != nil {
		return nil
	}
	mask(v)
	return v
}

// Whatever a body looks like, no id of a user is shown, everything else is, and a body that is no JSON is left out. The quick way and the
// decoded one say the same.
func TestUsersAreMasked(t *testing.T) {
	for body, plain := range map[string]bool{
		`{"auctions":[{"opaqueUserId":"secret","slots":1}]}`:                        true,
		`{"auctions":[{"slots":1,"products":{"ids":["a","b"]}}]}`:                   true,
		"{\"opaqueUserId\" \n:\t \"secret\" , \"x\":\"opaqueUserId\"}":              true,
		`{"opaqueUserId":"","other":["opaqueUserId","secrets"]}`:                    true,
		`{"a":{"opaqueUserId":"secret"},"b":[{"opaqueUserId":"secret"},{"c":"d"}]}`: true,
		`{"opaqueUserId":"opaqueUserId","x":":"}`:                                   true,
		`{"opaqueUserId":{"opaqueUserId":"secret"}}`:                                false,
		`{"opaqueUserId":7,"x":"y"}`:                                                false,
		`{"opaque\u0055serId":"secret"}`:                                            false,
		`{"opaqueUserId":"sec\"ret","x":1}`:                                         false,
		`{"opaqueUserId":"secret"`:                                                  false,
		`{"opaqueUserId":"secret"}x`:                                                false,
		``:                                                                          false,
	} {
		text, known := maskPlain([]byte(body))
		if known != plain {
			t.Errorf("%s: masked without decoding: %v", body, known)
		}
		shown := maskUsers([]byte(body))
		if strings.Contains(strings.ReplaceAll(string(shown), "secrets", ""), "secret") {
			t.Errorf("%s shows a user: %s", body, shown)
		}
		if !known {
			continue
		}
		var quick any
		if err := json.Unmarshal(text, &quick); err != nil || !reflect.DeepEqual(quick, maskedSlowly(body)) {
			t.Errorf("%s: %s, %v", body, text, err)
		}
	}
}
