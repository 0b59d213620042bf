package login

import (
	"fmt"
	"image/color"
	"strings"

	"github.com/boombuler/barcode/qr"
)

// quietZone is the white border around a QR code, in modules (ISO/IEC 18004).
const quietZone = 4

// QRCode returns a text as a QR code in SVG: black modules on white, whatever colours surround it, because many readers take no other.
// An error says that the text is too long for a QR code.
func QRCode(text string) (string, error) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return "", fmt.Errorf("login: encode a QR code: %w", err)
	}
	side := code.Bounds().Dx()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %[1]d" shape-rendering="crispEdges">`, side+2*quietZone)
	b.WriteString(`<rect width="100%" height="100%" fill="#fff"/><path d="`)
	for y := range side {
		for x := range side {
			if code.At(x, y) == color.Black {
				fmt.Fprintf(&b, "M%d %dh1v1h-1z", x+quietZone, y+quietZone)
			}
		}
	}
	b.WriteString(`" fill="#000"/></svg>`)
	return b.String(), nil
}
