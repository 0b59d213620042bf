package campaign

import "github.com/danielgtaylor/huma/v2"

// MarshalJSON writes null.
func (Null) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// Schema describes null.
func (Null) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: "null"} }
