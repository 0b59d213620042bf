package catalog

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/gavel-ads/gavel/node/manage/resource"
)

// Bounds of what filters of auctions can name. Longer texts in metadata are stored, but no filter matches them.
const (
	attributeLen = 40 // BOUND: characters of a key and of a value. It is the interface's.
	promotionLen = 64 // BOUND: characters of a promotion. It is the interface's.
	// attributesMax bounds the attributes of one product. BOUND: 8 KiB of metadata with one key and a long array would
	// otherwise become megabytes, because every element is written with the key.
	attributesMax = 256
)

// attributesOf flattens metadata into the values that filters of auctions are compared with: one "key:value" for every text, number
// or boolean and for every such element of an array, sorted and without repeats; and the promotions.
func attributesOf(metadata resource.Object) (attributes, promotions []string) {
	if metadata == nil {
		return nil, nil
	}
	var members map[string]any
	d := json.NewDecoder(bytes.NewReader(metadata))
	d.UseNumber() // So that 1.10 stays "1.10".
	if err := d.Decode(&members); err != nil {
		panic("the kit has checked this object: " + err.Error())
	}
	for key, value := range members {
		if !within(key, attributeLen) {
			continue
		}
		for _, text := range texts(value) {
			if within(text, attributeLen) {
				attributes = append(attributes, key+":"+text)
			}
		}
	}
	for _, text := range texts(members["promotions"]) {
		if within(text, promotionLen) {
			promotions = append(promotions, text)
		}
	}
	slices.Sort(attributes)
	return slices.Compact(attributes), promotions
}

func within(text string, most int) bool { return text != "" && utf8.RuneCountInString(text) <= most }

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
