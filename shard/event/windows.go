package event

// A bucket is an hour, numbered by Unix time / 3600. Dedup keys are stored under the bucket of their event, and every
// window is exact to the hour. So one comparison with the state clock decides both whether an event of a bucket still
// has an effect and whether the keys of that bucket may be dropped. INVARIANT: a bucket below CountHorizon or
// ChargeHorizon stays below it, because the state clock never goes back. So a dropped key is never needed again.
const bucketMillis = 3_600_000

// RequestMillis is the minimum time for which the request id of a wallet adjustment is remembered.
const RequestMillis = dayMillis

// RequestsKept is how many of the newest request ids a group remembers regardless of their age. Age is measured on the
// state clock, which a leader with a wrong clock may move ahead by days at once, while a repeat still arrives within
// minutes of real time. BOUND: there are fewer adjustments than this between a request and its repeat.
const RequestsKept = 65_536

// BucketOf returns the bucket of a time in Unix milliseconds; times before 1970 are in bucket 0.
func BucketOf(millis int64) uint32 {
	return uint32(min(max(millis, 0)/bucketMillis, 1<<32-1))
}

// CountHorizon returns the first bucket whose events are counted at a time.
func CountHorizon(now int64) uint32 { return BucketOf(now - CountMillis) }

// nearHours is how far the hour of an event may lie behind the hour of its report, so that the key in the event's own
// bucket also tells when it was reported. Nearly all events are reported within this time.
const nearHours = 4

// IsNear reports whether the bucket of an event is close to the hour in which it is reported.
func IsNear(bucket uint32, now int64) bool {
	hour := BucketOf(now)
	return bucket+nearHours >= hour && bucket <= hour+1
}

// RepeatHorizons returns the first buckets in which the id of a repeated event is looked for at a time: among the
// buckets of events, and among those of reports whose events were not near.
func RepeatHorizons(now int64) (events, reports uint32) {
	reports = BucketOf(now - RepeatMillis)
	return max(reports, nearHours) - nearHours, reports
}

// ChargeHorizon returns the first bucket whose interactions of a kind are charged at a time.
func ChargeHorizon(k Kind, now int64) uint32 {
	switch k {
	case Impression:
		return BucketOf(now - ImpressionMillis)
	case Click:
		return BucketOf(now - ClickMillis)
	case Purchase:
		return BucketOf(now - PurchaseMillis)
	default:
		return CountHorizon(now) // Page views are not charged.
	}
}
