package metrics

import "github.com/prometheus/client_golang/prometheus"

// traffic collects what the stripes count.
type traffic Metrics

// The descriptions are created once; a scrape only adds values.
var (
	requestsDesc = requestsTotal.desc()
	errorsDesc   = errorsTotal.desc()
	secondsDesc  = requestSeconds.desc()
	lossesDesc   = lossesTotal.desc()
	eventsDesc   = eventsTotal.desc()
	keysDesc     = keyFailures.desc()
	chargedDesc  = chargedMicros.desc()
	clippedDesc  = clippedMicros.desc()

	singleDescs = map[single]*prometheus.Desc{
		auctionsSingle: auctionsTotal.desc(),
		winnersSingle:  winnersTotal.desc(),
		panicsSingle:   panicsTotal.desc(),
		framesSingle:   refusedFrames.desc(),
	}
)

// Describe sends the descriptions of all metrics of traffic.
func (t *traffic) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{requestsDesc, errorsDesc, secondsDesc, lossesDesc, eventsDesc, keysDesc, chargedDesc, clippedDesc} {
		to <- d
	}
	for _, d := range singleDescs {
		to <- d
	}
}

// Collect reports the sums over the stripes.
func (t *traffic) Collect(to chan<- prometheus.Metric) {
	t.requests(to)
	l := &t.layout
	for which, desc := range singleDescs {
		to <- counter(desc, t.sum(l.singles+int(which)))
	}
	to <- counter(keysDesc, t.sum(l.singles+int(unauthorizedSingle)), "401")
	to <- counter(keysDesc, t.sum(l.singles+int(forbiddenSingle)), "403")
	for i, reason := range l.v.Reasons {
		to <- counter(lossesDesc, t.sum(l.reasons+i), reason)
	}
	for k, kind := range l.v.EventKinds {
		for o, outcome := range l.v.Outcomes {
			to <- counter(eventsDesc, t.sum(l.events+k*len(l.v.Outcomes)+o), kind, outcome)
		}
	}
	for currency, slot := range l.currencies.all() {
		charged, clipped := t.sum(l.charged+slot), t.sum(l.clipped+slot)
		if slot == otherSlot && charged+clipped == 0 {
			continue
		}
		to <- counter(chargedDesc, charged, currency)
		to <- counter(clippedDesc, clipped, currency)
	}
	for op, operation := range l.v.Operations {
		start := l.seconds + op*histogramWords
		to <- newHistogram(secondsDesc, func(i int) uint64 { return t.sum(start + i) }, t.created, operation)
	}
}

// requests divides the counts by (operation, code) into requests by status and errors by code. Success is always
// reported, an error from its first occurrence on.
func (t *traffic) requests(to chan<- prometheus.Metric) {
	l := &t.layout
	errors := make([]uint64, len(l.v.Codes))
	for op, operation := range l.v.Operations {
		byStatus := map[string]uint64{t.status[op]: 0}
		for c, code := range l.v.Codes {
			n := t.sum(l.requests + op*len(l.v.Codes) + c)
			status := code.Status
			if c == 0 {
				status = t.status[op]
			}
			if n > 0 {
				byStatus[status] += n
			}
			errors[c] += n
		}
		for status, n := range byStatus {
			to <- counter(requestsDesc, n, operation, status)
		}
	}
	for c, n := range errors {
		if c > 0 && n > 0 {
			to <- counter(errorsDesc, n, l.v.Codes[c].Name, l.v.Codes[c].Status)
		}
	}
}

func (t *traffic) sum(word int) uint64 { return sum(t.stripes, word) }

func counter(desc *prometheus.Desc, n uint64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), labels...)
}
