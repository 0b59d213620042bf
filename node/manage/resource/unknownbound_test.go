package resource

import (
	"strconv"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

// TestFewUnknownNamesAreCompared: of the names of a body, only so many are compared with the known ones, or a body of megabytes would
// take seconds.
func TestFewUnknownNamesAreCompared(t *testing.T) {
	object := &huma.Schema{Properties: map[string]*huma.Schema{"count": {}}}
	var u unknownNames
	for i := range 10 * unknownMax {
		if found := u.misspelt(object, "coun"+strconv.Itoa(i)); i >= unknownMax && len(found) > 0 {
			t.Fatalf("name %d is compared: %q", i, found)
		}
	}
	if len(u.close) != unknownMax {
		t.Errorf("%d names are kept, want %d", len(u.close), unknownMax)
	}
	if found := u.misspelt(object, "coumt"); found != nil {
		t.Errorf("then another is compared: %q", found)
	}
	var fresh unknownNames
	if found := fresh.misspelt(object, "coumt"); len(found) != 1 {
		t.Errorf("the first name of a body is close to %q", found)
	}
}
