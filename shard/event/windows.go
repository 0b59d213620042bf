package event

// A bucket is an hour, Unix time / 3600. Dedup keys are filed under the bucket of their event, and every window is exact
// to the hour, because then one comparison on the state clock decides both: whether an event of a bucket still has an
// effect, and whether the keys of that bucket may be dropped. INVARIANT: a bucket that Counted or Charging refuses once is
// refused for ever, because the state clock never goes back; so a dropped key can never be wanted again.
const bucketMillis = 3_600_000

// RequestMillis is how long the request id of a wallet adjustment is remembered at least.
const RequestMillis = dayMillis

// RequestsKept is how many of the newest request ids a group remembers however old they are. Their age is that of the state
// clock, which a leader with a wrong clock moves days ahead at once; a repetition comes within minutes of real time all the
// same. BOUND: no more adjustments than this lie between a request and its repetition.
const RequestsKept = 65_536

// BucketOf returns the bucket of a time; times before 1970 lie in bucket 0.
func BucketOf(millis int64) uint32 {
	return uint32(min(max(millis, 0)/bucketMillis, 1<<32-1)) //nolint:gosec // clamped.
}

// CountHorizon is the first bucket whose events are counted.
func CountHorizon(now int64) uint32 { return BucketOf(now - CountMillis) }

// ChargeHorizon is the first bucket whose interactions of a kind are charged.
func ChargeHorizon(k Kind, now int64) uint32 {
	switch k {
	case Impression:
		return BucketOf(now - ImpressionMillis)
	case Click:
		return BucketOf(now - ClickMillis)
	default:
		return CountHorizon(now) // Purchases and page views are not charged here.
	}
}
