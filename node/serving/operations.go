package serving

import (
	"net/http"
	"strconv"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/metrics"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
)

// Operation is what a request asked for, as metrics name it.
type Operation uint8

// The operations.
const (
	OpUnknown Operation = iota // A path that nobody serves.
	OpAuctions
	OpBrands
	OpTravel
	OpEvents
	OpHealth
	OpPreflight
	operations = int(OpPreflight) + 1
)

var operationNames = [operations]string{"unknown", "auctions", "sponsored_brand", "travel", "events", "health", "preflight"}

// successStatus is the status of an operation that went well. For OpUnknown nothing goes well.
var successStatus = [operations]int{
	http.StatusNotFound, http.StatusCreated, http.StatusCreated, http.StatusCreated, http.StatusOK, http.StatusOK, http.StatusNoContent,
}

// String returns the operation's name.
func (o Operation) String() string { return operationNames[o] }

// NewMetrics returns the metrics of a node, with the words of the rooms that own them as label values.
func NewMetrics() *metrics.Metrics {
	v := metrics.Vocabulary{Operations: operationNames[:]}
	for c := range apierr.Codes {
		code := apierr.Code(c) //nolint:gosec // Fewer than 256.
		v.Codes = append(v.Codes, metrics.Code{Name: code.String(), Status: strconv.Itoa(code.Status())})
	}
	for r := range auction.Reasons {
		v.Reasons = append(v.Reasons, auction.Reason(r).String()) //nolint:gosec // Fewer than 256.
	}
	for k := range event.Kinds {
		v.EventKinds = append(v.EventKinds, event.Kind(k).String()) //nolint:gosec // Four.
	}
	for o := range command.Outcomes {
		v.Outcomes = append(v.Outcomes, command.Outcome(o).String()) //nolint:gosec // Fewer than 256.
	}
	success := make([]string, operations)
	for op, status := range successStatus {
		success[op] = strconv.Itoa(status)
	}
	return metrics.New(v, success)
}
