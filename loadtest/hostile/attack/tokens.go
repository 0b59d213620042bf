package attack

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// tokens asks for a token of the vendor v2 with a token of v1, by many spellings of the path, one of which the node may not recognise.
type tokens struct{ own string }

// tokenPaths lead, as they are or decoded, to the authorization of the vendor v2, or to what only v2 may read.
var tokenPaths = []string{
	"/public/v1/modal-service/auth/vendors/v2",
	"/public/v1/modal-service/%61uth/vendors/v2",
	"/public/v1/modal-service/%61%75%74%68/vendors/v2",
	"/public/v1/modal-service/auth/%76endors/v2",
	"/public/v1/modal-service/%61uth/vendors/%76%32",
	"/public/v1/modal-service/%61uth/vendors/v%32",
	"/public/v1//modal-service/%61uth/vendors/v2",
	"/public/v1/modal-service//auth/vendors/v2",
	"/public/v1/modal-service/auth//vendors/v2",
	"/public/v1/./modal-service/%61uth/vendors/v2",
	"/public/v1/modal-service/./auth/vendors/v2",
	"/public/v1/modal-service/vendors/../auth/vendors/v2",
	"/public/v1/modal-service/vendors/v1/%2e%2e/%2e%2e/auth/vendors/v2",
	"/public/v1/modal-service%2fauth/vendors/v2",
	"/public/v1/modal-service/auth%2fvendors%2fv2",
	"/public/v1/modal-service/auth/vendors/v1%2f..%2fv2",
	"/public/%76%31/modal-service/%61uth/vendors/v2",
	"/%70ublic/v1/modal-service/auth/vendors/v2",
	"/PUBLIC/v1/modal-service/auth/vendors/v2",
	"/public/v1/modal-service/auth/vendors/v2?vendor_id=v1",
	"/public/v1/modal-service/vendors/v2/default-budget",
	"/public/v1/modal-service/%76endors/v2/default-budget",
	"/public/v1/modal-service/vendors/%76%32/default-budget",
	"/public/v1/modal-service//vendors/v2/default-budget",
}

func (t *tokens) Prepare(ctx context.Context, e *Env) error {
	if err := makeVendor(ctx, e); err != nil {
		return err
	}
	return t.renew(ctx, e)
}

// renew gets a token of v1, which is valid for an hour.
func (t *tokens) renew(ctx context.Context, e *Env) error {
	answer, err := e.API.Need(ctx, "GET", public+"/modal-service/auth/vendors/v1", nil)
	if err != nil {
		return err
	}
	var own struct{ AuthToken string }
	err = json.Unmarshal(answer, &own)
	t.own = own.AuthToken
	return err
}

func (t *tokens) Attack(ctx context.Context, e *Env) error {
	if err := t.renew(ctx, e); err != nil {
		e.Tally.note(err) // The token of the window before may still be valid.
	}
	for i := 0; pause(ctx, 100*time.Millisecond); i++ {
		path := tokenPaths[i%len(tokenPaths)]
		request := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n", path, t.own)
		answer, _, err := e.raw(ctx, e.Target.Manage, []byte(request), 2*time.Second)
		e.Tally.Add("sent", 1)
		status := statusOf(answer)
		e.Tally.answered(status, err)
		if status/100 == 2 && (strings.HasSuffix(path, "default-budget") || tokenVendor(string(answer)) != "") {
			// Even a new token of v1 is a breach: it could be renewed forever, so a token must not give access to tokens.
			e.Tally.Add("token of another vendor", 1)
			e.Tally.note(fmt.Errorf("%s answered a token of v1 with %d for %q", path, status, tokenVendor(string(answer))))
		}
	}
	return nil
}

// tokenVendor returns the subject of the token in an answer, which is its vendor; empty when there is no token.
func tokenVendor(answer string) string {
	_, rest, found := strings.Cut(answer, `"authToken":"`)
	if !found {
		return ""
	}
	parts := strings.Split(rest, ".")
	if len(parts) < 2 {
		return "unreadable"
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct{ Sub string }
	if err != nil || json.Unmarshal(text, &claims) != nil || claims.Sub == "" {
		return "unreadable"
	}
	return claims.Sub
}
