package manage_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/gavel-ads/gavel/node/manage/managetest"
)

// TestMisspeltMembers misspells every optional member of every body once: the answer says which one was meant.
func TestMisspeltMembers(t *testing.T) {
	w := managetest.New(t)
	tried := 0
	for _, o := range operations(t) {
		if o.v2() || o.body() == nil || o.id == "explainAuctions" { // It accepts bodies of /v2, and these are free there.
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(o.body().Properties)) {
			if slices.Contains(o.body().Required, name) || len(name) < 3 {
				continue
			}
			wrong := name[:1] + "x" + name[1:]
			if o.body().Properties[wrong] != nil {
				continue
			}
			tried++
			rec := call(w, o.method, o.target(), o.key("management"), `{"`+wrong+`":1}`)
			found := rec.Code == 422 && slices.ContainsFunc(violations(t, rec), func(v violation) bool {
				return slices.Equal(v.Loc, []string{"body", wrong}) && v.Type == "unknown_member" && strings.HasSuffix(v.Msg, "did you mean "+name+"?")
			})
			if !found {
				t.Errorf("%s with %s: %d %.300s", o.id, wrong, rec.Code, rec.Body)
			}
		}
	}
	if tried < 80 {
		t.Errorf("only %d members were misspelt", tried)
	}
}

// TestAnswersCanBeSentBack: a client may read a resource, change a member and send all of it back. So no member of an answer is close
// to a member of the body that answers lack.
func TestAnswersCanBeSentBack(t *testing.T) {
	w := managetest.New(t)
	all := operations(t)
	for _, o := range all {
		if o.v2() || o.body() == nil || o.method != "PATCH" && o.method != "PUT" {
			continue
		}
		var members []string
		for name := range answerSchema(&o).Properties {
			members = append(members, `"`+name+`":1`)
		}
		rec := call(w, o.method, o.target(), o.key("management"), "{"+strings.Join(members, ",")+"}")
		if strings.Contains(rec.Body.String(), "unknown_member") {
			t.Errorf("%s refuses a member of its own answer: %s", o.id, rec.Body)
		}
	}
}

// answerSchema is the schema of an operation's answer with success.
func answerSchema(o *operation) *openapi3.Schema {
	for status, r := range o.op.Responses.Map() {
		if strings.HasPrefix(status, "2") && r.Value.Content["application/json"] != nil {
			return r.Value.Content["application/json"].Schema.Value
		}
	}
	return &openapi3.Schema{}
}
