package login

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// A browser that goes away while the provider is asked for its description is no failure of the provider: the next one is sent there at
// once. Otherwise anybody could keep everybody from signing in, by requests that they end.
func TestABrowserThatGoesAwayIsNoFailure(t *testing.T) {
	asked, answer := make(chan struct{}, 2), make(chan struct{})
	p := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-answer
		issuer := "http://" + r.Host
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{ // The test fails without the answer.
			"issuer": issuer, "authorization_endpoint": issuer + "/authorize", "token_endpoint": issuer + "/token", "jwks_uri": issuer + "/keys",
		})
	}))
	t.Cleanup(p.Close)
	now := time.Now()
	of := NewProvider(ProviderConfig{Issuer: p.URL, ClientID: "gavel"}, func() time.Time { return now })
	ctx, leave := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := of.Address(ctx, Flow{State: "s", Nonce: "n", Verifier: "v"})
		first <- err
	}()
	<-asked
	leave()
	close(answer)
	if err := <-first; err != nil {
		t.Errorf("the description was not read for the next browser: %v", err)
	}
	if _, err := of.Address(t.Context(), Flow{State: "s", Nonce: "n", Verifier: "v"}); err != nil {
		t.Errorf("the next browser: %v", err)
	}
}
