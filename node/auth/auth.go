// Package auth implements API keys: their text form, the record that is stored in place of their secret, and the table in
// which both listeners look up a presented key.
//
// A key consists of a prefix that names its kind, a public id that leads to its record, a secret of 190 random bits, and a
// checksum of all that, so that secret scanners and this node reject other text before anything is looked up:
//
//	gavel_auc_<id: 8 base62><underscore><secret: 32 base62><CRC32 of the text before it: 6 base62>
//
// Only the SHA-256 of the secret is stored. A fast hash is right at that entropy; slow hashes protect secrets that people
// choose.
package auth

// Kind is what a key may be used for.
type Kind uint8

// The key kinds. Their numbers are part of stored records.
const (
	Auction    Kind = iota + 1 // POST /v2/*
	Management                 // /public/v1/*
)

// String returns the kind as the interface writes it, and "" for a number that is no kind.
func (k Kind) String() string {
	switch k {
	case Auction:
		return "auction"
	case Management:
		return "management"
	default:
		return ""
	}
}

func (k Kind) prefix() string {
	if k == Management {
		return "gavel_mgt_"
	}
	return "gavel_auc_"
}
