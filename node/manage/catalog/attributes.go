package catalog

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/gavel-ads/gavel/node/manage/resource"
)

// attributesOf flattens metadata into what the filters of auctions compare with: one "key:value" for every text, number
// or boolean and for every such element of an array, sorted and without repeats; and the promotions.
func attributesOf(metadata resource.Object) (attributes, promotions []string) {
	if metadata == nil {
		return nil, nil
	}
	var members map[string]any
	d := json.NewDecoder(bytes.NewReader(metadata))
	d.UseNumber() // 1.10 stays 1.10.
	if err := d.Decode(&members); err != nil {
		panic("the kit has checked this object: " + err.Error())
	}
	for key, value := range members {
		for _, text := range texts(value) {
			attributes = append(attributes, key+":"+text)
		}
	}
	slices.Sort(attributes)
	promotions = texts(members["promotions"])
	return slices.Compact(attributes), promotions
}

// texts lists the scalars of a value: itself, or the elements of an array. Objects are free-form data, not attributes.
func texts(value any) []string {
	switch value := value.(type) {
	case string:
		return []string{value}
	case json.Number:
		return []string{value.String()}
	case bool:
		if value {
			return []string{"true"}
		}
		return []string{"false"}
	case []any:
		var all []string
		for _, element := range value {
			if _, nested := element.([]any); !nested {
				all = append(all, texts(element)...)
			}
		}
		return all
	}
	return nil
}
