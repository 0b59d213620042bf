package catalog

import (
	"slices"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/resource"
)

func TestAttributes(t *testing.T) {
	for _, c := range []struct {
		metadata               string
		attributes, promotions []string
	}{
		{`{}`, nil, nil},
		{`{"b":"x","a":"y"}`, []string{"a:y", "b:x"}, nil},
		{`{"n":1.10,"t":true,"f":false,"z":null,"o":{"k":"v"}}`, []string{"f:false", "n:1.10", "t:true"}, nil},
		{`{"c":["red","red",2,["deep"],{"k":1}]}`, []string{"c:2", "c:red"}, nil},
		{`{"promotions":["summer","x"],"promotions2":"y"}`, []string{"promotions2:y", "promotions:summer", "promotions:x"}, []string{"summer", "x"}},
		{`{"promotions":"one"}`, []string{"promotions:one"}, []string{"one"}},
		{`{"":"x","k":""}`, nil, nil},
		// What no filter can name is data: over 40 characters, over 64 of a promotion.
		{`{"k":"` + strings.Repeat("ä", 40) + `","l":"` + strings.Repeat("ä", 41) + `"}`, []string{"k:" + strings.Repeat("ä", 40)}, nil},
		{`{"` + strings.Repeat("k", 41) + `":"x"}`, nil, nil},
		{`{"promotions":["` + strings.Repeat("p", 64) + `","` + strings.Repeat("p", 65) + `"]}`, nil, []string{strings.Repeat("p", 64)}},
	} {
		attributes, promotions := attributesOf(resource.Object(c.metadata))
		if !slices.Equal(attributes, c.attributes) || !slices.Equal(promotions, c.promotions) {
			t.Errorf("%s: %q and %q, want %q and %q", c.metadata, attributes, promotions, c.attributes, c.promotions)
		}
	}
}
