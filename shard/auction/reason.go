package auction

// Reason is why a bid lost. The order is that of the gates. A bid that fails several gates is counted at the first.
type Reason uint8

// The loss reasons, in gate order.
const (
	Inactive        Reason = iota // The campaign or the bid is switched off or terminated, or its charge type is not charged.
	NotStarted                    // The campaign starts later.
	Ended                         // The campaign has ended.
	NotApproved                   // The campaign awaits review or was rejected, or no asset of the banner is approved.
	ProductInactive               // The target is not an active catalog product.
	Trigger                       // No trigger of the bid matches a context of the request.
	DeviceMismatch                // The bid is for another device.
	Geo                           // The bid is for another location.
	Segment                       // The user is in none of the campaign's segments.
	Excluded                      // The user is in an excluded segment, or a negative keyword matched.
	FilterMismatch                // The request's filter excludes the product.
	Reserve                       // The bid is not above the reserve price, or its quality is 0.
	Stale                         // This node's copy of the campaign's balances is too old (Params.Stale).
	Budget                        // The campaign's budget of this period is used up.
	Wallet                        // The wallet is empty.
	Pacing                        // Held back to spread the spend.
	Frequency                     // The user has seen the campaign often enough.
	Exclusive                     // An exclusive campaign has the product.
	Diversity                     // The entity or the vendor already won.
	Outranked                     // Others scored higher.
	Holdout                       // The bid would have won, and the user never sees the campaign; or it passed, and the user sees no ads.
	Reasons         = int(Holdout) + 1
)

var reasonNames = [Reasons]string{
	"inactive", "not_started", "ended", "not_approved", "product_inactive", "trigger", "device",
	"geo", "segment", "excluded", "filter", "reserve", "stale", "budget", "wallet", "pacing", "frequency",
	"exclusive", "diversity", "outranked", "holdout",
}

// String returns the reason's name as metrics and explanations print it.
func (r Reason) String() string { return reasonNames[r] }
