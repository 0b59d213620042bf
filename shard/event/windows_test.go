package event

import "testing"

func TestHorizonsAreExactToTheHour(t *testing.T) {
	const noon = 1_795_176_000_000
	f := func(what string, horizon func(now int64) uint32, window int64) {
		t.Helper()
		bucket := BucketOf(noon)
		last := int64(bucket+1)*bucketMillis - 1 + window
		if horizon(last) > bucket {
			t.Errorf("%s: refused %d hours after its bucket", what, window/bucketMillis)
		}
		if horizon(last+1) <= bucket {
			t.Errorf("%s: accepted beyond its window", what)
		}
	}
	f("counting", CountHorizon, CountMillis)
	f("clicks", func(now int64) uint32 { return ChargeHorizon(Click, now) }, ClickMillis)
	f("impressions", func(now int64) uint32 { return ChargeHorizon(Impression, now) }, ImpressionMillis)
}

func TestBucketsOfOddTimes(t *testing.T) {
	for millis, want := range map[int64]uint32{-1: 0, 0: 0, bucketMillis - 1: 0, bucketMillis: 1, 1<<63 - 1: 1<<32 - 1} {
		if got := BucketOf(millis); got != want {
			t.Errorf("bucket of %d is %d, want %d", millis, got, want)
		}
	}
	if CountHorizon(0) != 0 {
		t.Error("a horizon before 1970")
	}
}
