package document

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestMerge(t *testing.T) {
	members := func(all ...string) (m []Member) {
		for i := 0; i < len(all); i += 2 {
			m = append(m, Member{all[i], []byte(all[i+1])})
		}
		return m
	}
	for _, x := range []struct {
		base    string
		members []Member
		want    string
	}{
		{``, nil, `{}`},
		{`{}`, members("a", "1"), `{"a":1}`},
		{`{"a":1,"b":"x"}`, nil, `{"a":1,"b":"x"}`},
		{`{"a":1,"b":"x"}`, members("b", `{"c":[]}`, "d", "null"), `{"a":1,"b":{"c":[]},"d":null}`},
		{`{"a":{"b":1,"c":"}\"]"},"b":[1,{"b":2}],"c":1.50}`, members("b", "2"), `{"a":{"b":1,"c":"}\"]"},"b":2,"c":1.50}`},
		{" { \"a\" : [ 1 , 2 ] , \"b\":\ttrue } ", members("a", "0"), `{"a":0,"b":true}`},
		{`{"\u00e9\"":1}`, members("a", "0"), `{"\u00e9\"":1,"a":0}`},
	} {
		got, err := Merge([]byte(x.base), x.members)
		if err != nil || string(got) != x.want {
			t.Errorf("%s with %v: %s, %v, want %s", x.base, x.members, got, err, x.want)
		}
	}
	for _, base := range []string{`[]`, `{`, `{"a"}`, `{"a":}`, `{"a":1`, `{"a":1,}`, `{"a":"x}`, `{"a":1}x`, `{"a":1 2}`, `"a"`} {
		if got, err := Merge([]byte(base), nil); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %s, %v", base, got, err)
		}
	}
}

// FuzzMerge compares with encoding/json on everything that it accepts as an object without repeated names.
func FuzzMerge(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":{"a":[1,"}",{"c":"\\\""}]}}`), []byte(`[{}]`))
	f.Add([]byte(` {} `), []byte(`null`))
	f.Fuzz(func(t *testing.T, base, value []byte) {
		var want map[string]json.RawMessage
		if json.Unmarshal(base, &want) != nil || want == nil || !json.Valid(value) {
			return
		}
		names := 0
		escaped := false
		_ = forEachMember(base, func(name string, _ []byte) { names++; escaped = escaped || strings.Contains(name, `\`) })
		if escaped || names != len(want) { // A name occurs twice, or may be an escaped spelling of a.
			return
		}
		got, err := Merge(base, []Member{{"a", value}})
		if err != nil {
			t.Fatalf("%s: %v", base, err)
		}
		want["a"] = value
		var merged map[string]json.RawMessage
		if err := json.Unmarshal(got, &merged); err != nil {
			t.Fatalf("%s became %s: %v", base, got, err)
		}
		if len(merged) != len(want) {
			t.Fatalf("%s became %s", base, got)
		}
		for name := range want {
			var x, y any
			if json.Unmarshal(want[name], &x) != nil || json.Unmarshal(merged[name], &y) != nil || !reflect.DeepEqual(x, y) {
				t.Fatalf("%s became %s: %s is %s", base, got, name, merged[name])
			}
		}
	})
}
