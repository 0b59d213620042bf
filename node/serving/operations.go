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

// Operation is the operation that a request asked for. Its names are label values of metrics.
type Operation uint8

// The operations.
const (
	OpUnknown Operation = iota // The path has no endpoint.
	OpAuctions
	OpBrands
	OpTravel
	OpEvents
	OpLinkUsers
	OpHealth
	OpPreflight
	operations = int(OpPreflight) + 1
)

var operationNames = [operations]string{"unknown", "auctions", "sponsored_brand", "travel", "events", "link_users", "health", "preflight"}

// successStatus is the status of an operation that succeeded. OpUnknown never succeeds.
var successStatus = [operations]int{
	http.StatusNotFound, http.StatusCreated, http.StatusCreated, http.StatusCreated, http.StatusOK, http.StatusNoContent,
	http.StatusOK, http.StatusNoContent,
}

// String returns the operation's name.
func (o Operation) String() string { return operationNames[o] }

// NewMetrics returns the metrics of a node. The label values are the names of codes, reasons, kinds and outcomes in the
// packages that define them.
func NewMetrics() *metrics.Metrics {
	v := metrics.Vocabulary{Operations: operationNames[:]}
	for c := range apierr.Codes {
		code := apierr.Code(c) // Fewer than 256.
		v.Codes = append(v.Codes, metrics.Code{Name: code.String(), Status: strconv.Itoa(code.Status())})
	}
	for r := range auction.Reasons {
		v.Reasons = append(v.Reasons, auction.Reason(r).String()) // Fewer than 256.
	}
	for k := range event.Kinds {
		v.EventKinds = append(v.EventKinds, event.Kind(k).String())
	}
	for o := range command.Outcomes {
		v.Outcomes = append(v.Outcomes, command.Outcome(o).String()) // Fewer than 256.
	}
	success := make([]string, operations)
	for op, status := range successStatus {
		success[op] = strconv.Itoa(status)
	}
	return metrics.New(v, success)
}
