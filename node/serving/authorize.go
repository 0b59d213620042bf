package serving

import (
	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/auth"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
)

// checkRequest makes the first checks of every operation with a key: the key, its marketplace, the size and encoding of the
// body.
func (sc *Scratch) checkRequest(view *market.View, r *Request, bodyMax int) (*model.Marketplace, apierr.Code) {
	m, key, code := sc.authorize(view, r)
	key.Count()
	switch {
	case code != apierr.OK:
		return nil, code
	case r.Overloaded:
		return nil, sc.refuse(apierr.ServiceUnavailable, "too many bytes of request bodies are under way")
	case r.BodyTooLarge || len(r.Body) > bodyMax:
		return nil, sc.refuse(apierr.BadRequest, "the body is over the limit of this operation")
	case len(r.ContentEncoding) > 0 && !isIdentity(r.ContentEncoding):
		return nil, sc.refuse(apierr.BadRequest, "Content-Encoding must be identity or absent")
	}
	return m, apierr.OK
}

// authorize checks the key and its marketplace.
func (sc *Scratch) authorize(view *market.View, r *Request) (*model.Marketplace, auth.Result, apierr.Code) {
	result := sc.core.Keys.Check(r.Authorization, auth.Auction, r.Now, &sc.memo)
	if result.Code == apierr.InvalidAPIKey && sc.core.DialogToken != nil && sc.core.DialogToken(string(r.Authorization), r.Now) {
		result.Code = apierr.ForbiddenAPIKey
	}
	switch result.Code {
	case apierr.OK:
	case apierr.ServiceUnavailable:
		return nil, result, sc.refuse(result.Code, "this node is cut off from the cluster and cannot know whether a key was revoked")
	default:
		return nil, result, sc.refuse(result.Code, "")
	}
	sc.authenticated = true
	m := view.Marketplace(result.Marketplace)
	if m == nil || m.Suspended {
		return nil, result, sc.refuse(apierr.InvalidMarketplace, "")
	}
	if m.Closed() {
		return nil, result, sc.refuse(apierr.ServiceUnavailable, closedMessage)
	}
	return m, result, apierr.OK
}

// closedMessage is the message for a request that may be repeated: it then reaches the cell to which the marketplace was moved. At
// the moment of the closing, one group may have recorded its events of a body and another have refused them; repeated there, the
// former are duplicates.
const closedMessage = "the marketplace is closed here, because it is being moved or was moved to another cell; repeat the request"

func isIdentity(encoding []byte) bool {
	const identity = "identity"
	if len(encoding) != len(identity) {
		return false
	}
	for i := range len(identity) {
		if encoding[i]|0x20 != identity[i] {
			return false
		}
	}
	return true
}
