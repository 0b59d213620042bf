package manage

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

// takesKey reports whether the route accepts management keys of a marketplace.
func (rt *route) takesKey(marketplace uint16) bool {
	switch rt.credential {
	case resource.ManagementKey:
		return true
	case resource.OperatorKey:
		return marketplace == store.OperatorMarketplace
	default:
		return false
	}
}

// takesToken reports whether a vendor's token may call the route as r does: the route accepts tokens, and no path value or query
// parameter names another vendor. The body is checked when it has been read, by bodyOfVendor.
func (rt *route) takesToken(vendor string, r *http.Request) bool {
	return rt.vendor != nil && (rt.vendor.Path == "" || r.PathValue(rt.vendor.Path) == vendor) && namesInQuery(r, vendor)
}

// namesInQuery reports whether the query of a request names no vendor but this one.
func namesInQuery(r *http.Request, vendor string) bool {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return false // A part that parsers skip could name a vendor.
	}
	for name, values := range query {
		for _, value := range values {
			if isVendorName(name) && value != "" && value != vendor {
				return false
			}
		}
	}
	return true
}

// isVendorName reports whether a query parameter or a member has the name of one that contains ids of vendors.
func isVendorName(name string) bool {
	switch strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name)) {
	case "vendorid", "vendorids", "vendors":
		return true
	}
	return false
}

// namesOnlyVendor reports whether a JSON body names no vendor but this one, at whatever depth. Operations ignore unknown members, but
// the body of a token's request must not name another vendor even there. A body that is not JSON names no vendor; its
// operation refuses it.
func namesOnlyVendor(vendor string, body []byte) bool {
	return !errors.Is(vendorCheck{json.NewDecoder(bytes.NewReader(body)), vendor}.value(false, 0), errOtherVendor)
}

var errOtherVendor = errors.New("another vendor is named")

// vendorDepthMax is how deep a body is searched. BOUND: operations refuse bodies that are nested deeper than 32.
const vendorDepthMax = 32

type vendorCheck struct {
	*json.Decoder
	vendor string
}

// value reads one value. Where ids of vendors are expected, it may be null, the vendor's id or a list of it.
func (c vendorCheck) value(isVendor bool, depth int) error {
	token, err := c.Token()
	if err != nil {
		return err
	}
	delim, nested := token.(json.Delim)
	switch {
	case !nested:
		if isVendor && token != nil && token != any(c.vendor) {
			return errOtherVendor
		}
		return nil
	case isVendor && delim == '{':
		return errOtherVendor
	case depth == vendorDepthMax:
		return io.ErrUnexpectedEOF
	}
	for c.More() {
		inner := isVendor
		if delim == '{' {
			name, err := c.Token()
			if err != nil {
				return err
			}
			text, _ := name.(string)
			inner = isVendorName(text)
		}
		if err := c.value(inner, depth+1); err != nil {
			return err
		}
	}
	_, err = c.Token()
	return err
}
