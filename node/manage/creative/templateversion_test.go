package creative_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
)

// TestAVersionThatIsRefusedByNowIsNotRestored: a version was stored when its schema was still accepted.
func TestAVersionThatIsRefusedByNowIsNotRestored(t *testing.T) {
	w := managetest.New(t)
	tenant := w.Store.Tenant(managetest.Main)
	x := store.Template{Name: "Hero", Description: "Old", Schema: []byte(`{"$ref":"https://elsewhere.example/schema"}`), AdFormat: "banner"}
	if err := tenant.CreateTemplate(t.Context(), &x); err != nil {
		t.Fatal(err)
	}
	one := "/public/v1/campaign-service/json-templates/" + x.ID.String()
	for _, step := range []struct {
		method, path, body string
		status             int
	}{
		{"PATCH", one, `{"jsonSchema":{"type":"object"}}`, 200},
		{"POST", one + "/versions/1/restore", "", 422},
		{"POST", one + "/versions/2/restore", "", 200},
	} {
		r := httptest.NewRequest(step.method, step.path, strings.NewReader(step.body))
		r.Header.Set("Authorization", "Bearer "+w.Keys["management"])
		r.Header.Set("Content-Type", "application/json")
		rec := httptest.NewRecorder()
		w.ServeHTTP(rec, r)
		if rec.Code != step.status {
			t.Errorf("%s %s: %d %s", step.method, step.path, rec.Code, rec.Body)
		}
	}
	all, err := tenant.TemplateVersions(x.ID)
	if err != nil || len(all) != 2 || all[0].By.KeyID == "" {
		t.Errorf("there are %+v, %v", all, err)
	}
}
