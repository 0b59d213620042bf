package hotpath

// ignoredFields are the names of header fields that the fast path may skip, in lower case: what browsers, HTTP libraries,
// proxies and tracing add to a request, and what changes neither where the body ends, nor whether the connection stays open,
// nor the answer. A request with any other field is read by fasthttp, which costs a few microseconds and nothing else.
//
// Fields of the connection (RFC 9110, section 7.6.1) and of framing never belong here.
var ignoredFields = []string{
	// What clients say about themselves and about the form of the answer.
	"accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "content-type", "cookie", "date", "dnt", "from",
	"idempotency-key", "max-forwards", "pragma", "priority", "referer", "user-agent",
	"sec-ch-ua", "sec-ch-ua-mobile", "sec-ch-ua-platform", "sec-fetch-dest", "sec-fetch-mode", "sec-fetch-site", "sec-gpc",
	// What proxies and load balancers add.
	"cdn-loop", "cf-connecting-ip", "cf-ipcountry", "cf-ray", "cf-visitor", "fastly-client-ip", "forwarded", "true-client-ip", "via",
	"x-amz-cf-id", "x-client-ip", "x-envoy-attempt-count", "x-envoy-expected-rq-timeout-ms", "x-envoy-external-address",
	"x-envoy-internal", "x-forwarded-client-cert", "x-forwarded-for", "x-forwarded-host", "x-forwarded-port", "x-forwarded-proto",
	"x-forwarded-scheme", "x-forwarded-server", "x-original-forwarded-for", "x-real-ip", "x-request-start", "x-requested-with",
	"x-scheme",
	// What tracing adds.
	"b3", "baggage", "sentry-trace", "traceparent", "tracestate", "uber-trace-id", "x-amzn-trace-id", "x-b3-flags",
	"x-b3-parentspanid", "x-b3-sampled", "x-b3-spanid", "x-b3-traceid", "x-cloud-trace-context", "x-correlation-id",
	"x-datadog-parent-id", "x-datadog-sampling-priority", "x-datadog-tags", "x-datadog-trace-id", "x-datadog-origin",
}

const ignoredLengthMax = 32 // BOUND: in bytes; the longest name on the list has 30.

// ignoredByLength holds the names of ignoredFields by their length, in the order of the list.
var ignoredByLength = func() (byLength [ignoredLengthMax + 1][]string) {
	for _, name := range ignoredFields {
		byLength[len(name)] = append(byLength[len(name)], name)
	}
	return byLength
}()

// ignored reports whether a name is on the list, in any case.
func ignored(name []byte) bool {
	if len(name) > ignoredLengthMax {
		return false
	}
	for _, want := range ignoredByLength[len(name)] {
		if name[0]|0x20 == want[0] && equalFold(name, want) {
			return true
		}
	}
	return false
}
